"""Databricks' own SDK for Python, as it comes, against the statement API."""

from __future__ import annotations

import csv
import datetime as dt
import json
import urllib.request
from base64 import b64decode
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from databricks.sdk import WorkspaceClient
from databricks.sdk.errors import NotFound
from databricks.sdk.errors.base import DatabricksError
from databricks.sdk.service.sql import (
    CreateQueryRequestQuery,
    Disposition,
    ExecuteStatementRequestOnWaitTimeout,
    Format,
    LifecycleState,
    QueryFilter,
    QueryStatus,
    ResultManifest,
    State,
    StatementExecutionAPI,
    StatementParameterListItem,
    StatementResponse,
    StatementState,
    UpdateQueryRequestQuery,
)

from tests.gateway.arrow_engine import rows
from tests.gateway.http.conftest import Live, eventually
from tests.present import present

pytestmark = pytest.mark.clients


@pytest.fixture
def api(live: Live) -> StatementExecutionAPI:
    return WorkspaceClient(host=live.url, token="any", auth_type="pat").statement_execution


def manifest_of(response: StatementResponse) -> ResultManifest:
    return present(response.manifest)


def first_rows(response: StatementResponse) -> list[list[str]]:
    """Returns the inline rows in the response."""
    return present(present(response.result).data_array)


def state_of(response: StatementResponse) -> StatementState:
    return present(present(response.status).state)


def id_of(response: StatementResponse) -> str:
    return present(response.statement_id)


def test_first_request_logs_no_warning(live: Live, caplog: pytest.LogCaptureFixture) -> None:
    WorkspaceClient(host=live.url, token="any", auth_type="pat")
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == []


def test_rows_inline(api: StatementExecutionAPI) -> None:
    response = api.execute_statement("ROWS 2", "warehouse")
    assert first_rows(response) == [["0", "row 0"], ["1", "row 1"]]
    assert [present(c.type_name).value for c in present(present(manifest_of(response).schema).columns)] == [
        "LONG",
        "STRING",
    ]


def test_rows_in_chunks(api: StatementExecutionAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.http.delivery._CHUNK_BYTES", 4000)
    response = api.execute_statement("ROWS 1000", "warehouse")
    chunk, rows = present(response.result), list(first_rows(response))
    while chunk.next_chunk_index:
        chunk = api.get_statement_result_chunk_n(id_of(response), chunk.next_chunk_index)
        rows += present(chunk.data_array)
    assert [row[0] for row in rows] == [str(i) for i in range(1000)]
    assert present(manifest_of(response).total_chunk_count) > 3


def test_rows_behind_links(api: StatementExecutionAPI) -> None:
    response = api.execute_statement(
        "ROWS 5", "warehouse", disposition=Disposition.EXTERNAL_LINKS, format=Format.ARROW_STREAM
    )
    (link,) = present(present(response.result).external_links)
    with urllib.request.urlopen(present(link.external_link)) as answer:
        assert pa.ipc.open_stream(answer.read()).read_all()["id"].to_pylist() == [0, 1, 2, 3, 4]


def test_parameters_and_limits(api: StatementExecutionAPI, live: Live) -> None:
    parameters = [StatementParameterListItem(name="a", value="5", type="INT")]
    response = api.execute_statement("ROWS 9", "warehouse", parameters=parameters, row_limit=3)
    assert manifest_of(response).truncated and manifest_of(response).total_row_count == 3
    (parameter,) = live.engine.runs[-1].parameters
    assert (parameter.name, parameter.value, parameter.sql_type) == ("a", "5", "INT")


WAITS: tuple[dict[str, Any], ...] = (
    {},
    {"wait_timeout": "0s"},
    {"wait_timeout": "30s", "on_wait_timeout": ExecuteStatementRequestOnWaitTimeout.CONTINUE},
    {"wait_timeout": "30s", "on_wait_timeout": ExecuteStatementRequestOnWaitTimeout.CANCEL},
)
FORMS = (
    (Disposition.INLINE, Format.JSON_ARRAY),
    (Disposition.INLINE, Format.ARROW_STREAM),
    (Disposition.EXTERNAL_LINKS, Format.JSON_ARRAY),
    (Disposition.EXTERNAL_LINKS, Format.ARROW_STREAM),
    (Disposition.EXTERNAL_LINKS, Format.CSV),
)
EXACT = {
    "big": ("bigint", pa.array([2**63 - 1, -(2**63), None]), ["9223372036854775807", "-9223372036854775808", None]),
    "d": (
        "decimal(38,18)",
        pa.array([Decimal("12345678901234567890.123456789012345678"), Decimal(0), None], pa.decimal128(38, 18)),
        ["12345678901234567890.123456789012345678", "0.000000000000000000", None],
    ),
    "f": ("double", pa.array([0.1, float("nan"), None]), ["0.1", "NaN", None]),
    "b": ("boolean", pa.array([True, False, None]), ["true", "false", None]),
    "bytes": ("binary", pa.array([b"\x00\xff", b"", None]), None),
    "day": ("date", pa.array([dt.date(1, 1, 1), dt.date(9999, 12, 31), None]), ["0001-01-01", "9999-12-31", None]),
    "text": ("string", pa.array(['a"b,\n', "", None]), ['a"b,\n', "", None]),
}


def ended(api: StatementExecutionAPI, response: StatementResponse) -> StatementResponse:
    while state_of(response) in (StatementState.PENDING, StatementState.RUNNING):
        response = api.get_statement(id_of(response))
    return response


def ids_of(api: StatementExecutionAPI, response: StatementResponse, index: int, format_: Format) -> list[int]:
    """Returns one chunk's ids, inline or from its link."""
    chunk = api.get_statement_result_chunk_n(id_of(response), index)
    if not chunk.external_links:
        if format_ is Format.JSON_ARRAY:
            return [int(row[0]) for row in present(chunk.data_array)]
        content = b64decode(api._api.do("GET", chunk_path(response, index))["attachment"])
    else:
        with urllib.request.urlopen(present(chunk.external_links[0].external_link)) as answer:
            content = answer.read()
    match format_:
        case Format.JSON_ARRAY:
            return [int(row[0]) for row in json.loads(content)]
        case Format.CSV:
            return [int(row[0]) for row in csv.reader(content.decode().splitlines()) if row[0] != "id"]
        case _:
            return list(pa.ipc.open_stream(content).read_all()["id"].to_pylist())


def chunk_path(response: StatementResponse, index: int) -> str:
    """Returns a chunk's path, since the SDK has no field for inline Arrow rows."""
    return f"/api/2.0/sql/statements/{response.statement_id}/result/chunks/{index}"


@pytest.mark.diagonals("wait", "format_", step=2)
@pytest.mark.parametrize("wait", WAITS, ids=str)
@pytest.mark.parametrize(("disposition", "format_"), FORMS, ids=lambda each: each.value)
def test_a_script_of_every_call(
    api: StatementExecutionAPI, monkeypatch: pytest.MonkeyPatch, wait: Any, disposition: Disposition, format_: Format
) -> None:
    monkeypatch.setattr("gateway.http.delivery._CHUNK_BYTES", 30_000)
    given: dict[str, Any] = {
        "disposition": disposition,
        "format": format_,
        "catalog": "spark_catalog",
        "schema": "default",
        **wait,
    }
    response = ended(api, api.execute_statement("ROWS 5000", "warehouse", **given))
    manifest = manifest_of(response)
    assert (state_of(response), manifest.total_row_count, manifest.truncated) == (
        StatementState.SUCCEEDED,
        5000,
        False,
    )
    chunks = present(manifest.chunks)
    assert manifest.total_chunk_count == len(chunks) > 3
    for index in (len(chunks) - 1, 1, 0, 2, 1):  # in any order, and again
        offset = present(chunks[index].row_offset)
        expected = list(range(offset, offset + present(chunks[index].row_count)))
        assert ids_of(api, response, index, format_) == expected
    for limits in ({"row_limit": 7}, {"byte_limit": 300}):
        cut = ended(api, api.execute_statement("ROWS 5000", "warehouse", **given | limits))
        row_count = present(manifest_of(cut).total_row_count)
        assert manifest_of(cut).truncated and 0 < row_count < 50
        assert ids_of(api, cut, 0, format_) == list(range(row_count))
    exact = api.execute_statement("ROWS 7", "warehouse", **given, row_limit=7)
    assert manifest_of(ended(api, exact)).truncated is False
    api.cancel_execution(id_of(exact))  # which has ended
    assert state_of(api.get_statement(id_of(exact))) is StatementState.SUCCEEDED


def test_a_schema_that_is_not_there_and_a_chunk_that_is_not(api: StatementExecutionAPI) -> None:
    with pytest.raises(DatabricksError, match="SCHEMA_NOT_FOUND|cannot be found"):
        api.execute_statement("SELECT 1", "warehouse", schema="nowhere")
    done = api.execute_statement("SELECT 1", "warehouse")
    with pytest.raises(DatabricksError, match="no chunk 1"):
        api.get_statement_result_chunk_n(id_of(done), 1)


def test_json_is_exact(api: StatementExecutionAPI, live: Live) -> None:
    table = pa.table({name: column for name, (_, column, _) in EXACT.items()})
    live.engine.answers["SELECT exact"] = rows(table, {name: sql_type for name, (sql_type, _, _) in EXACT.items()})
    found = first_rows(api.execute_statement("SELECT exact", "warehouse"))
    for position, (name, (_, _, expected)) in enumerate(EXACT.items()):
        assert expected is None or [row[position] for row in found] == expected, name


def test_a_failure(api: StatementExecutionAPI) -> None:
    status = present(api.execute_statement("SELEKT", "warehouse").status)
    error = present(status.error)
    assert status.state is StatementState.FAILED and "PARSE_SYNTAX_ERROR" in present(error.message)
    assert error.error_code is not None


def test_cancelling(api: StatementExecutionAPI, live: Live) -> None:
    running = api.execute_statement("SLEEP 60", "warehouse", wait_timeout="0s")
    api.cancel_execution(id_of(running))
    assert state_of(api.get_statement(id_of(running))) is StatementState.CANCELED
    waited = api.execute_statement(
        "SLEEP 60", "warehouse", wait_timeout="5s", on_wait_timeout=ExecuteStatementRequestOnWaitTimeout.CANCEL
    )
    assert state_of(waited) is StatementState.CANCELED
    assert eventually(lambda: all(session.closed for session in live.engine.sessions))


def test_an_unknown_statement(api: StatementExecutionAPI) -> None:
    with pytest.raises(NotFound):
        api.get_statement("00000000-0000-0000-0000-000000000000")


def test_the_history_of_statements_and_who_asks(api: StatementExecutionAPI, live: Live) -> None:
    client = WorkspaceClient(host=live.url, token="any", auth_type="pat")
    for text in ("SELECT 1", "nonsense"):
        api.execute_statement(text, "warehouse")
    newest = client.query_history.list(max_results=1)
    assert [(query.query_text, query.status) for query in present(newest.res)] == [("nonsense", QueryStatus.FAILED)]
    older = client.query_history.list(page_token=newest.next_page_token)
    assert [query.query_text for query in present(older.res)] == ["SELECT 1"] and not older.has_next_page
    finished = client.query_history.list(filter_by=QueryFilter(statuses=[QueryStatus.FINISHED]))
    assert [query.query_text for query in present(finished.res)] == ["SELECT 1"]
    assert client.current_user.me().user_name == "anonymous"


def test_the_server_is_the_one_warehouse(live: Live) -> None:
    client = WorkspaceClient(host=live.url, token="any", auth_type="pat")
    (listed,) = client.warehouses.list()
    assert listed.id == listed.name == "delta-gateway" and listed.state is State.RUNNING
    odbc = present(listed.odbc_params)
    assert odbc.port == live.port and odbc.path == "/sql/1.0/warehouses/delta-gateway"
    assert listed.num_active_sessions == 0
    found = client.warehouses.get("abc 1")
    assert found.id == "abc 1" and found.state is State.RUNNING
    assert client.warehouses.start("abc 1").result().state is State.RUNNING
    url = present(found.jdbc_url)
    assert f"127.0.0.1:{live.port}" in url and "httpPath=/sql/1.0/warehouses/abc%201;" in url
    client.statement_execution.execute_statement("SELECT 1", found.id)


def test_saved_queries(live: Live) -> None:
    queries = WorkspaceClient(host=live.url, token="any", auth_type="pat").queries
    made = queries.create(
        query=CreateQueryRequestQuery(display_name="Revenue", query_text="SELECT 1", parent_path="/reports")
    )
    query_id = present(made.id)
    assert (made.display_name, made.parent_path, made.lifecycle_state) == ("Revenue", "/reports", LifecycleState.ACTIVE)
    change = UpdateQueryRequestQuery(query_text="SELECT 2", description="for the board")
    updated = queries.update(query_id, "query_text,description", query=change)
    assert (updated.display_name, updated.query_text, updated.description) == ("Revenue", "SELECT 2", "for the board")
    assert [each.display_name for each in queries.list(page_size=1)] == ["Revenue"]
    assert queries.get(query_id).query_text == "SELECT 2"
    queries.delete(query_id)
    with pytest.raises(NotFound):
        queries.get(query_id)
