"""CALL of procedures that move branches, expire snapshots and remove files, without Spark."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from engine.concurrency.cancel import CancelToken
from engine.iceberg.snapshot.snapshot import IcebergSnapshot
from tests.engine.bare_lake import BareLake
from tests.engine.iceberg.handmade import HandmadeTable

DAY_S = 24 * 3600
LATER = "older_than => TIMESTAMP'2100-01-01'"


class Lake(BareLake):
    """A lake whose statement times are literals, which this session evaluates itself."""

    def table_at(self, name: str, **options: Any) -> HandmadeTable:
        return HandmadeTable(self.folder / "default" / name, **options)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path)


@pytest.fixture
def table(lake: Lake) -> HandmadeTable:
    """Creates four snapshots with one file each: the last one is on a branch, a sibling of the third."""
    made = lake.table_at("t")
    for number in range(4):
        made.commit(made.data({"id": [number]}))
    made.snapshots[3] |= {"parent-snapshot-id": 1002, "summary": {"operation": "append", "wap.id": "w7"}}
    made.refs = {
        "main": {"snapshot-id": 1003, "type": "branch"},
        "audit": {"snapshot-id": 1004, "type": "branch"},
        "first": {"snapshot-id": 1001, "type": "tag"},
    }
    made.extra = {"current-snapshot-id": 1003, "snapshot-log": made.metadata()["snapshot-log"][:3]}
    made.write()
    return made


def current(lake: Lake) -> int:
    return lake.sources.formats["iceberg"].load(str(lake.folder / "default" / "t")).version


MOVES: list[tuple[str, list[tuple[Any, ...]], int]] = [
    ("rollback_to_snapshot('t', 1001)", [(1003, 1001)], 1001),
    ("rollback_to_snapshot(snapshot_id => 1002, table => 'default.t')", [(1003, 1002)], 1002),
    ("rollback_to_snapshot('t', 1003)", [(1003, 1003)], 1003),
    ("set_current_snapshot('t', 1004)", [(1003, 1004)], 1004),
    ("set_current_snapshot(table => '`default`.`t`', ref => 'audit')", [(1003, 1004)], 1004),
    ("fast_forward('t', 'main', 'main')", [("main", 1003, 1003)], 1003),
    ("fast_forward('t', 'new', 'first')", [("new", None, 1001)], 1003),
    ("ancestors_of('t')", [(1003, 1700000180000), (1002, 1700000120000), (1001, 1700000060000)], 1003),
    ("ancestors_of('t', 1004)", [(1004, 1700000240000), (1002, 1700000120000), (1001, 1700000060000)], 1003),
]


@pytest.mark.parametrize(("call", "answer", "after"), MOVES, ids=[each[0] for each in MOVES])
@pytest.mark.parametrize("system", ["system", "spark_catalog.system"])
def test_branches_move(
    lake: Lake, table: HandmadeTable, call: str, answer: list[tuple[Any, ...]], after: int, system: str
) -> None:
    assert lake.rows(f"CALL {system}.{call}") == answer
    assert current(lake) == after


REFUSED = [
    ("rollback_to_snapshot('t', 1004)", "ICEBERG_PROCEDURE_REFUSED"),
    ("rollback_to_snapshot('t', 5)", "ICEBERG_SNAPSHOT_NOT_FOUND"),
    ("set_current_snapshot('t')", "INVALID_PARAMETER_VALUE.PROCEDURE"),
    ("set_current_snapshot('t', 1001, 'first')", "INVALID_PARAMETER_VALUE.PROCEDURE"),
    ("set_current_snapshot(table => 't', ref => 'none')", "ICEBERG_REFERENCE_NOT_FOUND"),
    ("fast_forward('t', 'main', 'audit')", "ICEBERG_PROCEDURE_REFUSED"),
    ("fast_forward('t', 'first', 'main')", "ICEBERG_PROCEDURE_REFUSED"),
    ("expire_snapshots(table => 't', snapshot_ids => array(1003))", "ICEBERG_PROCEDURE_REFUSED"),
    ("expire_snapshots(table => 't', retain_last => 0)", "INVALID_PARAMETER_VALUE.PROCEDURE"),
    ("remove_orphan_files(table => 't', prefix_mismatch_mode => 'x')", "INVALID_PARAMETER_VALUE.PROCEDURE"),
    ("remove_orphan_files(table => 't', location => '/etc')", "INVALID_PARAMETER_VALUE.PROCEDURE"),
    ("ancestors_of('none')", "TABLE_OR_VIEW_NOT_FOUND"),
    ("ancestors_of('delta_one')", "UNSUPPORTED_FEATURE.STATEMENT"),
]


@pytest.mark.parametrize(("call", "condition"), REFUSED, ids=[each[0] for each in REFUSED])
def test_impossible_procedure_call_is_rejected_and_changes_nothing(
    lake: Lake, table: HandmadeTable, call: str, condition: str
) -> None:
    lake.append("delta_one", {"id": [1]})
    before = sorted((table.folder / "metadata").iterdir())
    assert lake.refuse(f"CALL system.{call}").condition == condition
    assert sorted((table.folder / "metadata").iterdir()) == before


def test_staged_rows_are_published_once(lake: Lake, table: HandmadeTable) -> None:
    del table.refs["audit"]
    table.write()
    ((picked, published),) = lake.rows("CALL system.publish_changes('t', 'w7')")
    assert picked == 1004
    found = lake.sources.formats["iceberg"].load(str(table.folder))
    assert isinstance(found, IcebergSnapshot)
    assert found.info is not None
    assert (found.version, found.info.parent_id, found.num_files) == (published, 1003, 4)
    said = {key: found.info.summary.get(key) for key in ("operation", "source-snapshot-id", "published-wap-id")}
    assert said == {"operation": "append", "source-snapshot-id": "1004", "published-wap-id": "w7"}
    assert set(found.live_files.data["sequence_number"].to_pylist()) == {1, 2, 3, 5}
    for call in ("publish_changes('t', 'w7')", "cherrypick_snapshot('t', 1004)", "cherrypick_snapshot('t', 1002)"):
        assert lake.refuse(f"CALL system.{call}").condition == "ICEBERG_PROCEDURE_REFUSED"
    assert lake.refuse("CALL system.publish_changes('t', 'none')").condition == "ICEBERG_PROCEDURE_REFUSED"


def test_a_snapshot_on_top_of_the_current_one_becomes_it(lake: Lake, table: HandmadeTable) -> None:
    lake.rows("CALL system.rollback_to_snapshot('t', 1002)")
    assert lake.rows("CALL system.cherrypick_snapshot('t', 1004)") == [(1004, 1004)]
    assert current(lake) == 1004


def files(table: HandmadeTable) -> set[str]:
    found = (str(path.relative_to(table.folder)) for path in table.folder.rglob("*") if path.is_file())
    return {name for name in found if "metadata.json" not in name and "hint" not in name}


def test_expired_snapshots_remove_unshared_files(lake: Lake, table: HandmadeTable) -> None:
    del table.refs["first"], table.refs["audit"]
    table.write()
    before = files(table)
    assert lake.rows("CALL system.expire_snapshots(table => 't', retain_last => 5)") == [(1, 0, 0, 1, 1, 0)]
    assert before - files(table) == {"data/00004.parquet", "metadata/m4-0-0-3.avro", "metadata/snap-1004.avro"}
    assert lake.refuse("CALL system.ancestors_of('t', 1004)").condition == "ICEBERG_SNAPSHOT_NOT_FOUND"
    assert lake.rows("CALL system.expire_snapshots(table => 't', snapshot_ids => array(1001))") == [(0, 0, 0, 0, 2, 0)]
    assert [row[0] for row in lake.rows("CALL system.ancestors_of('t')")] == [1003]


def test_manifests_that_are_as_wanted_are_left_alone(lake: Lake, table: HandmadeTable) -> None:
    """Iceberg's own action does the same: no snapshot if there is at most one data manifest and one delete manifest."""
    assert lake.rows("CALL system.rewrite_manifests('t')") == [(3, 1)]
    before = current(lake)
    assert lake.rows("CALL system.rewrite_manifests('t')") == [(0, 0)]
    assert current(lake) == before
    lake.answer("ALTER TABLE t SET TBLPROPERTIES ('commit.manifest.target-size-bytes' = '1')")
    assert lake.rows("CALL system.rewrite_manifests('t')") == [(1, 1)] and current(lake) != before


def test_age_and_number_say_which_snapshots_stay(lake: Lake, table: HandmadeTable) -> None:
    assert lake.rows("CALL system.expire_snapshots(table => 't', retain_last => 3)") == [(0, 0, 0, 0, 0, 0)]
    table.refs["first"]["max-ref-age-ms"] = 1
    table.refs["audit"]["min-snapshots-to-keep"] = 1
    table.write()
    assert lake.rows("CALL system.expire_snapshots('t')") == [(0, 0, 0, 0, 2, 0)]  # their files are in later ones
    found = lake.sources.formats["iceberg"].load(str(table.folder)).metadata  # type: ignore[attr-defined]
    assert (sorted(found.snapshots), sorted(found.refs)) == ([1003, 1004], ["audit", "main"])
    assert [snapshot_id for _, snapshot_id in found.snapshot_log] == [1003]


def test_files_in_use_by_a_statement_are_retained(lake: Lake, table: HandmadeTable) -> None:
    before = files(table)
    del table.refs["audit"]
    table.write()
    with lake.sources.pins.statement(lambda: 0) as uses:
        uses.add(str(table.folder), 1004)
        lake.rows("CALL system.expire_snapshots('t')")
        assert {"data/00004.parquet"} <= files(table)
        lake.rows("CALL system.expire_snapshots(table => 't', snapshot_ids => array(1004))")
        assert {"data/00004.parquet"} <= files(table)
    assert "data/00004.parquet" in before


def age(path: Path, days: float) -> None:
    at = time.time() - days * DAY_S
    os.utime(path, (at, at))


def test_orphans_are_old_files_that_nothing_names(lake: Lake, table: HandmadeTable) -> None:
    for path in table.folder.rglob("*"):
        age(path, 0 if "metadata.json" in path.name else 9)
    for name in ("data/old.parquet", "data/new.parquet", "metadata/old.avro", "data/_hidden", "data/p=1/deep.parquet"):
        (table.folder / name).parent.mkdir(exist_ok=True)
        (table.folder / name).write_bytes(b"x")
        age(table.folder / name, 0.5 if "new" in name else 9)
    inner = HandmadeTable(table.folder / "inner")
    inner.commit(inner.data({"id": [1]}))
    for path in inner.folder.rglob("*"):
        age(path, 9)
    before = files(table)
    orphans = ["data/old.parquet", "data/p=1/deep.parquet", "metadata/old.avro"]
    expected = [(f"{table.location}/{name}",) for name in orphans]
    assert lake.rows("CALL system.remove_orphan_files(table => 't', dry_run => true)") == expected
    assert files(table) == before
    inside = f"{table.folder}/data/p=1"
    assert lake.rows(f"CALL system.remove_orphan_files(table => 't', location => '{inside}')") == [expected[1]]
    assert lake.rows("CALL system.remove_orphan_files('t')") == [expected[0], expected[2]]
    assert before - files(table) == set(orphans)
    assert lake.rows("CALL system.ancestors_of('t')")


def test_a_table_says_that_its_files_stay(lake: Lake, table: HandmadeTable) -> None:
    table.properties["gc.enabled"] = "false"
    table.write()
    for call in ("expire_snapshots('t')", "remove_orphan_files('t')"):
        assert lake.refuse(f"CALL system.{call}").condition == "ICEBERG_PROCEDURE_REFUSED"


def test_a_table_is_registered_by_its_metadata(lake: Lake, tmp_path: Path) -> None:
    made = HandmadeTable(tmp_path / "elsewhere" / "made")
    made.commit(made.data({"id": [1, 2]}), summary={"operation": "append", "total-records": "2"})
    file = made.folder / "metadata/v1.metadata.json"
    call = f"CALL system.register_table('registered', '{file}')"
    assert lake.rows(call) == [(1001, 2, None)]
    assert lake.rows("CALL system.ancestors_of('registered')") == [(1001, 1700000060000)]
    for change in ("CALL system.rollback_to_snapshot('registered', 1001)", "TRUNCATE TABLE registered"):
        assert lake.refuse(change).condition == "ICEBERG_TABLE_READ_ONLY"
    assert lake.refuse("ALTER TABLE registered SET TBLPROPERTIES ('a' = 'b')").condition == "ICEBERG_TABLE_READ_ONLY"
    assert lake.refuse(call).condition == "TABLE_OR_VIEW_ALREADY_EXISTS"


def test_procedures_are_serialized_with_writers(lake: Lake, table: HandmadeTable) -> None:
    write_queue = lake.sources.write_queue
    assert write_queue is not None
    with ThreadPoolExecutor(1) as threads:
        with write_queue.hold(str(lake.folder / "default" / "t"), CancelToken()):
            called = threads.submit(lake.rows, "CALL system.rollback_to_snapshot('t', 1001)")
            time.sleep(0.3)
            assert not called.done() and current(lake) == 1003
        assert called.result(30) == [(1003, 1001)]
