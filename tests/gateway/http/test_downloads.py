"""Result files, generated while they are sent: slow, disconnected and failing clients, over real connections."""

from __future__ import annotations

import http.client
import io
import json
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from catalog.conditions import NotInParquet
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.runtime.results import ResultStream, sql_field
from gateway.http import result_files
from gateway.http.result_files import FileFormat
from gateway.process.tls import TlsFiles, TlsServer
from gateway.sessions.operation import Operation
from tests.certificates import make_certificate
from tests.gateway.arrow_engine import rows
from tests.gateway.http.conftest import STATEMENTS, Live, eventually, serving_http

ROWS = 40_000
# More than both sides' socket buffers hold.
WIDE = rows(pa.table({"s": ["x" * (1 << 20)] * 24}))


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_files, "_PIECE_BYTES", 50_000)
    monkeypatch.setattr(result_files, "_ROW_GROUP_BYTES", 100_000)


def submit(live: Live, text: str) -> str:
    """Returns an ended statement's path."""
    connection = http.client.HTTPConnection("127.0.0.1", live.port, timeout=60)
    body = json.dumps({"statement": text, "disposition": "EXTERNAL_LINKS", "wait_timeout": "50s"})
    connection.request("POST", STATEMENTS, body, {"Content-Type": "application/json"})
    answer = json.loads(connection.getresponse().read())
    connection.close()
    assert answer["status"]["state"] == "SUCCEEDED", answer
    return f"{STATEMENTS}/{answer['statement_id']}"


def ids(content: bytes, format_: str) -> list[int]:
    match format_:
        case "csv":
            head, *lines = content.decode().splitlines()
            assert head == "id,name"
            return [int(line.partition(",")[0]) for line in lines]
        case "parquet":
            file = pq.ParquetFile(io.BytesIO(content))
            assert file.num_row_groups > 3
            return list(file.read().column("id").to_pylist())
        case _:
            return list(pa.ipc.open_stream(content).read_all().column("id").to_pylist())


@pytest.mark.usefixtures("small_pieces")
def test_a_file_comes_in_pieces_and_its_connection_goes_on(live: Live) -> None:
    path = submit(live, f"ROWS {ROWS}")
    connection = http.client.HTTPConnection("127.0.0.1", live.port, timeout=60)
    for format_ in ("csv", "parquet", "arrow"):
        connection.request("GET", f"{path}/result/file?format={format_}")
        answer = connection.getresponse()
        assert answer.getheader("Transfer-Encoding") == "chunked" and answer.getheader("Content-Length") is None
        assert ids(answer.read(), format_) == list(range(ROWS))
    connection.request("HEAD", f"{path}/result/file?format=csv")
    assert connection.getresponse().read() == b""
    connection.request("GET", "/healthz")
    assert connection.getresponse().read() == b'{"status":"ok"}\n'


@pytest.mark.usefixtures("small_pieces")
def test_an_old_client_gets_the_file_to_the_end_of_its_connection(live: Live) -> None:
    path = submit(live, f"ROWS {ROWS}")
    with socket.create_connection(("127.0.0.1", live.port), timeout=60) as connection:
        connection.sendall(f"GET {path}/result/file HTTP/1.0\r\nHost: localhost\r\n\r\n".encode())
        head, _, content = b"".join(iter(lambda: connection.recv(1 << 16), b"")).partition(b"\r\n\r\n")
    assert b"chunked" not in head and ids(content, "csv") == list(range(ROWS))


def begin(live: Live, path: str) -> socket.socket:
    """Returns a download whose client does not read."""
    connection = socket.create_connection(("127.0.0.1", live.port), timeout=60)
    connection.sendall(f"GET {path}/result/file HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
    return connection


def test_clients_that_do_not_read_hold_no_worker_and_little_memory(live: Live) -> None:
    """Twenty clients with six workers."""
    live.engine.answers["WIDE"] = WIDE
    path = submit(live, "WIDE")
    stalled = [begin(live, path) for _ in range(20)]
    assert eventually(lambda: live.server.held_bytes() > 20 << 20)
    assert submit(live, "SELECT 1")
    assert live.server.held_bytes() < 20 * (5 << 20), "no more than a piece of each"
    received = http.client.HTTPResponse(stalled[0])
    received.begin()
    assert len(received.read()) == 24 * ((1 << 20) + 1) + len("s\n"), "the slow one gets it all the same"
    for connection in stalled:
        connection.close()
    assert eventually(lambda: live.server.held_bytes() == 0)


class Watched:
    """A result whose files report when they are abandoned."""

    def __init__(self) -> None:
        self.made = self.ended = 0

    def __call__(self, *given: object) -> Iterator[bytes]:
        try:
            yield b"begun"
            while True:
                self.made += 1
                yield bytes(1 << 20)
        finally:
            self.ended += 1


def test_a_download_ends_with_its_client(live: Live, monkeypatch: pytest.MonkeyPatch) -> None:
    endless = Watched()
    monkeypatch.setattr("gateway.http.result_routes.result_file", endless)
    path = submit(live, "SELECT 1")
    connection = begin(live, path)
    assert connection.recv(100).startswith(b"HTTP/1.1 200 OK")
    assert endless.ended == 0
    connection.close()
    assert eventually(lambda: endless.ended == 1)


def test_a_client_that_stops_reading_is_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    endless = Watched()
    monkeypatch.setattr("gateway.http.result_routes.result_file", endless)
    with serving_http(write_s=0.3) as live:
        connection = begin(live, submit(live, "SELECT 1"))
        assert eventually(lambda: endless.ended == 1 and live.server.held_bytes() == 0)
        connection.close()


def test_a_stop_does_not_wait_for_downloads(monkeypatch: pytest.MonkeyPatch) -> None:
    endless = Watched()
    monkeypatch.setattr("gateway.http.result_routes.result_file", endless)
    monkeypatch.setattr("gateway.http.server._STOP_S", 0.2)
    with serving_http() as live:
        connection = begin(live, submit(live, "SELECT 1"))
        assert eventually(lambda: endless.made > 1)
    assert eventually(lambda: endless.ended == 1)  # a thread may be generating a piece
    connection.close()


@pytest.mark.usefixtures("small_pieces")
def test_a_file_that_cannot_be_made_to_its_end_has_none(live: Live) -> None:
    path = submit(live, f"ROWS {ROWS}")
    statement_id = path.rpartition("/")[2]
    connection = http.client.HTTPConnection("127.0.0.1", live.port, timeout=60)
    made = 0

    def failing(*given: object) -> Iterator[bytes]:
        nonlocal made
        for piece in result_files._csv(*given):  # type: ignore[arg-type]
            made += 1
            if made == 3:
                live.registry.drain(0)  # the statement is closed
            yield piece

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gateway.http.result_routes.result_file", lambda operation, _: failing(operation))
        connection.request("GET", f"{path}/result/file")
        answer = connection.getresponse()
        with pytest.raises(http.client.IncompleteRead):
            answer.read()
    assert statement_id and live.deaths == []


def test_an_error_before_the_first_byte_is_an_error(live: Live) -> None:
    def broken(_: StatementRequest) -> ResultStream:
        schema = pa.schema([sql_field("id", pa.int64(), "bigint")])
        return ResultStream(schema=schema, source=())

    live.engine.answers["BROKEN"] = broken
    path = submit(live, "BROKEN")
    connection = http.client.HTTPConnection("127.0.0.1", live.port, timeout=60)
    connection.request("DELETE", path)
    assert connection.getresponse().read()
    connection.request("GET", f"{path}/result/file")
    answer = connection.getresponse()
    assert answer.status == 404 and json.loads(answer.read())["error_code"] == "RESOURCE_DOES_NOT_EXIST"


@pytest.mark.parametrize(
    ("names", "distinct"),
    [
        (["a", "b"], ["a", "b"]),
        (["a", "a", "a"], ["a", "a_1", "a_2"]),
        (["a_2", "a", "a"], ["a_2", "a", "a_3"]),
        (["a", "a", "a_1"], ["a", "a_2", "a_1"]),
    ],
)
def test_columns_of_parquet_have_names_of_their_own(names: list[str], distinct: list[str]) -> None:
    assert result_files._distinct(names) == distinct


def test_a_type_that_parquet_lacks_is_refused_by_name() -> None:
    serve = rows(pa.table([pa.array([{}], pa.struct([]))], pa.schema([sql_field("s", pa.struct([]), "struct<>")])))
    operation = Operation(Identity(principal="ann"), "SELECT struct()", serve, result_bytes_max=1 << 20)
    operation.run()
    with pytest.raises(NotInParquet, match="CSV"):
        next(result_files.result_file(operation, FileFormat.PARQUET))


@pytest.mark.parametrize("is_encrypted", [False, True], ids=["plain", "TLS"])
def test_a_file_that_is_cut_for_an_old_client_is_reset(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, is_encrypted: bool
) -> None:
    """Neither TLS nor the connection reports a clean end."""

    def cut(*given: object) -> Iterator[bytes]:
        yield b"id\n1\n"
        raise RuntimeError("the statement was closed")

    monkeypatch.setattr("gateway.http.result_routes.result_file", cut)
    certificate = make_certificate(tmp_path)
    files = TlsFiles(certificate=str(certificate.certificate), key=str(certificate.key))
    with serving_http(tls=TlsServer(files)) as live:
        request = f"GET {submit(live, 'SELECT 1')}/result/file HTTP/1.0\r\nHost: localhost\r\n\r\n"
        client = socket.create_connection(("127.0.0.1", live.port), timeout=60)
        if is_encrypted:
            trusting = ssl.create_default_context(cafile=str(certificate.certificate))
            client = trusting.wrap_socket(client, server_hostname="localhost", suppress_ragged_eofs=False)
        with client, pytest.raises((ConnectionResetError, ssl.SSLEOFError)):
            client.sendall(request.encode())
            while client.recv(1 << 16):
                pass
