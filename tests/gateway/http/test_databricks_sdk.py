"""Databricks' own SDK for Python, as it comes, against the statement API."""

from __future__ import annotations

import urllib.request

import pyarrow as pa
import pytest
from databricks.sdk import WorkspaceClient
from databricks.sdk.errors import NotFound
from databricks.sdk.service.sql import (
    Disposition,
    ExecuteStatementRequestOnWaitTimeout,
    Format,
    QueryFilter,
    QueryStatus,
    StatementExecutionAPI,
    StatementParameterListItem,
    StatementState,
)

from tests.gateway.http.conftest import Live, eventually

pytestmark = pytest.mark.clients


@pytest.fixture
def api(live: Live) -> StatementExecutionAPI:
    return WorkspaceClient(host=live.url, token="any", auth_type="pat").statement_execution


def test_rows_inline(api: StatementExecutionAPI) -> None:
    response = api.execute_statement("ROWS 2", "warehouse")
    assert response.result.data_array == [["0", "row 0"], ["1", "row 1"]]
    assert [column.type_name.value for column in response.manifest.schema.columns] == ["LONG", "STRING"]


def test_rows_in_chunks(api: StatementExecutionAPI, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.http.delivery._CHUNK_BYTES", 4000)
    response = api.execute_statement("ROWS 1000", "warehouse")
    chunk, rows = response.result, list(response.result.data_array)
    while chunk.next_chunk_index:
        chunk = api.get_statement_result_chunk_n(response.statement_id, chunk.next_chunk_index)
        rows += chunk.data_array
    assert [row[0] for row in rows] == [str(i) for i in range(1000)] and response.manifest.total_chunk_count > 3


def test_rows_behind_links(api: StatementExecutionAPI) -> None:
    response = api.execute_statement(
        "ROWS 5", "warehouse", disposition=Disposition.EXTERNAL_LINKS, format=Format.ARROW_STREAM
    )
    (link,) = response.result.external_links
    with urllib.request.urlopen(link.external_link) as answer:
        assert pa.ipc.open_stream(answer.read()).read_all()["id"].to_pylist() == [0, 1, 2, 3, 4]


def test_parameters_and_limits(api: StatementExecutionAPI, live: Live) -> None:
    parameters = [StatementParameterListItem(name="a", value="5", type="INT")]
    response = api.execute_statement("ROWS 9", "warehouse", parameters=parameters, row_limit=3)
    assert response.manifest.truncated and response.manifest.total_row_count == 3
    (parameter,) = live.engine.runs[-1].parameters
    assert (parameter.name, parameter.value, parameter.sql_type) == ("a", "5", "INT")


def test_a_failure(api: StatementExecutionAPI) -> None:
    status = api.execute_statement("SELEKT", "warehouse").status
    assert status.state is StatementState.FAILED and "PARSE_SYNTAX_ERROR" in status.error.message
    assert status.error.error_code is not None


def test_cancelling(api: StatementExecutionAPI, live: Live) -> None:
    running = api.execute_statement("SLEEP 60", "warehouse", wait_timeout="0s")
    api.cancel_execution(running.statement_id)
    assert api.get_statement(running.statement_id).status.state is StatementState.CANCELED
    waited = api.execute_statement(
        "SLEEP 60", "warehouse", wait_timeout="5s", on_wait_timeout=ExecuteStatementRequestOnWaitTimeout.CANCEL
    )
    assert waited.status.state is StatementState.CANCELED
    assert eventually(lambda: all(session.closed for session in live.engine.sessions))


def test_an_unknown_statement(api: StatementExecutionAPI) -> None:
    with pytest.raises(NotFound):
        api.get_statement("00000000-0000-0000-0000-000000000000")


def test_the_history_of_statements_and_who_asks(api: StatementExecutionAPI, live: Live) -> None:
    client = WorkspaceClient(host=live.url, token="any", auth_type="pat")
    for text in ("SELECT 1", "nonsense"):
        api.execute_statement(text, "warehouse")
    newest = client.query_history.list(max_results=1)
    assert [(query.query_text, query.status) for query in newest.res] == [("nonsense", QueryStatus.FAILED)]
    older = client.query_history.list(page_token=newest.next_page_token)
    assert [query.query_text for query in older.res] == ["SELECT 1"] and not older.has_next_page
    finished = client.query_history.list(filter_by=QueryFilter(statuses=[QueryStatus.FINISHED]))
    assert [query.query_text for query in finished.res] == ["SELECT 1"]
    assert client.current_user.me().user_name == "anonymous"
