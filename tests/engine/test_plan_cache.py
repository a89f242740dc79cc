"""Plan cache: a planned query runs again by its plan, over the files pinned by its own statement.

The profile's steps show it: a cached plan is not analyzed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from catalog.errors import SqlError
from engine.main import LakeEngine, LakeSession
from engine.runtime.identity import Identity
from engine.runtime.parameters import Parameter
from engine.runtime.request import StatementRequest

pytestmark = pytest.mark.spark

ANN = Identity("ann")


def run_query(session: LakeSession, text: str, *parameters: Parameter, user: Identity = ANN) -> tuple[list[Any], bool]:
    """Returns the rows, and if the plan was cached."""
    request = StatementRequest(identity=user)
    result = session.execute(text, request, parameters)
    rows = [tuple(row.values()) for batch in result.batches() for row in batch.to_pylist()]
    return rows, "analysis" not in request.profile.steps


def run(session: LakeSession, text: str) -> None:
    list(session.execute(text, StatementRequest(identity=ANN)).batches())


@pytest.fixture
def other(engine: LakeEngine) -> Iterator[LakeSession]:
    opened = engine.open_session(Identity("bob"), settings={}, catalog=None, schema=None)
    yield opened
    opened.close()


@pytest.fixture(scope="module", autouse=True)
def table(engine: LakeEngine) -> None:
    session = engine.open_session(ANN, settings={}, catalog=None, schema=None)
    run(session, "CREATE TABLE kept AS SELECT 1 AS id, 'a' AS name")
    session.close()


def test_the_second_time_a_query_is_not_analyzed(session: LakeSession) -> None:
    text = "SELECT upper(k.name) FROM kept k WHERE id = (SELECT max(id) FROM kept)"
    assert run_query(session, text) == ([("A",)], False)
    assert run_query(session, text) == ([("A",)], True)


def test_cached_plan_reads_newest_version(session: LakeSession) -> None:
    run(session, "CREATE TABLE moving AS SELECT 1 AS id, 'a' AS name")
    text = "SELECT name FROM moving WHERE id IN (SELECT id FROM moving)"
    assert run_query(session, text)[0] == [("a",)]
    for name in "bc":  # whose files have as many bytes
        run(session, f"INSERT OVERWRITE moving SELECT 1 AS id, '{name}' AS name")
        assert run_query(session, text) == ([(name,)], True)
    run(session, "DELETE FROM moving")
    assert run_query(session, text)[0] == []


@pytest.mark.parametrize(
    "expression",
    [
        "current_timestamp() > TIMESTAMP'2020-01-01'",
        "current_date()",
        "localtimestamp()",
        "rand() < 2",
        "uuid()",
        "DATE 'today'",
        "DATE /* a comment */ 'today'",
        "CAST('now' AS TIMESTAMP)",
        "DATE'2999-01-01' > 'today'",
    ],
)
def test_volatile_plans_are_not_cached(session: LakeSession, expression: str) -> None:
    text = f"SELECT id, {expression} AS value FROM kept WHERE id < 10"
    assert not run_query(session, text)[1]
    assert not run_query(session, text)[1]


def test_plan_cache_key_contains_settings(session: LakeSession) -> None:
    text = "SELECT CAST(TIMESTAMP'2024-06-01 00:00:00Z' AS STRING), id FROM kept WHERE id < 11"
    run(session, "SET TIME ZONE 'UTC'")
    assert run_query(session, text)[0] == [("2024-06-01 00:00:00", 1)]
    run(session, "SET TIME ZONE 'Asia/Tokyo'")
    assert run_query(session, text) == ([("2024-06-01 09:00:00", 1)], False)
    run(session, "SET TIME ZONE 'UTC'")
    assert run_query(session, text) == ([("2024-06-01 00:00:00", 1)], True)


def test_so_are_the_user_and_the_current_schema(session: LakeSession, other: LakeSession) -> None:
    text = "SELECT current_user(), current_schema(), id FROM default.kept WHERE id < 12"
    assert run_query(session, text)[0] == [("ann", "default", 1)]
    assert run_query(other, text, user=Identity("bob"))[0] == [("bob", "default", 1)]
    run(session, "CREATE SCHEMA elsewhere")
    run(session, "USE elsewhere")
    assert run_query(session, text)[0] == [("ann", "elsewhere", 1)]
    assert run_query(other, text, user=Identity("bob")) == ([("bob", "default", 1)], True)


def test_so_are_parameters_and_variables(session: LakeSession) -> None:
    text = "SELECT :n + n, id FROM kept WHERE id < 13"
    run(session, "DECLARE VARIABLE n INT DEFAULT 10")
    assert run_query(session, text, Parameter(name="n", value="1", sql_type="INT"))[0] == [(11, 1)]
    assert run_query(session, text, Parameter(name="n", value="2", sql_type="INT"))[0] == [(12, 1)]
    run(session, "SET VAR n = 20")
    assert run_query(session, text, Parameter(name="n", value="2", sql_type="INT"))[0] == [(22, 1)]


def test_so_are_the_texts_of_views(session: LakeSession) -> None:
    text = "SELECT * FROM of_kept WHERE id < 14"
    run(session, "CREATE VIEW of_kept AS SELECT id, 'before' AS said FROM kept")
    assert run_query(session, text)[0] == [(1, "before")]
    assert run_query(session, text) == ([(1, "before")], True)
    run(session, "CREATE OR REPLACE VIEW of_kept AS SELECT id, 'after' AS said FROM kept")
    assert run_query(session, text) == ([(1, "after")], False)


def test_another_session_with_the_same_settings_has_it_too(engine: LakeEngine, session: LakeSession) -> None:
    text = "SELECT name, count(*) FROM kept WHERE id < 15 GROUP BY name"
    assert run_query(session, text) == ([("a", 1)], False)
    second = engine.open_session(ANN, settings={}, catalog=None, schema=None)
    assert run_query(second, text) == ([("a", 1)], True)
    session.close()
    assert run_query(second, text) == ([("a", 1)], True)
    second.close()


def described(session: LakeSession, text: str) -> list[Any]:
    """Returns a query's columns with their types."""
    return [row[:2] for row in run_query(session, f"DESCRIBE QUERY {text}")[0]]


def test_known_columns_are_those_of_now(session: LakeSession, other: LakeSession) -> None:
    """A repeated text after its table, variable or setting has changed."""
    run(session, "CREATE TABLE shaped AS SELECT 1 AS id")
    text = "SELECT * FROM shaped"
    for rest in ([], [("a", "string")], [("a", "string"), ("b", "date")]):
        if rest:
            run(session, f"ALTER TABLE shaped ADD COLUMN {rest[-1][0]} {rest[-1][1]}")
        for reader in (session, session, other):
            assert described(reader, text) == [("id", "int"), *rest]
    for type_ in ("int", "string"):
        run(session, f"DECLARE OR REPLACE VARIABLE v {type_.upper()}")
        assert described(session, "SELECT v") == described(session, "SELECT v") == [("v", type_)]
    mixed = "SELECT 1 + '1' AS t"
    assert described(session, mixed) == [("t", "bigint")]
    run(session, "SET spark.sql.ansi.enabled = false")
    assert described(session, mixed) == [("t", "double")]
    assert described(other, mixed) == [("t", "bigint")]
    run(session, "RESET spark.sql.ansi.enabled")
    assert described(session, mixed) == [("t", "bigint")]


def test_an_error_in_a_text_is_one_each_time(session: LakeSession) -> None:
    run(session, "CREATE TABLE refused AS SELECT 1 AS id")
    for _ in range(2):
        with pytest.raises(SqlError, match="no_such"):
            described(session, "SELECT no_such FROM refused")
    run(session, "ALTER TABLE refused ADD COLUMN no_such INT")
    assert described(session, "SELECT no_such FROM refused") == [("no_such", "int")]
