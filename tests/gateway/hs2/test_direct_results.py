"""Direct results: rows in the response to ExecuteStatement, and the remaining ones."""

from __future__ import annotations

from typing import Any

import pytest

from engine.runtime.request import StatementRequest
from engine.runtime.results import ResultStream
from gateway.hs2 import service as service_module
from gateway.hs2.gen import ttypes as t
from gateway.hs2.gen.TCLIService import Client as ThriftClient
from tests.gateway.arrow_engine import ScriptSyntaxError, modifies
from tests.gateway.hs2.wire import ERROR, INVALID, OK, Lab, State, cells, fetch, open_session, settle, status

V9 = t.TProtocolVersion.SPARK_CLI_SERVICE_PROTOCOL_V9


@pytest.fixture
def session(client: ThriftClient) -> t.TSessionHandle:
    return open_session(client, client_protocol=None, client_protocol_i64=V9)


def send(client: ThriftClient, session: t.TSessionHandle, text: str, rows_max: int = 100, **fields: Any) -> Any:
    wanted = t.TSparkGetDirectResults(rows_max, 1 << 20)
    response = client.ExecuteStatement(
        t.TExecuteStatementReq(session, text, runAsync=True, getDirectResults=wanted, **fields)
    )
    assert response.status.statusCode == OK, response
    return response


def test_a_small_result_comes_whole_and_closed(lab: Lab, client: ThriftClient, session: t.TSessionHandle) -> None:
    response = send(client, session, "ROWS 2")
    results = response.directResults
    assert (results.operationStatus.operationState, results.operationStatus.hasResultSet) == (
        State.FINISHED_STATE,
        True,
    )
    assert [column.columnName for column in results.resultSetMetadata.schema.columns] == ["id", "name"]
    assert results.resultSetMetadata.resultFormat == t.TSparkRowSetType.COLUMN_BASED_SET
    assert cells(results.resultSet) == [[0, 1], ["row 0", "row 1"]] and not results.resultSet.hasMoreRows
    assert results.closeOperation.status.statusCode == OK
    assert lab.registry.operations() == ()
    assert status(client, response.operationHandle).status.statusCode == INVALID
    assert client.CancelOperation(t.TCancelOperationReq(response.operationHandle)).status.statusCode == OK
    assert client.CloseOperation(t.TCloseOperationReq(response.operationHandle)).status.statusCode == OK


def test_the_rows_beyond_the_first_are_fetched(client: ThriftClient, session: t.TSessionHandle) -> None:
    response = send(client, session, "ROWS 250")
    results = response.directResults
    assert len(cells(results.resultSet)[0]) == 100 and results.resultSet.hasMoreRows
    assert results.closeOperation is None
    rest = fetch(client, response.operationHandle, 1000)
    assert (rest.results.startRowOffset, rest.hasMoreRows) == (100, False)
    assert cells(rest)[0] == list(range(100, 250))


def test_a_statement_without_rows(lab: Lab, client: ThriftClient, session: t.TSessionHandle) -> None:
    lab.engine.answers["INSERT"] = modifies(3)
    response = send(client, session, "INSERT")
    answer = response.directResults.operationStatus
    assert (response.operationHandle.hasResultSet, answer.hasResultSet, answer.numModifiedRows) == (False, False, 3)
    assert (response.directResults.resultSet, response.directResults.closeOperation) == (None, None)
    assert cells(fetch(client, response.operationHandle)) == [[]]  # the Python connector fetches nevertheless


def test_a_failed_statement_says_so_and_is_closed(lab: Lab, client: ThriftClient, session: t.TSessionHandle) -> None:
    results = send(client, session, "nonsense").directResults
    answer = results.operationStatus
    assert (answer.operationState, answer.sqlState) == (State.ERROR_STATE, "42601")
    assert answer.displayMessage.startswith("[PARSE_SYNTAX_ERROR.TEST]")
    assert results.resultSet is None and lab.registry.operations() == ()


def test_failed_write_has_a_result_set_so_that_node_reads_its_error(
    lab: Lab, client: ThriftClient, session: t.TSessionHandle
) -> None:
    def answer(request: StatementRequest) -> ResultStream:
        request.on_parsed(False)
        raise ScriptSyntaxError("INSERT")

    lab.engine.answers["INSERT"] = answer
    response = send(client, session, "INSERT")
    status = response.directResults.operationStatus
    assert (status.operationState, status.hasResultSet) == (State.ERROR_STATE, True)
    assert response.operationHandle.hasResultSet is True


def test_running_statement_has_no_direct_results(
    client: ThriftClient, session: t.TSessionHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service_module, "DIRECT_S", 0.05)
    response = send(client, session, "SLEEP 60")
    assert response.directResults is None
    assert client.CancelOperation(t.TCancelOperationReq(response.operationHandle)).status.statusCode == OK
    assert settle(client, response.operationHandle).operationState == State.CANCELED_STATE
    refused = client.GetResultSetMetadata(t.TGetResultSetMetadataReq(response.operationHandle))
    assert refused.status.sqlState == "HY008"  # the connector takes the state for an end, and continues


@pytest.mark.parametrize(("limit", "count"), [(0, 10), (3, 3), (10, 10), (11, 10), (1500, 10)])
def test_a_limit_of_rows(client: ThriftClient, session: t.TSessionHandle, limit: int, count: int) -> None:
    response = send(client, session, "ROWS 10", resultRowLimit=limit)
    assert cells(response.directResults.resultSet)[0] == list(range(count))


def test_metadata_calls_have_direct_results_too(client: ThriftClient, session: t.TSessionHandle) -> None:
    wanted = t.TSparkGetDirectResults(100, 1 << 20)
    response = client.GetSchemas(t.TGetSchemasReq(session, getDirectResults=wanted))
    assert cells(response.directResults.resultSet)[0] == ["default", "lab"]
    assert response.directResults.closeOperation is not None


def test_metadata_calls_may_be_asynchronous(client: ThriftClient, session: t.TSessionHandle) -> None:
    response = client.GetTables(t.TGetTablesReq(session, runAsync=True))
    assert settle(client, response.operationHandle).operationState == State.FINISHED_STATE
    assert cells(fetch(client, response.operationHandle))[2] == ["t", "u"]


def test_results_may_come_with_their_metadata(client: ThriftClient, session: t.TSessionHandle) -> None:
    operation = client.ExecuteStatement(t.TExecuteStatementReq(session, "ROWS 2")).operationHandle
    operation.hasResultSet = False  # as the connector sends it
    request = t.TFetchResultsReq(operation, t.TFetchOrientation.FETCH_NEXT, 10, includeResultSetMetadata=True)
    response = client.FetchResults(request)
    assert [column.columnName for column in response.resultSetMetadata.schema.columns] == ["id", "name"]
    assert fetch(client, operation, 10).resultSetMetadata is None


def test_session_reports_names_and_requested_server_info(client: ThriftClient) -> None:
    request = t.TOpenSessionReq(
        client_protocol_i64=V9,
        canUseMultipleCatalogs=True,
        initialNamespace=t.TNamespace("spark_catalog", "lab"),
        getInfos=[17, -5],
    )
    response = client.OpenSession(request)
    assert response.sessionHandle.serverProtocolVersion == response.serverProtocolVersion == V9
    assert response.initialNamespace == t.TNamespace("spark_catalog", "lab")
    assert response.canUseMultipleCatalogs
    assert [value.stringValue for value in response.getInfos] == ["Spark SQL", ""]


def test_session_may_open_in_missing_schema(client: ThriftClient) -> None:
    """As dbt-databricks does; a database named in Hive's way must exist."""
    begun = client.OpenSession(t.TOpenSessionReq(client_protocol_i64=V9, initialNamespace=t.TNamespace(None, "later")))
    assert begun.status.statusCode == OK and begun.initialNamespace.schemaName == "later"
    refused = client.OpenSession(t.TOpenSessionReq(client_protocol_i64=V9, configuration={"use:database": "later"}))
    assert refused.status.statusCode == ERROR
