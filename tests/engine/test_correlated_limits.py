"""LIMIT in a correlated subquery applies per outer row, for any types of the compared columns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.spark.session import SparkDriver
from tests.engine.lake_sessions import rows

pytestmark = pytest.mark.spark

NEWEST = "(SELECT id FROM inner_ WHERE k = o.k ORDER BY id DESC LIMIT 1)"
DEFINITIONS = (
    "CREATE TABLE inner_ AS SELECT id, id % 3 AS k FROM range(10)",
    "CREATE TABLE outer_ (k INT, b BIGINT)",
    "INSERT INTO outer_ VALUES (0, 0), (1, 1), (5, 5)",
    f"CREATE FUNCTION newest(x INT) RETURNS BIGINT RETURN {NEWEST.replace('o.k', 'x')}",
    "CREATE FUNCTION two_newest(x INT) RETURNS TABLE RETURN SELECT id FROM inner_ WHERE k = x ORDER BY id DESC LIMIT 2",
)


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory, spark_driver: SparkDriver) -> Iterator[LakeSession]:
    folder: Path = tmp_path_factory.mktemp("lake")
    engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(folder))), spark_driver)
    opened = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    for text in DEFINITIONS:
        rows(opened, text)
    yield opened
    opened.close()


SCALAR = [(0, 9), (1, 7), (5, None)]
QUERIES: list[tuple[str, list[tuple[Any, ...]]]] = [
    (f"SELECT o.k, {NEWEST} FROM outer_ AS o ORDER BY o.k", SCALAR),
    (f"SELECT o.k, {NEWEST.replace('o.k', 'o.b')} FROM outer_ AS o ORDER BY o.k", SCALAR),
    (f"SELECT o.k, {NEWEST.replace('k = o.k', 'o.k + 0 <=> k')} FROM outer_ AS o ORDER BY o.k", SCALAR),
    ("SELECT o.k, newest(o.k) FROM outer_ AS o ORDER BY o.k", SCALAR),
    (f"SELECT o.k, q.id FROM outer_ AS o, LATERAL {NEWEST} AS q ORDER BY o.k", SCALAR[:2]),
    (f"SELECT o.k, q.id FROM outer_ AS o LEFT JOIN LATERAL {NEWEST} AS q ORDER BY o.k", SCALAR),
    ("SELECT o.k, q.id FROM outer_ AS o, LATERAL two_newest(o.k) AS q ORDER BY ALL", [(0, 6), (0, 9), (1, 4), (1, 7)]),
    (
        "SELECT o.k, (SELECT count(*) FROM (SELECT 1 FROM inner_ WHERE k = o.k LIMIT 2)) FROM outer_ AS o ORDER BY o.k",
        [(0, 2), (1, 2), (5, 0)],
    ),
    (f"SELECT o.k, q.id FROM outer_ AS o, LATERAL {NEWEST[:-1]} OFFSET 1) AS q ORDER BY o.k", [(0, 6), (1, 4)]),
    (
        "SELECT o.k FROM outer_ AS o WHERE EXISTS (SELECT 1 FROM inner_ WHERE k = o.k LIMIT 1) ORDER BY o.k",
        [(0,), (1,)],
    ),
    ("SELECT o.k FROM outer_ AS o WHERE NOT EXISTS (SELECT 1 FROM inner_ WHERE k = o.k LIMIT 1)", [(5,)]),
    (f"SELECT o.k FROM outer_ AS o WHERE 7 IN {NEWEST}", [(1,)]),
]


@pytest.mark.parametrize(("text", "expected"), QUERIES, ids=[text for text, _ in QUERIES])
def test_limit_holds_for_each_outer_row(session: LakeSession, text: str, expected: list[tuple[Any, ...]]) -> None:
    assert rows(session, text) == expected


def test_changes_use_the_limit_of_each_row(session: LakeSession) -> None:
    rows(session, "CREATE OR REPLACE TABLE changed AS SELECT k, -1L AS newest FROM outer_")
    rows(session, f"UPDATE changed AS o SET newest = {NEWEST}")
    assert rows(session, "SELECT * FROM changed ORDER BY k") == SCALAR
    rows(session, "DELETE FROM changed AS o WHERE EXISTS (SELECT 1 FROM inner_ WHERE k = o.k LIMIT 1)")
    assert rows(session, "SELECT k FROM changed") == [(5,)]
