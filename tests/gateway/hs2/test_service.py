"""Every RPC over a scripted engine, by a Thrift client whose messages go through the dispatcher."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from thrift.Thrift import TApplicationException

from catalog.errors import TableNotFound
from engine.engine import Parameter
from gateway.hs2 import service as service_module
from gateway.hs2.dispatch import RPCS
from gateway.hs2.gen import TCLIService
from gateway.hs2.gen import ttypes as t
from gateway.hs2.gen.TCLIService import Client as ThriftClient
from tests.gateway.arrow_engine import ArrowEngine, fails, modifies, rows
from tests.gateway.hs2.wire import Lab, open_session

OK, ERROR, INVALID = t.TStatusCode.SUCCESS_STATUS, t.TStatusCode.ERROR_STATUS, t.TStatusCode.INVALID_HANDLE_STATUS
State = t.TOperationState
Orientation = t.TFetchOrientation


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    monkeypatch.setattr(service_module, "FIRST_HOLD_S", 0.05)
    monkeypatch.setattr(service_module, "HOLD_S", 0.05)
    lab = Lab(ArrowEngine(tables={("default", "t"): pa.table({"i": [1]}), ("lab", "u"): pa.table({"s": ["x"]})}))
    yield lab
    lab.registry.drain(0)


@pytest.fixture
def client(lab: Lab) -> ThriftClient:
    return lab.client()


@pytest.fixture
def session(client: ThriftClient) -> t.TSessionHandle:
    return open_session(client)


def execute(client: ThriftClient, session: t.TSessionHandle, text: str, **fields: Any) -> t.TOperationHandle:
    response = client.ExecuteStatement(t.TExecuteStatementReq(session, text, **fields))
    assert response.status.statusCode == OK, response
    return response.operationHandle


def fetch(
    client: ThriftClient, operation: t.TOperationHandle, count: int = 100, orientation: int = 0, kind: int = 0
) -> t.TFetchResultsResp:
    return client.FetchResults(t.TFetchResultsReq(operation, orientation, count, kind))


def status(client: ThriftClient, operation: t.TOperationHandle) -> t.TGetOperationStatusResp:
    return client.GetOperationStatus(t.TGetOperationStatusReq(operation))


def settle(client: ThriftClient, operation: t.TOperationHandle) -> t.TGetOperationStatusResp:
    while (answer := status(client, operation)).operationState in (State.INITIALIZED_STATE, State.RUNNING_STATE):
        pass
    return answer


def cells(response: t.TFetchResultsResp) -> list[list[Any]]:
    """Columns of a columnar answer."""
    assert response.status.statusCode == OK, response
    members = ("boolVal", "byteVal", "i16Val", "i32Val", "i64Val", "doubleVal", "stringVal", "binaryVal")
    return [
        next(getattr(column, m) for m in members if getattr(column, m)).values for column in response.results.columns
    ]


# ---------------------------------------------------------------------------------------------------------- sessions

VERSIONS = [  # client_protocol, client_protocol_i64, answered
    (0, None, 0),
    (5, None, 5),
    (9, None, 9),
    (10, None, 10),
    (11, None, 10),
    (None, None, 0),
    (-7, 42247, 10),
    (None, 42249, 10),
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
    assert session.settings == {"spark.sql.ansi.enabled": "false", "spark.sql.shuffle.partitions": "3"}


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
    operation = execute(lab.client("grace"), session, "SELECT 1")
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


# -------------------------------------------------------------------------------------------------------- statements


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


def test_a_running_statement_can_be_asked_and_cancelled_from_another_connection(
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
    states = {service_module._STATES[state] for state in service_module.OperationState}
    assert State.PENDING_STATE not in states and len(states) == 7


def test_a_statement_ends_at_its_time_limit(client: ThriftClient, session: t.TSessionHandle) -> None:
    operation = execute(client, session, "SLEEP 60", runAsync=True, queryTimeout=1)
    answer = settle(client, operation)
    assert (answer.operationState, answer.sqlState) == (State.TIMEDOUT_STATE, "57014")


def test_a_statement_without_rows_answers_one_empty_column(
    lab: Lab, client: ThriftClient, session: t.TSessionHandle
) -> None:
    lab.engine.answers["INSERT"] = modifies(3)
    operation = execute(client, session, "INSERT")
    assert operation.hasResultSet
    answer = status(client, operation)
    assert (answer.numModifiedRows, answer.hasResultSet) == (3, True)
    schema = client.GetResultSetMetadata(t.TGetResultSetMetadataReq(operation)).schema
    assert [column.columnName for column in schema.columns] == ["Result"]
    response = fetch(client, operation)
    assert (cells(response), response.hasMoreRows) == ([[]], False)


def test_variables_and_parameters_reach_the_engine(lab: Lab, client: ThriftClient) -> None:
    session = open_session(client, configuration={"set:hivevar:n": "1"})
    value = t.TSparkParameterValue
    parameters = [
        t.TSparkParameter(1, "a", "INT", value(stringValue="5")),
        t.TSparkParameter(2, None, None, value(booleanValue=True)),
        t.TSparkParameter(3, "c", "DOUBLE", value(doubleValue=1.5)),
        t.TSparkParameter(4, "d", "VOID", None),
    ]
    execute(client, session, "SELECT ${n}", parameters=parameters)
    (run,) = lab.engine.runs
    assert run.text == "SELECT 1"
    assert run.parameters == (
        Parameter(value="5", sql_type="INT", name="a"),
        Parameter(value="true", sql_type="string"),
        Parameter(value="1.5", sql_type="DOUBLE", name="c"),
        Parameter(value=None, sql_type="VOID", name="d"),
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
        "SemanticException: Table not found nope",
        "SemanticException: Table not found lab.nope",
        "SemanticException: Table not found spark_catalog.lab.nope",
    ]


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
    assert client.GetLog(t.TGetLogReq(operation)).log == ""
    client.CloseOperation(t.TCloseOperationReq(operation))
    with pytest.raises(TApplicationException) as raised:
        client.GetQueryId(t.TGetQueryIdReq(operation))
    assert raised.value.type == TApplicationException.INTERNAL_ERROR


# ----------------------------------------------------------------------------------------------------------- results


def test_pages_tell_whether_rows_follow(client: ThriftClient, session: t.TSessionHandle) -> None:
    operation = execute(client, session, "ROWS 2500")
    seen = []
    for offset, count, more in [(0, 1000, True), (1000, 1500, False), (2500, 0, False)]:
        response = fetch(client, operation, 1500 if offset else 1000)
        assert (response.results.startRowOffset, response.hasMoreRows) == (offset, more)
        assert len(cells(response)[0]) == count
        seen += cells(response)[0]
    assert seen == list(range(2500))
    assert cells(fetch(client, operation, 2, Orientation.FETCH_FIRST)) == [[0, 1], ["row 0", "row 1"]]
    assert cells(fetch(client, operation, 1)) == [[2], ["row 2"]]


@pytest.mark.parametrize("orientation", [1, 2, 3, 5, 77])
def test_other_orientations_are_refused(client: ThriftClient, session: t.TSessionHandle, orientation: int) -> None:
    operation = execute(client, session, "SELECT 1")
    assert fetch(client, operation, 1, orientation).status.sqlState == "HYC00"
    assert cells(fetch(client, operation)) == [[1]]


def test_an_answer_is_bounded_in_bytes(
    monkeypatch: pytest.MonkeyPatch, client: ThriftClient, session: t.TSessionHandle
) -> None:
    monkeypatch.setattr(service_module, "FETCH_BYTES_MAX", 1000)
    operation = execute(client, session, "ROWS 500")
    seen: list[int] = []
    while True:
        response = fetch(client, operation, 500)
        ids = cells(response)[0]
        assert 0 < len(ids) < 100
        seen += ids
        if not response.hasMoreRows:
            break
    assert seen == list(range(500))


def test_clients_before_version_6_get_rows(client: ThriftClient) -> None:
    session = open_session(client, client_protocol=t.TProtocolVersion.HIVE_CLI_SERVICE_PROTOCOL_V5)
    response = fetch(client, execute(client, session, "ROWS 2"))
    assert response.results.columns is None
    assert [(row.colVals[0].i64Val.value, row.colVals[1].stringVal.value) for row in response.results.rows] == [
        (0, "row 0"),
        (1, "row 1"),
    ]


def test_log_lines_are_one_string_column(client: ThriftClient, session: t.TSessionHandle) -> None:
    operation = execute(client, session, "ROWS 2")
    assert cells(fetch(client, operation, kind=1)) == [[]]
    assert len(cells(fetch(client, operation))[0]) == 2


def test_timestamps_show_in_the_zone_of_the_session(lab: Lab, client: ThriftClient, session: t.TSessionHandle) -> None:
    table = pa.table({"ts": pa.array([0, None], pa.timestamp("us", "UTC"))})
    lab.engine.answers["zoned"] = rows(table, time_zone="Asia/Tokyo")
    response = fetch(client, execute(client, session, "zoned"))
    assert response.results.columns[0].stringVal.values == ["1970-01-01 09:00:00", ""]
    assert response.results.columns[0].stringVal.nulls == b"\x02"


def test_a_closed_statement_is_gone_and_closing_it_again_is_no_error(
    client: ThriftClient, session: t.TSessionHandle
) -> None:
    operation = execute(client, session, "SELECT 1")
    for _ in range(3):  # so that the answer is a remembered one
        assert status(client, operation).operationState == State.FINISHED_STATE
    for _ in range(2):
        assert client.CloseOperation(t.TCloseOperationReq(operation)).status.statusCode == OK
    assert status(client, operation).status.statusCode == INVALID
    assert fetch(client, operation).status.statusCode == INVALID


def test_remembered_statuses_are_those_of_the_statement_asked_for(
    client: ThriftClient, session: t.TSessionHandle
) -> None:
    good, bad = execute(client, session, "SELECT 1"), execute(client, session, "nonsense", runAsync=True)
    settle(client, bad)
    for _ in range(3):
        assert status(client, good).operationState == State.FINISHED_STATE
        assert status(client, bad).operationState == State.ERROR_STATE
        assert status(client, bad).sqlState == "42601"


# ---------------------------------------------------------------------------------------------------------- metadata

LISTS: list[tuple[str, dict[str, Any], int, list[Any]]] = [  # request's fields, columns, the telling column's values
    ("GetCatalogs", {}, 1, ["spark_catalog"]),
    ("GetSchemas", {"schemaName": "%"}, 2, ["default", "lab"]),
    ("GetSchemas", {"schemaName": "la_"}, 2, ["lab"]),
    ("GetTables", {}, 10, ["t", "u"]),
    ("GetTables", {"schemaName": "lab", "tableTypes": ["TABLE"]}, 10, ["u"]),
    ("GetTables", {"tableTypes": ["INDEX"]}, 10, []),
    ("GetTableTypes", {}, 1, ["TABLE", "VIEW"]),
    ("GetColumns", {"tableName": "%", "columnName": ".*"}, 23, ["i", "s"]),
    ("GetFunctions", {"functionName": "con%"}, 6, ["concat"]),
    ("GetPrimaryKeys", {"tableName": "t"}, 6, []),
    ("GetCrossReference", {}, 14, []),
]
TELLING = {"GetTables": 2, "GetColumns": 3, "GetFunctions": 2}


@pytest.mark.parametrize(("name", "fields", "columns", "values"), LISTS, ids=lambda case: str(case)[:40])
def test_metadata(
    client: ThriftClient,
    session: t.TSessionHandle,
    name: str,
    fields: dict[str, Any],
    columns: int,
    values: list[Any],
) -> None:
    response = getattr(client, name)(getattr(t, f"T{name}Req")(session, **fields))
    assert response.status.statusCode == OK, response
    schema = client.GetResultSetMetadata(t.TGetResultSetMetadataReq(response.operationHandle)).schema
    assert len(schema.columns) == columns
    answer = fetch(client, response.operationHandle, 50)
    assert len(answer.results.columns) == columns
    assert cells(answer)[TELLING.get(name, 0)] == values


def test_type_info(client: ThriftClient, session: t.TSessionHandle) -> None:
    response = client.GetTypeInfo(t.TGetTypeInfoReq(session))
    answer = cells(fetch(client, response.operationHandle, 50))
    assert len(answer) == 18 and "DECIMAL" in answer[0]


def test_an_error_of_a_metadata_call_is_the_answer(lab: Lab, client: ThriftClient, session: t.TSessionHandle) -> None:
    def broken(*_: object) -> None:
        raise TableNotFound("t")

    lab.engine.sessions[0].run = broken  # type: ignore[assignment, method-assign]
    response = client.GetColumns(t.TGetColumnsReq(session))
    assert (response.status.statusCode, response.status.sqlState) == (ERROR, "42P01")


@pytest.mark.parametrize("name", ["GetDelegationToken", "CancelDelegationToken", "RenewDelegationToken"])
def test_delegation_tokens_are_refused(client: ThriftClient, session: t.TSessionHandle, name: str) -> None:
    response = getattr(client, name)(getattr(t, f"T{name}Req")(session, "x"))
    assert (response.status.statusCode, response.status.sqlState) == (ERROR, "0A000")


# ------------------------------------------------------------------------------------------------- below the service


def test_every_method_of_the_interface_is_served() -> None:
    assert set(RPCS) == {name for name in vars(TCLIService.Iface) if not name.startswith("_")}


@pytest.mark.parametrize("name", sorted(RPCS))
def test_every_method_survives_an_empty_request(client: ThriftClient, name: str) -> None:
    """A request without a handle is a status of its own response, or an exception where the response has none."""
    try:
        response = getattr(client, name)(getattr(t, f"T{name}Req")())
    except TApplicationException:
        assert name == "GetQueryId"
    else:
        assert (response.status.statusCode == OK) == (name == "OpenSession")


def test_an_unknown_method_is_an_exception_and_the_connection_lives(
    client: ThriftClient, session: t.TSessionHandle
) -> None:
    client._oprot.writeMessageBegin("PingImpalaHS2Service", 1, 5)
    session.write(client._oprot)  # a binary handle, which no decoder for text must touch
    client._oprot.writeMessageEnd()
    client._oprot.trans.flush()
    name, kind, sequence = client._iprot.readMessageBegin()
    error = TApplicationException()
    error.read(client._iprot)
    assert (name, kind, sequence, error.type) == ("PingImpalaHS2Service", 3, 5, TApplicationException.UNKNOWN_METHOD)
    assert execute(client, session, "SELECT 1")


@pytest.mark.parametrize("body", [b"", b"\x00", b"\x0c\x00\x01", b"\x0c\x00\x01\x0d\x00\x04\x08\x08\x7f\xff\xff\xff"])
def test_a_malformed_body_is_an_exception_and_the_connection_lives(client: ThriftClient, body: bytes) -> None:
    client._oprot.writeMessageBegin("OpenSession", 1, 5)
    client._oprot.trans.write(body)
    client._oprot.trans.flush()
    _, kind, sequence = client._iprot.readMessageBegin()
    error = TApplicationException()
    error.read(client._iprot)
    assert (kind, sequence, error.type) == (3, 5, TApplicationException.PROTOCOL_ERROR)
    assert open_session(client)
