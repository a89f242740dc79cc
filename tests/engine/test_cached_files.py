"""Cached results outlive commits that do not concern the files that the query reads.

Every answer is compared with an uncached session's.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.runtime.identity import Identity
from engine.spark.session import SparkDriver
from tests.engine.lake_sessions import rows, run
from tests.engine.test_cached_reads import is_cached
from tests.samples import some

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def cached(lake: Path, spark_driver: SparkDriver) -> LakeEngine:
    """It lasts for the module; the driver is not its own."""
    return LakeEngine(open_sources(EngineOptions(lake_folder=str(lake), result_cache_bytes=1 << 20)), spark_driver)


@pytest.fixture
def session(cached: LakeEngine) -> Iterator[LakeSession]:
    session = cached.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    yield session
    session.close()


@pytest.fixture
def plain(cached: LakeEngine) -> Iterator[LakeSession]:
    session = cached.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    run(session, "SET use_cached_result = false")
    yield session
    session.close()


MADE = (
    "CREATE TABLE {t} (k INT, s STRING, d DATE) {layout}",
    "INSERT INTO {t} VALUES (1, 'a', DATE'2024-01-01'), (2, 'b', DATE'2024-01-02')",
    "INSERT INTO {t} VALUES (101, 'a', DATE'2025-01-01'), (102, 'c', DATE'2025-01-02')",
)
OLD = "SELECT s, count(*), sum(k) FROM {t} WHERE k < 50 GROUP BY s ORDER BY s"
ALL = "SELECT s, count(*), sum(k) FROM {t} GROUP BY s ORDER BY s"
JOIN = "SELECT a.s, b.k FROM {t} a JOIN {t}_other b ON a.k = b.k WHERE a.d < '2024-06-01' ORDER BY a.s, b.k"
SUBQUERY = "SELECT k FROM {t} WHERE k > (SELECT min(k) FROM {t}_other) ORDER BY k"

# The query, the statements run after it, and if the answer is still cached.
CASES = {
    "rows elsewhere": (OLD, "INSERT INTO {t} VALUES (200, 'a', DATE'2025-01-03')", True),
    "rows among them": (OLD, "INSERT INTO {t} VALUES (3, 'a', DATE'2025-01-03')", False),
    "rows without a value": (OLD, "INSERT INTO {t} VALUES (NULL, 'a', DATE'2025-01-03')", True),
    "no condition": (ALL, "INSERT INTO {t} VALUES (200, 'a', DATE'2025-01-03')", False),
    "rows deleted elsewhere": (OLD, "DELETE FROM {t} WHERE k = 101", True),
    "rows deleted among them": (OLD, "DELETE FROM {t} WHERE k = 1", False),
    "rows changed into them": (OLD, "UPDATE {t} SET k = 5 WHERE k = 101", False),
    "files rewritten": (OLD, "OPTIMIZE {t}", False),
    "a property": (OLD, "ALTER TABLE {t} SET TBLPROPERTIES ('some.property' = '1')", True),
    "a column": (OLD, "ALTER TABLE {t} ADD COLUMN more INT", False),
    "a comment": (OLD, "COMMENT ON TABLE {t} IS 'changed'", True),
    "all rows gone": (OLD, "DELETE FROM {t}", False),
    "other rows instead": (OLD, "INSERT OVERWRITE {t} VALUES (1, 'a', DATE'2024-01-01')", False),
    "another table": (
        OLD,
        "CREATE OR REPLACE TABLE {t} USING {form} AS SELECT 1 AS k, 'z' AS s, DATE'2024-01-01' AS d",
        False,
    ),
    "the same again": (OLD, "DELETE FROM {t} WHERE k = 1; RESTORE TABLE {t} TO VERSION AS OF 2", True),
    "both sides of a join as they were": (JOIN, "INSERT INTO {t} VALUES (9, 'z', DATE'2025-01-03')", True),
    "one side of a join": (JOIN, "INSERT INTO {t}_other VALUES (2)", False),
    "the other side of a join": (JOIN, "INSERT INTO {t} VALUES (1, 'z', DATE'2024-01-03')", False),
    "a value that a condition comes from": (SUBQUERY, "INSERT INTO {t}_other VALUES (-5)", False),
    "a few rows": ("SELECT k FROM {t} WHERE k > 100 LIMIT 1", "INSERT INTO {t} VALUES (3, 'a', NULL)", True),
    "a policy": (OLD, "ALTER TABLE {t} SET ROW FILTER {t}_seen ON (k)", False),
    "a partition elsewhere": (
        "SELECT sum(k) FROM {t} WHERE d = '2024-01-01'",
        "INSERT INTO {t} VALUES (7, 'a', DATE'2026-01-01')",
        True,
    ),
    "the partition": (
        "SELECT sum(k) FROM {t} WHERE d = '2024-01-01'",
        "INSERT INTO {t} VALUES (7, 'a', DATE'2024-01-01')",
        False,
    ),
}
PARTITIONED = ("a partition elsewhere", "the partition")


IN_ICEBERG = (
    "rows elsewhere",
    "rows deleted among them",
    "rows deleted elsewhere",
    "one side of a join",
    "the partition",
)


def forms() -> Iterator[Any]:
    for case in CASES:
        yield pytest.param(case, "delta", id=f"{case}-delta")
        if case not in ("the same again", "files rewritten"):  # Delta statements
            marks = () if case in IN_ICEBERG else pytest.mark.slow
            yield pytest.param(case, "iceberg", marks=marks, id=f"{case}-iceberg")


@pytest.mark.parametrize(("case", "form"), list(forms()))
def test_an_answer_is_there_as_long_as_the_files_are(
    session: LakeSession, plain: LakeSession, case: str, form: str
) -> None:
    text, change, is_there = CASES[case]
    name = f"files_{list(CASES).index(case)}_{form}"
    layout = f"USING {form}" + (" PARTITIONED BY (d)" if case in PARTITIONED else "")
    for made in MADE:
        run(session, made.format(t=name, layout=layout))
    run(session, f"CREATE TABLE {name}_other USING {form} AS SELECT 1 AS k")
    run(session, f"CREATE FUNCTION {name}_seen(k INT) RETURNS BOOLEAN RETURN k > 1")
    query = text.format(t=name)
    assert [is_cached(session, query) for _ in range(2)] == [False, True]
    for each in change.format(t=name, form=form).split("; "):
        run(session, each)
    assert is_cached(session, query) is is_there
    assert rows(session, query) == rows(plain, query)


def test_files_of_the_same_names_of_another_table(session: LakeSession, lake: Path) -> None:
    """Entries with the same file names are put into the first table's log by hand."""
    run(session, "CREATE TABLE swapped (k INT)")
    run(session, "INSERT INTO swapped VALUES (1)")
    query = "SELECT k FROM swapped WHERE k < 50"
    assert [is_cached(session, query) for _ in range(2)] == [False, True]
    folder = lake / "default" / "swapped"
    (file,) = folder.glob("*.parquet")
    remaining = file.stat()
    pq.write_table(pa.table({"k": pa.array([2], pa.int32())}), file)
    os.utime(file, ns=(remaining.st_atime_ns, remaining.st_mtime_ns))
    for commit in (folder / "_delta_log").glob("*.json"):
        actions = [json.loads(line) for line in commit.read_text().splitlines()]
        for action in actions:
            action.get("metaData", {})["id"] = "another-table"
        commit.write_text("".join(json.dumps(action) + "\n" for action in actions))
    for checksum in (folder / "_delta_log").glob("*.crc"):
        checksum.unlink()
    assert rows(session, query) == [(2,)]


RANGES = ("k < 20", "k BETWEEN 30 AND 45", "d = DATE'2024-01-02'", "s = 'b'", "k > 90 AND s <> 'a'", "k IN (5, 55)")
QUERIES = (
    "SELECT s, count(*), sum(k), min(d) FROM {a} WHERE {where} GROUP BY s ORDER BY s",
    "SELECT k, s FROM {a} WHERE {where} ORDER BY k, s, d",
    "SELECT a.k, b.s FROM (SELECT * FROM {a} WHERE {where}) a JOIN {b} b ON a.k = b.k ORDER BY a.k, b.s, a.s, a.d, b.d",
    "SELECT k FROM {a} WHERE {where} AND k >= (SELECT avg(k) FROM {b} WHERE {where}) ORDER BY k",
    "SELECT count(DISTINCT s) FROM (SELECT * FROM {a} UNION ALL SELECT * FROM {b}) WHERE {where}",
)
CHANGES = (
    "INSERT INTO {a} SELECT int({n} + id), chr(int(97 + id % 3)), date_add(DATE'2024-01-01', int({n} % 4)) "
    "FROM range({few})",
    "DELETE FROM {a} WHERE k BETWEEN {n} AND {n} + 3",
    "UPDATE {a} SET k = k + 40 WHERE k = {n}",
    "MERGE INTO {a} USING {b} ON {a}.k = {b}.k AND {b}.k = {n} WHEN MATCHED THEN UPDATE SET s = 'm'",
    "ALTER TABLE {a} SET TBLPROPERTIES ('p{n}' = 'x')",
)


@pytest.mark.parametrize("form", ["delta", "iceberg"])
@pytest.mark.parametrize("seed", some(range(8), (0,)))
def test_random_changes_with_random_queries(session: LakeSession, plain: LakeSession, seed: int, form: str) -> None:
    random, hits = Random(seed), 0
    names = {"a": f"random_{form}_{seed}_a", "b": f"random_{form}_{seed}_b"}
    for name in names.values():
        run(session, f"CREATE TABLE {name} (k INT, s STRING, d DATE) USING {form}")
    query = [random.choice(QUERIES).format(where=random.choice(RANGES), **names) for _ in range(6)]
    query = list(dict.fromkeys(query))
    for _ in range(12):
        first, second = random.sample(sorted(names.values()), 2)
        change = random.choice(CHANGES)
        run(session, change.format(a=first, b=second, n=random.randrange(100), few=random.randrange(1, 5)))
        for text in query:
            hits += is_cached(session, text)
            assert rows(session, text) == rows(plain, text), text
    assert hits > 0
