"""Batches in a growing result: order, waiting, errors, and removed files."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from catalog.conditions import ResultRowsDiffer, StatementCancelled, StatementInterrupted
from engine.runtime.results import sql_field
from engine.spark.record_batches import RecordBatches, Segment
from engine.spool.spool import Spool
from engine.spool.spool_file import AnyBatch, load_batch

SCHEMA = pa.schema([sql_field("id", pa.int64(), "bigint")])
NOTHING = pa.py_buffer(b"")


def message(*values: int) -> bytes:
    return bytes(pa.record_batch([pa.array(values, pa.int64())], schema=SCHEMA).serialize().to_pybytes())


class Growing:
    """A file as a task writes it."""

    def __init__(self, path: Path) -> None:
        self.path, self.length = path, 0

    def write(self, *values: int) -> Segment:
        with self.path.open("ab") as file:
            self.length += file.write(message(*values))
        return Segment(str(self.path), 0, self.length)


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    (tmp_path / "results").mkdir()
    return Spool(tmp_path / "results")


@pytest.fixture
def made(tmp_path: Path) -> Iterator[Callable[[str], Growing]]:
    yield lambda name: Growing(tmp_path / name)


def ids(batch: AnyBatch) -> list[int]:
    return list(load_batch(batch).column(0).to_pylist())


def test_rows_are_read_as_their_file_grows_and_none_twice(spool: Spool, made: Callable[[str], Growing]) -> None:
    batches, first, second = RecordBatches(SCHEMA, spool), made("0.1"), made("1.2")
    rows = iter(batches)
    batches.announce(first.write(0, 1))
    assert ids(next(rows)) == [0, 1]
    assert not batches.wait_ready(0)
    batches.announce(first.write(2))
    batches.announce(first.write(3))
    assert batches.wait_ready(0)
    last = first.write(4)  # which only the answer announces
    batches.complete([last, second.write(5)], NOTHING, 6)
    assert not first.path.exists() and not second.path.exists()
    assert [row for batch in rows for row in ids(batch)] == [2, 3, 4, 5]
    assert batches.wait_ready(0)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))) + [(0, 0, 2, 2, 1, 1), (2, 1, 0, 2, 1, 0)])
def test_rows_are_read_once_in_any_segment_order(
    spool: Spool, made: Callable[[str], Growing], order: tuple[int, ...]
) -> None:
    batches, file = RecordBatches(SCHEMA, spool), made("0.1")
    grown = [file.write(number) for number in range(3)]
    rows, seen = iter(batches), list[int]()
    for place in order:
        batches.announce(grown[place])
        while batches.wait_ready(0):
            seen += ids(next(rows))
    batches.complete([grown[-1]], NOTHING, 3)
    assert seen + [row for batch in rows for row in ids(batch)] == [0, 1, 2]


def test_segments_of_one_file_and_of_the_answer_keep_their_order(spool: Spool, tmp_path: Path) -> None:
    pieces = [message(0), message(1), message(2)]
    (tmp_path / "driver").write_bytes(pieces[0] + pieces[1])
    path, middle = str(tmp_path / "driver"), len(pieces[0])
    batches = RecordBatches(SCHEMA, spool)
    batches.announce(Segment(path, 0, middle))
    segments = [Segment(path, 0, middle), Segment(path, middle, len(pieces[1])), Segment(None, 0, len(pieces[2]))]
    batches.complete(segments, pa.py_buffer(pieces[2]), 3)
    assert [ids(batch) for batch in batches] == [[0], [1], [2]]


def test_a_reader_waits_for_the_next_rows(spool: Spool, made: Callable[[str], Growing]) -> None:
    batches, file, seen = RecordBatches(SCHEMA, spool), made("0.1"), list[int]()
    reader = threading.Thread(target=lambda: seen.extend(row for batch in batches for row in ids(batch)))
    reader.start()
    for value in range(5):
        segment = file.write(value)
        batches.announce(segment)
    batches.complete([segment], NOTHING, 5)
    reader.join(60)
    assert not reader.is_alive() and seen == list(range(5))


def test_a_failure_ends_the_rows_even_those_that_are_there(spool: Spool, made: Callable[[str], Growing]) -> None:
    batches, file = RecordBatches(SCHEMA, spool), made("0.1")
    batches.announce(file.write(1))
    batches.announce(file.write(2))
    rows = iter(batches)
    assert ids(next(rows)) == [1]
    batches.fail(ValueError("no more"))
    with pytest.raises(ValueError, match="no more"):
        next(rows)


@pytest.mark.parametrize("end", ["fail", "release"])
def test_waiting_reader_is_notified_of_early_end(spool: Spool, made: Callable[[str], Growing], end: str) -> None:
    batches, file, outcome = RecordBatches(SCHEMA, spool), made("0.1"), list[object]()
    batches.announce(file.write(1))
    file.path.unlink()  # as after a failed query: its reader finds no file, and gets the reason later

    def read() -> None:
        try:
            outcome.append([ids(batch) for batch in batches])
        except (ValueError, StatementCancelled) as error:
            outcome.append(type(error))

    reader = threading.Thread(target=read)
    reader.start()
    if end == "fail":
        batches.fail(ValueError("lost"))
    else:
        batches.release()
    reader.join(60)
    assert outcome == [ValueError if end == "fail" else StatementCancelled]


def test_rows_that_were_released_are_no_end_even_if_all_of_them_come_later(
    spool: Spool, made: Callable[[str], Growing]
) -> None:
    batches, file = RecordBatches(SCHEMA, spool), made("0.1")
    rows = iter(batches)
    batches.announce(file.write(1))
    assert ids(next(rows)) == [1]
    batches.release()
    batches.complete([file.write(2)], NOTHING, 2)
    with pytest.raises(StatementCancelled):
        next(rows)


def test_a_result_that_was_read_to_its_end_has_no_error_after_it(spool: Spool, made: Callable[[str], Growing]) -> None:
    batches, file = RecordBatches(SCHEMA, spool), made("0.1")
    batches.complete([file.write(1)], NOTHING, 1)
    rows = iter(batches)
    assert [ids(batch) for batch in rows] == [[1]]
    batches.release()
    assert next(rows, None) is None


@pytest.mark.parametrize("made_rows", [2, 4])
def test_a_result_with_other_rows_than_were_made_is_none(
    spool: Spool, made: Callable[[str], Growing], made_rows: int
) -> None:
    batches, file = RecordBatches(SCHEMA, spool), made("0.1")
    batches.announce(file.write(1, 2))
    batches.complete([file.write(3)], NOTHING, made_rows)
    rows = iter(batches)
    assert [ids(next(rows)), ids(next(rows))] == [[1, 2], [3]]
    with pytest.raises(ResultRowsDiffer, match=f"returned {made_rows} rows, but 3 rows were read"):
        next(rows)


def test_data_after_the_end_is_ignored(spool: Spool, made: Callable[[str], Growing]) -> None:
    batches, file = RecordBatches(SCHEMA, spool), made("0.1")
    segment = file.write(1)
    batches.complete([segment], NOTHING, 1)
    batches.announce(segment)  # a line that was read late
    assert [ids(batch) for batch in batches] == [[1]]


def test_reader_continues_after_its_rows_when_the_query_runs_again(
    spool: Spool, made: Callable[[str], Growing]
) -> None:
    batches, lost, file = RecordBatches(SCHEMA, spool), made("0.1"), made("0.2")
    rows = iter(batches)
    batches.announce(lost.write(0, 1, 2))
    batches.announce(lost.write(3, 4))
    had = next(rows)
    batches.begin_again()
    assert not lost.path.exists() and not batches.wait_ready(0) and ids(had) == [0, 1, 2]
    batches.announce(file.write(0, 1))
    assert not batches.wait_ready(0)
    batches.announce(file.write(2, 3))
    assert batches.wait_ready(0) and ids(next(rows)) == [3]
    batches.begin_again()
    again = made("0.3")
    batches.complete([again.write(0, 1, 2, 3, 4, 5)], NOTHING, 6)
    assert [ids(batch) for batch in rows] == [[4, 5]]


@pytest.mark.parametrize("values", [(0, 1, 9), (0, 1), ()], ids=["other", "fewer", "none"])
def test_reader_gets_an_error_when_another_run_has_other_rows_first(
    spool: Spool, made: Callable[[str], Growing], values: tuple[int, ...]
) -> None:
    batches, lost, file = RecordBatches(SCHEMA, spool), made("0.1"), made("0.2")
    rows = iter(batches)
    batches.announce(lost.write(0, 1, 2))
    next(rows)
    batches.begin_again()
    batches.complete([file.write(*values)] if values else [], NOTHING, len(values))
    for _ in range(2):
        with pytest.raises(StatementInterrupted):
            next(iter(batches))


def test_equal_rows_are_recognized_with_nan_and_null(spool: Spool, tmp_path: Path) -> None:
    schema = pa.schema([sql_field("x", pa.float64(), "double")])
    first = bytes(pa.record_batch([pa.array([float("nan"), None, 1.5])], schema=schema).serialize().to_pybytes())
    both = bytes(pa.record_batch([pa.array([float("nan"), None, 1.5, 2.5])], schema=schema).serialize().to_pybytes())
    for name, content in (("0.1", first), ("0.2", both)):
        (tmp_path / name).write_bytes(content)
    batches = RecordBatches(schema, spool)
    rows = iter(batches)
    batches.announce(Segment(str(tmp_path / "0.1"), 0, len(first)))
    next(rows)
    batches.begin_again()
    batches.complete([Segment(str(tmp_path / "0.2"), 0, len(both))], NOTHING, 4)
    assert [load_batch(batch).column(0).to_pylist() for batch in rows] == [[2.5]]


def test_result_closed_by_its_reader_does_not_begin_again(spool: Spool, made: Callable[[str], Growing]) -> None:
    batches, lost = RecordBatches(SCHEMA, spool), made("0.1")
    batches.announce(lost.write(0))
    next(iter(batches))
    batches.release()
    batches.begin_again()
    with pytest.raises(StatementCancelled):
        next(iter(batches))
