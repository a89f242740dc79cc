"""Stored rows: pages and spans for any batches, in memory and in files, and their release."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.conditions import OperationClosed, ResultTooLarge, SpooledRowsLost, SpoolFullOfOwner
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.runtime.results import ResultStream, sql_field
from engine.spool.budget import SpoolBudget
from engine.spool.spool import Spool
from engine.spool.spool_file import batch_bytes
from gateway.http.result_rows import Selection, Selections, sorted_indices
from gateway.observability.history import statement_info
from gateway.registry import Registry
from gateway.results.result_buffer import ResultBuffer
from gateway.results.result_store import HeldRows, ResultStore
from gateway.sessions.limits import Limits
from gateway.sessions.operation import Operation
from gateway.sessions.operation_state import OperationState
from tests.gateway.arrow_engine import ArrowEngine, answer_of_rows
from tests.gateway.arrow_engine import rows as answers

SCHEMA = pa.schema([sql_field("id", pa.int64(), "bigint"), sql_field("text", pa.string(), "string")])


def batch(first: int, count: int, width: int = 1) -> pa.RecordBatch:
    ids = range(first, first + count)
    return pa.record_batch([pa.array(ids, pa.int64()), pa.array([str(i) * width for i in ids])], schema=SCHEMA)


def held(store: ResultStore, *sizes: tuple[int, int]) -> HeldRows:
    """Stores batches with these numbers of rows, and texts with these widths."""
    rows = HeldRows(SCHEMA, store, "ann")
    for count, width in sizes:
        added = batch(rows.rows, count, width)
        rows.add(added, batch_bytes(added))
    return rows


SIZES = st.lists(st.tuples(st.integers(1, 30), st.integers(0, 40)), max_size=8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("spool")


@settings(deadline=None, max_examples=60)
@given(sizes=SIZES, memory=st.sampled_from([0, 500, 1 << 20]), offset=st.integers(0, 250), rows=st.integers(1, 90))
def test_a_page_is_its_rows(folder: Path, sizes: list[tuple[int, int]], memory: int, offset: int, rows: int) -> None:
    everything = held(ResultStore(Spool(folder), memory), *sizes)
    expected = list(range(offset, min(offset + rows, everything.rows)))
    for _ in range(2):
        assert everything.read(offset, rows).column("id").to_pylist() == expected
    some = everything.read(offset, rows, 400).column("id").to_pylist()
    assert some == expected[: len(some)] and bool(some) == bool(expected)
    everything.close()


def test_a_batch_that_was_read_to_its_end_leaves_the_memory(folder: Path) -> None:
    store = ResultStore(Spool(folder), 0)
    rows = held(store, (5, 1000))
    rows.read(0, 3)
    assert store.read_bytes > 0  # the next page begins within it
    rows.read(3, 2)
    assert store.read_bytes == 0
    rows.read(0, 3)
    rows.close()
    assert store.read_bytes == 0 and not list(folder.iterdir())


def test_files_go_with_their_result_whoever_holds_the_batches(tmp_path: Path) -> None:
    store = ResultStore(Spool(tmp_path, SpoolBudget(1 << 20)))
    stored = store.spool.writer(SCHEMA, "ann").add(batch(0, 5))  # type: ignore[union-attr]
    rows = HeldRows(SCHEMA, store, "ann")
    rows.add(stored, batch_bytes(stored))
    assert rows.read(0, 5).num_rows == 5
    rows.close()
    assert not list(tmp_path.iterdir()) and store.held_bytes() == 0
    with pytest.raises(SpooledRowsLost, match="closed"):
        stored.read()


def test_batches_that_many_clients_are_in_the_middle_of_are_bounded(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.results.result_store._READ_BYTES_MAX", 30_000)
    store = ResultStore(Spool(folder), 0)
    results = [held(store, (5, 1000)) for _ in range(20)]
    for offset in (0, 2, 4):
        for each in results:
            assert each.read(offset, 1).column("id").to_pylist() == [offset]
            assert store.read_bytes <= 30_000
    monkeypatch.setattr("gateway.results.result_store._READ_BYTES_MAX", 10)
    assert [results[0].read(0, 1).num_rows, results[0].read(1, 1).num_rows] == [1, 1], "one larger than the limit"
    for each in results:
        each.close()
    assert store.read_bytes == 0


def test_a_part_of_a_batch_counts_as_what_was_read_for_it(folder: Path) -> None:
    store = ResultStore(Spool(folder), 0)
    stored = store.spool.writer(SCHEMA, "ann").add(batch(0, 1000))  # type: ignore[union-attr]
    rows = HeldRows(SCHEMA, store, "ann")
    part = stored.slice(0, 10)
    rows.add(part, batch_bytes(part))
    rows.read(0, 3)
    assert store.read_bytes == batch(0, 1000).nbytes
    rows.close()
    assert store.read_bytes == 0


@settings(deadline=None, max_examples=60)
@given(sizes=SIZES, bytes_max=st.integers(1, 3000))
def test_spans_follow_each_other_and_are_small(folder: Path, sizes: list[tuple[int, int]], bytes_max: int) -> None:
    everything = held(ResultStore(Spool(folder), 0), *sizes)
    at = 0
    for start, rows, size in everything.spans(bytes_max):
        assert start == at and rows > 0 and (size <= bytes_max or rows == 1)
        at += rows
    assert at == everything.rows


def test_memory_is_bounded_for_each_result_and_for_all(tmp_path: Path) -> None:
    size = batch(0, 10).nbytes
    store = ResultStore(Spool(tmp_path), 2 * size)
    first = held(store, *[(10, 1)] * 5)
    assert 0 < store.memory_bytes <= 2 * size and len(list(tmp_path.iterdir())) == 1
    others = [held(store, *[(10, 1)] * 5) for _ in range(40)]
    assert store.memory_bytes <= 2 * size * 16
    for each in (first, first, *others):
        each.close()
    assert store.memory_bytes == 0 and not list(tmp_path.iterdir())


def test_long_rows_end_a_page_before_they_are_read(tmp_path: Path) -> None:
    rows = held(ResultStore(Spool(tmp_path), 0), (10, 1), (10, 10_000), (10, 1))
    assert rows.read(0, 30, 1000).num_rows == 10
    assert rows.read(10, 30, 1000).num_rows == 1
    assert rows.read(19, 30, 50_000).num_rows == 11


@pytest.fixture
def store(tmp_path: Path) -> ResultStore:
    return ResultStore(Spool(tmp_path, SpoolBudget(1 << 20, 100_000)), 1000)


def buffer(store: ResultStore, rows: int, bytes_max: int = 1 << 20) -> ResultBuffer:
    stream = answer_of_rows(rows)(StatementRequest(identity=Identity("ann")))
    return ResultBuffer(stream, bytes_max, lambda _: None, store, "ann")


def test_pages_in_any_order_and_again(store: ResultStore) -> None:
    result = buffer(store, 3500)
    for offset in (0, 3000, 10, 2999, 3499, 3500, 0):
        page = result.page(offset, 700)
        assert page.rows.column("id").to_pylist() == list(range(offset, min(3500, offset + 700)))
        assert page.has_more == (offset + 700 < 3500)
    assert store.held_bytes() > 0
    result.close()
    assert store.held_bytes() == 0


@pytest.mark.parametrize(
    ("rows", "bytes_max", "error"), [(6000, 1 << 20, SpoolFullOfOwner), (3000, 40_000, ResultTooLarge)]
)
def test_a_result_that_fits_nowhere_is_an_error_and_leaves_nothing(
    store: ResultStore, rows: int, bytes_max: int, error: type[Exception]
) -> None:
    result = buffer(store, rows, bytes_max)
    assert result.page(0, 10).rows.num_rows == 10
    for _ in range(2):
        with pytest.raises(error):
            result.count()
        with pytest.raises(error):
            result.page(0, 10)
    assert store.held_bytes() == 0 and store.memory_bytes == 0


def test_a_result_that_is_closed_while_it_is_read_goes_when_the_reader_is_done(store: ResultStore) -> None:
    schema, result = SCHEMA, None

    def batches() -> Iterator[pa.RecordBatch]:
        for first in range(0, 3000, 100):
            yield batch(first, 100)
        assert result is not None
        result.close()
        assert store.held_bytes() > 0, "it is being read"

    result = ResultBuffer(ResultStream(schema=schema, source=batches()), 1 << 20, lambda _: None, store, "ann")
    assert result.count() == 3000
    assert store.held_bytes() == 0 and store.memory_bytes == 0
    with pytest.raises(OperationClosed):
        result.page(0, 1)


def test_a_users_results_are_bounded_and_others_go_on(store: ResultStore) -> None:
    registry = Registry(ArrowEngine(), Limits(linger_s=0), store=store)
    sessions = [registry.open_session(Identity(user)) for user in ("ann", "bob")]
    run, states = [], []
    for rows in ((3500, 3500), (3500, 10)):
        run += [
            session.execute(f"ROWS {count}", through=lambda stream: stream)
            for session, count in zip(sessions, rows, strict=True)
        ]
        states += [operation.wait(60) for operation in run[-2:]]  # concurrently, any statement of a user might fail
    assert states[:2] == [OperationState.FINISHED] * 2
    assert states[2] is OperationState.FAILED and isinstance(run[2].error, SpoolFullOfOwner)
    assert states[3] is OperationState.FINISHED
    registry.close_operation(run[0].id, sessions[0].identity)
    again = sessions[0].execute("ROWS 3500", through=lambda stream: stream)
    assert again.wait(60) is OperationState.FINISHED
    registry.drain(0)
    assert store.held_bytes() == 0 and store.memory_bytes == 0


def test_sort_orders_are_cached_within_limit() -> None:
    operations = [
        Operation(Identity(principal="ann"), "SELECT", answers(pa.table({"a": [3, 1, 2]})), result_bytes_max=1 << 20)
        for _ in range(3)
    ]
    ascending = Selection(order=(0, False))
    orders = Selections(bytes_max=48)  # two orders with three rows each
    first = []
    for number, operation in enumerate(operations):
        operation.run()
        first.append(orders.positions(operation, ascending))
        assert first[number].to_pylist() == [1, 2, 0]
        assert orders.positions(operations[0], ascending) is first[0]  # the one that was used last stays
    assert orders.positions(operations[2], ascending) is first[2]
    assert orders.positions(operations[1], ascending) is not first[1]


def test_messages_in_the_history_are_bounded() -> None:
    operation = Operation(Identity(principal="ann"), "SELECT", fails, result_bytes_max=1)
    operation.run()
    info = statement_info(operation, uuid.uuid4(), "http")
    assert info.failure and len(info.failure.message) == 4096
    assert "hunter2" not in info.failure.message and "***" in info.failure.message


def fails(request: StatementRequest) -> ResultStream:
    raise SpooledRowsLost(f"at password='hunter2{' x' * 2500}', {' y' * 2500}")


def test_few_rows_of_a_limit_do_not_keep_their_file(tmp_path: Path) -> None:
    spool = Spool(tmp_path, SpoolBudget(1 << 20))
    writer = spool.writer(SCHEMA, "ann")
    stored = writer.add(batch(0, 100, 1000))
    (first,) = ResultStream(schema=SCHEMA, source=(stored,)).limit(3).pieces()
    writer.file.close()
    assert isinstance(first, pa.RecordBatch) and first.column("id").to_pylist() == [0, 1, 2]


def test_concurrent_windows_sort_once(monkeypatch: pytest.MonkeyPatch) -> None:
    operation = Operation(Identity(principal="ann"), "SELECT 1", answer_of_rows(1000), result_bytes_max=1 << 20)
    operation.run()
    sorts: list[bool] = []

    def slowly(column: pa.ChunkedArray, descending: bool) -> pa.Array:
        sorts.append(descending)
        time.sleep(0.05)
        return sorted_indices(column, descending)

    monkeypatch.setattr("gateway.http.result_rows.sorted_indices", slowly)
    orders, descending = Selections(), Selection(order=(0, True))
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda _: orders.positions(operation, descending).to_pylist()[0], range(4)))
    assert found == [999] * 4 and sorts == [True]
