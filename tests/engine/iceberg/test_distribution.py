"""`write.distribution-mode`: how many files a partition gets, and how rows in order are divided into files."""

from __future__ import annotations

from typing import Any

import pyarrow.parquet as pq
import pytest

from engine.main import LakeSession
from tests.engine.lake_sessions import rows, run
from tests.samples import with_slow

pytestmark = pytest.mark.spark

# Four tasks, each with rows for all partitions.
ROWS = "SELECT id, CAST(id % 3 AS INT) AS p, -id AS n FROM range(0, 3000, 1, 4)"


def _files(session: LakeSession, name: str) -> list[str]:
    """Returns the live files' paths."""
    return [path.removeprefix("file://") for (path,) in rows(session, f"SELECT file_path FROM {name}.files")]


def _all(session: LakeSession, name: str) -> list[Any]:
    return rows(session, f"SELECT count(*), sum(id), sum(p), sum(n) FROM {name}")


PARTITIONED = [("none", 12), ("hash", 3), ("range", 3), (None, 3)]


@pytest.mark.parametrize(("mode", "num_files"), with_slow(PARTITIONED, (0, 2)))
def test_files_of_partitions(session: LakeSession, mode: str | None, num_files: int) -> None:
    """For an INSERT, a CTAS and a MERGE."""
    properties = "" if mode is None else f" TBLPROPERTIES ('write.distribution-mode' = '{mode}')"
    name = f"spread_{mode or 'unsaid'}"
    run(session, f"CREATE TABLE {name} (id BIGINT, p INT, n BIGINT) USING iceberg PARTITIONED BY (p){properties}")
    run(session, f"INSERT INTO {name} {ROWS}")
    assert len(_files(session, name)) == num_files
    run(session, f"CREATE TABLE {name}_made USING iceberg PARTITIONED BY (p){properties} AS {ROWS}")
    assert len(_files(session, f"{name}_made")) == num_files
    run(
        session, f"CREATE TABLE {name}_merged (id BIGINT, p INT, n BIGINT) USING iceberg PARTITIONED BY (p){properties}"
    )
    run(session, f"MERGE INTO {name}_merged t USING ({ROWS}) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *")
    if mode != "none":  # the join has separate tasks
        assert len(_files(session, f"{name}_merged")) == num_files
    assert _all(session, name) == _all(session, f"{name}_made") == _all(session, f"{name}_merged")
    assert _all(session, name) == [(3000, 4498500, 3000, -4498500)]


ORDERED = [("none", False), ("hash", False), ("range", True), (None, True)]


@pytest.mark.parametrize(("mode", "is_divided"), with_slow(ORDERED, (1, 3)))
def test_files_of_a_sorted_table(session: LakeSession, mode: str | None, is_divided: bool) -> None:
    """Each is sorted; with range distribution, the files' ranges are ordered."""
    name = f"sorted_{mode or 'unsaid'}"
    run(session, f"CREATE TABLE {name} (id BIGINT, p INT, n BIGINT) USING iceberg")
    run(session, f"ALTER TABLE {name} WRITE LOCALLY ORDERED BY p, n")
    if mode is not None:
        run(session, f"ALTER TABLE {name} SET TBLPROPERTIES ('write.distribution-mode' = '{mode}')")
    run(session, f"INSERT INTO {name} {ROWS}")
    found = [pq.read_table(path, columns=["p", "n"]).to_pylist() for path in _files(session, name)]
    keys = sorted(([tuple(row.values()) for row in each] for each in found), key=lambda each: each[0])
    assert all(each == sorted(each) for each in keys)
    assert all(one[-1] <= two[0] for one, two in zip(keys, keys[1:], strict=False)) is (is_divided or len(keys) == 1)
    assert (len(keys) == 4) is (mode == "none")
    run(session, f"CALL system.rewrite_data_files(table => '{name}', strategy => 'sort')")
    found = [pq.read_table(path, columns=["p", "n"]).to_pylist() for path in _files(session, name)]
    keys = sorted(([tuple(row.values()) for row in each] for each in found), key=lambda each: each[0])
    assert all(each == sorted(each) for each in keys)
    assert all(one[-1] <= two[0] for one, two in zip(keys, keys[1:], strict=False))
    assert _all(session, name) == [(3000, 4498500, 3000, -4498500)]
