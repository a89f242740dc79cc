"""How many files a write makes, and of which size: what readers of the table pay for."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.main import LakeSession
from tests.engine.lake_sessions import actions, run, version_of

pytestmark = pytest.mark.spark

ROWS = "SELECT id, uuid() AS u, CAST(id % 2 AS INT) AS p FROM range(0, 100000, 1, 8)"
"""About 4 MB that cannot be compressed, of eight tasks; a shuffle of these tests has four parts."""
MB = 1 << 20

CASES = [
    # clauses, rows, least and most files, least and most bytes of a file
    ("", ROWS, (1, 4), (MB // 2, 8 * MB)),
    ("", f"{ROWS} WHERE id % 1000 = 0", (1, 1), (0, MB)),
    ("", f"SELECT /*+ REPARTITION(3) */ * FROM ({ROWS})", (3, 3), (MB, 2 * MB)),
    ("TBLPROPERTIES ('delta.autoOptimize.optimizeWrite' = 'false')", ROWS, (8, 8), (MB // 4, MB)),
    ("TBLPROPERTIES ('delta.autoOptimize.optimizeWrite' = 'true')", ROWS, (1, 4), (MB // 2, 8 * MB)),
    ("TBLPROPERTIES ('delta.targetFileSize' = '256kb')", ROWS, (12, 32), (MB // 16, MB // 3)),
    ("TBLPROPERTIES ('delta.targetFileSize' = '1mb')", ROWS, (4, 8), (MB // 4, MB + MB // 5)),
    ("PARTITIONED BY (p)", ROWS, (2, 2), (MB, 4 * MB)),
    ("PARTITIONED BY (p) TBLPROPERTIES ('delta.targetFileSize' = '256kb')", ROWS, (12, 32), (MB // 16, MB // 3)),
    ("PARTITIONED BY (p)", f"{ROWS} WHERE id < 100", (2, 2), (0, MB)),
    ("PARTITIONED BY (p)", "VALUES (1L, 'a', 1), (2L, 'b', 2), (3L, 'c', 1)", (2, 2), (0, MB)),
    ("", "VALUES (1L, 'a', 1), (2L, 'b', 2), (3L, 'c', 1)", (1, 1), (0, MB)),
    ("TBLPROPERTIES ('delta.targetFileSize' = '1kb')", "VALUES (1L, 'a', 1), (2L, 'b', 2)", (1, 1), (0, MB)),
]


@pytest.mark.parametrize(("clauses", "text", "files", "sizes"), CASES)
@pytest.mark.parametrize("columns", ["id BIGINT", "id BIGINT, n BIGINT GENERATED ALWAYS AS IDENTITY"])
def test_files_are_few_and_of_the_size_that_is_asked_for(
    session: LakeSession,
    lake: Path,
    columns: str,
    clauses: str,
    text: str,
    files: tuple[int, int],
    sizes: tuple[int, int],
) -> None:
    run(session, "DROP TABLE IF EXISTS sized")
    run(session, f"CREATE TABLE sized ({columns}, u STRING, p INT) {clauses}")
    run(session, f"INSERT INTO sized (id, u, p) {text}")
    found = [action["add"]["size"] for action in actions(lake, "sized", version_of(lake, "sized")) if "add" in action]
    assert files[0] <= len(found) <= files[1]
    assert sizes[0] <= min(found) and max(found) <= sizes[1]
