"""`table_changes` on Iceberg tables: each snapshot's inserts and deletes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from catalog.errors import SqlError
from engine.formats.iceberg.iceberg_format import IcebergFormat
from engine.iceberg.snapshot.changes import IcebergChanges
from engine.main import LakeSession
from engine.storage.storage import open_storage
from engine.tables.changes import AtTime, AtVersion, Bound
from tests.engine.iceberg.handmade import HandmadeTable
from tests.engine.lake_sessions import rows, run

MINUTE_MS = 60_000
# Snapshot 1001's time; each later one follows after a minute.
FIRST_MS = 1_700_000_000_000 + MINUTE_MS


def longs(*values: int) -> dict[str, Any]:
    return {"id": pa.array(values, pa.int64())}


def changes(table: HandmadeTable, start: Bound, end: Bound | None = None, *, outside: bool = False) -> IcebergChanges:
    format_ = IcebergFormat(open_storage, 1 << 24)
    return format_.changes(format_.load(str(table.folder)), start, end, allow_outside=outside)


def shown_changes(found: IcebergChanges) -> list[tuple[str, str, str, bool, bool]]:
    """Returns each file's snapshot, kind and name, and if rows are excluded, or only some are read."""
    names = [Path(path).name for path in found.files["path"].to_pylist()]
    deleted = [
        [each is not None for each in found.files[name].to_pylist()] for name in ("deletion_vector", "selected_rows")
    ]
    constants = [found.constants[name].to_pylist() for name in ("_commit_version", "_change_type")]
    return sorted(zip(*constants, names, *deleted, strict=True))


@pytest.fixture
def table(tmp_path: Path) -> HandmadeTable:
    """1001 and 1002 append, 1003 deletes rows in the first file by position, 1004 compacts, 1005 deletes by
    equality.
    """
    found = HandmadeTable(tmp_path / "t")
    first = found.data(longs(1, 2, 3))
    found.commit(first)
    found.commit(found.data(longs(4, 5)))
    found.commit(found.positions([first["file_path"]], [1]), operation="delete")
    found.commit(found.data(longs(0)), operation="replace")
    found.commit(found.equality(longs(5), [1]), operation="delete")
    found.commit(found.data(longs(6)))
    return found


RANGES: dict[str, tuple[Bound, Bound | None, tuple[int, ...]]] = {
    "from the beginning": (AtVersion(0), AtVersion(1002), (1001, 1002)),
    "by versions": (AtVersion(1002), AtVersion(1004), (1002, 1003, 1004)),
    "one": (AtVersion(1002), AtVersion(1002), (1002,)),
    "by times": (AtTime(FIRST_MS + 1), AtTime(FIRST_MS + 2 * MINUTE_MS), (1002, 1003)),
    "between two": (AtTime(FIRST_MS + 1), AtTime(FIRST_MS + 2), ()),
    "to the newest": (AtVersion(1006), None, (1006,)),
}


@pytest.mark.parametrize("case", RANGES)
def test_a_range_has_both_of_its_ends(table: HandmadeTable, case: str) -> None:
    start, end, versions = RANGES[case]
    assert changes(table, start, end).versions == versions


def test_changed_files_have_row_changes(table: HandmadeTable) -> None:
    assert shown_changes(changes(table, AtVersion(0), AtVersion(1004))) == [
        ("1001", "insert", "00001.parquet", False, False),
        ("1002", "insert", "00002.parquet", False, False),
        ("1003", "delete", "00001.parquet", False, True),
    ]
    assert shown_changes(changes(table, AtVersion(1006))) == [("1006", "insert", "00006.parquet", False, False)]


@pytest.mark.parametrize(
    ("start", "end", "message"),
    [
        (AtVersion(1005), AtVersion(1005), "deleted rows by equality"),
        (AtVersion(77), None, "none of the snapshots"),
        (AtTime(FIRST_MS + 10 * MINUTE_MS), None, "no snapshot was made at or after"),
    ],
)
def test_unreadable_changes_are_rejected(table: HandmadeTable, start: Bound, end: Bound | None, message: str) -> None:
    with pytest.raises(SqlError, match=message):
        changes(table, start, end)


def test_a_range_beyond_the_newest_may_be_empty(table: HandmadeTable) -> None:
    assert changes(table, AtTime(FIRST_MS + 10 * MINUTE_MS), outside=True).versions == ()


@pytest.mark.spark
def test_changed_rows_have_change_types(session: LakeSession, lake: Path) -> None:
    table = HandmadeTable(lake / "told", version=3)
    first = table.data(longs(1, 2, 3), _first_row_id=None)
    table.commit(first)
    table.commit(*table.vectors({first["file_path"]: [0]}), operation="delete")
    table.evolve(
        [
            {"id": 1, "name": "id", "required": False, "type": "long"},
            {"id": 2, "name": "x", "required": False, "type": "int"},
        ]
    )
    table.commit(table.data({"id": [4], "x": pa.array([7], pa.int32())}, ids={"id": 1, "x": 2}))
    feed = "SELECT id, x, _change_type, _commit_version FROM table_changes('told', 0) ORDER BY _commit_version, id"
    assert rows(session, feed) == [
        (1, None, "insert", 1001),
        (2, None, "insert", 1001),
        (3, None, "insert", 1001),
        (1, None, "delete", 1002),
        (4, 7, "insert", 1003),
    ]
    late = (
        "SELECT id, date_format(_commit_timestamp, 'mm') FROM table_changes('told', 1002) WHERE _change_type = 'insert'"
    )
    assert [each[0] for each in rows(session, late)] == [4]


@pytest.mark.spark
@pytest.mark.parametrize("mode", ["copy-on-write", "merge-on-read"])
def test_changes_of_partitions_that_became_others(session: LakeSession, mode: str) -> None:
    """For each snapshot, the rows that it has and its predecessor has not."""
    name = f"parted_{mode[:4]}"
    modes = ", ".join(f"'write.{each}.mode' = '{mode}'" for each in ("delete", "update", "merge"))
    for text in (
        "CREATE TABLE {t} (id BIGINT, s STRING) USING iceberg PARTITIONED BY (truncate(1, s)) "
        f"TBLPROPERTIES ('format-version' = '2', {modes})",
        "INSERT INTO {t} SELECT id, concat(id % 3, 's') FROM range(9)",
        "DELETE FROM {t} WHERE id % 4 = 0",
        "ALTER TABLE {t} ADD PARTITION FIELD bucket(2, id)",
        "INSERT INTO {t} VALUES (10, NULL), (11, '')",
        "UPDATE {t} SET s = 'u' WHERE id < 6 OR id = 11",
        "ALTER TABLE {t} DROP PARTITION FIELD truncate(1, s)",
        "ALTER TABLE {t} SET TBLPROPERTIES ('format-version' = '3')",
        "DELETE FROM {t} WHERE id IN (5, 6)",
        "INSERT OVERWRITE {t} SELECT * FROM {t} WHERE id > 2",
    ):
        run(session, text.replace("{t}", name))
    snapshots = [id for (id,) in rows(session, f"SELECT snapshot_id FROM {name}.snapshots ORDER BY committed_at")]
    before: Counter[Any] = Counter()
    for snapshot in snapshots:
        now = Counter(rows(session, f"SELECT * FROM {name} VERSION AS OF {snapshot}"))
        reported_rows = rows(
            session, f"SELECT id, s, _change_type FROM table_changes('{name}', {snapshot}, {snapshot})"
        )
        net = Counter((id, s) for id, s, kind in reported_rows if kind == "insert")
        net.subtract((id, s) for id, s, kind in reported_rows if kind == "delete")
        now_net = Counter(now)
        now_net.subtract(before)
        assert reported_rows and +net == +now_net and -net == -now_net, snapshot
        before = now
    assert len(rows(session, f"SELECT * FROM table_changes('{name}', 0)")) > 9 and len(snapshots) == 6
