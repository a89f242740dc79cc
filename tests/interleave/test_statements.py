"""Pairs of row-level changes in every order of their storage steps: always equal to a serial run, with deletion vectors
and without, partitioned or not, with a change feed and row ids or not.

`INTERRUPTIONS` limits the preemptions in the slow tests, by default two; with one, a pair takes a fifth of the time.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from engine.main import EngineOptions, LakeEngine, open_sources
from engine.runtime.identity import Identity
from engine.spark.session import SparkDriver
from tests.engine.bare_aging import age
from tests.engine.lake_sessions import run
from tests.interleave.statements import explored

pytestmark = pytest.mark.spark

STATEMENTS = {
    "INSERT": "INSERT INTO t VALUES (100, 1, 0)",
    "INSERT of a count": "INSERT INTO t SELECT 1000 + count(*), 0, 1 FROM t",
    "UPDATE": "UPDATE t SET v = v * 2 WHERE k IN (3, 100)",
    "UPDATE elsewhere": "UPDATE t SET v = v + 1 WHERE k = 5",
    "DELETE": "DELETE FROM t WHERE k BETWEEN 3 AND 4 OR k = 100",
    "MERGE": "MERGE INTO t USING (VALUES (4, 7, 0), (100, 8, 0)) AS s (k, v, p) ON t.k = s.k "
    "WHEN MATCHED THEN UPDATE SET v = t.v + s.v WHEN NOT MATCHED THEN INSERT *",
    "MERGE of new rows": "MERGE INTO t USING (VALUES (3, 9, 1), (100, 9, 1)) AS s (k, v, p) ON t.k = s.k "
    "WHEN NOT MATCHED THEN INSERT *",
    "REPLACE": "INSERT INTO t REPLACE USING (k) VALUES (4, 6, 1), (100, 6, 1)",
    "OPTIMIZE": "OPTIMIZE t",
    "ALTER": "ALTER TABLE t SET TBLPROPERTIES ('owner' = 'x')",
    "VACUUM": "VACUUM t RETAIN 0 HOURS",
}
# Statements paired with row-level changes, not with each other.
BESIDE = {
    "ADD COLUMN": "ALTER TABLE t ADD COLUMN w INT",
    "ADD CONSTRAINT": "ALTER TABLE t ADD CONSTRAINT small CHECK (k < 1000)",
    "SET NOT NULL": "ALTER TABLE t ALTER COLUMN v SET NOT NULL",
    "mapping": "ALTER TABLE t SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
    "vectors-on": "ALTER TABLE t SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')",
    "vectors-off": "ALTER TABLE t SET TBLPROPERTIES ('delta.enableDeletionVectors' = 'false')",
    "tracking": "ALTER TABLE t SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')",
    "feed": "ALTER TABLE t SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')",
    "DROP FEATURE": "ALTER TABLE t DROP FEATURE deletionVectors",
    "REORG": "REORG TABLE t APPLY (PURGE)",
    "ZORDER": "OPTIMIZE t ZORDER BY (v)",
    "RESTORE": "RESTORE TABLE t TO VERSION AS OF 1",
    "TRUNCATE": "TRUNCATE TABLE t",
    "whole partition": "DELETE FROM t WHERE p = 0",
    "OVERWRITE": "INSERT OVERWRITE t PARTITION (p = 1) SELECT k, v + 1 FROM t WHERE p = 1",
    "REPLACE WHERE": "INSERT INTO t REPLACE WHERE k > 15 SELECT k, v + 1, p FROM t WHERE k > 15",
}

VECTORS = "'delta.enableDeletionVectors' = 'true'"
FEED_PROPERTIES = "'delta.enableChangeDataFeed' = 'true', 'delta.enableRowTracking' = 'true'"
LAYOUTS = {
    "vectors": ("", VECTORS),
    "plain": ("", "'a' = 'b'"),
    "vectors in partitions": ("PARTITIONED BY (p)", VECTORS),
    "partitions": ("PARTITIONED BY (p)", "'a' = 'b'"),
    "vectors, told and tracked": ("", f"{VECTORS}, {FEED_PROPERTIES}"),
    "told and tracked": ("", FEED_PROPERTIES),
}
PAIRS = list(itertools.combinations_with_replacement(STATEMENTS, 2))
BESIDE_PAIRS = list(
    itertools.product(BESIDE, ("INSERT", "INSERT of a count", "UPDATE", "DELETE", "MERGE", "OPTIMIZE", "VACUUM"))
)
INTERRUPTIONS = int(os.environ.get("INTERRUPTIONS", "2"))
QUICK = [("UPDATE", "UPDATE elsewhere"), ("DELETE", "OPTIMIZE")]


@pytest.fixture(scope="module")
def lake_of(tmp_path_factory: pytest.TempPathFactory, spark_driver: SparkDriver) -> Callable[[str], Path]:
    """Creates a day-old lake for a layout: `t` has three files or more, and removed ones."""
    lakes = tmp_path_factory.mktemp("lakes")

    @cache
    def made(layout: str) -> Path:
        clauses, properties = LAYOUTS[layout]
        engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(lakes / layout))), spark_driver)
        session = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
        run(session, f"CREATE TABLE t (k INT, v INT, p INT) {clauses} TBLPROPERTIES ({properties})")
        for first in (0, 10):
            some = f"SELECT /*+ COALESCE(1) */ id, id, id % 2 FROM range({first}, {first + 10})"
            run(session, f"INSERT INTO t {some}")
        run(session, "UPDATE t SET v = 0 WHERE k = 12")
        session.close()
        age(lakes / layout / "default" / "t", 1)
        return lakes / layout

    return made


@pytest.fixture(scope="module")
def executors(spark_driver: SparkDriver) -> Iterator[list[Any]]:
    opened = [spark_driver.open_session() for _ in range(2)]
    yield opened
    for each in opened:
        each.close()


def ensure_serializable(base: Path, place: Path, executors: list[Any], pair: tuple[str, str], switches: int) -> None:
    texts = STATEMENTS | BESIDE
    assert explored(base, place, executors, [texts[name] for name in pair], switches).runs > 4


@pytest.mark.slow
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("pair", PAIRS, ids=" | ".join)
def test_every_interleaving_is_serializable(
    lake_of: Callable[[str], Path], tmp_path: Path, executors: list[Any], pair: tuple[str, str], layout: str
) -> None:
    ensure_serializable(lake_of(layout), tmp_path, executors, pair, INTERRUPTIONS)


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["vectors in partitions", "partitions"])
@pytest.mark.parametrize("pair", BESIDE_PAIRS, ids=" | ".join)
def test_other_changes_are_serializable_beside_those_of_rows(
    lake_of: Callable[[str], Path], tmp_path: Path, executors: list[Any], pair: tuple[str, str], layout: str
) -> None:
    ensure_serializable(lake_of(layout), tmp_path, executors, pair, INTERRUPTIONS)


@pytest.mark.parametrize("pair", QUICK, ids=" | ".join)
def test_a_statement_may_be_interrupted(
    lake_of: Callable[[str], Path], tmp_path: Path, executors: list[Any], pair: tuple[str, str]
) -> None:
    ensure_serializable(lake_of("vectors"), tmp_path, executors, pair, 1)
