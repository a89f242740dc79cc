"""Semi-join reduction: groups joined with few rows aggregate only matching rows, with the same answers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from engine.main import LakeEngine, LakeSession
from engine.runtime.identity import Identity
from tests.engine.lake_sessions import rows, run

pytestmark = pytest.mark.spark

ROWS = 600_000


@pytest.fixture(scope="module")
def tables(engine: LakeEngine, lake: Path) -> Iterator[LakeSession]:
    session = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    run(
        session,
        "CREATE TABLE facts AS SELECT nullif(id % 5000, 7) AS k, CAST(id % 400 AS STRING) AS s,"
        " CAST(id % 90 AS INT) AS i, CAST(id % 1000 AS DECIMAL(9,2)) AS m,"
        f" sha2(CAST(id AS STRING), 256) AS pad FROM range({ROWS})",
    )
    run(
        session,
        "CREATE TABLE parts AS SELECT nullif(id, 3) AS k, 'p' || id % 50 AS name, CAST(id % 400 AS STRING) AS s,"
        " CAST(id % 90 AS INT) AS i FROM range(6000)",
    )
    run(session, "CREATE TABLE offers AS SELECT id % 7000 AS k, id AS o, CAST(id % 11 AS INT) AS i FROM range(9000)")
    yield session
    session.close()


GROUPS = "(SELECT k, count(*) AS c, sum(m) AS m, max(pad) AS pad FROM facts GROUP BY k)"
# If rows are filtered before grouping, and the query.
CASES: dict[str, tuple[bool, str]] = {
    "inner": (True, f"SELECT p.k, g.c, g.m, g.pad FROM parts p JOIN {GROUPS} g ON p.k = g.k WHERE p.name = 'p3'"),
    "groups first": (True, f"SELECT p.k, g.c, g.pad FROM {GROUPS} g JOIN parts p ON p.k = g.k WHERE p.name LIKE '%7'"),
    "left outer": (
        True,
        f"SELECT p.k, g.c, g.pad FROM parts p LEFT JOIN {GROUPS} g ON p.k = g.k WHERE p.name IN ('p3', 'p7')",
    ),
    "correlated": (
        True,
        "SELECT o.o, p.k FROM parts p JOIN offers o ON p.k = o.k WHERE p.name LIKE 'p1%' AND o.o % 13 + 400 <"
        " (SELECT avg(m) + max(length(pad)) FROM facts f WHERE f.k = p.k)",
    ),
    "correlated, counted": (
        True,
        "SELECT p.k FROM parts p WHERE p.name = 'p49' AND 1 >"
        " (SELECT count(*) + count(pad) FROM facts f WHERE f.k = p.k AND f.m > 300)",
    ),
    "by what is equal": (
        True,
        "SELECT o.o FROM offers o WHERE o.k IN (SELECT k FROM parts WHERE name LIKE 'p2_') AND o.o >"
        " (SELECT max(m) + min(length(pad)) FROM facts f WHERE f.k = o.k)",
    ),
    "a text and another key": (
        True,
        "SELECT p.k, g.c, g.pad FROM parts p JOIN (SELECT s AS t, i, count(*) AS c, max(pad) AS pad FROM facts"
        " GROUP BY s, i HAVING count(*) > 1) g ON p.s = g.t AND p.i = g.i WHERE p.name = 'p3' AND p.k < 900",
    ),
    "rows that are joined": (
        True,
        "SELECT p.k, g.c, g.pad FROM parts p JOIN (SELECT f.k, count(*) AS c, max(pad) AS pad FROM facts f"
        " JOIN offers o ON f.i = o.o GROUP BY f.k) g ON p.k = g.k WHERE p.name = 'p3'",
    ),
    "subtotals": (
        False,
        "SELECT p.k, g.i, g.c, g.pad FROM parts p JOIN (SELECT k, i, count(*) AS c, max(pad) AS pad FROM facts"
        " GROUP BY ROLLUP (k, i)) g ON p.k = g.k WHERE p.name = 'p3'",
    ),
    "no filter": (False, f"SELECT count(*), max(g.pad) FROM parts p JOIN {GROUPS} g ON p.k = g.k"),
    "a filter that leaves most": (
        False,
        f"SELECT count(*), max(g.pad) FROM parts p JOIN {GROUPS} g ON p.k = g.k WHERE p.name <> 'p3'",
    ),
    "of all groups": (
        False,
        f"SELECT p.k, g.c, g.pad FROM parts p RIGHT JOIN {GROUPS} g ON p.k = g.k AND p.name = 'p3'",
    ),
    "no key of the groups": (
        False,
        f"SELECT p.k, g.pad FROM parts p JOIN {GROUPS} g ON p.k = g.c WHERE p.name = 'p20'",
    ),
    "a key that is computed": (
        True,
        "SELECT p.k, g.pad FROM parts p JOIN (SELECT k + 1 AS k, max(pad) AS pad FROM facts GROUP BY k + 1) g"
        " ON p.k = g.k WHERE p.name = 'p3'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_groups_are_made_of_the_rows_that_are_joined(name: str, tables: LakeSession, lake: Path) -> None:
    reduced, text = CASES[name]
    ((plan,),) = rows(tables, f"EXPLAIN {text}")
    own = "LEFT SEMI" in text or " IN (SELECT" in text
    assert str(plan).count("LeftSemi") == int(reduced) + int(own), plan
    with duckdb.connect() as other:
        for table in ("facts", "parts", "offers"):
            other.execute(f"CREATE VIEW {table} AS SELECT * FROM read_parquet('{lake}/default/{table}/*.parquet')")
        expected = other.execute(text.replace("STRING", "VARCHAR")).fetchall()
    found = [tuple(row) for row in rows(tables, text)]
    assert sorted(map(repr, found)) == sorted(map(repr, expected))
    assert found, "the case compares nothing"


def test_a_filter_that_differs_each_time_is_evaluated_once(tables: LakeSession) -> None:
    text = f"SELECT count(*), max(g.pad) FROM parts p JOIN {GROUPS} g ON p.k = g.k WHERE p.name = 'p3' AND rand() < 0.5"
    plan = str(rows(tables, f"EXPLAIN {text}"))
    assert plan.count("rand(") == 1 and "LeftSemi" in plan
