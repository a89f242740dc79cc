"""A session's current catalog and schema over HTTP, after USE in any form."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tests.gateway.http.conftest import STATEMENTS, Api

SESSIONS = "/api/2.0/sql/sessions"
NO_SUCH = "00000000-0000-0000-0000-000000000000"


@pytest.fixture
def lake(api: Api) -> Api:
    for schema in ("shop", "lab"):
        api.engine.tables[schema, "t"] = pa.table({"id": [1]})
    return api


def test_opened_session_has_its_catalog_and_schema(lake: Api) -> None:
    opened = lake.ask("POST", SESSIONS, {"schema": "shop"})
    assert (opened["catalog"], opened["schema"]) == ("spark_catalog", "shop")
    found = lake.ask("GET", f"{SESSIONS}/{opened['session_id']}")
    assert {name: found[name] for name in opened} == opened
    assert (found["user_name"], found["interface"], found["running"]) == ("anonymous", "http", 0)


def test_answer_has_the_schema_after_use(lake: Api) -> None:
    session_id = lake.ask("POST", SESSIONS, {})["session_id"]
    answer = lake.submit("SELECT 1", session_id=session_id)
    assert answer["session"] == {"session_id": session_id, "catalog": "spark_catalog", "schema": "default"}
    answer = lake.submit("USE lab", session_id=session_id)
    assert answer["session"] == {"session_id": session_id, "catalog": "spark_catalog", "schema": "lab"}
    polled = lake.ask("GET", f"{STATEMENTS}/{answer['statement_id']}")
    assert polled["session"] == answer["session"]
    assert lake.ask("GET", f"{SESSIONS}/{session_id}")["schema"] == "lab"


def test_statement_with_its_own_session_has_its_schema(lake: Api) -> None:
    answer = lake.submit("SELECT 1", schema="shop")
    assert (answer["session"]["catalog"], answer["session"]["schema"]) == ("spark_catalog", "shop")


def test_session_changes_its_schema_without_a_statement_in_the_history(lake: Api) -> None:
    session_id = lake.ask("POST", SESSIONS, {})["session_id"]
    path = f"{SESSIONS}/{session_id}"
    changed = lake.ask("PATCH", path, {"schema": "shop"})
    assert (changed["catalog"], changed["schema"]) == ("spark_catalog", "shop")
    changed = lake.ask("PATCH", path, {"catalog": "other", "schema": "lab"})
    assert (changed["catalog"], changed["schema"]) == ("other", "lab")
    changed = lake.ask("PATCH", path, {"catalog": "spark_catalog"})
    assert (changed["catalog"], changed["schema"]) == ("spark_catalog", "default")
    assert lake.ask("GET", "/api/2.0/sql/history/queries")["res"] == []
    assert lake.submit("SELECT 1", session_id=session_id)["session"]["schema"] == "default"


def test_unknown_schema_leaves_the_session_where_it_is(lake: Api) -> None:
    session_id = lake.ask("POST", SESSIONS, {"schema": "shop"})["session_id"]
    response = lake.request("PATCH", f"{SESSIONS}/{session_id}", {"schema": "nope"})
    assert (response.status_code, response.get_json()["condition"]) == (400, "SCHEMA_NOT_FOUND.TEST")
    assert lake.ask("GET", f"{SESSIONS}/{session_id}")["schema"] == "shop"


@pytest.mark.parametrize("body", [{}, {"schema": ""}, {"schema": 1}, {"database": "shop"}])
def test_invalid_change_is_rejected(lake: Api, body: object) -> None:
    session_id = lake.ask("POST", SESSIONS, {})["session_id"]
    assert lake.refuse("PATCH", f"{SESSIONS}/{session_id}", body) == (400, "INVALID_PARAMETER_VALUE")


def test_unknown_session_is_not_found(lake: Api) -> None:
    for session_id in (NO_SUCH, "x"):
        assert lake.refuse("GET", f"{SESSIONS}/{session_id}") == (404, "RESOURCE_DOES_NOT_EXIST")
        assert lake.refuse("PATCH", f"{SESSIONS}/{session_id}", {"schema": "a"}) == (404, "RESOURCE_DOES_NOT_EXIST")
