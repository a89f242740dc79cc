"""Fetching rows from a running statement, and prefetched pages."""

from __future__ import annotations

import random
import threading

import pytest

from engine.runtime.request import StatementRequest
from engine.runtime.results import ResultStream, empty_result
from gateway.hs2 import service as service_module
from gateway.hs2.gen import ttypes as t
from gateway.hs2.gen.TCLIService import Client as ThriftClient
from tests.gateway.arrow_engine import Streams
from tests.gateway.hs2.wire import Lab, State, cells, execute, fetch, open_session, settle, status
from tests.gateway.http.conftest import eventually

SPARK_V9 = 42249
FIRST = t.TFetchOrientation.FETCH_FIRST


def test_a_statement_with_rows_is_finished_to_its_client(
    lab: Lab, client: ThriftClient, session: t.TSessionHandle
) -> None:
    answer = lab.engine.answers["SELECT more"] = Streams()
    answer.give(1, 2)
    operation = execute(client, session, "SELECT more", runAsync=True)
    assert status(client, operation).operationState == State.FINISHED_STATE
    response = fetch(client, operation)
    assert (cells(response), response.hasMoreRows) == ([[1, 2]], True)
    answer.end()
    response = fetch(client, operation)
    assert (cells(response), response.hasMoreRows) == ([[]], False)
    assert status(client, operation).numModifiedRows == -1


def test_columns_of_running_query_are_returned_before_its_rows(
    lab: Lab, client: ThriftClient, session: t.TSessionHandle
) -> None:
    answer = lab.engine.answers["SELECT more"] = Streams()
    operation = execute(client, session, "SELECT more", runAsync=True)
    schema = client.GetResultSetMetadata(t.TGetResultSetMetadataReq(operation)).schema
    assert [column.columnName for column in schema.columns] == ["id"]
    assert status(client, operation).operationState == State.RUNNING_STATE
    answer.end()
    assert settle(client, operation).operationState == State.FINISHED_STATE
    assert client.GetResultSetMetadata(t.TGetResultSetMetadataReq(operation)).schema == schema


def test_columns_of_running_statement_without_result_set_are_those_of_its_result(
    lab: Lab, client: ThriftClient, session: t.TSessionHandle
) -> None:
    ended = threading.Event()

    def changes(request: StatementRequest) -> ResultStream:
        request.on_parsed(False)
        ended.wait(60)
        return empty_result()

    lab.engine.answers["INSERT slowly"] = changes
    operation = execute(client, session, "INSERT slowly", runAsync=True)
    schema = client.GetResultSetMetadata(t.TGetResultSetMetadataReq(operation)).schema
    assert [column.columnName for column in schema.columns] == ["Result"]
    ended.set()
    assert settle(client, operation).operationState == State.FINISHED_STATE
    assert client.GetResultSetMetadata(t.TGetResultSetMetadataReq(operation)).schema == schema


def test_failed_statement_has_no_columns(lab: Lab, client: ThriftClient, session: t.TSessionHandle) -> None:
    answer = lab.engine.answers["SELECT more"] = Streams()
    operation = execute(client, session, "SELECT more", runAsync=True)
    request = t.TGetResultSetMetadataReq(operation)
    assert client.GetResultSetMetadata(request).status.statusCode == t.TStatusCode.SUCCESS_STATUS
    answer.end(ValueError("a bug"))
    assert settle(client, operation).operationState == State.ERROR_STATE
    assert client.GetResultSetMetadata(request).status.sqlState == "XX000"


def test_failure_after_first_rows_is_raised_by_next_fetch(
    lab: Lab, client: ThriftClient, session: t.TSessionHandle
) -> None:
    answer = lab.engine.answers["SELECT more"] = Streams()
    answer.give(1)
    operation = execute(client, session, "SELECT more", runAsync=True)
    assert status(client, operation).operationState == State.FINISHED_STATE
    assert cells(fetch(client, operation)) == [[1]]
    answer.end(ValueError("a bug"))
    failed = fetch(client, operation)
    assert failed.status.sqlState == "XX000" and failed.results is None
    assert eventually(lambda: status(client, operation).operationState == State.ERROR_STATE)


def test_databricks_clients_get_poll_status(monkeypatch: pytest.MonkeyPatch, lab: Lab, client: ThriftClient) -> None:
    monkeypatch.setattr(service_module, "ROWS_S", 0.01)
    session = open_session(client, client_protocol_i64=SPARK_V9)
    answer = lab.engine.answers["SELECT more"] = Streams()
    answer.give(1)
    operation = execute(client, session, "SELECT more", runAsync=True)
    status(client, operation)
    seen = [cells(fetch(client, operation))[0]]
    response = fetch(client, operation)
    assert (cells(response), response.hasMoreRows) == ([[]], True)
    answer.give(2)
    answer.end()
    while response.hasMoreRows:
        response = fetch(client, operation)
        seen.append(cells(response)[0])
    assert [row for page in seen for row in page] == [1, 2]


@pytest.mark.parametrize("seed", range(8))
def test_prefetched_pages_match_requests(client: ThriftClient, session: t.TSessionHandle, seed: int) -> None:
    """Sizes and orientations change now and then; each page is compared with the rows from its offset."""
    choose = random.Random(seed)
    operation, at, count = execute(client, session, "ROWS 20000"), 0, 700
    for _ in range(40):
        if choose.random() < 0.2:
            count = choose.choice((1, 700, 1000, 5000))
        restart = choose.random() < 0.1
        at = 0 if restart else at
        response = fetch(client, operation, count, FIRST if restart else 0)
        expected = list(range(at, min(at + count, 20_000)))
        assert cells(response) == [expected, [f"row {row}" for row in expected]]
        assert response.results.startRowOffset == at
        at += len(expected)
        assert response.hasMoreRows == (at < 20_000)


def test_pages_that_nobody_asks_for_are_bounded(
    monkeypatch: pytest.MonkeyPatch, client: ThriftClient, session: t.TSessionHandle, lab: Lab
) -> None:
    pages = lab.service._next_pages
    monkeypatch.setattr(pages, "_bytes_max", 100_000)
    operations = [execute(client, session, "ROWS 20000") for _ in range(10)]
    for operation in operations:
        assert len(cells(fetch(client, operation, 2000))[0]) == 2000
    pages._threads.shutdown(wait=True)
    remaining = [future.result() for _, future in pages._pages.values()]
    assert 0 < len(remaining) < len(operations)
    assert sum(made.size for made in remaining if made) <= 100_000
    for operation in operations:
        monkeypatch.setattr(pages, "make", lambda *_: None)
        assert cells(fetch(client, operation, 2000))[0] == list(range(2000, 4000))
