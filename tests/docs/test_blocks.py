"""Runs the code blocks of the documentation against one server over the sample lake.

The blocks of a page run in order: SQL in one session whose schema has the page's name, shell and Python in a scratch
folder. Ports and the folder `/data` in the text are replaced by the ones of the test.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.sample.lake import ensure_sample_lake
from gateway.configuration.loader import load_config
from tests.clients.http_client import HttpClient
from tests.docs.blocks import RUN, SHOWN, Block, blocks_of, matches, pages, statements_of
from tests.paths import ROOT
from tests.server_process import ServerProcess

pytestmark = [pytest.mark.clients, pytest.mark.spark]

BLOCKS = [block for path in pages() for block in blocks_of(path)]
CONFIGURATIONS = [block for block in BLOCKS if block.is_run and block.language == "toml"]
TIMEOUT_S = 240


@dataclass(frozen=True)
class Site:
    """The server, and the folder that stands for `/data`."""

    folder: Path
    thrift_port: int
    http_port: int
    connect_port: int
    flight_port: int

    def local(self, text: str) -> str:
        """Returns text with the ports and folders of this run."""
        text = re.sub(r"\b10000\b", str(self.thrift_port), text)
        text = re.sub(r"\b8080\b", str(self.http_port), text)
        text = re.sub(r"\b15002\b", str(self.connect_port), text)
        text = re.sub(r"\b32010\b", str(self.flight_port), text)
        text = re.sub(r"(?<![\w.])/(data|backup)/", rf"{self.folder}/\1/", text)
        return text.replace("/var/lib/delta-gateway/", f"{self.folder}/state/")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    folder = tmp_path_factory.mktemp("docs")
    lake = folder / "data/lake"
    ensure_sample_lake(str(lake))
    _write_landing(folder / "data/landing")
    _write_older_tables(folder / "data")
    process = ServerProcess(
        folder,
        str(lake),
        GATEWAY_SPARK_DRIVER_MEMORY="900m",
        GATEWAY_LAKE_ALLOWED_ROOTS=f'["{folder}/data"]',
        GATEWAY_LAKE_CATALOG_FOLDER=str(folder / "state/catalog"),
        GATEWAY_AUDIT_FOLDER=str(folder / "state/audit"),
        GATEWAY_SERVER_CONNECT_PORT="0",
        GATEWAY_SERVER_FLIGHT_PORT="0",
    )
    try:
        ports = process.ports()
        _write_programs(folder, ports["http"])
        yield Site(folder, ports["thrift"], ports["http"], ports["connect"], ports["flight"])
        process.popen.send_signal(signal.SIGTERM)
        assert process.end() == 0, process.output
        assert "internal error" not in process.output, process.output
    finally:
        if process.popen.poll() is None:
            process.popen.kill()
        process.end()


def _write_landing(folder: Path) -> None:
    """Writes the files that the examples load."""
    (folder / "in").mkdir(parents=True)
    (folder / "2024-01.csv").write_text("id,day,customer,amount\n10,2024-01-05,ann,7.50\n11,2024-01-06,bob,8.25\n")
    (folder / "in/a.csv").write_text("id,n\n1,one\n2,two\n")


def _write_older_tables(data: Path) -> None:
    """Writes what the examples register and convert: a Delta table outside of the lake, and folders of Parquet."""
    shutil.copytree(data / "lake/weather", data / "warehouse/sales.db/orders")
    rows = pa.table({"id": [1, 2], "page": ["/", "/a"]})
    for folder in ("lake/raw/clicks/day=2024-01-02", "lake/raw/visits/day=2024-01-02", "landing/customers"):
        (data / folder).mkdir(parents=True)
        pq.write_table(rows, data / folder / "part-0.parquet")


def _write_programs(folder: Path, http_port: int) -> None:
    """Writes a `delta-gateway` whose `sql` finds this server, as it would find one on the default port, and an
    `activate` without effect.
    """
    (folder / "bin").mkdir()
    (folder / "scratch/.venv/bin").mkdir(parents=True)
    (folder / "scratch/.venv/bin/activate").touch()
    program = folder / "bin/delta-gateway"
    program.write_text(
        f'#!/bin/sh\ncase "$1 $*" in\n  "sql "*--server*) ;;\n'
        f'  "sql "*) shift; set -- sql --server http://127.0.0.1:{http_port} "$@" ;;\nesac\n'
        f'exec {sys.executable} -m gateway "$@"\n'
    )
    program.chmod(0o755)


PAGES = sorted({block.page for block in BLOCKS if block.is_run and block.language != "toml"})


@pytest.mark.parametrize("page", PAGES)
def test_blocks_of_a_page_run_in_order(page: str, site: Site) -> None:
    schema = re.sub(r"\W", "_", page.removeprefix("docs/").removesuffix(".md")).lower()
    client = HttpClient(site.http_port).session()
    client.run(f"CREATE SCHEMA {schema}")
    client.run(f"USE {schema}")
    for block in (block for block in BLOCKS if block.page == page and block.is_run):
        if block.language == "sql":
            _run_sql(client, block, site)
        elif block.language == "sh":
            _run(block, site, ["bash", "-euo", "pipefail", "-c", site.local(block.text)])
        elif block.language == "python":
            _run(block, site, [sys.executable, "-c", site.local(block.text)])
    client.close()


def _run_sql(client: HttpClient, block: Block, site: Site) -> None:
    """Runs the statements of a block; the last one has the expected output, or fails with the expected error."""
    *texts, last = statements_of(site.local(block.text))
    for text in texts:
        _ensure_succeeds(client, text, block)
    if block.expected is not None and block.expected.startswith("["):
        answer = client.wait(client.submit(last))
        assert answer["status"]["state"] == "FAILED", f"{block.page}:{block.line}: {last} did not fail"
        assert matches(block.expected, answer["status"]["error"]["message"]), answer["status"]["error"]
        return
    answer = _ensure_succeeds(client, last, block)
    if block.expected is not None:
        assert matches(_plain(block.expected), _output(answer)), f"{block.page}:{block.line}: {last}\n{_output(answer)}"


def _ensure_succeeds(client: HttpClient, text: str, block: Block) -> dict[str, Any]:
    answer = client.wait(client.submit(text))
    assert answer["status"]["state"] == "SUCCEEDED", f"{block.page}:{block.line}: {text}\n{answer['status']}"
    return answer


def _output(answer: dict[str, Any]) -> str:
    """Returns the header and the rows, with one space between cells."""
    header = [column["name"] for column in answer["manifest"]["schema"]["columns"]]
    rows = answer["result"].get("data_array", [])
    lines = [header, *([cell if cell is not None else "NULL" for cell in row] for row in rows)]
    return _plain("\n".join(" ".join(line) for line in lines))


def _plain(text: str) -> str:
    """Returns a table without its alignment, its rule and the number of rows."""
    lines = (" ".join(line.replace(" | ", " ").split()) for line in text.strip().splitlines())
    return "\n".join(line for line in lines if not re.fullmatch(r"[-+ ]+|\(\d+ rows?\)", line))


def _run(block: Block, site: Site, command: list[str]) -> None:
    scratch = site.folder / "scratch"
    environment = os.environ | {
        "PATH": f"{site.folder}/bin:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "HOME": str(scratch),
    }
    done = subprocess.run(
        command,
        cwd=scratch,
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        stdin=subprocess.DEVNULL,
    )
    where = f"{block.page}:{block.line}: {block.text}"
    assert done.returncode == 0, f"{where}\n{done.stdout}\n{done.stderr}"
    if block.expected is not None:
        assert matches(block.expected, done.stdout), f"{where}\n{done.stdout}"


@pytest.mark.parametrize(
    "block",
    [
        pytest.param(block, id=f"{block.page}:{block.line}")
        for block in BLOCKS
        if block.language == "toml" and block.is_run
    ],
)
def test_configuration_block_has_known_settings(block: Block, tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text(block.text, encoding="utf-8")
    load_config(file, {}, {})


def test_every_block_has_a_language_and_a_reason_if_it_is_not_run() -> None:
    wrong = [f"{block.page}:{block.line}" for block in BLOCKS if block.language not in (*RUN, *SHOWN)]
    assert wrong == []


def test_shell_is_there() -> None:
    assert shutil.which("bash") and shutil.which("curl")
