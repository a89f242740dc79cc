"""Probes 58 to 62, 80 and 84: an id is its owner's, over every interface, and as long as the owner is known."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from catalog.errors import SqlError
from engine.runtime.identity import Identity, Method
from gateway.authenticators.password_file import User, remove_user, store_user
from gateway.authenticators.passwords import hash_password
from gateway.hs2.gen import ttypes as t
from gateway.registry import READ_AFTER_EXPIRY_S
from tests.gateway.hs2.test_server import OPEN
from tests.gateway.hs2.wire import INVALID, OK, execute, fetch, open_session
from tests.security.secure_server import SESSIONS, STATEMENTS, SecureServer, basic

UNKNOWN = "00000000-0000-0000-0000-000000000000"


def test_handles_of_another_are_unknown_ones(server: SecureServer) -> None:
    with server.client("ann") as ann, server.client("bob") as bob:
        session = open_session(ann)
        operation = execute(ann, session, "ROWS 3")
        closed = open_session(bob)
        bob.CloseSession(t.TCloseSessionReq(closed))
        for handle, mine in ((session, closed), (session, t.TSessionHandle(session.sessionId, 1))):
            foreign = bob.ExecuteStatement(t.TExecuteStatementReq(handle, "SELECT 1")).status
            assert foreign == bob.ExecuteStatement(t.TExecuteStatementReq(mine, "SELECT 1")).status
            assert foreign.statusCode == INVALID
        assert fetch(bob, operation).status.statusCode == INVALID
        assert fetch(ann, operation).status.statusCode == OK


def test_ids_of_another_are_unknown_ones(server: SecureServer) -> None:
    session = server.ask("POST", SESSIONS, {}, **basic("ann")).body["session_id"]
    statement = server.submit("ROWS 3", user="ann", session_id=session)["statement_id"]

    def ask(method: str, path: str, body: object = None) -> list[tuple[int, object]]:
        found = []
        for one, other in ((session, statement), (UNKNOWN, UNKNOWN)):
            text = None if body is None else {"statement": "SELECT 1", "session_id": one}
            answer = server.ask(method, path.format(session=one, statement=other), text, **basic("bob"))
            found.append((answer.status, answer.body))
        return found

    for method, path, body in (
        ("POST", STATEMENTS, {}),
        ("GET", STATEMENTS + "/{statement}", None),
        ("DELETE", STATEMENTS + "/{statement}", None),
        ("POST", STATEMENTS + "/{statement}/cancel", None),
        ("GET", STATEMENTS + "/{statement}/result/chunks/0", None),
        ("DELETE", SESSIONS + "/{session}", None),
    ):
        mine, unknown = ask(method, path, body)
        assert mine == unknown and mine[0] == 404
    assert {run.context.identity.principal for run in server.engine.runs} == {"ann"}
    # other parts of the request have no effect
    own = server.ask("POST", SESSIONS, {}, **basic("bob")).body["session_id"]
    own_body = {"statement": "SELECT 1", "session_id": own}
    path = f"{STATEMENTS}?session_id={session}"
    assert server.ask("POST", path, own_body, **basic("bob"), X_Session_Id=session).status == 200
    assert server.engine.runs[-1].context.identity.principal == "bob"


def test_a_removed_user_starts_nothing_more(server: SecureServer, folder: Path) -> None:
    with server.client("bob") as client:
        session = open_session(client)
        operation = execute(client, session, "ROWS 2500")
        assert fetch(client, operation, 1000).status.statusCode == OK
        web = server.ask("POST", SESSIONS, {}, **basic("bob")).body["session_id"]
        remove_user(folder / "users", "bob")
        refused = client.ExecuteStatement(t.TExecuteStatementReq(session, "SELECT 1")).status
        assert (refused.sqlState, "Log in again" in refused.errorMessage) == ("28000", True)
        assert client.GetTables(t.TGetTablesReq(session)).status.sqlState == "28000"
        assert client.OpenSession(t.TOpenSessionReq(client_protocol=7)).status.sqlState == "28000"
        assert fetch(client, operation, 1000).status.statusCode == OK  # an ended statement may be read
    body = {"statement": "SELECT 1", "session_id": web}
    assert server.ask("POST", STATEMENTS, body, **basic("bob")).status == 401


def test_changed_groups_require_new_login(server: SecureServer, folder: Path) -> None:
    with server.client("ann") as client:
        session = open_session(client)
        store_user(folder / "users", User("ann", hash_password("annann"), ("staff",)))
        assert client.ExecuteStatement(t.TExecuteStatementReq(session, "SELECT 1")).status.sqlState == "28000"
    web = server.submit(user="ann")
    assert web["status"]["state"] == "SUCCEEDED"
    assert server.engine.runs[-1].context.identity.groups == {"staff"}


def test_a_session_over_http_goes_on_with_a_later_log_in(server: SecureServer, folder: Path) -> None:
    session = server.ask("POST", SESSIONS, {}, **basic("ann")).body["session_id"]
    store_user(folder / "users", User("ann", hash_password("annann"), ("staff",)))
    assert server.submit(user="ann", session_id=session)["status"]["state"] == "SUCCEEDED"
    assert server.engine.runs[-1].context.identity.groups == {"staff"}


def test_a_result_can_be_read_for_a_while_after_its_log_in_expired(server: SecureServer) -> None:
    registry, now_ms = server.registry, int(time.time() * 1000)
    ann = Identity("ann", frozenset({"staff", "Ops"}), method=Method.PASSWORD)
    session = registry.open_session(ann)
    operation = session.execute("ROWS 3")
    operation.wait(60)
    expired = replace(ann, expires_ms=now_ms - 1000)
    assert registry.find_operation(operation.id, expired)[1] is operation
    session.renew(expired)
    for step in (lambda: session.execute("SELECT 1"), lambda: registry.open_session(expired)):
        assert refused(step) == "AUTHENTICATION_FAILED.ENDED"
    over = replace(ann, expires_ms=now_ms - int(READ_AFTER_EXPIRY_S * 1000) - 1)
    assert refused(lambda: registry.find_operation(operation.id, over)) == "AUTHENTICATION_FAILED.ENDED"
    session.renew(over)
    assert refused(lambda: registry.linked_operation(operation.id)) == "AUTHENTICATION_FAILED.ENDED"


def test_a_link_ends_with_its_statement_and_is_good_for_nothing_else(server: SecureServer) -> None:
    mine, other = (
        server.submit("ROWS 3", user=user, disposition="EXTERNAL_LINKS", format="CSV") for user in ("ann", "bob")
    )
    (link,) = mine["result"]["external_links"]
    path = link["external_link"].partition("/api")[1] + link["external_link"].partition("/api")[2]
    assert server.ask("GET", path).status == 200
    for changed in (
        path.replace(mine["statement_id"], other["statement_id"]),
        path.replace("/0?", "/1?"),
        path.replace("expires=", "expires=9"),
        path.partition("?")[0],
    ):
        assert server.ask("GET", changed).status == 403
    assert server.ask("DELETE", f"{STATEMENTS}/{mine['statement_id']}", **basic("ann")).status == 200
    assert server.ask("GET", path).status == 404


def refused(step: Callable[[], object]) -> str:
    """Returns the error condition that `step` raises."""
    with pytest.raises(SqlError) as error:
        step()
    return error.value.condition


def test_another_password_ends_what_the_former_has_opened(server: SecureServer, folder: Path) -> None:
    with server.client("bob") as client:
        session = open_session(client)
        store_user(folder / "users", User("bob", hash_password("new")))
        assert client.ExecuteStatement(t.TExecuteStatementReq(session, "SELECT 1")).status.sqlState == "28000"


def test_the_cookie_of_a_driver_is_its_users(server: SecureServer, folder: Path) -> None:
    kind = {"Content_Type": "application/x-thrift"}
    answer = server.ask("POST", "/cliservice", OPEN, **kind, **basic("bob"))
    cookie = answer.headers["Set-Cookie"].partition(";")[0]
    assert answer.status == 200 and "HttpOnly" in answer.headers["Set-Cookie"]
    assert server.ask("POST", "/cliservice", OPEN, **kind, Cookie=cookie).status == 200
    assert {session.principal for session in server.engine.sessions} == {"bob"}
    for wrong in (f"{cookie[:-1]}x", "hive.server2.auth=", "hive.server2.auth=bob!9999999999!x"):
        refused = server.ask("POST", "/cliservice", OPEN, **kind, Cookie=wrong)
        assert refused.status == 401 and refused.headers["Set-Cookie"] is None
        assert cookie.partition("=")[2] not in refused.content.decode()
    remove_user(folder / "users", "bob")
    assert server.ask("POST", "/cliservice", OPEN, **kind, Cookie=cookie).status == 401
