"""A test-only format is read and written through SQL, along with Delta tables: only the Delta package depends on the
Delta log.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from engine.main import EngineOptions, LakeEngine, LakeSession, open_sources
from engine.spark.session import SparkDriver
from engine.tables.formats import formats_of
from tests.engine.lake_sessions import refuse, rows, run
from tests.formats.parquet_folder import FolderFormat

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def engine(lake: Path, spark_driver: SparkDriver) -> LakeEngine:
    sources = open_sources(EngineOptions(lake_folder=str(lake)))
    return LakeEngine(replace(sources, formats=formats_of(*sources.formats, FolderFormat())), spark_driver)


@pytest.fixture
def plain(session: LakeSession) -> Iterator[LakeSession]:
    """Yields a session with a table `plain` (k, s, day), partitioned by day, with three rows."""
    run(session, "CREATE TABLE plain (k INT, s STRING, day DATE) USING FOLDER PARTITIONED BY (day) COMMENT 'few'")
    run(session, "INSERT INTO plain VALUES (1, 'a', DATE'2024-05-01'), (2, NULL, DATE'2024-05-02')")
    run(session, "INSERT INTO plain (k, day) VALUES (3, NULL)")
    yield session
    run(session, "DROP TABLE plain")


def test_rows_are_written_and_read(plain: LakeSession, lake: Path) -> None:
    assert rows(plain, "SELECT k, s, string(day) FROM plain ORDER BY k") == [
        (1, "a", "2024-05-01"),
        (2, None, "2024-05-02"),
        (3, None, None),
    ]
    assert sum(pq.ParquetFile(path).metadata.num_rows for path in lake.glob("default/plain/**/*.parquet")) == 3
    assert not (lake / "default/plain/_delta_log").exists()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("SELECT count(*) FROM plain", [(3,)]),
        ("SELECT k FROM plain WHERE day = DATE'2024-05-02' OR k = 3 ORDER BY k", [(2,), (3,)]),
        ("SELECT count(*) FROM plain VERSION AS OF 1", [(2,)]),
        ("SELECT p.k, d.k FROM plain p JOIN made d ON p.k = d.k", [(2, 2)]),
        ("SHOW PARTITIONS plain", [("2024-05-01",), ("2024-05-02",), (None,)]),
        ("SELECT version FROM (VALUES 1) v(version)", [(1,)]),
    ],
)
def test_a_query_means_what_it_means_of_a_delta_table(plain: LakeSession, text: str, expected: list[object]) -> None:
    run(plain, "CREATE OR REPLACE TABLE made AS SELECT 2 AS k")
    assert sorted(rows(plain, text), key=str) == sorted(expected, key=str)


def test_rows_are_replaced_as_a_whole(plain: LakeSession) -> None:
    run(plain, "INSERT OVERWRITE plain SELECT k + 10, s, day FROM plain WHERE k < 3")
    assert rows(plain, "SELECT k FROM plain ORDER BY k") == [(11,), (12,)]
    run(plain, "TRUNCATE TABLE plain")
    assert rows(plain, "SELECT count(*) FROM plain") == [(0,)]


def test_a_table_is_made_of_a_query(session: LakeSession) -> None:
    run(session, "CREATE TABLE queried USING folder AS SELECT id AS k, 'x' AS s FROM range(5)")
    assert rows(session, "SELECT sum(k), max(s) FROM queried") == [(10, "x")]
    assert ("Provider", "folder") in [row[:2] for row in rows(session, "DESCRIBE EXTENDED queried")]
    run(session, "DROP TABLE queried")


CHANGES: list[tuple[str, list[tuple[object, ...]]]] = [
    ("DELETE FROM plain WHERE k = 1", [(2, None), (3, None)]),
    ("DELETE FROM plain WHERE day = DATE'2024-05-02' OR day IS NULL", [(1, "a")]),
    ("DELETE FROM plain WHERE k IN (SELECT k + 1 FROM plain)", [(1, "a")]),
    ("DELETE FROM plain", []),
    ("UPDATE plain SET s = concat('x', k) WHERE k >= 2", [(1, "a"), (2, "x2"), (3, "x3")]),
    ("UPDATE plain SET day = DATE'2024-05-01', s = (SELECT max(s) FROM plain)", [(1, "a"), (2, "a"), (3, "a")]),
    ("INSERT INTO plain REPLACE WHERE k = 1 SELECT 1, 'z', NULL", [(1, "z"), (2, None), (3, None)]),
    ("INSERT INTO plain REPLACE USING (k) VALUES (2, 'y', NULL)", [(1, "a"), (2, "y"), (3, None)]),
    (
        "INSERT INTO plain AS t REPLACE ON t.k < s.k (SELECT 3 AS k, 'w' AS s, NULL AS day) AS s",
        [(3, "w"), (3, None)],
    ),
    (
        """MERGE INTO plain AS t USING (SELECT 2 AS k, 'm' AS s UNION ALL SELECT 9, 'n') AS u ON t.k = u.k
        WHEN MATCHED THEN UPDATE SET s = u.s WHEN NOT MATCHED THEN INSERT (k, s) VALUES (u.k, u.s)
        WHEN NOT MATCHED BY SOURCE AND t.k = 1 THEN DELETE""",
        [(2, "m"), (3, None), (9, "n")],
    ),
    (
        "MERGE INTO plain AS t USING plain AS u ON t.k = u.k + 1 WHEN MATCHED THEN UPDATE SET s = u.s",
        [(1, "a"), (2, "a"), (3, None)],
    ),
    (
        "MERGE WITH SCHEMA EVOLUTION INTO plain AS t USING (SELECT 7 AS k, 1 AS n) AS u ON t.k = u.k"
        " WHEN NOT MATCHED THEN INSERT *",
        [(1, "a"), (2, None), (3, None), (7, None)],
    ),
]


@pytest.mark.parametrize(("text", "expected"), CHANGES, ids=[text[:40] for text, _ in CHANGES])
def test_rows_change(plain: LakeSession, text: str, expected: list[object]) -> None:
    """Copy-on-write: the format has no deletion vectors, change feed or row ids."""
    run(plain, text)
    assert sorted(rows(plain, "SELECT k, s FROM plain"), key=str) == sorted(expected, key=str)


def test_a_table_of_another_format_is_the_source_of_changes(plain: LakeSession) -> None:
    run(plain, "CREATE OR REPLACE TABLE made AS SELECT 2 AS k, 'old' AS s")
    run(
        plain,
        "MERGE INTO made AS t USING plain AS u ON t.k = u.k"
        " WHEN MATCHED THEN UPDATE SET s = u.day WHEN NOT MATCHED THEN INSERT (k, s) VALUES (u.k, u.s)",
    )
    assert sorted(rows(plain, "SELECT k, s FROM made")) == [(1, "a"), (2, "2024-05-02"), (3, None)]


def test_a_definition_changes_and_is_replaced(plain: LakeSession) -> None:
    run(plain, "ALTER TABLE plain ADD COLUMN n INT COMMENT 'new'")
    run(plain, "INSERT INTO plain (k, n) VALUES (4, 40)")
    run(plain, "ALTER TABLE plain DROP COLUMN s")
    run(plain, "ALTER TABLE plain SET TBLPROPERTIES ('a' = 'b')")
    run(plain, "COMMENT ON TABLE plain IS 'other'")
    assert rows(plain, "SELECT k, n FROM plain ORDER BY k") == [(1, None), (2, None), (3, None), (4, 40)]
    assert ("a", "b") in rows(plain, "SHOW TBLPROPERTIES plain")
    run(plain, "REPLACE TABLE plain USING folder AS SELECT 7 AS x")
    assert rows(plain, "SELECT * FROM plain") == [(7,)]


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("ALTER TABLE plain RENAME COLUMN k TO n", "UNSUPPORTED_FEATURE.STATEMENT"),
        ("ALTER TABLE plain DROP FEATURE deletionVectors", "UNSUPPORTED_FEATURE.STATEMENT"),
        ("OPTIMIZE plain", "UNSUPPORTED_FEATURE.STATEMENT"),
        ("VACUUM plain", "UNSUPPORTED_FEATURE.STATEMENT"),
        ("CREATE TABLE other CLONE plain", "DELTA_TABLE_ONLY_OPERATION"),
        ("CREATE TABLE other LIKE plain USING folder", "UNSUPPORTED_FEATURE.STATEMENT"),
        ("SELECT * FROM table_changes('plain', 0)", "UNSUPPORTED_FEATURE.STATEMENT"),
        ("CREATE TABLE other (k INT) USING folder CLUSTER BY (k)", "UNSUPPORTED_FEATURE.STATEMENT"),
        ("CREATE TABLE other (k INT NOT NULL) USING folder", "UNSUPPORTED_FEATURE.STATEMENT"),
        ("CREATE TABLE other (k INT) USING orc", "DATA_SOURCE_NOT_FOUND"),
        ("CREATE OR REPLACE TABLE plain (k INT)", "UNSUPPORTED_FEATURE.STATEMENT"),
        ("INSERT INTO plain VALUES ('x', 'y', NULL)", "CAST_INVALID_INPUT"),
    ],
)
def test_unsupported_statement_of_a_format_is_rejected(plain: LakeSession, text: str, condition: str) -> None:
    assert refuse(plain, text).condition == condition
    assert rows(plain, "SELECT count(*) FROM plain") == [(3,)]
