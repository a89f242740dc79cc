"""When versions were committed, and which was current when."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.conditions import LogFileNotFound, TimestampAfterLog, TimestampBeforeLog
from engine.delta.snapshot.commit_times import CommitTimes, load_commit_times, make_increasing
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.actions import Action, CommitInfo, Metadata, Protocol
from engine.delta.spec.paths import LOG_DIR, commit_name
from tests.engine.delta.log_builder import METADATA, PROTOCOL, SCHEMA_STRING, LogBuilder, NaiveTable, json_lines
from tests.examples import examples

PROTOCOL_ICT = Protocol(min_reader_version=1, min_writer_version=7, writer_features=("inCommitTimestamp",))


def log_with_times(*modified: int) -> LogBuilder:
    log = LogBuilder()
    for version, time in enumerate(modified):
        head: list[Action] = [PROTOCOL, METADATA] if version == 0 else []
        log.commit(*head)
        name = f"{LOG_DIR}/{commit_name(version)}"
        log.storage.files[name] = (log.storage.files[name][0], time)
    return log


def times(log: LogBuilder) -> CommitTimes:
    return load_commit_times(Snapshot.load(log.storage))


@pytest.mark.parametrize(
    ("modified", "expected"),
    [([], []), ([5], [5]), ([1, 2, 3], [1, 2, 3]), ([10, 5, 5, 11, 20], [10, 11, 12, 13, 20]), ([3, 3], [3, 4])],
)
def test_file_times_are_made_strictly_increasing(modified: list[int], expected: list[int]) -> None:
    assert make_increasing(modified) == expected


@given(st.lists(st.integers(0, 50), min_size=1, max_size=20))
def test_increasing_times_move_no_more_than_needed(modified: list[int]) -> None:
    result = make_increasing(modified)
    assert all(one < other for one, other in zip(result, result[1:], strict=False))
    assert all(old <= new for old, new in zip(modified, result, strict=True))
    assert make_increasing(result) == result


@pytest.mark.parametrize(("at", "version"), [(100, 0), (149, 0), (150, 1), (151, 2), (152, 3), (199, 3), (200, 4)])
def test_the_version_at_a_time(at: int, version: int) -> None:
    """Versions 2 and 3 have file times before version 1's."""
    assert times(log_with_times(100, 150, 120, 130, 200)).version_at(at) == version


def test_times_outside_of_the_log_are_named() -> None:
    found = times(log_with_times(100, 200))
    with pytest.raises(TimestampBeforeLog, match=r"1970-01-01 00:00:00\.100"):
        found.version_at(99)
    with pytest.raises(TimestampAfterLog, match=r"1970-01-01 00:00:00\.200"):
        found.version_at(201)
    assert found.version_at(201, allow_after=True) == 1


@pytest.mark.parametrize(("at", "version"), [(0, 0), (100, 0), (101, 1), (200, 1), (250, 2), (300, 2), (301, None)])
def test_the_first_version_after_a_time(at: int, version: int | None) -> None:
    assert times(log_with_times(100, 200, 300)).version_after(at) == version


def ict_log(*stamps: int | None) -> LogBuilder:
    """Returns versions with in-commit timestamps after others without; file times are 1000, 1001, ..."""
    log = LogBuilder()
    switch = next(version for version, stamp in enumerate(stamps) if stamp is not None)
    for version, stamp in enumerate(stamps):
        configuration = {"delta.enableInCommitTimestamps": "true"}
        if switch:
            configuration["delta.inCommitTimestampEnablementVersion"] = str(switch)
        head: list[Action] = [CommitInfo(in_commit_timestamp=stamp)] if stamp is not None else []
        if version == switch:
            head += [PROTOCOL_ICT, Metadata(id="t", schema_string=SCHEMA_STRING, configuration=configuration)]
        elif version == 0:
            head += [PROTOCOL, METADATA]
        log.put(commit_name(version), json_lines(head) or b'{"unknown":{}}\n')
        name = f"{LOG_DIR}/{commit_name(version)}"
        log.storage.files[name] = (log.storage.files[name][0], 1000 + version)
    return log


@pytest.mark.parametrize(
    ("stamps", "at", "version"),
    [
        ((10, 20, 30, 40), 10, 0),
        ((10, 20, 30, 40), 35, 2),
        ((10, 20, 30, 40), 40, 3),
        ((None, None, 2000, 3000, 4000), 1000, 0),
        ((None, None, 2000, 3000, 4000), 1001, 1),
        ((None, None, 2000, 3000, 4000), 1999, 1),
        ((None, None, 2000, 3000, 4000), 2000, 2),
        ((None, None, 2000, 3000, 4000), 3999, 3),
    ],
)
def test_in_commit_timestamps_count_from_where_they_were_enabled(
    stamps: tuple[int | None, ...], at: int, version: int
) -> None:
    assert times(ict_log(*stamps)).version_at(at) == version


@examples(40)
@given(st.lists(st.integers(1, 30), min_size=1, max_size=9), st.integers(0, 8), st.integers(0, 300))
def test_searching_is_what_looking_at_all_gives(steps: list[int], switch: int, at: int) -> None:
    stamps = [1000 + sum(steps[: i + 1]) + 20 for i in range(len(steps))]
    log = ict_log(*(None if version < min(switch, len(steps) - 1) else stamp for version, stamp in enumerate(stamps)))
    found = times(log)
    moments = [found.timestamp_ms(version) for version in range(len(steps))]
    wanted = 995 + at
    expected = [version for version, moment in enumerate(moments) if moment <= wanted]
    if not expected:
        with pytest.raises(TimestampBeforeLog):
            found.version_at(wanted, allow_after=True)
    else:
        assert found.version_at(wanted, allow_after=True) == expected[-1]
    after = [version for version, moment in enumerate(moments) if moment >= wanted]
    assert found.version_after(wanted) == (after[0] if after else None)


def test_versions_that_cannot_be_reconstructed_are_no_answer() -> None:
    """Commits 0 and 1 are gone; the checkpoint is for version 3, so commit 2 cannot be used."""
    log, table = log_with_times(100, 200, 300, 400, 500), NaiveTable()
    table.apply([PROTOCOL, METADATA])
    log.checkpoint(3, table.actions())
    log.drop(commit_name(0), commit_name(1))
    found = times(log)
    assert (found.first_version, found.earliest_version, found.latest_version) == (2, 3, 4)
    assert found.version_at(400) == 3
    with pytest.raises(TimestampBeforeLog):
        found.version_at(399)
    with pytest.raises(LogFileNotFound):
        found.timestamp_ms(1)
