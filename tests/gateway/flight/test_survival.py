"""Malformed messages, random bytes, slow readers and too many clients leave the port serving."""

from __future__ import annotations

import random
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import flight

from gateway.flight.messages import new_message, pack
from tests.gateway.arrow_engine import modifies
from tests.gateway.flight.lab import Lab, act, basic_header, prepared, query_info, rows_of
from tests.gateway.flight.test_log_ins import Users
from tests.gateway.http.conftest import eventually

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
# Forwarded by the port's own listener, as for clients on other machines.
ANY_HOST = "0.0.0.0"


@pytest.fixture(params=["127.0.0.1", ANY_HOST])
def either(request: pytest.FixtureRequest) -> Iterator[Lab]:
    """Yields a port with gRPC's listener, and one with the port's own."""
    lab = Lab(host=request.param)
    yield lab
    lab.close()


def _streams(port: int, count: int, seed: int) -> None:
    """Sends random bytes on connections of their own, some of them after the beginning of HTTP/2."""
    chance = random.Random(seed)
    for number in range(count):
        content = chance.randbytes(chance.randrange(1, 400))
        if number % 2:
            frame = chance.randrange(12).to_bytes(1) + chance.randbytes(1) + chance.randbytes(4)
            content = _PREFACE + b"\0\0\0\4\0\0\0\0\0" + len(content).to_bytes(3) + frame + content
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 10) as connection:
            connection.settimeout(0.05)
            connection.sendall(content)
            with suppress(OSError):
                connection.recv(1000)


_MESSAGES = (
    pack("CommandStatementQuery", query="SELECT 1"),
    pack("CommandGetTables", catalog="c", table_types=["TABLE"], include_schema=True),
    pack("CommandGetSqlInfo", info=[0, 1, 2]),
    pack("CommandPreparedStatementQuery", prepared_statement_handle=b"x" * 24),
    pack("TicketStatementQuery", statement_handle=b"x" * 48),
    pack("ActionCreatePreparedStatementRequest", query="SELECT 1"),
)
_ACTIONS = ("CreatePreparedStatement", "CancelFlightInfo", "SetSessionOptions", "RenewFlightEndpoint", "CloseSession")


def _mutated(chance: random.Random) -> bytes:
    content = bytearray(chance.choice(_MESSAGES))
    for _ in range(chance.randrange(1, 6)):
        at = chance.randrange(len(content))
        match chance.randrange(3):
            case 0:
                content[at] = chance.randrange(256)
            case 1:
                del content[at : at + chance.randrange(1, 20)]
            case _:  # one of three
                content[at:at] = chance.randbytes(chance.randrange(1, 20))
        content = content or bytearray(b"\0")
    return bytes(content)


def _calls(lab: Lab, count: int, seed: int) -> None:
    """Calls methods with mutated messages."""
    chance, client = random.Random(seed), lab.client()
    options = flight.FlightCallOptions(timeout=60)

    def put(content: bytes) -> None:
        descriptor = flight.FlightDescriptor.for_command(content)
        writer, _ = client.do_put(descriptor, pa.schema([("a", pa.int64())]), options)
        with suppress(flight.FlightError, pa.ArrowException):
            writer.write_batch(pa.record_batch({"a": [1]}))
        writer.close()

    methods: tuple[Callable[[bytes], Any], ...] = (
        lambda content: client.get_flight_info(flight.FlightDescriptor.for_command(content), options),
        lambda content: client.get_schema(flight.FlightDescriptor.for_command(content), options),
        lambda content: client.do_get(flight.Ticket(content), options).read_all(),
        lambda content: act(client, chance.choice(_ACTIONS), content, options),
        put,
    )
    for number in range(count):
        try:
            methods[number % len(methods)](_mutated(chance))
        except (flight.FlightError, pa.ArrowException) as error:
            assert "Traceback" not in str(error)


def _ensure_survives(lab: Lab, count: int, seed: int) -> None:
    _streams(lab.port, count // 2, seed)
    _calls(lab, count // 2, seed)
    assert rows_of(lab.client(), "SELECT 1").num_rows == 1


def test_random_bytes_leave_the_port_serving(either: Lab) -> None:
    _ensure_survives(either, 200, 1)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_many_random_bytes_leave_the_port_serving(either: Lab) -> None:
    _ensure_survives(either, 10_000, 2)
    assert "flight-watch" in [thread.name for thread in threading.enumerate()]


def test_call_beyond_the_limit_is_rejected_and_waiting_ones_go_on() -> None:
    lab = Lab(calls_max=2)
    try:
        clients, found = [lab.client() for _ in range(2)], []

        def run(client: flight.FlightClient) -> None:
            found.append(query_info(client, "SLEEP 3").total_records)

        threads = [threading.Thread(target=run, args=[client]) for client in clients]
        for thread in threads:
            thread.start()
        assert eventually(lambda: len(lab.engine.runs) == 2)
        with pytest.raises(flight.FlightUnavailableError, match="FLIGHT_CALLS_EXCEEDED"):
            rows_of(lab.client(), "SELECT 1")
        for thread in threads:
            thread.join()
        assert found == [1, 1]
        assert rows_of(lab.client(), "SELECT 1").num_rows == 1
    finally:
        lab.close()


@pytest.mark.parametrize("host", ["127.0.0.1", ANY_HOST])
def test_connection_beyond_the_limit_is_closed_until_another_ends(host: str) -> None:
    lab = Lab(host=host, connections_max=2)
    try:
        opened = [socket.create_connection(("127.0.0.1", lab.port), 10) for _ in range(2)]
        assert eventually(lambda: lab.server.connection_count() == 2)
        with socket.create_connection(("127.0.0.1", lab.port), 10) as third:
            while third.recv(1000):
                pass
        opened[0].close()
        assert eventually(lambda: lab.server.connection_count() == 1)
        assert rows_of(lab.client(), "SELECT 1").num_rows == 1
        opened[1].close()
    finally:
        lab.close()


def test_message_that_is_too_large_is_rejected() -> None:
    lab = Lab(command_bytes_max=1000)
    try:
        with pytest.raises(flight.FlightError, match="FLIGHT_MESSAGE_TOO_LARGE"):
            query_info(lab.client(), "x" * 2000)
        assert rows_of(lab.client(), "SELECT 1").num_rows == 1
    finally:
        lab.close()


def test_large_message_of_another_machine_ends_its_connection() -> None:
    lab = Lab(host=ANY_HOST, message_bytes_max=100_000)
    try:
        with pytest.raises(flight.FlightUnavailableError):
            query_info(lab.client(), "x" * 200_000)
        assert rows_of(lab.client(), "SELECT 1").num_rows == 1
    finally:
        lab.close()


def test_rows_of_an_ingestion_beyond_the_limit_of_the_spool_are_rejected() -> None:
    lab = Lab(spool_bytes_max=1 << 20)
    try:
        with lab.connect().cursor() as cursor:
            with pytest.raises(Exception, match="SPOOL_FULL"):
                cursor.adbc_ingest("t", pa.table({"a": range(1 << 20)}), mode="create")
        assert lab.registry.operations() == ()
        assert lab.spool.held_bytes() == 0
        assert not list(lab.spool.folder.glob("rows-*"))
    finally:
        lab.close()


_ENDLESS = """
import sys
import pyarrow as pa
from pyarrow import flight
client = flight.FlightClient(sys.argv[1])
batch = pa.record_batch({"a": range(1000)})
writer, _ = client.do_put(flight.FlightDescriptor.for_command(bytes.fromhex(sys.argv[2])), batch.schema)
for number in range(1_000_000):
    writer.write_batch(batch)
    if number == 200:
        print("sent", flush=True)
"""


@pytest.mark.parametrize("kind", ["CommandStatementIngest", "CommandPreparedStatementUpdate"])
def test_rows_of_a_client_that_is_killed_are_not_written(either: Lab, kind: str) -> None:
    either.engine.answers["INSERT INTO t VALUES (?)"] = modifies(1)
    if kind == "CommandStatementIngest":
        options = {"if_not_exist": 1, "if_exists": 2}
        command = pack(kind, table="t", table_definition_options=options)
    else:
        handle = prepared(either.client(), "INSERT INTO t VALUES (?)").prepared_statement_handle
        command = pack(kind, prepared_statement_handle=handle)
    for _ in range(3):
        arguments = [sys.executable, "-c", _ENDLESS, either.location, command.hex()]
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as client:
            assert client.stdout is not None
            client.stdout.readline()
            client.kill()
        assert eventually(lambda: either.spool.held_bytes() == 0 and not list(either.spool.folder.glob("rows-*")))
    assert rows_of(either.client(), "SELECT 1").num_rows == 1
    assert [run.text for run in either.engine.runs if run.text.startswith(("INSERT", "CREATE"))] == []


def test_reader_that_reads_no_further_does_not_keep_the_port_from_ending(either: Lab) -> None:
    client = either.client()
    reader = client.do_get(query_info(client, "ROWS 3000000").endpoints[0].ticket)
    reader.read_chunk()
    either.server.stop()
    with pytest.raises((flight.FlightError, pa.ArrowException)):
        reader.read_all()


def test_client_that_vanishes_releases_its_running_statement(either: Lab) -> None:
    either.engine.answers["DELETE FROM t"] = modifies(1)
    client = either.client()
    reader = client.do_get(query_info(client, "ROWS 3000000").endpoints[0].ticket)
    reader.read_chunk()
    reader.cancel()
    del reader  # with which its connection ends
    client.close()
    assert eventually(lambda: either.registry.sessions() == ())
    assert either.registry.operations() == ()
    assert rows_of(either.client(), "SELECT 1").num_rows == 1


def test_many_session_options_at_once_are_rejected(lab: Lab) -> None:
    request = new_message("SetSessionOptionsRequest")
    for number in range(1000):
        request.session_options[f"no.setting.{number}"].string_value = "x"
    with pytest.raises(flight.FlightError, match="INVALID_FLIGHT_MESSAGE"):
        act(lab.client(), "SetSessionOptions", request.SerializeToString())


def test_call_without_credentials_takes_no_place_of_others() -> None:
    lab = Lab(authenticator=Users(), calls_max=2)
    try:
        descriptor = flight.FlightDescriptor.for_command(pack("CommandStatementUpdate", query="SELECT 1"))
        client = lab.client()
        waiting: list[object] = []
        for _ in range(3):  # their rows never arrive; a call may also be rejected before it is returned
            with suppress(flight.FlightUnauthenticatedError):
                waiting.append(client.do_exchange(descriptor))
        options = basic_header("bob", "bob")
        assert eventually(lambda: rows_of(lab.client(), "SELECT 1", options).num_rows == 1)
        del waiting
    finally:
        lab.close()
