"""Changes in a range of versions."""

from __future__ import annotations

import pytest

from catalog.conditions import MalformedLogEntry, VersionNotFound
from catalog.errors import SqlError
from engine.delta.feed.change_range import load_changes, resolve_range
from engine.delta.log.file_table import CDC_SCHEMA, FILES_SCHEMA
from engine.delta.snapshot.commit_times import load_commit_times
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.actions import AddCdcFile, CommitInfo, Metadata
from engine.delta.spec.paths import commit_name
from engine.tables.changes import AtTime, AtVersion, Bound
from tests.engine.delta.log_builder import METADATA, PROTOCOL, SCHEMA_STRING, LogBuilder, NaiveTable, add, remove
from tests.engine.delta.snapshot.test_commit_times import PROTOCOL_ICT, log_with_times


def changed_log() -> LogBuilder:
    log = LogBuilder()
    log.create(add("a"), add("b", data_change=False))
    log.commit(
        add("c"),
        remove("a"),
        AddCdcFile(path="_change_data/x%20y", size=3, partition_values={"day": "1"}),
        CommitInfo(operation="DELETE"),
    )
    log.commit(Metadata(id="table", name="n", schema_string=SCHEMA_STRING, partition_columns=("day",)))
    return log


def test_change_range_yields_the_actions_by_version() -> None:
    first, second, third = load_changes(Snapshot.load(changed_log().storage), 0)
    assert [change.version for change in (first, second, third)] == [0, 1, 2]
    adds = first.actions.adds.table(FILES_SCHEMA)
    assert list(zip(adds["path"].to_pylist(), adds["data_change"].to_pylist(), strict=True)) == [
        ("a", True),
        ("b", False),
    ]
    assert first.actions.metadata == METADATA
    (cdc,) = second.actions.cdc.table(CDC_SCHEMA).to_pylist()
    assert (cdc["path"], cdc["log_path"], cdc["partition_values"]) == (
        "_change_data/x y",
        "_change_data/x%20y",
        [("day", "1")],
    )
    assert second.actions.commit_info == CommitInfo(operation="DELETE")
    assert (second.actions.removes.num_rows, second.actions.metadata) == (1, None)
    assert third.actions.metadata is not None and third.actions.metadata.name == "n"


@pytest.mark.parametrize(("first", "last", "versions"), [(1, 1, [1]), (1, 2, [1, 2]), (2, None, [2]), (2, 1, [])])
def test_ranges(first: int, last: int | None, versions: list[int]) -> None:
    found = load_changes(Snapshot.load(changed_log().storage), first, last)
    assert [change.version for change in found] == versions


@pytest.mark.parametrize(("first", "last"), [(-1, 1), (0, 3), (3, 3)])
def test_a_range_that_is_not_all_there_is_refused_at_once(first: int, last: int) -> None:
    with pytest.raises(VersionNotFound):
        load_changes(Snapshot.load(changed_log().storage), first, last)


def test_a_checkpoint_does_not_stand_in_for_a_commit() -> None:
    log, table = changed_log(), NaiveTable()
    table.apply([PROTOCOL, METADATA, add("b"), add("c")])
    log.checkpoint(1, table.actions())
    log.drop(commit_name(0))
    snapshot = Snapshot.load(log.storage)
    with pytest.raises(VersionNotFound, match="1 to 2"):
        load_changes(snapshot, 0)
    assert [change.version for change in load_changes(snapshot, 1)] == [1, 2]


def test_times() -> None:
    found = load_changes(Snapshot.load(log_with_times(100, 50, 300).storage), 0)
    assert [change.timestamp_ms for change in found] == [100, 101, 300]
    log = LogBuilder()
    metadata = Metadata(id="t", schema_string=SCHEMA_STRING, configuration={"delta.enableInCommitTimestamps": "true"})
    log.commit(CommitInfo(in_commit_timestamp=7), PROTOCOL_ICT, metadata)
    assert [change.timestamp_ms for change in load_changes(Snapshot.load(log.storage), 0)] == [7]


def test_commits_are_read_one_at_a_time() -> None:
    log = changed_log()
    changes = load_changes(Snapshot.load(log.storage), 0)
    assert next(changes).version == 0
    log.put(commit_name(1), b"{")
    with pytest.raises(MalformedLogEntry):
        next(changes)


RANGES: tuple[tuple[Bound, Bound | None, range], ...] = (
    # commits at 100, 200 and 300
    (AtVersion(0), None, range(3)),
    (AtVersion(1), AtVersion(1), range(1, 2)),
    (AtVersion(1), AtVersion(9), range(1, 3)),
    (AtTime(0), None, range(3)),
    (AtTime(100), AtTime(200), range(2)),
    (AtTime(101), AtTime(299), range(1, 2)),
    (AtTime(101), AtVersion(2), range(1, 3)),
    (AtVersion(0), AtTime(250), range(2)),
    (AtTime(210), AtTime(290), range(2, 2)),
    (AtTime(300), AtTime(300), range(2, 3)),
)


@pytest.mark.parametrize("allow_outside", [False, True])
@pytest.mark.parametrize(("start", "end", "expected"), RANGES)
def test_ranges_by_version_and_time(start: Bound, end: Bound | None, expected: range, allow_outside: bool) -> None:
    times = load_commit_times(Snapshot.load(log_with_times(100, 200, 300).storage))
    assert resolve_range(times, start, end, allow_outside=allow_outside) == expected


OUTSIDE: tuple[tuple[Bound, Bound | None, str, range | None], ...] = (
    (AtVersion(3), None, "DELTA_CDC_START_VERSION_AFTER_LATEST", range(0)),
    (AtVersion(5), AtVersion(3), "DELTA_CDC_START_VERSION_AFTER_LATEST", range(0)),
    (AtTime(301), None, "DELTA_TIMESTAMP_GREATER_THAN_COMMIT", range(0)),
    (AtVersion(1), AtTime(301), "DELTA_TIMESTAMP_GREATER_THAN_COMMIT", range(1, 3)),
    (AtVersion(0), AtTime(99), "DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION", None),
    (AtVersion(2), AtVersion(1), "DELTA_INVALID_CDC_RANGE", None),
    (AtVersion(2), AtTime(250), "DELTA_INVALID_CDC_RANGE", None),
    (AtTime(210), AtVersion(1), "DELTA_INVALID_CDC_RANGE", None),
    (AtTime(290), AtTime(210), "DELTA_INVALID_CDC_RANGE", None),
    (AtTime(250), AtTime(110), "DELTA_INVALID_CDC_RANGE", None),
)


@pytest.mark.parametrize(("start", "end", "condition", "allowed"), OUTSIDE)
def test_ranges_outside_of_the_log(start: Bound, end: Bound | None, condition: str, allowed: range | None) -> None:
    times = load_commit_times(Snapshot.load(log_with_times(100, 200, 300).storage))
    with pytest.raises(SqlError) as caught:
        resolve_range(times, start, end)
    assert caught.value.condition == condition
    if allowed is not None:
        assert resolve_range(times, start, end, allow_outside=True) == allowed
