"""The model finds each kind of difference, and accepts a statement with an unknown outcome once or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from tests.chaos.model import CHANGES, EVENTS, ROWS, Fate, Kind, Model, Rows, Write, log_damage

EVENTS_SCHEMA = pa.schema([("id", pa.int64()), ("number", pa.int64()), ("nonce", pa.string())])
CHANGES_SCHEMA = pa.schema([("id", pa.int64()), ("count", pa.int64()), ("number", pa.int64()), ("writer", pa.int64())])
WRITER = 1
APPEND = Write(Kind.APPEND, 5, WRITER)
MERGE, UPDATE, DELETE = Write(Kind.MERGE, 6, WRITER), Write(Kind.UPDATE, 7, WRITER, 20), Write(Kind.DELETE, 8, WRITER)


def ids(write: Write = APPEND) -> list[int]:
    return [write.number * 1000 + place for place in range(ROWS)]


def append_rows(lake: Path, ids: Sequence[int], number: int = APPEND.number, run: str = "a") -> None:
    rows = [{"id": each, "number": number, "nonce": f"{run} {each}"} for each in ids]
    write_deltalake(lake / "default" / EVENTS, pa.Table.from_pylist(rows, EVENTS_SCHEMA), mode="append")


def write_changes(lake: Path, rows: Rows) -> None:
    found = [{"id": key, "count": count, "number": number, "writer": WRITER} for key, (count, number) in rows.items()]
    write_deltalake(lake / "default" / CHANGES, pa.Table.from_pylist(found, CHANGES_SCHEMA), mode="overwrite")


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    append_rows(tmp_path, [])
    write_changes(tmp_path, {})
    return tmp_path


def differences(lake: Path, *outcomes: tuple[Write, Fate]) -> list[str]:
    model = Model()
    for write, fate in outcomes:
        model.record(write, fate)
    return list(model.settle(lake).elements())


@pytest.mark.parametrize(("fate", "found"), [(Fate.SUCCEEDED, ["rows lost (events 5)"]), (Fate.FAILED, [])])
def test_append_that_is_not_there_is_lost_only_if_it_succeeded(lake: Path, fate: Fate, found: list[str]) -> None:
    assert differences(lake, (APPEND, fate)) == found


@pytest.mark.parametrize(("fate", "found"), [(Fate.SUCCEEDED, []), (Fate.FAILED, ["failed write is there (events 5)"])])
def test_append_that_is_there_is_wrong_only_if_it_failed(lake: Path, fate: Fate, found: list[str]) -> None:
    append_rows(lake, ids())
    assert differences(lake, (APPEND, fate)) == found


@pytest.mark.parametrize("written", [ids()[1:], [*ids()[:-1], ids()[-1] + 1]])
def test_append_with_some_of_its_rows_has_lost_others(lake: Path, written: Sequence[int]) -> None:
    append_rows(lake, written)
    assert differences(lake, (APPEND, Fate.SUCCEEDED)) == ["rows lost (events 5)"]


@pytest.mark.parametrize(("run", "found"), [("b", "write ran twice (events 5)"), ("a", "rows doubled (events 5)")])
def test_nonces_distinguish_a_second_run_from_doubled_rows(lake: Path, run: str, found: str) -> None:
    append_rows(lake, ids())
    append_rows(lake, ids(), run=run)
    assert differences(lake, (APPEND, Fate.UNKNOWN)) == [found]


def test_rows_without_a_statement_belong_to_nobody(lake: Path) -> None:
    append_rows(lake, ids(), number=99)
    write_changes(lake, {1000: (1, 99)})
    assert differences(lake) == ["rows of nobody (events 99)", "rows of nobody (changes 1)"]


@pytest.mark.parametrize("is_there", [True, False])
def test_unknown_outcome_is_decided_once_by_the_tables(lake: Path, is_there: bool) -> None:
    model = Model()
    model.record(MERGE, Fate.SUCCEEDED)
    model.record(UPDATE, Fate.UNKNOWN)
    model.record(APPEND, Fate.UNKNOWN)
    rows = MERGE.applied({})
    write_changes(lake, UPDATE.applied(rows) if is_there else rows)
    if is_there:
        append_rows(lake, ids())
    assert not model.settle(lake)
    expected = Fate.SUCCEEDED if is_there else Fate.FAILED
    assert model.fates == {6: Fate.SUCCEEDED, 7: expected, 5: expected}
    append_rows(lake, ids(), run="late")
    assert bool(model.settle(lake))


@pytest.mark.parametrize("write", [MERGE, UPDATE])
def test_change_that_ran_twice_is_found_by_its_counter(lake: Path, write: Write) -> None:
    rows = MERGE.applied({})
    write_changes(lake, write.applied(write.applied(rows)))
    assert differences(lake, (MERGE, Fate.SUCCEEDED), (write, Fate.UNKNOWN)) == ["write ran twice (changes 1)"]


def test_rows_that_no_statement_deleted_are_lost(lake: Path) -> None:
    write_changes(lake, DELETE.applied(MERGE.applied({})))
    assert differences(lake, (MERGE, Fate.SUCCEEDED)) == ["rows lost (changes 1)"]
    assert differences(lake, (MERGE, Fate.SUCCEEDED), (DELETE, Fate.UNKNOWN)) == []


def test_rows_that_came_back_after_a_delete_belong_to_nobody(lake: Path) -> None:
    write_changes(lake, MERGE.applied({}))
    assert differences(lake, (MERGE, Fate.SUCCEEDED), (DELETE, Fate.SUCCEEDED)) == ["rows of nobody (changes 1)"]


def test_log_with_a_missing_file_or_version_is_damaged(lake: Path) -> None:
    append_rows(lake, ids())
    append_rows(lake, ids(), run="b")
    assert not log_damage(lake)
    (lake / "default" / EVENTS / "_delta_log" / f"{1:020}.json").unlink()
    assert log_damage(lake) == ["gap in log (events)"]
    for file in (lake / "default" / EVENTS).glob("*.parquet"):
        file.unlink()
    assert "file of log damaged (events)" in log_damage(lake)
