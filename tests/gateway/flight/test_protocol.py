"""Statements, prepared statements, results and actions over the Flight port."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import flight

from gateway.flight import results
from gateway.flight.messages import decode, new_message, pack
from gateway.sessions.operation_state import OperationState
from tests.gateway.arrow_engine import Streams, fails, modifies, rows, sleeps
from tests.gateway.flight.lab import Lab, act, prepared, query_info, rows_of
from tests.gateway.http.conftest import eventually

TWO = pa.table({"id": pa.array([1, 2]), "name": ["a", None]})


def test_statement_returns_its_rows_columns_and_their_number(lab: Lab) -> None:
    lab.engine.answers["SELECT two"] = rows(TWO)
    client = lab.client()
    info = query_info(client, "SELECT two")
    assert (info.total_records, len(info.endpoints), info.ordered) == (2, 1, True)
    table = client.do_get(info.endpoints[0].ticket).read_all()
    assert table.to_pylist() == TWO.to_pylist()
    assert info.schema.equals(table.schema, check_metadata=True)
    assert table.schema.field("id").metadata[b"ARROW:FLIGHT:SQL:TYPE_NAME"] == b"BIGINT"
    assert table.schema.field("id").metadata[b"ARROW:FLIGHT:SQL:PRECISION"] == b"19"


def test_ticket_is_read_again_with_the_same_rows(lab: Lab) -> None:
    client = lab.client()
    info = query_info(client, "ROWS 2500")
    tables = [client.do_get(info.endpoints[0].ticket).read_all() for _ in range(2)]
    assert tables[0] == tables[1] and tables[0].num_rows == 2500


def test_large_result_has_several_endpoints_in_order(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "ENDPOINT_BYTES", 16 << 10)
    client = lab.client()
    info = query_info(client, "ROWS 20000")
    assert 4 <= len(info.endpoints) <= results.ENDPOINTS_MAX
    parts = [client.do_get(one.ticket).read_all() for one in reversed(info.endpoints)]
    assert pa.concat_tables(reversed(parts))["id"].to_pylist() == list(range(20_000))


def test_rows_arrive_while_the_statement_runs(lab: Lab) -> None:
    answer = lab.engine.answers["SELECT later"] = Streams()
    answer.give(1, 2)
    client = lab.client()
    info = query_info(client, "SELECT later")
    assert info.total_records == -1
    reader = client.do_get(info.endpoints[0].ticket)
    assert reader.read_chunk().data.to_pydict() == {"id": [1, 2]}
    answer.give(3)
    answer.end()
    assert reader.read_all().to_pydict() == {"id": [3]}


def test_error_after_the_first_rows_ends_the_stream(lab: Lab) -> None:
    answer = lab.engine.answers["SELECT later"] = Streams()
    answer.give(1)
    client = lab.client()
    reader = client.do_get(query_info(client, "SELECT later").endpoints[0].ticket)
    reader.read_chunk()
    answer.end(ValueError("own text"))
    with pytest.raises(flight.FlightInternalError, match="INTERNAL_ERROR") as caught:
        reader.read_all()
    assert "own text" not in str(caught.value)


def test_error_has_no_traceback(lab: Lab) -> None:
    with pytest.raises(flight.FlightError) as caught:
        query_info(lab.client(), "SELECT nonsense")
    assert "[PARSE_SYNTAX_ERROR.TEST]" in str(caught.value) and "SQLSTATE: 42601" in str(caught.value)
    assert "Traceback" not in str(caught.value) and ".py" not in str(caught.value)
    assert b'"sqlstate": "42601"' in caught.value.extra_info
    lab.engine.answers["SELECT broken"] = fails(KeyError("own text"))
    with pytest.raises(flight.FlightInternalError) as broken:
        query_info(lab.client(), "SELECT broken")
    assert "own text" not in str(broken.value)


def test_change_returns_its_counts_as_a_row_and_as_an_update(lab: Lab) -> None:
    lab.engine.answers["DELETE FROM t"] = modifies(3)
    client = lab.client()
    assert rows_of(client, "DELETE FROM t").to_pylist() == [{"num_affected_rows": 3}]
    with lab.connect().cursor() as cursor:
        cursor.execute("DELETE FROM t")
        assert cursor.rowcount == 3
        cursor.adbc_statement.set_sql_query("DELETE FROM t")
        assert cursor.adbc_statement.execute_update() == 3


def test_prepared_statement_tells_a_query_from_a_change(lab: Lab) -> None:
    lab.engine.answers["SELECT 2 AS two"] = rows(pa.table({"two": pa.array([2], pa.int32())}))
    client = lab.client()
    query = prepared(client, "SELECT 2 AS two")
    assert not query.is_update
    schema = pa.ipc.read_schema(pa.py_buffer(query.dataset_schema))
    assert schema.names == ["two"] and schema.types == [pa.int32()]
    runs = [run.text for run in lab.engine.runs]
    assert runs == ["DescribeQuery", "SELECT 2 AS two"]  # which the scripted engine runs to describe it
    change = prepared(client, "INSERT INTO t VALUES (?, ?)")
    assert change.is_update and change.dataset_schema == b""
    assert len(pa.ipc.read_schema(pa.py_buffer(change.parameter_schema))) == 2
    assert not prepared(client, "SHOW TABLES").is_update
    assert not [run for run in lab.engine.runs if run.text.startswith(("INSERT", "SHOW"))]


def test_columns_of_a_query_without_names_are_found_once_for_a_state_of_the_session(lab: Lab) -> None:
    lab.engine.answers["SELECT 2 AS two"] = rows(pa.table({"two": pa.array([2], pa.int32())}))
    client = lab.client()
    found = {prepared(client, "SELECT 2 AS two").dataset_schema for _ in range(3)}
    assert len(found) == 1
    assert [run.text for run in lab.engine.runs].count("DescribeQuery") == 1
    rows_of(client, "USE other")
    prepared(client, "SELECT 2 AS two")
    assert [run.text for run in lab.engine.runs].count("DescribeQuery") == 2
    for _ in range(2):
        with pytest.raises(flight.FlightError):
            prepared(client, "SELECT * FROM t")


def test_parameters_arrive_with_their_types(lab: Lab) -> None:
    lab.engine.answers["INSERT INTO t VALUES (?, ?, ?)"] = modifies(1)
    with lab.connect().cursor() as cursor:
        cursor.executemany("INSERT INTO t VALUES (?, ?, ?)", [(1, "a", 1.5), (2, None, float("nan"))])
        assert cursor.rowcount == 2
    inserts = [run for run in lab.engine.runs if run.text.startswith("INSERT")]
    runs = [[(one.sql_type, one.value) for one in run.parameters] for run in inserts]
    assert runs == [
        [("bigint", "1"), ("string", "a"), ("double", "1.5")],
        [("bigint", "2"), ("string", None), ("double", "NaN")],
    ]


def test_wrong_number_of_parameters_is_rejected(lab: Lab) -> None:
    with lab.connect().cursor() as cursor:
        with pytest.raises(Exception, match="FLIGHT_PARAMETER_COUNT_MISMATCH"):
            cursor.execute("INSERT INTO t VALUES (?, ?)", (1,))
        with pytest.raises(Exception, match="FLIGHT_PARAMETER_COUNT_MISMATCH"):
            cursor.execute("INSERT INTO t VALUES (?, ?)")


def test_closed_prepared_statement_is_not_found(lab: Lab) -> None:
    client = lab.client()
    handle = prepared(client, "SHOW TABLES").prepared_statement_handle
    body = pack("ActionClosePreparedStatementRequest", prepared_statement_handle=handle)
    assert act(client, "ClosePreparedStatement", body) == []
    descriptor = flight.FlightDescriptor.for_command(
        pack("CommandPreparedStatementQuery", prepared_statement_handle=handle)
    )
    with pytest.raises(flight.FlightError, match=r"INVALID_HANDLE\.PREPARED_STATEMENT_NOT_FOUND"):
        client.get_flight_info(descriptor)


def test_statement_is_canceled_by_its_info_and_by_the_end_of_its_call(lab: Lab) -> None:
    answer = lab.engine.answers["SELECT later"] = Streams()
    answer.give(1)
    client = lab.client()
    info = query_info(client, "SELECT later")
    request = new_message("CancelFlightInfoRequest", info=info.serialize()).SerializeToString()
    (body,) = act(client, "CancelFlightInfo", request)
    assert decode("CancelFlightInfoResult", body).status == 1
    assert lab.engine.runs[-1].context.cancel.reason is not None
    with pytest.raises(flight.FlightError, match=r"INVALID_HANDLE\.OPERATION_NOT_FOUND"):
        client.do_get(info.endpoints[0].ticket).read_all()
    with pytest.raises(flight.FlightTimedOutError):
        query_info(client, "SLEEP 60", flight.FlightCallOptions(timeout=0.5))
    assert eventually(lambda: lab.engine.runs[-1].context.cancel.reason is not None)


def test_session_options_are_set_read_and_refused(lab: Lab) -> None:
    lab.engine.tables["lab", "t"] = TWO
    client = lab.client()
    request = new_message("SetSessionOptionsRequest")
    request.session_options["schema"].string_value = "lab"
    request.session_options["catalog"].int64_value = 1
    (body,) = act(client, "SetSessionOptions", request.SerializeToString())
    assert dict(decode("SetSessionOptionsResult", body).errors) == {}
    (body,) = act(client, "GetSessionOptions", b"")
    found = {name: one.string_value for name, one in decode("GetSessionOptionsResult", body).session_options.items()}
    assert found["catalog"] == "1" and "schema" in found
    request = new_message("SetSessionOptionsRequest")
    request.session_options["schema"].string_value = "no_schema"
    (body,) = act(client, "SetSessionOptions", request.SerializeToString())
    assert decode("SetSessionOptionsResult", body).errors["schema"].value == 2


class Cookies(flight.ClientMiddlewareFactory):
    """Sends the cookie of the first response."""

    def __init__(self, cookie: str = "") -> None:
        self.cookie = cookie

    def start_call(self, info: object) -> Any:
        cookies = self

        class Cookie(flight.ClientMiddleware):
            def sending_headers(self) -> dict[str, str]:
                return {"cookie": cookies.cookie} if cookies.cookie else {}

            def received_headers(self, headers: dict[str, list[str]]) -> None:
                for value in headers.get("set-cookie", []):
                    cookies.cookie = value.partition(";")[0]

        return Cookie()


def test_session_is_that_of_the_cookie_or_the_connection(lab: Lab) -> None:
    lab.engine.tables["lab", "t"] = TWO
    cookies = Cookies()
    first = lab.client(cookies)
    rows_of(first, "USE lab")
    rows_of(lab.client(), "SELECT 1")
    assert cookies.cookie.startswith("arrow_flight_session_id=")
    rows_of(lab.client(Cookies(cookies.cookie)), "SELECT 1")
    assert sorted(session.current_schema for session in lab.engine.sessions) == ["default", "lab"]
    with pytest.raises(flight.FlightError, match=r"INVALID_HANDLE\.SESSION_NOT_FOUND"):
        rows_of(lab.client(Cookies(cookies.cookie[:-1] + ("0" if cookies.cookie[-1] != "0" else "1"))), "SELECT 1")
    (body,) = act(first, "CloseSession", b"")
    assert decode("CloseSessionResult", body).status == 1
    assert len(lab.registry.sessions()) == 1


def test_session_of_a_connection_ends_with_it(lab: Lab) -> None:
    client = lab.client()
    info = query_info(client, "ROWS 3000")
    reader = client.do_get(info.endpoints[0].ticket)
    reader.read_chunk()
    assert len(lab.registry.sessions()) == 1
    del reader
    client.close()
    assert eventually(lambda: lab.registry.sessions() == ())
    assert lab.registry.operations() == ()


def test_result_that_was_read_is_released(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    client = lab.client()
    info = query_info(client, "ROWS 10")
    client.do_get(info.endpoints[0].ticket).read_all()
    assert [one.state for one in lab.registry.operations()] == [OperationState.FINISHED]
    time.sleep(1.2)  # the port looks after its results each second
    assert len(lab.registry.operations()) == 1
    monkeypatch.setattr(results, "READ_AGAIN_S", 0.0)
    assert eventually(lambda: lab.registry.operations() == ())


INVALID = {
    "no message": b"\xff\xff",
    "no Any": b"",
    "another protocol's message": b"\n\x20type.googleapis.com/google.x.Any",
    "an action as a command": pack("ActionClosePreparedStatementRequest"),
}


@pytest.mark.parametrize("command", INVALID.values(), ids=INVALID)
def test_invalid_command_is_rejected_by_each_call(lab: Lab, command: bytes) -> None:
    client = lab.client()
    descriptor = flight.FlightDescriptor.for_command(command)
    calls: tuple[Callable[[], Any], ...] = (
        lambda: client.get_flight_info(descriptor),
        lambda: client.get_schema(descriptor),
        lambda: client.do_get(flight.Ticket(command)).read_all(),
    )
    for call in calls:
        with pytest.raises((flight.FlightError, pa.ArrowInvalid), match="INVALID_FLIGHT|UNSUPPORTED_FLIGHT") as caught:
            call()
        assert "Traceback" not in str(caught.value) and ".py" not in str(caught.value)
    assert rows_of(client, "SELECT 1").num_rows == 1


@pytest.mark.parametrize("name", ["BeginTransaction", "EndTransaction", "BeginSavepoint", "Unknown"])
def test_unknown_action_is_rejected_with_its_name(lab: Lab, name: str) -> None:
    with pytest.raises(flight.FlightError, match=f"UNSUPPORTED_FLIGHT_FEATURE.*{name}"):
        act(lab.client(), name, b"")


def test_unsupported_flight_calls_are_rejected(lab: Lab) -> None:
    client = lab.client()
    with pytest.raises(flight.FlightError, match="UNSUPPORTED_FLIGHT_FEATURE"):
        list(client.list_flights())
    with pytest.raises(flight.FlightError, match="INVALID_FLIGHT_MESSAGE"):
        client.get_flight_info(flight.FlightDescriptor.for_path("x"))
    assert {"CreatePreparedStatement", "CancelFlightInfo"} <= {one.type for one in client.list_actions()}


def test_renewed_endpoint_is_the_same_with_a_later_end(lab: Lab) -> None:
    client = lab.client()
    endpoint = query_info(client, "ROWS 10").endpoints[0]
    request = new_message("RenewFlightEndpointRequest", endpoint=endpoint.serialize()).SerializeToString()
    (body,) = act(client, "RenewFlightEndpoint", request)
    renewed = flight.FlightEndpoint.deserialize(body)
    assert renewed.ticket == endpoint.ticket and renewed.expiration_time.value >= endpoint.expiration_time.value


def test_running_statement_without_its_client_is_canceled(lab: Lab) -> None:
    lab.engine.answers["SELECT slow"] = sleeps(120)
    client = lab.client()
    with pytest.raises(flight.FlightError):
        query_info(client, "SELECT slow", flight.FlightCallOptions(timeout=0.3))
    assert eventually(lambda: lab.registry.operations() == ())
