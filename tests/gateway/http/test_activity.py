"""Sessions and statement history: visibility, and who may end them."""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

import pytest

from catalog.conditions import OperationNotFound, SessionNotFound
from engine.runtime.identity import Identity, Scope
from engine.runtime.request import with_changes
from gateway.observability.history import History, redact_for, statement_info
from gateway.sessions.operation_state import OperationState
from tests.gateway.arrow_engine import sleeps
from tests.gateway.http.conftest import STATEMENTS, Api, eventually

QUERIES = "/api/2.0/sql/history/queries"
SESSIONS = "/api/2.0/sql/sessions"
ANN, BOB = Identity("ann"), Identity("bob")
ADMIN = Identity("root", is_admin=True)
READER = replace(ADMIN, scopes=frozenset({Scope.READ_ONLY}))


def queries(api: Api, query: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = api.ask("GET", f"{QUERIES}?{query}")["res"]
    return found


def test_statements_are_listed_newest_first(api: Api) -> None:
    api.submit("SELECT 1", wait_timeout="50s")
    api.submit("nonsense", wait_timeout="50s")
    api.engine.answers["SELECT slow"] = sleeps(30)
    api.submit("SELECT slow", wait_timeout="0s")
    running, failed, finished = queries(api)
    assert eventually(lambda: queries(api)[0]["status"] == "RUNNING")
    assert (running["query_text"], running["is_final"]) == ("SELECT slow", False)
    assert (failed["status"], failed["condition"]) == ("FAILED", "PARSE_SYNTAX_ERROR.TEST")
    assert (finished["status"], finished["rows_produced"], finished["user_name"]) == ("FINISHED", 1, "anonymous")
    assert finished["duration"] == finished["query_end_time_ms"] - finished["query_start_time_ms"]


def test_statements_are_found(api: Api) -> None:
    for text in ("SELECT 1", "ROWS 5", "nonsense"):
        api.submit(text, wait_timeout="50s")
    assert [row["query_text"] for row in queries(api, "text=rows")] == ["ROWS 5"]
    assert [row["query_text"] for row in queries(api, "status=FAILED")] == ["nonsense"]
    both = queries(api, "filter_by.statuses=FINISHED&filter_by.statuses=FAILED")
    assert len(both) == 3 and not queries(api, "user=bob") and not queries(api, "status=CANCELED")


def test_pages_follow_each_other(api: Api) -> None:
    for count in range(5):
        api.submit(f"ROWS {count}", wait_timeout="50s")
    seen, token = [], ""
    while True:
        page = api.ask("GET", f"{QUERIES}?max_results=2&page_token={token}")
        seen += [row["query_text"] for row in page["res"]]
        token = page.get("next_page_token", "")
        assert page["has_next_page"] == bool(token)
        if not token:
            break
    assert seen == [f"ROWS {count}" for count in reversed(range(5))]
    assert api.ask("GET", f"{QUERIES}?page_token={uuid.uuid4()}")["res"] == []


@pytest.mark.parametrize("query", ["max_results=0", "max_results=1001", "status=DONE", "page_token=x"])
def test_other_requests_are_rejected(api: Api, query: str) -> None:
    assert api.refuse("GET", f"{QUERIES}?{query}") == (400, "INVALID_PARAMETER_VALUE")


def test_statement_is_visible_to_owner_and_administrators(api: Api) -> None:
    session = api.registry.open_session(ANN)
    operation = session.execute("SELECT 1 WHERE password = 'secret'")
    operation.wait(60)
    assert eventually(lambda: len(list(api.registry.statements(ANN))) == 1)
    assert [info.text for info in api.registry.statements(ANN)] == ["SELECT 1 WHERE password = 'secret'"]
    assert [info.text for info in api.registry.statements(ADMIN)] == ["SELECT 1 WHERE password = ***"]
    for other in (BOB, READER, replace(ANN, scopes=frozenset({Scope.READ_ONLY}))):
        assert not list(api.registry.statements(other)) and not api.registry.managed_sessions(other)
    failure = next(iter(api.registry.statements(ADMIN))).failure
    assert failure is not None and "secret" not in failure.message


def test_only_owners_and_administrators_end_what_runs(api: Api) -> None:
    api.engine.answers["SELECT slow"] = sleeps(30)
    session = api.registry.open_session(ANN)
    first, second = session.execute("SELECT slow"), session.execute("SELECT slow")
    for other in (BOB, READER):
        with pytest.raises(OperationNotFound):
            api.registry.end_operation(first.id, other)
        with pytest.raises(SessionNotFound):
            api.registry.end_session(session.id, other)
    assert not first.state.is_terminal
    api.registry.end_operation(first.id, ANN)
    api.registry.end_operation(second.id, ADMIN)
    assert [first.state, second.state] == [OperationState.CANCELED] * 2
    api.registry.end_session(session.id, ADMIN)
    assert not api.registry.sessions()


def test_a_statement_of_another_interface_is_cancelled_over_http(api: Api) -> None:
    api.engine.answers["SELECT slow"] = sleeps(30)
    operation = api.registry.open_session(ANN).execute("SELECT slow")  # everybody administers this server
    assert queries(api)[0]["query_id"] == str(operation.id)
    api.ask("POST", f"{QUERIES}/{operation.id}/cancel")
    assert operation.state is OperationState.CANCELED
    assert api.refuse("POST", f"{QUERIES}/{uuid.uuid4()}/cancel")[0] == 404
    assert api.refuse("POST", f"{QUERIES}/x/cancel")[0] == 404


def test_sessions_are_listed_and_ended(api: Api) -> None:
    opened = api.ask("POST", SESSIONS, {})["session_id"]
    (row,) = api.ask("GET", SESSIONS)["sessions"]
    assert (row["session_id"], row["interface"], row["running"]) == (opened, "http", 0)
    assert row["created_ms"] <= row["last_used_ms"]
    api.ask("POST", f"{SESSIONS}/{opened}/end")
    assert api.ask("GET", SESSIONS)["sessions"] == []
    assert api.refuse("POST", f"{SESSIONS}/{opened}/end")[0] == 404


def test_calls_are_no_statements(api: Api) -> None:
    api.ask("GET", "/api/2.0/catalog/catalogs")
    assert queries(api) == []


def test_history_has_an_end_and_long_texts_are_cut(api: Api) -> None:
    operation = api.registry.open_session(ANN).execute("SELECT 1 -- " + "x" * 100_000)
    operation.wait(60)
    info = statement_info(operation, uuid.uuid4(), "http")
    assert len(info.text) < 20_000
    history = History(entries_max=2)
    for number in range(3):
        history.add(with_changes(info, id=uuid.uuid4(), rows=number))
    assert [each.rows for each in history] == [2, 1]
    assert redact_for(BOB, info) is None


def test_rows_are_those_that_were_read(api: Api) -> None:
    session = api.registry.open_session(ANN)
    operation = session.execute("ROWS 2500")
    operation.wait(60)
    operation.fetch(3000)
    assert [info.rows for info in api.registry.statements(ANN)] == [2500]
    session.forget(operation)
    assert [info.rows for info in api.registry.statements(ANN)] == [2500]


def test_me_is_who_asks(api: Api) -> None:
    me = api.ask("GET", "/api/2.0/preview/scim/v2/Me")
    assert me["userName"] == "anonymous" and me["groups"] == [{"display": "admins"}]


def test_a_page_of_another_site_ends_nothing(api: Api) -> None:
    """If authentication is off, a browser needs no cookie to act as anybody."""
    statement = api.submit("SELECT 1", wait_timeout="50s")["statement_id"]
    for path in (f"{STATEMENTS}/{statement}/cancel", f"{QUERIES}/{statement}/cancel"):
        assert api.refuse("POST", path, **{"Sec-Fetch-Site": "cross-site"}) == (403, "PERMISSION_DENIED")
        assert api.request("POST", path, **{"Sec-Fetch-Site": "same-origin"}).status_code == 200
