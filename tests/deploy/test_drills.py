"""The drills of `docs/operations/runbook.md`: their commands, with the paths of a test, against servers."""

from __future__ import annotations

import json
import os
import re
import signal
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.certificates import Certificate, make_certificate
from tests.docs.blocks import blocks_of
from tests.engine.test_refusing_disks import mounted
from tests.gateway.http.conftest import STATEMENTS, eventually
from tests.gateway.test_serve_process import submit
from tests.paths import ROOT
from tests.server_process import ServerProcess

PAGE = ROOT / "docs" / "operations" / "runbook.md"
REASON = "run by tests/deploy/test_drills.py"
pytestmark = [pytest.mark.slow, pytest.mark.clients, pytest.mark.spark, pytest.mark.timeout(600)]
CONFIG = """\
[lake]
folder = "/data/lake"
catalog_folder = "/var/lib/delta-gateway/catalog"
[state]
folder = "/var/lib/delta-gateway/state"
"""


class Site:
    """The folders of a machine below a folder of the test, and its servers."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for folder in ("data/lake", "var/lib/delta-gateway", "etc/delta-gateway", "var/backups", "root"):
            (root / folder).mkdir(parents=True)
        self.configure(CONFIG)
        self.servers: list[ServerProcess] = []
        self.commands = drills()

    def path(self, name: str) -> Path:
        return self.root / name.lstrip("/")

    def local(self, text: str) -> str:
        """Returns a text with this site's paths."""
        return re.sub(r"(?<![\w.:/])/(?=data/|var/|etc/|root/)", f"{self.root}/", text)

    def configure(self, text: str) -> None:
        self.path("/etc/delta-gateway/gateway.toml").write_text(self.local(text))

    def start(self, **environment: str) -> ServerProcess:
        folder = self.root / f"run{len(self.servers)}"
        folder.mkdir()
        config = str(self.path("/etc/delta-gateway/gateway.toml"))
        self.servers.append(ServerProcess(folder, "--config", config, **environment))
        return self.servers[-1]

    def stop(self, server: ServerProcess) -> None:
        server.popen.terminate()
        assert server.end() == 0, server.output

    def run(self, drill: str, port: int = 0) -> str:
        """Runs the next block of a drill, and returns its output."""
        text = self.local(self.commands[drill].pop(0)).replace("localhost:8080", f"localhost:{port}")
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        found = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", text],
            env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert found.returncode == 0, (text, found.stdout, found.stderr)
        return found.stdout

    def end(self, drill: str) -> None:
        """Fails if the page has commands that did not run."""
        assert self.commands[drill] == []


def drills() -> dict[str, list[str]]:
    """Returns the commands of each drill of the page, by its heading."""
    headings = {
        number: line.removeprefix("## ")
        for number, line in enumerate(PAGE.read_text(encoding="utf-8").splitlines(), 1)
        if line.startswith("## ")
    }
    found: dict[str, list[str]] = {}
    for block in blocks_of(PAGE):
        assert block.reason == REASON
        found.setdefault(headings[max(line for line in headings if line < block.line)], []).append(block.text)
    return found


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path)
    yield made
    for server in made.servers:
        if server.popen.poll() is None:
            server.popen.kill()
        server.end()


def run(server: ServerProcess, *texts: str) -> None:
    for text in texts:
        answer = submit(server.ports(), text)
        assert answer["status"]["state"] == "SUCCEEDED", (text, answer["status"])


def rows(server: ServerProcess, text: str) -> list[list[str]]:
    answer = submit(server.ports(), text)
    assert answer["status"]["state"] == "SUCCEEDED", (text, answer["status"])
    found: list[list[str]] = answer["result"]["data_array"]
    return found


def error_of(server: ServerProcess, text: str) -> str:
    answer = submit(server.ports(), text)
    assert answer["status"]["state"] == "FAILED", answer
    condition: str = answer["status"]["error"]["condition"]
    return condition


def fails_to_start(site: Site) -> str:
    """Returns the last line of a server that does not start."""
    server = site.start()
    assert server.end() == 2, server.output
    return server.output.strip().splitlines()[-1]


SHOP = (
    "CREATE SCHEMA shop",
    "CREATE TABLE shop.orders (id BIGINT)",
    "INSERT INTO shop.orders VALUES (1), (2), (3)",
    "CREATE VIEW shop.last AS SELECT max(id) AS id FROM shop.orders",
    "GRANT SELECT ON TABLE shop.orders TO ann",
)


def damage_catalog(site: Site, change: Callable[[str], str]) -> None:
    """Changes the newest generation's file."""
    newest = max(site.path("/var/lib/delta-gateway/catalog/generations").glob("*.json"))
    newest.chmod(0o600)
    newest.write_text(change(newest.read_text()))


def restored_shop(site: Site) -> None:
    server = site.start()
    assert rows(server, "SELECT id FROM shop.last") == [["3"]]
    assert [row[:3] for row in rows(server, "SHOW GRANTS ON TABLE shop.orders")] == [["ann", "SELECT", "TABLE"]]
    site.stop(server)


def test_each_drill_of_the_page_is_run_here() -> None:
    assert list(drills()) == [
        "Restore the catalog", "Loss of a gateway", "A format of another release", "Full disk", "Expired certificate",
    ]  # fmt: skip


def test_catalog_is_restored_from_a_backup_of_a_running_server(site: Site) -> None:
    server = site.start()
    run(server, *SHOP)
    site.run("Restore the catalog")
    run(server, "CREATE VIEW shop.later AS SELECT 1 AS x")
    site.stop(server)
    damage_catalog(site, lambda text: text[: len(text) // 2])
    assert "CATALOG_UNREADABLE" in fails_to_start(site)
    assert "6 objects of generation 4" in site.run("Restore the catalog")
    site.end("Restore the catalog")
    restored_shop(site)


def test_other_gateway_continues_the_sessions_of_a_lost_one(site: Site) -> None:
    lost, other = site.start(), site.start()
    run(lost, *SHOP[:3])
    statement = submit(lost.ports(), "SELECT sum(id) FROM shop.orders")["statement_id"]
    other.ports()
    processes = [lost.popen.pid, lost.server_pid, *lost.jvms()]
    for process in processes:
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    lost.end()
    url = f"http://127.0.0.1:{other.ports()['http']}{STATEMENTS}/{statement}"

    def answer() -> Any:
        with suppress(urllib.error.URLError), urllib.request.urlopen(url, timeout=60) as response:
            return json.load(response)
        return None

    assert eventually(lambda: answer() is not None, 60)
    assert answer()["result"]["data_array"] == [["6"]]
    output = site.run("Loss of a gateway", other.ports()["http"])
    site.end("Loss of a gateway")
    assert int(float(re.findall(r"^gateway_state_restored_sessions_total (\S+)$", output, re.MULTILINE)[0])) >= 1
    replacement = site.start()
    run(replacement, "INSERT INTO shop.orders VALUES (4)")
    assert rows(other, "SELECT count(*), sum(id) FROM shop.orders") == [["4", "10"]]


def test_state_and_catalog_of_newer_release_stop_start_until_replaced(site: Site) -> None:
    server = site.start()
    run(server, *SHOP)
    site.run("Restore the catalog")
    site.stop(server)
    format_file = site.path("/var/lib/delta-gateway/state/format.json")
    known = format_file.read_text()
    format_file.write_text(known.replace("1", "2"))
    assert "STATE_FORMAT_NOT_SUPPORTED" in fails_to_start(site)
    assert "2" in site.run("A format of another release")
    site.end("A format of another release")
    damage_catalog(site, lambda text: text.replace('"format": 1', '"format": 2').replace('"format":1', '"format":2'))
    before = {file: file.read_bytes() for file in site.path("/var/lib/delta-gateway/catalog").rglob("*.json")}
    last = fails_to_start(site)
    assert "CATALOG_UNREADABLE" in last and "its format is not 1" in last
    assert {file: file.read_bytes() for file in before} == before
    site.run("Restore the catalog")
    restored_shop(site)
    assert format_file.read_text() == known


@pytest.mark.mounts
def test_full_disk_stops_writes_only_and_nothing_is_doubled_afterwards(site: Site) -> None:
    lake, state = site.path("/data/lake"), site.path("/var/lib/delta-gateway")
    with (
        mounted(lake, "-t", "tmpfs", "-o", "size=8m", "tmpfs"),
        mounted(state, "-t", "tmpfs", "-o", "size=8m,mode=0700", "tmpfs"),
    ):
        server = site.start()
        run(server, *SHOP[:4])
        for disk in (lake, state):
            fill(disk / "ballast")
        assert error_of(server, "INSERT INTO shop.orders SELECT id FROM range(100000)") == "DISK_FULL"
        assert error_of(server, "CREATE VIEW shop.more AS SELECT 1 AS x") == "CATALOG_NOT_WRITABLE"
        assert rows(server, "SELECT id FROM shop.last") == [["3"]]
        output = site.run("Full disk", server.ports()["http"])
        site.end("Full disk")
        assert "100%" in output
        assert float(re.findall(r"^gateway_state_failures_total (\S+)$", output, re.MULTILINE)[0]) > 0
        for disk in (lake, state):
            (disk / "ballast").unlink()
        run(server, "INSERT INTO shop.orders SELECT id FROM range(100000)", "CREATE VIEW shop.more AS SELECT 1 AS x")
        assert rows(server, "SELECT count(*) FROM shop.orders") == [["100003"]]
        assert rows(server, "SELECT x FROM shop.more") == [["1"]]
        site.stop(server)


def fill(file: Path) -> None:
    with suppress(OSError), file.open("wb", buffering=0) as ballast:
        while True:
            ballast.write(b"\0" * 4096)


def test_expired_certificate_is_replaced_without_a_restart(site: Site, tmp_path: Path) -> None:
    made: list[Certificate] = []
    for name, ends_in_days in (("old", -0.5), ("new", 30)):
        (tmp_path / name).mkdir()
        made.append(make_certificate(tmp_path / name, ends_in_days=ends_in_days))
    old, new = made
    for source, target in (
        (old.certificate, "/etc/delta-gateway/tls.crt"),
        (old.key, "/etc/delta-gateway/tls.key"),
        (new.certificate, "/root/new.crt"),
        (new.key, "/root/new.key"),
    ):
        site.path(target).write_bytes(source.read_bytes())
    site.configure(
        '[server]\ntls_certificate = "/etc/delta-gateway/tls.crt"\ntls_key = "/etc/delta-gateway/tls.key"\n' + CONFIG
    )
    server = site.start()
    port = server.ports()["http"]
    url = f"https://localhost:{port}/healthz"
    with pytest.raises(urllib.error.URLError, match="certificate has expired"):
        urllib.request.urlopen(url, context=old.client_context(), timeout=60)
    site.run("Expired certificate")
    site.run("Expired certificate")
    assert '"ok"' in site.run("Expired certificate", port)
    site.end("Expired certificate")
    with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
        urllib.request.urlopen(url, context=ssl.create_default_context(), timeout=60)
    with urllib.request.urlopen(url, context=new.client_context(), timeout=60) as answer:
        assert answer.status == 200
    assert len(server.output.split("starting Spark")) == 2
