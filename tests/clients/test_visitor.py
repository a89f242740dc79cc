"""A visitor's first hour: the built wheel in an environment of its own, the console, an own table, PyHive, dbt and
Superset, each on the same server.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from playwright.sync_api import Browser, expect
from pyhive import hive

from tests.certificates import make_certificate
from tests.clients.console_pages import browser, cell, opened, run
from tests.clients.fix_server import RealServer
from tests.clients.test_dbt import Dbt
from tests.clients.test_superset import TABLES, superset_report
from tests.gateway.http.conftest import eventually
from tests.paths import ROOT
from tests.server_process import ServerProcess

__all__ = ["browser"]
pytestmark = [pytest.mark.clients, pytest.mark.console, pytest.mark.slow, pytest.mark.timeout(3600)]

INSTALL_S = 1800


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns the command that the wheel installs, in an environment with nothing else."""
    folder = tmp_path_factory.mktemp("visitor")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run(pip, check=True, timeout=INSTALL_S)
    (wheel,) = folder.glob("delta_gateway-*.whl")
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv" / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", wheel], check=True, timeout=INSTALL_S)
    return folder / "venv" / "bin" / "delta-gateway"


@pytest.fixture(scope="module")
def visited(program: Path) -> Iterator[RealServer]:
    """Serves without a folder, so that the sample lake is written to the working directory."""
    folder = program.parents[2] / "work"
    folder.mkdir()
    certificate = make_certificate(folder)
    installed = type("InstalledServer", (ServerProcess,), {"program": (str(program),), "cwd": folder})
    process: ServerProcess = installed(folder)
    try:
        ports = process.ports()
        yield RealServer(process, folder / "sample-lake", ports["thrift"], ports["http"], 0, 0, certificate)
        process.popen.send_signal(signal.SIGTERM)
        assert process.end() == 0, process.output
    finally:
        if process.popen.poll() is None:
            process.popen.kill()
        process.end()


def test_the_start_says_where_the_console_is(visited: RealServer) -> None:
    assert eventually(lambda: f"http://127.0.0.1:{visited.http_port}" in visited.process.output)
    assert visited.lake.is_dir()


def test_the_console_creates_a_table_that_other_readers_open(visited: RealServer, browser: Browser) -> None:
    with opened(browser, f"http://localhost:{visited.http_port}/") as page:
        run(page, "CREATE TABLE shop.visits AS SELECT id, id * 2 AS pages FROM range(3)")
        expect(page.locator(".summary")).to_contain_text("0 rows")
        run(page, "SELECT sum(pages) AS pages FROM shop.visits")
        cell(page, "6")
    assert DeltaTable(str(visited.lake / "shop" / "visits")).to_pyarrow_table().num_rows == 3


def test_an_own_table_appears_without_a_restart(visited: RealServer) -> None:
    write_deltalake(str(visited.lake / "mine" / "numbers"), pa.table({"n": [1, 2, 39]}))
    with closing(hive.connect("127.0.0.1", visited.thrift_port)) as connection:
        cursor = connection.cursor()
        cursor.execute("INSERT INTO mine.numbers VALUES (8)")
        cursor.execute("SELECT sum(n) FROM mine.numbers")
        assert cursor.fetchall() == [(50,)]


def test_dbt_builds_its_project(visited: RealServer, tmp_path: Path) -> None:
    Dbt(tmp_path / "project", visited, "thrift").build()


def test_superset_explores_the_sample(visited: RealServer, tmp_path: Path) -> None:
    found = superset_report(visited, tmp_path, "hive")
    assert {*TABLES, "visits"} == set(found["tables"]) and found["preview"] == 5
