"""Number and size of the files that a write creates."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.main import LakeSession
from tests.engine.lake_sessions import actions, run, version_of
from tests.samples import with_slow

pytestmark = pytest.mark.spark

# About 4 MB that cannot be compressed, from eight tasks.
ROWS = "SELECT id, uuid() AS u, CAST(id % 2 AS INT) AS p FROM range(0, 100000, 1, 8)"
# About 3 MB in Parquet, for twenty times as much in rows.
ALIKE = "SELECT id, repeat(string(id % 1000), 30) AS u, CAST(id % 2 AS INT) AS p FROM range(0, 600000, 1, 8)"
# Spark's default number of shuffle partitions.
PARTS = 200
MB = 1 << 20


def near(size: int) -> tuple[int, int]:
    return size * 7 // 10, size * 13 // 10


def sized(size: str) -> str:
    return f"TBLPROPERTIES ('delta.targetFileSize' = '{size}')"


CASES = [
    # clauses, rows, minimum and maximum number of files, minimum and maximum file size
    ("", ROWS, (1, 4), (MB // 2, 8 * MB)),
    ("", f"{ROWS} WHERE id % 1000 = 0", (1, 1), (0, MB)),
    ("", f"SELECT /*+ REPARTITION(3) */ * FROM ({ROWS})", (3, 3), (MB, 2 * MB)),
    ("TBLPROPERTIES ('delta.autoOptimize.optimizeWrite' = 'false')", ROWS, (8, 8), (MB // 4, MB)),
    ("TBLPROPERTIES ('delta.autoOptimize.optimizeWrite' = 'true')", ROWS, (1, 4), (MB // 2, 8 * MB)),
    (sized("256kb"), ROWS, (12, 20), near(MB // 4)),
    (sized("1mb"), ROWS, (3, 5), near(MB)),
    (sized("256kb"), ALIKE, (8, 32), near(MB // 4)),
    (sized("1mb"), ALIKE, (2, 8), near(MB)),
    ("PARTITIONED BY (p)", ROWS, (2, 2), (MB, 4 * MB)),
    (f"PARTITIONED BY (p) {sized('256kb')}", ROWS, (12, 20), near(MB // 4)),
    (f"PARTITIONED BY (p) {sized('256kb')}", ALIKE, (6, 32), near(MB // 4)),
    ("PARTITIONED BY (p)", f"{ROWS} WHERE id < 100", (2, 2), (0, MB)),
    ("PARTITIONED BY (p)", "VALUES (1L, 'a', 1), (2L, 'b', 2), (3L, 'c', 1)", (2, 2), (0, MB)),
    ("", "VALUES (1L, 'a', 1), (2L, 'b', 2), (3L, 'c', 1)", (1, 1), (0, MB)),
    (sized("1kb"), "VALUES (1L, 'a', 1), (2L, 'b', 2)", (1, 1), (0, MB)),
]


# Identity values are given after the shuffle.
PLAIN, WITH_IDENTITY = "id BIGINT", "id BIGINT, n BIGINT GENERATED ALWAYS AS IDENTITY"


@pytest.mark.parametrize(
    ("columns", "clauses", "text", "files", "sizes"),
    with_slow([(PLAIN, *case) for case in CASES], slow=())
    + with_slow([(WITH_IDENTITY, *case) for case in CASES if case[2] != (1, 1) and "1mb" in case[0]], slow=(0,)),
)
def test_files_have_requested_size(
    session: LakeSession,
    lake: Path,
    columns: str,
    clauses: str,
    text: str,
    files: tuple[int, int],
    sizes: tuple[int, int],
) -> None:
    run(session, f"SET spark.sql.shuffle.partitions = {PARTS}")
    run(session, "DROP TABLE IF EXISTS sized")
    run(session, f"CREATE TABLE sized ({columns}, u STRING, p INT) {clauses}")
    run(session, f"INSERT INTO sized (id, u, p) {text}")
    found = [action["add"]["size"] for action in actions(lake, "sized", version_of(lake, "sized")) if "add" in action]
    assert files[0] <= len(found) <= files[1]
    odd = [size for size in found if not sizes[0] <= size <= sizes[1]]
    assert len(odd) <= (len(found) > 4), found  # one file may hold the rest
