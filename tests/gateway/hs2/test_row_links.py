"""Large results as links: conditions, row ranges, and the linked content."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Iterator
from typing import Any
from urllib.request import Request, urlopen

import lz4.frame
import pyarrow as pa
import pytest
from thrift.protocol.TBinaryProtocol import TBinaryProtocol
from thrift.transport.THttpClient import THttpClient

from gateway.hs2 import fetching
from gateway.hs2 import service as service_module
from gateway.hs2.gen import ttypes as t
from gateway.hs2.gen.TCLIService import Client as ThriftClient
from tests.gateway.arrow_engine import Streams, rows
from tests.gateway.hs2.wire import OK, execute, fetch, open_session
from tests.gateway.http.conftest import Live, serving_http

LINKS = t.TSparkRowSetType.URL_BASED_SET
LINK_OPTIONS = {"canReadArrowResult": True, "canDownloadResult": True}


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch) -> Iterator[Live]:
    monkeypatch.setattr(service_module, "LINKED_FROM_BYTES", 10_000)
    monkeypatch.setattr(fetching, "FETCH_BYTES_MAX", 30_000)
    monkeypatch.setattr(fetching, "LINKS_MAX", 3)
    with serving_http() as live:
        yield live


@pytest.fixture
def client(live: Live) -> Iterator[ThriftClient]:
    transport = THttpClient(f"{live.url}/sql/1.0/warehouses/any")
    yield ThriftClient(TBinaryProtocol(transport))
    transport.close()


@pytest.fixture
def session(client: ThriftClient) -> t.TSessionHandle:
    return open_session(client, client_protocol_i64=42247)


def metadata(client: ThriftClient, operation: t.TOperationHandle) -> Any:
    return client.GetResultSetMetadata(t.TGetResultSetMetadataReq(operation))


def document(url: str) -> bytes:
    with urlopen(Request(url, headers={"X-Request-Id": "rows-1"})) as answer:
        assert answer.headers.get_all("X-Request-Id") == ["rows-1"]
        assert answer.headers["Content-Type"] == "application/vnd.apache.arrow.stream"
        return bytes(answer.read())


@pytest.mark.parametrize("compressed", [False, True])
def test_links_lead_to_all_rows_in_order(client: ThriftClient, session: t.TSessionHandle, *, compressed: bool) -> None:
    operation = execute(client, session, "ROWS 10000", canDecompressLZ4Result=compressed, **LINK_OPTIONS)
    assert metadata(client, operation).resultFormat == LINKS
    seen: list[int] = []
    while True:
        response = fetch(client, operation, 100)
        assert response.results.startRowOffset == len(seen) and 0 < len(response.results.resultLinks) <= 3
        for link in response.results.resultLinks:
            assert link.startRowOffset == len(seen) and link.expiryTime > time.time() * 1000
            content = document(link.fileLink)
            table = pa.ipc.open_stream(lz4.frame.decompress(content) if compressed else content).read_all()
            assert table.num_rows == link.rowCount
            seen += table.column("id").to_pylist()
        if not response.hasMoreRows:
            break
    assert seen == list(range(10_000))


@pytest.mark.parametrize(
    ("agent", "units_in_s"),
    [
        ("PyDatabricksSqlConnector/4.9.0 (dbt)", 1),
        ("godatabrickssqlconnector/1.6.1", 1),
        ("DatabricksJDBCDriverOSS/1.0.9", 1000),
        ("NodejsDatabricksSqlConnector/2.1.0 (Node.js 20)", 1000),
        (None, 1000),
    ],
)
def test_a_link_expires_in_the_unit_that_its_client_reads(live: Live, agent: str | None, units_in_s: int) -> None:
    transport = THttpClient(f"{live.url}/sql/1.0/warehouses/any")
    if agent:
        transport.setCustomHeaders({"User-Agent": agent})
    client = ThriftClient(TBinaryProtocol(transport))
    operation = execute(client, open_session(client, client_protocol_i64=42247), "ROWS 10000", **LINK_OPTIONS)
    [link, *_] = fetch(client, operation, 100).results.resultLinks
    assert 0 < link.expiryTime / units_in_s - time.time() < 901
    transport.close()


@pytest.mark.parametrize(
    ("text", "requested"), [("ROWS 10", LINK_OPTIONS), ("ROWS 10000", {"canReadArrowResult": True})]
)
def test_few_rows_are_inline_without_links(
    client: ThriftClient, session: t.TSessionHandle, text: str, requested: dict[str, bool]
) -> None:
    operation = execute(client, session, text, **requested)
    assert metadata(client, operation).resultFormat == t.TSparkRowSetType.ARROW_BASED_SET
    assert fetch(client, operation, 10).results.arrowBatches


def test_direct_results_are_links_and_leave_the_statement_open(
    live: Live, client: ThriftClient, session: t.TSessionHandle
) -> None:
    request = t.TExecuteStatementReq(
        session, "ROWS 2000", runAsync=True, getDirectResults=t.TSparkGetDirectResults(100, 100), **LINK_OPTIONS
    )
    response = client.ExecuteStatement(request)
    results = response.directResults
    assert (results.resultSetMetadata.resultFormat, results.closeOperation) == (LINKS, None)
    assert sum(link.rowCount for link in results.resultSet.results.resultLinks) == 2000
    assert not results.resultSet.hasMoreRows
    (link, *_) = results.resultSet.results.resultLinks
    assert document(link.fileLink)
    assert client.CloseOperation(t.TCloseOperationReq(response.operationHandle)).status.statusCode == OK
    assert refused(link.fileLink) == 404


def test_a_result_is_read_when_its_links_were_followed(
    live: Live, client: ThriftClient, session: t.TSessionHandle
) -> None:
    operation = execute(client, session, "ROWS 2000", **LINK_OPTIONS)
    links = fetch(client, operation, 100).results.resultLinks
    (remaining,) = live.registry.operations()
    for link in links:
        assert not remaining.is_read
        document(link.fileLink)
    assert remaining.is_read


def test_metadata_of_running_query_waits_for_its_rows(
    live: Live, client: ThriftClient, session: t.TSessionHandle
) -> None:
    answer = live.engine.answers["SELECT more"] = Streams()
    operation = execute(client, session, "SELECT more", runAsync=True, **LINK_OPTIONS)

    def give_rows() -> None:
        answer.give(1, 2)
        answer.end()

    rows_arrive = threading.Timer(0.5, give_rows)
    rows_arrive.start()
    found = metadata(client, operation)
    rows_arrive.join()
    assert [column.columnName for column in found.schema.columns] == ["id"]
    assert found.resultFormat == t.TSparkRowSetType.ARROW_BASED_SET
    assert [batch.rowCount for batch in fetch(client, operation).results.arrowBatches] == [2]


@pytest.mark.parametrize("header", ["X-Forwarded-Proto", "Via", "Forwarded"])
def test_a_client_behind_a_proxy_gets_no_links(live: Live, header: str) -> None:
    transport = THttpClient(f"{live.url}/sql/1.0/warehouses/any")
    transport.setCustomHeaders({header: "https"})
    client = ThriftClient(TBinaryProtocol(transport))
    operation = execute(client, open_session(client, client_protocol_i64=42247), "ROWS 10000", **LINK_OPTIONS)
    assert metadata(client, operation).resultFormat == t.TSparkRowSetType.ARROW_BASED_SET
    transport.close()


def refused(url: str, method: str = "GET") -> int:
    try:
        with urlopen(Request(url, method=method)) as answer:
            return int(answer.status)
    except OSError as error:
        return int(getattr(error, "code", 0))


def test_a_link_is_for_its_rows_alone(live: Live, client: ThriftClient, session: t.TSessionHandle) -> None:
    operation = execute(client, session, "ROWS 10000", **LINK_OPTIONS)
    url = fetch(client, operation, 100).results.resultLinks[1].fileLink
    path, _, query = url.partition("?")
    first, count = path.split("/")[-2:]
    assert refused(url) == 200 and int(first) > 0
    assert refused(url, "POST") == 405
    assert refused(path) == 403
    assert refused(url.replace(f"/{first}/", "/0/")) == 403
    assert refused(f"{path}0?{query}") == 403
    other = uuid.UUID(int=1)
    assert refused(url.replace(path.split("/")[-3], str(other))) == 403
    assert int(count) > 0


def test_the_columns_of_a_link_are_those_of_the_metadata(
    live: Live, client: ThriftClient, session: t.TSessionHandle
) -> None:
    live.engine.answers["zoned"] = rows(
        pa.table({"ts": pa.array(range(5000), pa.timestamp("us", "UTC"))}), time_zone="Asia/Tokyo"
    )
    types = t.TSparkArrowTypes(timestampAsArrow=True)
    operation = execute(client, session, "zoned", useArrowNativeTypes=types, **LINK_OPTIONS)
    schema = pa.ipc.read_schema(pa.py_buffer(metadata(client, operation).arrowSchema))
    (link, *_) = fetch(client, operation, 100).results.resultLinks
    assert pa.ipc.open_stream(document(link.fileLink)).schema.equals(schema, check_metadata=True)
    assert schema.field("ts").type == pa.timestamp("us", "Asia/Tokyo")
