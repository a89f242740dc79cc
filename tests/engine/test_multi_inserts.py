"""`FROM source INSERT … INSERT …`: a version in each table, from one snapshot of the source."""

from __future__ import annotations

from pathlib import Path

import pytest

from catalog.errors import SqlError
from engine.main import LakeSession
from engine.runtime.identity import Identity
from engine.runtime.parameters import Parameter
from engine.runtime.request import StatementRequest
from tests.engine.lake_sessions import refuse, rows, run, version_of

pytestmark = pytest.mark.spark


@pytest.fixture
def tables(session: LakeSession) -> LakeSession:
    for name in ("a", "b", "src"):
        run(session, f"CREATE OR REPLACE TABLE {name} (x INT)")
    run(session, "INSERT INTO src VALUES (1), (2), (3)")
    return session


def test_each_table_has_its_rows(tables: LakeSession, lake: Path) -> None:
    before = version_of(lake, "a")
    head = "WITH s AS (SELECT x + 1 AS y FROM src) FROM s"
    assert run(tables, f"{head} INSERT INTO a SELECT y WHERE y > 2 INSERT INTO b SELECT -y") == 5
    assert sorted(rows(tables, "SELECT * FROM a")) == [(3,), (4,)]
    assert sorted(rows(tables, "SELECT * FROM b")) == [(-4,), (-3,), (-2,)]
    assert version_of(lake, "a") == before + 1


def test_all_read_the_source_as_it_was(tables: LakeSession) -> None:
    run(tables, "FROM src INSERT INTO src SELECT x + 10 INSERT INTO a SELECT x")
    assert sorted(rows(tables, "SELECT * FROM a")) == [(1,), (2,), (3,)]
    assert len(rows(tables, "SELECT * FROM src")) == 6


def test_multi_insert_accepts_one_table_twice(tables: LakeSession) -> None:
    run(tables, "FROM src INSERT INTO a SELECT x INSERT INTO a SELECT x * 10")
    assert sorted(rows(tables, "SELECT * FROM a")) == [(1,), (2,), (3,), (10,), (20,), (30,)]


def test_multi_insert_with_a_missing_table_writes_nothing(tables: LakeSession, lake: Path) -> None:
    before = version_of(lake, "a")
    refused = refuse(tables, "FROM src INSERT INTO a SELECT x INSERT INTO missing SELECT x")
    assert refused.condition == "TABLE_OR_VIEW_NOT_FOUND"
    assert version_of(lake, "a") == before


def test_the_error_says_what_was_written(tables: LakeSession) -> None:
    run(tables, "ALTER TABLE b ADD CONSTRAINT small CHECK (x < 3)")
    refused = refuse(tables, "FROM src INSERT INTO a SELECT x INSERT INTO b SELECT x")
    assert refused.condition == "MULTI_INSERT_STOPPED"
    assert "INSERT into b failed" in refused.message and "the rows of a are already committed" in refused.message
    assert "small" in refused.message
    assert (len(rows(tables, "SELECT * FROM a")), rows(tables, "SELECT * FROM b")) == (3, [])


def test_parameters_have_names(tables: LakeSession) -> None:
    def execute(text: str, name: str | None) -> None:
        given = [Parameter(value="2", sql_type="int", name=name)]
        tables.execute(text, StatementRequest(identity=Identity("ann")), given).close()

    execute("FROM src INSERT INTO a SELECT x WHERE x = :v INSERT INTO b SELECT x + :v WHERE x = 3", "v")
    assert rows(tables, "SELECT (SELECT max(x) FROM a), (SELECT max(x) FROM b)") == [(2, 5)]
    with pytest.raises(SqlError, match="in several INSERTs"):
        execute("FROM src INSERT INTO a SELECT ? INSERT INTO b SELECT 1", None)
