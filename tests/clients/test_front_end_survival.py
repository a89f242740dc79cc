"""A server that is killed while each front end has a session, a running write and a running query: all go on.

One kill serves all front ends. PyHive continues with its handles over a new connection; other clients by themselves.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import Any

import httpx2
import pytest

from tests.clients.fix_front_ends import start_front_ends
from tests.clients.front_ends import FRONT_ENDS, LACKING, SESSION, Client, Failed, Place, column, over
from tests.gateway.http.conftest import eventually
from tests.server_process import START_S, ServerProcess

pytestmark = [pytest.mark.clients, pytest.mark.spark, pytest.mark.timeout(600)]

ROWS = 100_000
SLOW = "sha2(repeat(CAST(id AS STRING), 2500), 512) > ''"


@dataclass(frozen=True)
class Survivor:
    """A client of a front end, with what it began before the kill."""

    client: Client
    table: str
    write: Any
    query: Any


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Place, ServerProcess]]:
    process, found = start_front_ends(tmp_path_factory.mktemp("survival"))
    yield found, process
    process.popen.send_signal(signal.SIGTERM)
    with suppress(Exception):
        process.end()
    if process.popen.poll() is None:
        process.popen.kill()


@pytest.fixture(scope="module")
def survivors(place: tuple[Place, ServerProcess]) -> Iterator[dict[str, Survivor]]:
    found, process = place
    with ExitStack() as opened:
        watch = opened.enter_context(found.opened("statements", "ann"))
        clients = {name: opened.enter_context(found.opened(name, "ann")) for name in FRONT_ENDS}
        for name, client in clients.items():
            _prepare(client, name)
        survivors = {name: _begun(client, name) for name, client in clients.items()}
        text = "SELECT count(*) FROM system.gateway.queries WHERE statement_text LIKE '%/* {} */%' AND ended IS NULL"
        for kind in ("write", "query"):
            assert watch.rows(text.format(kind)) == [[str(len(FRONT_ENDS) + 1)]], "statements that run, and this one"
        _kill(process)
        assert eventually(lambda: _is_ready(found), START_S)
        for survivor in survivors.values():
            survivor.client.reconnect()
        yield survivors


def _table(name: str) -> str:
    return f"survived_{name.replace('-', '_')}"


def _prepare(client: Client, name: str) -> None:
    client.rows(f"CREATE TABLE {_table(name)} (id BIGINT)")
    if (name, SESSION) not in LACKING:
        client.rows("SET spark.sql.shuffle.partitions = 7")
        client.rows("CREATE TEMPORARY VIEW answer AS SELECT 42 AS value")
        client.rows("DECLARE VARIABLE x INT DEFAULT 41")


def _begun(client: Client, name: str) -> Survivor:
    table = _table(name)
    write = client.begin(f"INSERT INTO {table} /* write */ SELECT id FROM range({ROWS}) WHERE {SLOW}")
    query = client.begin(f"SELECT /* query */ count(*), '{name}' FROM range({ROWS}) WHERE {SLOW}")
    return Survivor(client, table, write, query)


def _kill(process: ServerProcess) -> None:
    """Kills the server; its parent starts the next one on the same ports."""
    killed = process.server_pid
    os.kill(killed, signal.SIGKILL)

    def is_back() -> bool:
        with suppress(ValueError):  # there is no server at this moment
            return process.server_pid != killed
        return False

    assert eventually(is_back, START_S)


def _is_ready(place: Place) -> bool:
    with suppress(Failed, OSError, httpx2.HTTPError), place.opened("statements", "ann") as client:
        return client.rows("SELECT 1") == [["1"]]
    return False


@over()
def test_write_that_ran_is_committed_once(survivors: dict[str, Survivor], front_end: str) -> None:
    survivor = survivors[front_end]
    counts = survivor.client.finish(survivor.write)
    assert counts == [] or counts[0][0] == str(ROWS)
    written = f"SELECT count(*), count(DISTINCT id), min(id), max(id) FROM {survivor.table}"
    assert survivor.client.rows(written) == [[str(ROWS), str(ROWS), "0", str(ROWS - 1)]]
    assert column(survivor.client.rows(f"DESCRIBE HISTORY {survivor.table}")) == ["1", "0"]


@over()
def test_query_that_ran_is_answered(survivors: dict[str, Survivor], front_end: str) -> None:
    survivor = survivors[front_end]
    assert survivor.client.finish(survivor.query) == [[str(ROWS), front_end]]


@over(SESSION)
def test_session_has_its_state(survivors: dict[str, Survivor], front_end: str) -> None:
    client = survivors[front_end].client
    assert client.rows("SELECT value, x + 1 FROM answer") == [["42", "42"]]
    assert client.rows("SET spark.sql.shuffle.partitions")[0][1] == "7"


@over()
def test_user_is_the_one_who_logged_in(survivors: dict[str, Survivor], front_end: str) -> None:
    assert survivors[front_end].client.rows("SELECT current_user()") == [["ann"]]


@over()
def test_statement_is_unknown_to_another_user(
    survivors: dict[str, Survivor], place: tuple[Place, ServerProcess], front_end: str
) -> None:
    with place[0].opened(front_end, "bob") as bob, pytest.raises(Failed) as caught:
        bob.finish(survivors[front_end].query)
    assert (caught.value.condition or "").startswith("INVALID_HANDLE"), caught.value.message
