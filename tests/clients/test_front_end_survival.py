"""Survival over every front end: clients that vanish or read slowly, malformed bytes, and a server that restarts."""

from __future__ import annotations

import os
import random
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator
from contextlib import suppress

import adbc_driver_manager.dbapi as adbc
import httpx2
import pyarrow as pa
import pytest

from tests.clients.fix_front_ends import open_place, place
from tests.clients.front_ends import (
    CONNECT,
    FLIGHT,
    FRONT_ENDS,
    STATEMENTS,
    THRIFT_HTTP,
    Client,
    Failed,
    FlightClient,
    Place,
    column,
    over,
)
from tests.gateway.http.conftest import eventually
from tests.paths import ROOT
from tests.server_process import ServerProcess

__all__ = ["place"]  # a fixture
pytestmark = [pytest.mark.clients, pytest.mark.spark]
slow = pytest.mark.slow

# The program of a client that runs a statement in a process of its own, which the tests end and stop.
_CLIENT = """
import sys
import threading
from tests.clients.front_ends import Place
place = Place(
    thrift={0.thrift}, http={0.http}, connect={0.connect}, postgres={0.postgres}, flight={0.flight}
)
rows = place.client(sys.argv[1], "bob").rows(sys.argv[2])
print(len(rows), rows[-1][0])
"""
# A vanished client is not noticed at once, since its statement continues for a client that comes back.
_CONTINUES = (STATEMENTS, THRIFT_HTTP, CONNECT)
ENDING = [name for name in FRONT_ENDS if name not in _CONTINUES]
# The parent of a server's process pauses 16 s before the fourth restart and 60 s before the fifth, and then gives up.
_KILLS_MAX = 3


def _start_client(place: Place, front_end: str, text: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-W", "ignore", "-c", _CLIENT.format(place), front_end, text]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _states(place: Place, mark: str) -> set[str | None]:
    text = (
        "SELECT state FROM system.gateway.queries "
        f"WHERE statement_text LIKE '%{mark}%' AND statement_text NOT LIKE '%LIKE%'"
    )
    with place.opened(STATEMENTS, "ann") as watch:
        return set(column(watch.rows(text)))


@slow
@pytest.mark.parametrize("front_end", ENDING)
def test_statement_of_a_client_that_vanishes_ends(place: Place, front_end: str) -> None:
    mark = f"vanished over {front_end}"
    text = f"SELECT count(*), '{mark}' FROM range(90000000000) WHERE sha2(CAST(id AS STRING), 512) = 'x'"
    client = _start_client(place, front_end, text)
    try:
        assert eventually(lambda: "RUNNING" in _states(place, mark), 60)
    finally:
        client.kill()
        client.communicate()
    assert eventually(lambda: _states(place, mark) <= {"CANCELED", "CLOSED"}, 60), _states(place, mark)
    with place.opened(front_end, "bob") as other:
        assert other.rows("SELECT 1") == [["1"]]


@slow
@over()
def test_clients_continue_while_another_one_reads_nothing(place: Place, front_end: str) -> None:
    mark = f"stopped over {front_end}"
    count = 20_000
    text = f"SELECT id, repeat('{mark} ', 4) AS c FROM range({count}) ORDER BY id"
    client = _start_client(place, front_end, text)
    try:
        assert eventually(lambda: bool(_states(place, mark)), 60)
        client.send_signal(signal.SIGSTOP)
        with place.opened(front_end, "bob") as other:
            for _ in range(3):
                assert other.rows("SELECT count(*) FROM range(1000)") == [["1000"]]
        client.send_signal(signal.SIGCONT)
        output, errors = client.communicate(timeout=120)
        assert output.split() == [str(count), str(count - 1)], errors[-2000:]
    finally:
        client.kill()
        client.communicate()


def _send_random_bytes(port: int, count: int, seed: int) -> None:
    chance = random.Random(seed)
    begins = (
        b"",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"POST / HTTP/1.1\r\n",
        b"\x01\0\0\0\x05PLAIN",
        b"\x16\x03\x01",
        b"\0\0\0\x08",
    )
    for number in range(count):
        content = begins[number % len(begins)] + chance.randbytes(chance.randrange(1, 300))
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 10) as connection:
            connection.settimeout(0.05)
            connection.sendall(content)
            with suppress(OSError):
                connection.recv(1000)


@slow
@over()
def test_malformed_bytes_leave_the_port_and_its_sessions_serving(place: Place, front_end: str) -> None:
    ports = {"hs2": place.thrift, "connect": place.connect, "flight": place.flight, "postgres": place.postgres}
    port = ports.get(front_end, place.http)
    with place.opened(front_end, "bob") as before:
        assert before.rows("SELECT 1") == [["1"]]
        _send_random_bytes(port, 100, FRONT_ENDS.index(front_end))
        assert before.rows("SELECT 2") == [["2"]]
    with place.opened(front_end, "bob") as after:
        assert after.rows("SELECT 3") == [["3"]]


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Iterator[tuple[ServerProcess, Place]]]:
    """Yields servers that the tests kill, each one for :data:`_KILLS_MAX` tests."""

    def start() -> Generator[tuple[ServerProcess, Place], None, None]:
        while True:
            with open_place(tmp_path_factory.mktemp("restarted")) as found:
                for _ in range(_KILLS_MAX):
                    yield found

    started = start()
    yield started
    started.close()


@pytest.fixture
def own(servers: Iterator[tuple[ServerProcess, Place]]) -> tuple[ServerProcess, Place]:
    """Returns a server that the test may kill once."""
    return next(servers)


def _answers(client: Client) -> bool:
    try:
        client.reconnect()
        return client.rows("SELECT 1") == [["1"]]
    except (Failed, OSError, httpx2.HTTPError):
        return False


def _opens(place: Place, front_end: str) -> bool:
    try:
        with place.opened(front_end, "bob") as client:
            return client.rows("SELECT 1") == [["1"]]
    except (Failed, OSError, httpx2.HTTPError):
        return False


@slow
@over()
def test_client_continues_after_the_server_is_killed(own: tuple[ServerProcess, Place], front_end: str) -> None:
    process, place = own
    assert eventually(lambda: _opens(place, front_end), 120)
    with place.opened(front_end, "bob") as client:
        assert client.rows("SELECT count(*) FROM s.open") == [["2"]]
        os.kill(process.server_pid, signal.SIGKILL)
        assert eventually(lambda: _answers(client), 120)
        assert client.rows("SELECT id FROM s.open ORDER BY id") == [["1"], ["2"]]
        assert client.rows("SELECT * FROM s.protected") == [["1", "north", "***"]]


@slow
def test_session_and_results_of_flight_continue_by_their_cookie(own: tuple[ServerProcess, Place]) -> None:
    process, place = own
    assert eventually(lambda: _opens(place, FLIGHT), 120)
    client = place.client(FLIGHT, "bob")
    assert isinstance(client, FlightClient)
    cookie = client.cookie()
    client.ticket_rows(client.info("DECLARE VARIABLE v INT DEFAULT 41", cookie))
    info = client.info("SELECT id FROM range(3000) ORDER BY id", cookie)
    os.kill(process.server_pid, signal.SIGKILL)
    found: list[list[list[str | None]]] = []

    def continues() -> bool:
        try:
            found.append(client.ticket_rows(client.info("SELECT v + 1", cookie)))
        except Failed as error:
            assert "SESSION_NOT_FOUND" not in error.message
            return False
        return True

    assert eventually(continues, 120)
    assert found[-1] == [["42"]]
    assert column(client.ticket_rows(info)) == [str(number) for number in range(3000)]
    client.close()


@slow
@pytest.mark.parametrize("moment", ["while rows arrive", "when all have arrived"])
def test_ingestion_is_whole_or_absent_after_the_server_is_killed(own: tuple[ServerProcess, Place], moment: str) -> None:
    process, place = own
    assert eventually(lambda: _opens(place, FLIGHT), 120)
    name = f"ingested_{moment.replace(' ', '_')}"
    with place.opened(FLIGHT, "ann") as client:
        assert isinstance(client, FlightClient)
        client.rows(f"CREATE TABLE s.{name} (id BIGINT)")

        def batches() -> Iterator[pa.RecordBatch]:
            for number in range(40):
                if number == 30 and moment == "while rows arrive":
                    os.kill(process.server_pid, signal.SIGKILL)
                yield pa.record_batch({"id": pa.array(range(number * 50_000, (number + 1) * 50_000), pa.int64())})
            if moment == "when all have arrived":
                threading.Timer(0.3, os.kill, [process.server_pid, signal.SIGKILL]).start()

        schema = pa.schema([("id", pa.int64())])

        def ingest(rows: Iterator[pa.RecordBatch]) -> int:
            reader = pa.RecordBatchReader.from_batches(schema, rows)
            with client.connection.cursor() as cursor:
                return int(cursor.adbc_ingest(name, reader, mode="append", db_schema_name="s"))

        with suppress(adbc.Error):
            ingest(batches())
        assert eventually(lambda: _answers(client), 120)
        ((count,),) = client.rows(f"SELECT count(*) FROM s.{name}")
        assert count in ("0", "2000000")
        assert moment != "while rows arrive" or count == "0"
        assert ingest(iter([pa.record_batch({"id": pa.array([-1], pa.int64())})])) == 1
        assert client.rows(f"SELECT count(*), count(DISTINCT id) FROM s.{name}") == [[str(int(count) + 1)] * 2]
