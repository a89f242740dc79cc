"""beeline in interactive use: a million rows, log lines, a time limit, Ctrl-C, and the next statement after each."""

from __future__ import annotations

import signal
import subprocess
from contextlib import closing
from typing import Any

import pytest
from pyhive import hive

from tests.clients.drivers import JARS, java
from tests.clients.fix_server import RealServer
from tests.gateway.http.conftest import eventually

LIMIT_S = 1500
pytestmark = [pytest.mark.clients, pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(2 * LIMIT_S)]

ENDLESS = "SELECT count(*) FROM range(1000000000000) WHERE sha2(cast(id AS string), 256) = ''"


def command(server: RealServer, *arguments: str) -> list[str]:
    url = f"jdbc:hive2://127.0.0.1:{server.thrift_port}/default"
    return [java(), "-cp", JARS, "org.apache.hive.beeline.BeeLine", "-u", url, "-n", "ada", *arguments]


def run(server: RealServer, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(server, *arguments), capture_output=True, text=True, timeout=LIMIT_S, **options)


def test_a_million_rows(server: RealServer) -> None:
    """It polls the status before each row."""
    many = "SELECT id FROM range(1000000)"
    done = run(server, "--silent=true", "--outputformat=csv2", "--incremental=true", "-e", many)
    ids = [line for line in done.stdout.split() if line.isdigit()]  # without the header and the prompt
    assert (len(ids), ids[0], ids[-1]) == (1_000_000, "0", "999999"), done.stderr


def test_beeline_prints_statement_progress(server: RealServer) -> None:
    done = run(server, "-e", "SELECT count(*) FROM shop.orders WHERE order_date > '2020-01-01' AND order_id < 10")
    for line in ("planned in", "`shop`.`orders`", "finished after", "rows: 1"):
        assert line in done.stderr, done.stderr


def test_a_time_limit_an_error_and_what_follows(server: RealServer) -> None:
    script = f"SET STATEMENT_TIMEOUT = 1;\n{ENDLESS};\nSELECT nope;\nSELECT 'goes on';\n!reconnect\nSELECT 'again';\n"
    done = run(server, "--force=true", "--outputformat=csv2", input=script)
    assert "timed out" in done.stderr.lower() and "UNRESOLVED_COLUMN" in done.stderr
    assert "goes on" in done.stdout.split("\n") and "again" in done.stdout.split("\n")


def test_ctrl_c_ends_the_statement(server: RealServer) -> None:
    literal = "'" + ENDLESS.replace("'", "\\'") + "'"
    states = f"SELECT state FROM system.queries WHERE statement_text = {literal} ORDER BY created"
    with (
        closing(hive.connect("127.0.0.1", server.thrift_port, username="ada")) as connection,
        closing(connection.cursor()) as cursor,
    ):

        def last_state() -> str | None:
            cursor.execute(states)
            rows: list[tuple[str]] = cursor.fetchall()
            return rows[-1][0] if rows else None

        assert last_state() != "RUNNING"
        running = subprocess.Popen(
            command(server, "-e", ENDLESS), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        try:
            assert eventually(lambda: last_state() == "RUNNING" or running.poll() is not None, LIMIT_S)
            assert running.poll() is None
            running.send_signal(signal.SIGINT)
            assert eventually(lambda: last_state() == "CANCELED", LIMIT_S)
            running.communicate(timeout=LIMIT_S)
        finally:  # an endless statement would occupy the server of the other tests
            running.kill()
