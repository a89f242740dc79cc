"""Statements whose rows are read while they run: states, pages, failures, and ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pyarrow as pa
import pytest

from catalog.conditions import OperationClosed, StatementCancelled, StatementTimedOut
from catalog.errors import SqlError
from engine.runtime.identity import Identity
from engine.runtime.results import ResultStream
from gateway.results.result_buffer import Page
from gateway.sessions.operation import FetchFrom, Operation
from gateway.sessions.operation_state import OperationState
from tests.gateway.arrow_engine import Streams


def started(answer: Streams, *, whole: bool = False, streams: bool = True) -> tuple[Operation, threading.Thread]:
    made = Operation(Identity("ann"), "SELECT", answer, result_bytes_max=1 << 20, whole=whole, streams=streams)
    thread = threading.Thread(target=made.run)
    thread.start()
    return made, thread


def ids(page: Page | None) -> list[int]:
    assert page is not None
    return list(page.rows.column("id").to_pylist())


def test_pages_are_of_what_is_there_until_the_end() -> None:
    answer = Streams()
    answer.give(0, 1, 2)
    running, thread = started(answer)
    assert running.wait(60) is OperationState.STREAMING
    first = running.fetch(2)
    second = running.fetch(2)
    assert (ids(first), first.has_more, ids(second), second.has_more) == ([0, 1], True, [2], True)
    assert running.next_page(2, 1000) is None

    def go_on() -> None:
        answer.give(3)
        answer.end()

    threading.Timer(0.05, go_on).start()
    third = running.fetch(5)  # waits for a row
    last = running.fetch(5)
    thread.join(60)
    assert (ids(third), ids(last), last.has_more) == ([3], [], False)
    assert running.state is OperationState.FINISHED and running.row_count() == 4
    assert ids(running.fetch(9, start=FetchFrom.FIRST)) == [0, 1, 2, 3]


@pytest.mark.parametrize(("whole", "streams"), [(True, True), (False, False)])
def test_results_without_streaming_wait_for_the_end(whole: bool, streams: bool) -> None:
    answer = Streams()
    answer.give(1)
    running, thread = started(answer, whole=whole, streams=streams)
    assert running.wait(0.1) is OperationState.RUNNING
    answer.end()
    thread.join(60)
    assert running.state is OperationState.FINISHED and ids(running.fetch(9)) == [1]


def test_an_empty_page_after_a_limited_wait_says_that_more_may_follow() -> None:
    answer = Streams()
    answer.give(1)
    running, thread = started(answer)
    running.wait(60)
    assert ids(running.fetch(9)) == [1]
    waited = running.fetch(9, wait_s=0.01)
    assert (ids(waited), waited.has_more, waited.row_offset) == ([], True, 1)
    answer.give(2)
    assert ids(running.fetch(9, wait_s=0.01)) == [2]
    answer.end()
    thread.join(60)


def test_a_failure_after_the_first_rows_is_the_statements() -> None:
    answer = Streams()
    answer.give(1)
    running, thread = started(answer)
    running.wait(60)
    running.fetch(9)
    error = StatementTimedOut(1.0)
    ended = threading.Event()
    running.on_end(ended.set)
    assert not ended.is_set()
    answer.end(error)
    thread.join(60)
    assert running.state is OperationState.TIMED_OUT and ended.is_set()
    with pytest.raises(StatementTimedOut):
        running.fetch(9)


@pytest.mark.parametrize("end", ["cancel", "close", "timer"])
def test_cancel_ends_a_streaming_statement(end: str) -> None:
    answer = Streams()
    answer.give(1)
    running, thread = started(answer)
    running.wait(60)
    running.fetch(9)
    refused: list[type[BaseException]] = []

    def fetch() -> None:
        try:
            running.fetch(9)
        except SqlError as error:
            refused.append(type(error))

    reader = threading.Thread(target=fetch)
    reader.start()
    time.sleep(0.05)  # until it waits
    if end == "timer":
        running.start_timer(0.01)
    else:
        getattr(running, end)()
    reader.join(60)
    thread.join(60)
    assert not reader.is_alive() and not thread.is_alive()
    states = {"cancel": OperationState.CANCELED, "close": OperationState.CLOSED, "timer": OperationState.TIMED_OUT}
    assert running.state is states[end]
    errors = {"cancel": StatementCancelled, "close": OperationClosed, "timer": StatementTimedOut}
    assert refused == [errors[end]]
    with pytest.raises(OperationClosed if end == "close" else (StatementCancelled, StatementTimedOut)):
        running.fetch(9)


@pytest.mark.parametrize("read", [lambda it: it.fetch(9), lambda it: it.page(1, 9), lambda it: it.row_count()])
def test_a_result_that_is_closed_while_it_is_read_is_not_complete(read: Callable[[Operation], object]) -> None:
    """Its stream may then end as if it had no more rows."""
    entered, released = threading.Event(), threading.Event()

    def until_released() -> Iterator[pa.RecordBatch]:
        entered.set()
        assert released.wait(60)
        yield from ()

    stream = ResultStream(schema=pa.schema([]), source=until_released(), on_close=released.set)
    finished = Operation(Identity("ann"), "SELECT", lambda _: stream, result_bytes_max=1 << 20)
    finished.run()
    refused: list[type[BaseException]] = []

    def attempt() -> None:
        with pytest.raises(SqlError) as raised:
            read(finished)
        refused.append(raised.type)

    reader = threading.Thread(target=attempt)
    reader.start()
    assert entered.wait(60)
    finished.close()
    reader.join(60)
    assert refused == [OperationClosed]


def test_a_page_that_was_made_ahead_is_skipped_once() -> None:
    answer = Streams()
    answer.give(*range(5))
    running, thread = started(answer)
    running.wait(60)
    ahead = running.next_page(2, 1000)
    assert ids(ahead) == [0, 1] and ahead is not None
    assert running.skip(ahead) and not running.skip(ahead)
    assert ids(running.fetch(2)) == [2, 3]
    answer.end()
    thread.join(60)
