"""Sessions and statements, by a Thrift client whose messages go through the dispatcher."""

from __future__ import annotations

import logging
import re
import threading
from typing import Any

import pyarrow as pa
import pytest
from thrift.Thrift import TApplicationException

from catalog.conditions import TableNotFound
from engine.runtime.parameters import Parameter
from engine.runtime.profile import TaskCounts
from engine.runtime.request import StatementRequest
from engine.runtime.results import ResultStream
from gateway.hs2 import service as service_module
from gateway.hs2.gen import ttypes as t
from gateway.hs2.gen.TCLIService import Client as ThriftClient
from gateway.sessions.operation_state import OperationState
from tests.gateway.arrow_engine import fails, modifies, rows
from tests.gateway.hs2.wire import (
    ERROR,
    INVALID,
    OK,
    V10,
    Lab,
    State,
    cells,
    execute,
    fetch,
    open_session,
    settle,
    status,
)
from tests.gateway.http.conftest import eventually

HIVE_ERROR = "org.apache.hive.service.cli.HiveSQLException"
VERSIONS = [  # client_protocol, client_protocol_i64, answered
    (0, None, 0),
    (5, None, 5),
    (9, None, 9),
    (10, None, 10),
    (11, None, 10),
    (None, None, 0),
    (-7, 42247, 42247),
    (None, 42248, 42248),
    (None, 42249, 42249),
    (None, 42300, 42249),
    (None, 65281, 42249),
    (None, 2**63 - 1, 42249),
    (None, 11, 10),
    (None, 42240, 10),
    (2**31 - 1, None, 42249),
    (-7, 5, 5),
    (-7, None, 0),
]


@pytest.mark.parametrize(("version", "version_i64", "answered"), VERSIONS)
def test_the_smaller_version_is_spoken(
    client: ThriftClient, version: int | None, version_i64: int | None, answered: int
) -> None:
    request = t.TOpenSessionReq(version, client_protocol_i64=version_i64)
    response = client.OpenSession(request)
    assert (response.status.statusCode, response.serverProtocolVersion) == (OK, answered)


def test_a_session_gets_its_configuration(lab: Lab, client: ThriftClient) -> None:
    open_session(
        client,
        username="somebody else",
        configuration={
            "use:database": "lab",
            "spark.sql.ansi.enabled": "false",
            "set:hiveconf:spark.sql.shuffle.partitions": "3",
            "set:hiveconf:hive.server2.thrift.resultset.default.fetch.size": "1000",
        },
    )
    (session,) = lab.engine.sessions
    assert (session.principal, session.current_schema) == ("ada", "lab")
    assert session.settings == {
        "spark.sql.ansi.enabled": "false",
        "spark.sql.shuffle.partitions": "3",
        "hive.server2.thrift.resultset.default.fetch.size": "1000",
    }


def test_without_a_log_in_the_name_is_the_requests(lab: Lab) -> None:
    client = lab.client(principal=None)
    open_session(client, username="grace")
    open_session(client, username="mallory")  # the connection is grace's now
    assert [session.principal for session in lab.engine.sessions] == ["grace", "grace"]


@pytest.mark.parametrize(
    ("configuration", "sqlstate"),
    [({"use:database": "nowhere"}, "42704"), ({"hive.server2.proxy.user": "root"}, "42501")],
)
def test_a_session_may_be_refused(client: ThriftClient, configuration: dict[str, str], sqlstate: str) -> None:
    response = client.OpenSession(t.TOpenSessionReq(9, configuration=configuration))
    assert (response.status.statusCode, response.status.sqlState) == (ERROR, sqlstate)
    assert response.sessionHandle is None


def test_a_proxy_user_may_be_oneself(client: ThriftClient) -> None:
    open_session(client, configuration={"hive.server2.proxy.user": "ada"})


def test_a_closed_session_is_gone_with_its_statements(
    lab: Lab, client: ThriftClient, session: t.TSessionHandle
) -> None:
    operation = execute(client, session, "SLEEP 60", runAsync=True)
    while not lab.engine.runs:
        status(client, operation)
    for _ in range(2):
        assert client.CloseSession(t.TCloseSessionReq(session)).status.statusCode == OK
    assert lab.engine.runs[0].context.cancel.reason is not None
    assert lab.engine.sessions[0].closed
    assert status(client, operation).status.statusCode == INVALID
    response = client.ExecuteStatement(t.TExecuteStatementReq(session, "SELECT 1"))
    assert (response.status.statusCode, response.status.sqlState) == (INVALID, "08003")


def test_handles_work_on_another_connection_but_cannot_be_forged(
    lab: Lab, client: ThriftClient, session: t.TSessionHandle
) -> None:
    operation = execute(lab.client("ada"), session, "SELECT 1")
    identifier = operation.operationId
    for forged in (
        t.THandleIdentifier(identifier.guid, b"\0" * 16),
        t.THandleIdentifier(identifier.guid, identifier.guid),
        t.THandleIdentifier(identifier.guid, None),
        t.THandleIdentifier(b"short", identifier.secret),
        None,
    ):
        handle = t.TOperationHandle(forged, 0, True)
        assert status(client, handle).status.statusCode == INVALID
        assert client.CloseOperation(t.TCloseOperationReq(handle)).status.statusCode == INVALID
    assert cells(fetch(client, operation)) == [[1]]


@pytest.mark.parametrize("info_type", [13, 17, 18, 10003])
def test_info(client: ThriftClient, session: t.TSessionHandle, info_type: int) -> None:
    response = client.GetInfo(t.TGetInfoReq(session, info_type))
    assert response.status.statusCode == OK
    assert response.infoValue.stringValue


@pytest.mark.parametrize("info_type", [-5, 99999, None])
def test_info_that_does_not_exist_has_a_value_all_the_same(
    client: ThriftClient, session: t.TSessionHandle, info_type: int | None
) -> None:
    response = client.GetInfo(t.TGetInfoReq(session, info_type))
    assert response.status.statusCode == ERROR
    assert response.infoValue.stringValue == ""


def test_set_client_info(client: ThriftClient, session: t.TSessionHandle) -> None:
    request = t.TSetClientInfoReq(session, {"ApplicationName": "tests"})
    assert client.SetClientInfo(request).status.statusCode == OK


@pytest.mark.parametrize("name", ["GetDelegationToken", "CancelDelegationToken", "RenewDelegationToken"])
def test_delegation_tokens_are_refused(client: ThriftClient, session: t.TSessionHandle, name: str) -> None:
    response = getattr(client, name)(getattr(t, f"T{name}Req")(session, "x"))
    assert (response.status.statusCode, response.status.sqlState) == (ERROR, "0A000")


def test_a_synchronous_statement_has_ended_when_it_answers(client: ThriftClient, session: t.TSessionHandle) -> None:
    operation = execute(client, session, "SELECT 1;")
    assert status(client, operation).operationState == State.FINISHED_STATE
    schema = client.GetResultSetMetadata(t.TGetResultSetMetadataReq(operation)).schema
    assert [column.columnName for column in schema.columns] == ["1"]
    assert cells(fetch(client, operation)) == [[1]]


def test_an_error_of_a_synchronous_statement_is_the_answer(
    lab: Lab, client: ThriftClient, session: t.TSessionHandle
) -> None:
    response = client.ExecuteStatement(t.TExecuteStatementReq(session, "nonsense"))
    assert (response.status.statusCode, response.status.sqlState) == (ERROR, "42601")
    assert response.status.errorMessage.startswith("[PARSE_SYNTAX_ERROR.TEST]")
    assert response.operationHandle is None
    assert lab.registry.operations() == ()


def test_an_error_of_an_asynchronous_statement_is_its_status(client: ThriftClient, session: t.TSessionHandle) -> None:
    operation = execute(client, session, "nonsense", runAsync=True)
    answer = settle(client, operation)
    assert (answer.operationState, answer.sqlState, answer.errorCode) == (State.ERROR_STATE, "42601", 0)
    assert answer.errorMessage.startswith("[PARSE_SYNTAX_ERROR.TEST]")
    assert answer.status.statusCode == OK
    for response in (fetch(client, operation), client.GetResultSetMetadata(t.TGetResultSetMetadataReq(operation))):
        assert (response.status.statusCode, response.status.sqlState) == (ERROR, "42601")


def test_running_statement_is_polled_and_cancelled_from_other_connection(
    lab: Lab, client: ThriftClient, session: t.TSessionHandle
) -> None:
    operation = execute(client, session, "SLEEP 60", runAsync=True)
    assert status(client, operation).operationState in (State.INITIALIZED_STATE, State.RUNNING_STATE)
    assert fetch(client, operation).status.sqlState == "55000"
    other = lab.client()
    assert other.CancelOperation(t.TCancelOperationReq(operation)).status.statusCode == OK
    answer = status(client, operation)
    assert (answer.operationState, answer.sqlState) == (State.CANCELED_STATE, "HY008")
    assert answer.operationCompleted >= answer.operationStarted > 0


def test_a_waiting_statement_is_initialized_and_never_pending(lab: Lab) -> None:
    states = {service_module._STATES[state] for state in OperationState}
    assert State.PENDING_STATE not in states and len(states) == 7


def test_a_statement_ends_at_its_time_limit(client: ThriftClient, session: t.TSessionHandle) -> None:
    operation = execute(client, session, "SLEEP 60", runAsync=True, queryTimeout=1)
    answer = settle(client, operation)
    assert (answer.operationState, answer.sqlState) == (State.TIMEDOUT_STATE, "57014")


@pytest.mark.parametrize("seconds", [-1, 0, None, 2**62])
def test_time_limits_that_are_none(client: ThriftClient, session: t.TSessionHandle, seconds: int | None) -> None:
    operation = execute(client, session, "SLEEP 0.05", runAsync=True, queryTimeout=seconds)
    assert settle(client, operation).operationState == State.FINISHED_STATE


@pytest.mark.parametrize("runs_async", [True, False])
def test_a_statement_without_rows_answers_one_empty_column(
    lab: Lab, client: ThriftClient, session: t.TSessionHandle, runs_async: bool
) -> None:
    """A client that waits for it reads it as a result, as PyHive's `executemany` does."""
    lab.engine.answers["INSERT"] = modifies(3)
    operation = execute(client, session, "INSERT", runAsync=runs_async)
    assert operation.hasResultSet is not runs_async
    answer = settle(client, operation)
    assert (answer.numModifiedRows, answer.hasResultSet) == (3, False)
    schema = client.GetResultSetMetadata(t.TGetResultSetMetadataReq(operation)).schema
    assert [column.columnName for column in schema.columns] == ["Result"]
    response = fetch(client, operation)
    assert (cells(response), response.hasMoreRows) == ([[]], False)


@pytest.mark.parametrize(
    ("version", "runs_async", "has_result"),
    [
        ("HIVE_CLI_SERVICE_PROTOCOL_V1", False, True),
        ("HIVE_CLI_SERVICE_PROTOCOL_V6", False, True),
        ("HIVE_CLI_SERVICE_PROTOCOL_V10", False, True),
        ("HIVE_CLI_SERVICE_PROTOCOL_V10", True, False),
        ("SPARK_CLI_SERVICE_PROTOCOL_V9", False, False),
        ("SPARK_CLI_SERVICE_PROTOCOL_V9", True, False),
    ],
)
def test_ddl_has_an_empty_result_for_synchronous_hive_clients(
    lab: Lab, client: ThriftClient, version: str, runs_async: bool, has_result: bool
) -> None:
    session = open_session(client, client_protocol=getattr(t.TProtocolVersion, version))
    operation = execute(client, session, "USE lab", runAsync=runs_async)
    assert operation.hasResultSet is has_result
    assert settle(client, operation).numModifiedRows == 0
    schema = client.GetResultSetMetadata(t.TGetResultSetMetadataReq(operation)).schema
    assert [column.columnName for column in schema.columns] == ["Result"]
    results = fetch(client, operation, orientation=t.TFetchOrientation.FETCH_FIRST)
    assert results.hasMoreRows is False and not results.results.rows


def test_variables_and_parameters_reach_the_engine(lab: Lab, client: ThriftClient) -> None:
    session = open_session(client, configuration={"set:hivevar:n": "1"})
    assert lab.engine.sessions[-1].settings == {"hivevar:n": "1"}
    value, argument = t.TSparkParameterValue, t.TSparkParameterValueArg
    parameters = [
        t.TSparkParameter(1, "a", "INT", value(stringValue="5")),
        t.TSparkParameter(2, None, None, value(booleanValue=True)),
        t.TSparkParameter(3, "c", "DOUBLE", value(doubleValue=1.5)),
        t.TSparkParameter(4, "d", "VOID", None),
        t.TSparkParameter(5, "e", "ARRAY", arguments=[argument("INT", "1"), argument("VOID", "None")]),
        t.TSparkParameter(6, "f", "map", arguments=[argument("STRING", "k"), argument("ARRAY", arguments=[])]),
    ]
    execute(client, session, "SELECT 1", parameters=parameters)
    (run,) = lab.engine.runs
    assert run.text == "SELECT 1"
    assert run.parameters == (
        Parameter(value="5", sql_type="INT", name="a"),
        Parameter(value="true", sql_type="string"),
        Parameter(value="1.5", sql_type="DOUBLE", name="c"),
        Parameter(value=None, sql_type="VOID", name="d"),
        Parameter(
            value=None,
            sql_type="ARRAY",
            name="e",
            members=(Parameter(value="1", sql_type="INT"), Parameter(value=None, sql_type="VOID")),
        ),
        Parameter(
            value=None,
            sql_type="MAP",
            name="f",
            members=(Parameter(value="k", sql_type="STRING"), Parameter(value=None, sql_type="ARRAY", members=())),
        ),
    )


def test_settings_for_one_statement_are_refused_by_name(client: ThriftClient, session: t.TSessionHandle) -> None:
    overlay = {"spark.thriftserver.arrowBasedRowSet.timestampAsString": "false"}
    execute(client, session, "SELECT 1", confOverlay=overlay)
    response = client.ExecuteStatement(
        t.TExecuteStatementReq(session, "SELECT 1", confOverlay={"spark.sql.ansi.enabled": "true"})
    )
    assert response.status.sqlState == "0A000"
    assert "spark.sql.ansi.enabled" in response.status.errorMessage


def test_a_missing_table_is_said_in_the_words_that_pyhive_knows(
    lab: Lab, client: ThriftClient, session: t.TSessionHandle
) -> None:
    lab.engine.answers["DESCRIBE nope"] = fails(TableNotFound("spark_catalog.lab.nope"))
    response = client.ExecuteStatement(t.TExecuteStatementReq(session, "DESCRIBE nope"))
    assert response.status.infoMessages == [
        f"*{HIVE_ERROR}:Error running query: {response.status.errorMessage}:0:-1",
        "SemanticException: Table not found nope",
        "SemanticException: Table not found lab.nope",
        "SemanticException: Table not found spark_catalog.lab.nope",
    ]


@pytest.mark.parametrize(
    ("name", "request_of", "condition"),
    [
        ("ExecuteStatement", lambda session: t.TExecuteStatementReq(session, "nonsense"), "PARSE_SYNTAX_ERROR.TEST"),
        (
            "CloseSession",
            lambda _: t.TCloseSessionReq(t.TSessionHandle(t.THandleIdentifier(b"", b""))),
            "INVALID_HANDLE",
        ),
        ("OpenSession", lambda _: t.TOpenSessionReq(V10, configuration={"use:database": "no"}), "SCHEMA_NOT_FOUND"),
    ],
)
def test_an_error_begins_as_that_of_sparks_server(
    client: ThriftClient, session: t.TSessionHandle, name: str, request_of: Any, condition: str
) -> None:
    status = getattr(client, name)(request_of(session)).status
    assert status.infoMessages[0].startswith(f"*{HIVE_ERROR}:Error running query: [{condition}")
    assert status.errorMessage.startswith(f"[{condition}")


def test_a_bug_shows_an_id_and_one_log_entry(
    lab: Lab, client: ThriftClient, session: t.TSessionHandle, caplog: pytest.LogCaptureFixture
) -> None:
    lab.engine.answers["bug"] = fails(RuntimeError("inside"))
    with caplog.at_level(logging.ERROR):
        response = client.ExecuteStatement(t.TExecuteStatementReq(session, "bug"))
    assert response.status.sqlState == "XX000"
    assert "inside" not in response.status.errorMessage
    assert len(caplog.records) == 1


def test_query_id_and_log(client: ThriftClient, session: t.TSessionHandle) -> None:
    operation = execute(client, session, "SELECT 1")
    assert len(client.GetQueryId(t.TGetQueryIdReq(operation)).queryId) == 36
    assert re.fullmatch(r"finished after \d\.\d{3} s", client.GetLog(t.TGetLogReq(operation)).log)
    client.CloseOperation(t.TCloseOperationReq(operation))
    with pytest.raises(TApplicationException) as raised:
        client.GetQueryId(t.TGetQueryIdReq(operation))
    assert raised.value.type == TApplicationException.INTERNAL_ERROR


def test_the_log_tells_each_step_once_a_line(lab: Lab, client: ThriftClient, session: t.TSessionHandle) -> None:
    def answer(request: StatementRequest) -> ResultStream:
        request.profile.add_note("read one file")
        for done in (1, 1, 2):
            request.profile.count_tasks(TaskCounts(total=2, running=2 - done, done=done))
        return rows(pa.table({"x": [1, 2, 3]}))(request)

    lab.engine.answers["SELECT x"] = answer
    operation = execute(client, session, "SELECT x")

    def lines(orientation: int) -> list[str]:
        request = t.TFetchResultsReq(operation, orientation, 100, 1)
        found = client.FetchResults(request).results.columns[0].stringVal.values
        return [re.sub(r"\d\.\d{3} s", "T", line) for line in found]

    first, following = t.TFetchOrientation.FETCH_FIRST, t.TFetchOrientation.FETCH_NEXT
    steps = ["read one file", *(f"Spark: {done} of 2 tasks done, {2 - done} running" for done in (1, 2))]
    assert [lines(following), lines(following)] == [[*steps, "finished after T"], []]
    fetch(client, operation)
    assert [lines(following), lines(following)] == [["rows: 3"], []]
    assert lines(first) == [*steps, "finished after T", "rows: 3"]
    assert client.GetLog(t.TGetLogReq(operation)).log.endswith(" s\nrows: 3")


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("INSERT", ["num_affected_rows: 3, num_inserted_rows: 3", "finished after T"]),
        ("USE lab", ["finished after T"]),
        ("nonsense", ["failed after T"]),
    ],
)
def test_the_log_of_a_statement_without_rows(
    lab: Lab, client: ThriftClient, session: t.TSessionHandle, text: str, lines: list[str]
) -> None:
    lab.engine.answers["INSERT"] = modifies(3, inserted=3)
    operation = execute(client, session, text, runAsync=True)
    settle(client, operation)
    log = client.GetLog(t.TGetLogReq(operation)).log
    assert re.sub(r"\d\.\d{3} s", "T", log).splitlines() == lines


@pytest.mark.parametrize(
    "parameter",
    [
        t.TSparkParameter(name="p", type="STRUCT", value=t.TSparkParameterValue(stringValue="{}")),
        t.TSparkParameter(name="p", type="ARRAY", value=t.TSparkParameterValue(stringValue="[1]")),
        t.TSparkParameter(name="p", type="ARRAY", arguments=[t.TSparkParameterValueArg("STRUCT<a: INT>", "{}")]),
    ],
)
def test_a_parameter_of_a_nested_type_as_text_is_refused(
    client: ThriftClient, session: t.TSessionHandle, parameter: t.TSparkParameter
) -> None:
    refused = client.ExecuteStatement(t.TExecuteStatementReq(session, "SELECT :p", parameters=[parameter]))
    assert (refused.status.statusCode, refused.status.sqlState) == (ERROR, "0A000")


def test_a_session_that_the_engine_does_not_open_is_refused_in_time_and_closed_later(
    lab: Lab, client: ThriftClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service_module, "OPEN_S", 0.1)
    lab.engine.stalled = threading.Event()
    response = client.OpenSession(t.TOpenSessionReq(10))
    assert (response.status.statusCode, response.status.sqlState) == (ERROR, "57P03")
    assert "ENGINE_NOT_ANSWERING" in response.status.errorMessage
    lab.engine.stalled.set()
    assert eventually(lambda: not lab.registry.sessions())
    open_session(client)
