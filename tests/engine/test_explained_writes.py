"""EXPLAIN of INSERT, DELETE and MERGE reports which files would change, and how; it changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.main import LakeSession
from engine.runtime.identity import Identity
from engine.runtime.parameters import Parameter
from engine.runtime.request import StatementRequest
from tests.engine.lake_sessions import refuse, rows, run, version_of

pytestmark = pytest.mark.spark

EXPLAINED = [
    ("DELETE FROM parts", "all 2 files are removed", "2 files, 2 after partition pruning, 2 after"),
    ("DELETE FROM parts AS x WHERE x.p = 1", "files of the partitions (p = 1)", "2 files, 1 after partition pruning"),
    ("DELETE FROM parts WHERE k = 7", "are written again without them", "1 after statistics"),
    ("DELETE FROM marked WHERE k = 1", "are marked in deletion vectors", "1 files, 1 after"),
    ("INSERT INTO parts SELECT k, p FROM parts WHERE p = 2", "no file is removed", "2 files, 1 after partition"),
    ("INSERT OVERWRITE parts VALUES (1, 1)", "all 2 files are removed", "LocalTableScan"),
    ("INSERT INTO parts VALUES (1, 1)", "no file is removed; literals are written without a job", "LocalTableScan"),
    ("INSERT INTO parts REPLACE WHERE p = 1 VALUES (1, 1)", "the files of the partitions (p = 1) are removed", ""),
    (
        "MERGE INTO parts USING marked ON parts.k = marked.k WHEN MATCHED THEN DELETE",
        "files without any of its values of k are not read; of the rows that change or go, files with other rows are",
        "`parts`: version 1, 2 files",
    ),
    (
        "WITH s AS (SELECT 7 AS k, 2 AS p) MERGE INTO marked t USING s ON t.k = s.k OR s.p = 1 "
        "WHEN NOT MATCHED THEN INSERT (k) VALUES (s.p)",
        "the source is read first; new rows and new values are in new files; no file is removed",
        "1 files, 1 after",
    ),
    ("WITH s AS (SELECT 7 AS k) DELETE FROM parts WHERE p IN (SELECT k FROM s)", "are written again without them", ""),
    ("INSERT INTO marked REPLACE USING (k) VALUES (1)", "equal a new one in k, those in files with other rows", ""),
]


def test_explain_reports_planned_changes(session: LakeSession, lake: Path) -> None:
    run(session, "CREATE TABLE parts (k INT, p INT) PARTITIONED BY (p)")
    run(session, "INSERT INTO parts VALUES (1, 1), (7, 2)")
    run(session, "CREATE TABLE marked TBLPROPERTIES ('delta.enableDeletionVectors' = 'true') AS SELECT 1 AS k")
    for text, how, read in EXPLAINED:
        [(reported,)] = rows(session, f"EXPLAIN {text}")
        assert how in reported and read in reported, (text, reported)
    given = [Parameter(value="1", sql_type="int"), Parameter(value="7", sql_type="int")]
    for text in (
        "INSERT INTO parts REPLACE WHERE p = ? VALUES (?, 1)",
        "MERGE INTO parts USING (SELECT ? AS k) s ON parts.k = s.k AND parts.p = ? WHEN MATCHED THEN DELETE",
    ):
        session.execute(f"EXPLAIN {text}", StatementRequest(identity=Identity("ann")), given).close()
    assert (version_of(lake, "parts"), version_of(lake, "marked")) == (1, 0)
    assert refuse(session, "EXPLAIN DELETE FROM missing").condition == "TABLE_OR_VIEW_NOT_FOUND"
    assert refuse(session, "EXPLAIN INSERT INTO parts SELECT nothing").condition.startswith("UNRESOLVED_COLUMN")
