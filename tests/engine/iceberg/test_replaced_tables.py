"""REPLACE TABLE on Iceberg tables: a snapshot without parent, as Java writes it, which every reader can read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine.main import LakeSession
from tests.engine.iceberg.test_row_changes import newest_metadata, read_by_all
from tests.engine.lake_sessions import rows, run

pytestmark = pytest.mark.spark

CASES = {
    # the replacing statement, the next one, the rows
    "as select": ("USING iceberg AS SELECT 5 AS id", "INSERT INTO {t} VALUES (6)", [(5,), (6,)]),
    "without rows": ("(id INT, x STRING) USING iceberg", "INSERT INTO {t} VALUES (2, 'a')", [(2, "a")]),
    "overwritten": ("(id INT, x STRING) USING iceberg", "INSERT OVERWRITE {t} VALUES (2, 'a')", [(2, "a")]),
    "as no rows": ("USING iceberg AS SELECT 5 AS id WHERE false", "INSERT INTO {t} VALUES (6)", [(6,)]),
    "by another column": (
        "USING iceberg PARTITIONED BY (bucket(2, id)) AS SELECT id, e FROM {t}",
        "UPDATE {t} SET e = 1 WHERE id = 1",
        [(0, 0), (1, 1), (2, 2), (3, 0)],
    ),
}


def _metadata(lake: Path, name: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(newest_metadata(lake, name).read_bytes())
    return value


@pytest.mark.diagonals("case", "version", step=3)
@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("case", CASES)
def test_replaced_table_is_read_by_all(session: LakeSession, lake: Path, case: str, version: int) -> None:
    definition, after, expected = CASES[case]
    name = f"{case.replace(' ', '_')}{version}"
    run(
        session,
        f"CREATE TABLE {name} (id INT, d INT, e INT) USING iceberg PARTITIONED BY (bucket(2, d))"
        f" TBLPROPERTIES ('format-version' = '{version}')",
    )
    run(session, f"INSERT INTO {name} SELECT id, id, id % 3 FROM range(4)")
    before = _metadata(lake, name)
    run(session, f"CREATE OR REPLACE TABLE {name} {definition.format(t=name)}")
    replaced = _metadata(lake, name)
    read_by_all(session, lake, name)
    (old, new) = replaced["snapshots"]
    assert "parent-snapshot-id" not in new and new["snapshot-id"] == replaced["current-snapshot-id"]
    assert replaced["refs"]["main"]["snapshot-id"] == new["snapshot-id"]
    has_rows = case in ("as select", "by another column")
    assert new["summary"]["operation"] == ("overwrite" if has_rows else "delete")
    assert "deleted-data-files" not in new["summary"] and (new["summary"]["total-data-files"] != "0") == has_rows
    assert new.get("sequence-number", 2) == 2 and replaced["table-uuid"] == before["table-uuid"]
    assert [each["snapshot-id"] for each in replaced["snapshot-log"]] == [old["snapshot-id"], new["snapshot-id"]]
    run(session, after.format(t=name))
    assert read_by_all(session, lake, name) == expected
    assert rows(session, f"SELECT count(*) FROM {name} VERSION AS OF {old['snapshot-id']}") == [(4,)]
    run(session, f"CALL system.set_current_snapshot('{name}', {old['snapshot-id']})")
    assert rows(session, f"SELECT id FROM {name} ORDER BY id") == [(0,), (1,), (2,), (3,)]


def test_files_of_before_are_removed_when_their_snapshots_expire(session: LakeSession, lake: Path) -> None:
    run(session, "CREATE TABLE expiring (id INT) USING iceberg")
    run(session, "INSERT INTO expiring VALUES (1)")
    run(session, "CREATE OR REPLACE TABLE expiring USING iceberg AS SELECT 2 AS id")
    folder = newest_metadata(lake, "expiring").parent.parent
    assert len(list(folder.rglob("part-*.parquet"))) == 2
    run(session, "CALL system.expire_snapshots('expiring', TIMESTAMP'2100-01-01', 1)")
    assert len(list(folder.rglob("part-*.parquet"))) == 1
    assert read_by_all(session, lake, "expiring") == [(2,)]


def test_table_without_a_snapshot_has_none_after_it_is_replaced(session: LakeSession, lake: Path) -> None:
    run(session, "CREATE TABLE never (id INT) USING iceberg")
    run(session, "CREATE OR REPLACE TABLE never (x INT) USING iceberg")
    assert not _metadata(lake, "never").get("snapshots")
    assert read_by_all(session, lake, "never") == []
