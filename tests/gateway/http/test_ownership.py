"""Ids open only their own principal's sessions, statements, chunks and links; for others they are unknown."""

from __future__ import annotations

import json
import uuid
from base64 import b64encode
from typing import Any

import pytest

from gateway.sessions.operation_state import OperationState
from tests.gateway.http.conftest import STATEMENTS, Api

SESSIONS = "/api/2.0/sql/sessions"


def headers(user: str | None) -> dict[str, str]:
    return {"Authorization": f"Basic {b64encode(f'{user}:x'.encode()).decode()}"} if user else {}


def answer(api: Api, user: str | None, method: str, path: str, body: object = None) -> tuple[int, Any]:
    response = api.request(method, path, body, **headers(user))
    return response.status_code, json.loads(response.data)


REQUESTS = [
    ("GET", f"{STATEMENTS}/{{statement}}", None),
    ("GET", f"{STATEMENTS}/{{statement}}?wait_timeout=1s&on_disconnect=CANCEL", None),
    ("GET", f"{STATEMENTS}/{{statement}}/result/chunks/0", None),
    ("POST", f"{STATEMENTS}/{{statement}}/cancel", None),
    ("DELETE", f"{STATEMENTS}/{{statement}}", None),
    ("GET", f"{SESSIONS}/{{session}}", None),
    ("PATCH", f"{SESSIONS}/{{session}}", {"schema": "default"}),
    ("DELETE", f"{SESSIONS}/{{session}}", None),
    ("POST", STATEMENTS, {"statement": "SELECT 1", "session_id": "{session}"}),
]


@pytest.mark.parametrize(("method", "path", "body"), REQUESTS)
@pytest.mark.parametrize("other", ["bob", None])
def test_another_principals_ids_are_answered_like_unknown_ones(
    api: Api, method: str, path: str, body: dict[str, str] | None, other: str | None
) -> None:
    opened = answer(api, "ann", "POST", SESSIONS, {})[1]["session_id"]
    requested = {"statement": "SELECT 1", "session_id": opened, "disposition": "EXTERNAL_LINKS", "wait_timeout": "50s"}
    submitted = answer(api, "ann", "POST", STATEMENTS, requested)[1]
    runs = len(api.engine.runs)

    def ask(user: str | None, session: str, statement: str) -> tuple[int, Any]:
        given = {key: value.format(session=session) for key, value in body.items()} if body else None
        return answer(api, user, method, path.format(session=session, statement=statement), given)

    unknown = ask(other, str(uuid.uuid4()), str(uuid.uuid4()))
    assert unknown[0] == 404
    assert ask(other, opened, submitted["statement_id"]) == unknown
    assert len(api.engine.runs) == runs
    (operation,) = api.registry.operations()
    assert operation.state is OperationState.FINISHED and len(api.registry.sessions()) == 1
    assert ask("ann", opened, submitted["statement_id"])[0] == 200


def test_a_statement_without_a_session_has_an_owner_too(api: Api) -> None:
    statement = answer(api, "ann", "POST", STATEMENTS, {"statement": "SELECT 1"})[1]["statement_id"]
    assert answer(api, "bob", "GET", f"{STATEMENTS}/{statement}")[0] == 404
    assert answer(api, "ann", "GET", f"{STATEMENTS}/{statement}")[0] == 200


def test_a_link_is_followed_without_credentials_as_long_as_its_statement_is_open(api: Api) -> None:
    requested = {"statement": "SELECT 1", "disposition": "EXTERNAL_LINKS", "wait_timeout": "50s"}
    submitted = answer(api, "ann", "POST", STATEMENTS, requested)[1]
    link = submitted["result"]["external_links"][0]["external_link"].removeprefix("http://localhost")
    other = answer(api, "bob", "POST", STATEMENTS, requested)[1]
    for user in (None, "bob", "ann"):
        assert answer(api, user, "GET", link) == (200, [["1"]])
    moved = link.replace(submitted["statement_id"], other["statement_id"])
    assert answer(api, "bob", "GET", moved)[0] == 403  # each link is its own statement's
    assert answer(api, "ann", "DELETE", f"{STATEMENTS}/{submitted['statement_id']}")[0] == 200
    assert answer(api, None, "GET", link)[0] == 404
