"""An operation's state machine, cancellation, timer and result pages."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
import pytest

from catalog.conditions import (
    CommitOutcomeUnknown,
    InternalError,
    OperationClosed,
    ResultNotReady,
    ResultTooLarge,
    StatementCancelled,
    StatementTimedOut,
)
from engine.runtime.accesses import Commit
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.runtime.results import ResultStream, sql_field
from gateway.results.result_buffer import ResultBuffer
from gateway.sessions.operation import FetchFrom, Operation
from gateway.sessions.operation_state import TRANSITIONS, OperationState

SCHEMA = pa.schema([sql_field("id", pa.int64(), "bigint")])


def batches(*sizes: int) -> list[pa.RecordBatch]:
    numbers = itertools.count()
    return [
        pa.record_batch([pa.array([next(numbers) for _ in range(size)], pa.int64())], schema=SCHEMA) for size in sizes
    ]


def stream(*sizes: int) -> ResultStream:
    return ResultStream(schema=SCHEMA, source=batches(*sizes))


def operation(run: object, bytes_max: int = 1 << 20) -> Operation:
    return Operation(Identity("ann"), "SELECT", run, result_bytes_max=bytes_max)  # type: ignore[arg-type]


def test_every_state_has_a_row_and_only_closed_is_an_end() -> None:
    assert set(TRANSITIONS) == set(OperationState)
    assert [state for state, allowed in TRANSITIONS.items() if not allowed] == [OperationState.CLOSED]
    for state, allowed in TRANSITIONS.items():
        assert state not in allowed
        if state.is_terminal:
            assert allowed <= {OperationState.CLOSED}


@pytest.mark.parametrize("sizes", [(), (0,), (5,), (2, 3), (0, 2, 0, 3), (1, 1, 1, 1, 1)])
@pytest.mark.parametrize("rows_max", [1, 2, 3, 5, 6])
def test_pages_give_every_row_once_in_order_and_say_when_they_end(sizes: tuple[int, ...], rows_max: int) -> None:
    total = sum(sizes)
    done = operation(lambda context: stream(*sizes))
    done.run()
    seen: list[int] = []
    while True:
        page = done.fetch(rows_max)
        assert page.row_offset == len(seen)
        seen += page.rows.column("id").to_pylist()
        assert page.has_more == (len(seen) < total)
        if not page.has_more:
            break
    assert seen == list(range(total))
    assert done.fetch(rows_max).rows.num_rows == 0
    again = done.fetch(rows_max, start=FetchFrom.FIRST)
    assert again.rows.column("id").to_pylist() == list(range(min(rows_max, total)))
    assert done.page(1, 2).rows.column("id").to_pylist() == list(range(total))[1:3]
    assert done.row_count() == total


def test_a_result_over_the_limit_is_refused_while_it_is_pulled() -> None:
    buffer = ResultBuffer(stream(10, 10, 10), bytes_max=100, log=print)
    assert buffer.page(0, 9).rows.num_rows == 9
    for _ in range(4):  # on repeated calls, the rest must not look like the end
        with pytest.raises(ResultTooLarge):
            buffer.page(20, 10)


def test_a_stream_that_failed_has_no_end() -> None:
    """An error is raised again: a reader that retries must not take the rest for empty."""

    def batches() -> Iterator[pa.RecordBatch]:
        yield pa.record_batch({"n": [1, 2]})
        raise ValueError("cut")

    broken = ResultStream(schema=pa.schema([("n", pa.int64())]), source=batches())
    buffer = ResultBuffer(broken, bytes_max=1000, log=print)
    assert buffer.page(0, 1).rows.num_rows == 1
    for _ in range(2):
        with pytest.raises(ValueError, match="cut"):
            buffer.page(2, 1)


def test_the_stream_is_closed_when_it_is_read_to_its_end_or_the_operation_closes() -> None:
    closed: list[str] = []
    read = operation(lambda context: ResultStream(SCHEMA, batches(3), on_close=lambda: closed.append("read")))
    left = operation(lambda context: ResultStream(SCHEMA, batches(3), on_close=lambda: closed.append("left")))
    for each in (read, left):
        each.run()
    assert closed == []
    read.fetch(10)
    assert closed == ["read"]
    left.close()
    left.close()
    assert closed == ["read", "left"]
    with pytest.raises(OperationClosed):
        left.fetch(1)


def waits(request: StatementRequest) -> ResultStream:
    ended = threading.Event()
    request.cancel.on_cancel(ended.set)
    assert ended.wait(60)
    request.cancel.ensure_live()
    raise AssertionError("the token was thrown without a reason")


@pytest.mark.parametrize(
    ("end", "state", "error"),
    [
        (lambda it: it.cancel(), OperationState.CANCELED, StatementCancelled),
        (lambda it: it.cancel(StatementTimedOut(1)), OperationState.TIMED_OUT, StatementTimedOut),
        (lambda it: it.start_timer(0.01), OperationState.TIMED_OUT, StatementTimedOut),
    ],
)
def test_a_running_statement_can_be_ended_from_another_thread(end: object, state: object, error: type) -> None:
    running = operation(waits)
    thread = threading.Thread(target=running.run)
    thread.start()
    assert not running.wait(0.05).is_terminal
    end(running)  # type: ignore[operator]
    thread.join(60)
    assert not thread.is_alive()
    assert running.wait(60) is state
    with pytest.raises(error):
        running.fetch(1)
    running.close()
    assert running.state is OperationState.CLOSED


def test_closing_a_running_statement_cancels_it_and_gives_back_a_late_result() -> None:
    closed = threading.Event()
    entered, go_on = threading.Event(), threading.Event()

    def run(request: StatementRequest) -> ResultStream:
        entered.set()
        assert go_on.wait(60)
        return ResultStream(SCHEMA, batches(1), on_close=closed.set)

    running = operation(run)
    thread = threading.Thread(target=running.run)
    thread.start()
    assert entered.wait(60)
    running.close()
    assert running.cancel_token.reason is not None
    go_on.set()
    thread.join(60)
    assert closed.is_set()
    assert running.state is OperationState.CLOSED


class Commits:
    """A statement that commits a version to `t`, and then runs `after`; `entered` is set during the commit."""

    def __init__(self, after: Callable[[StatementRequest], None] = lambda _: None) -> None:
        self.entered, self._go_on, self._after = threading.Event(), threading.Event(), after
        self.running = operation(self._run)
        self.thread = threading.Thread(target=self.running.run)

    def _run(self, request: StatementRequest) -> ResultStream:
        request.cancel.seal()
        self.entered.set()
        assert self._go_on.wait(60)
        request.on_commit(Commit("default.t", 7))
        self._after(request)
        return stream()

    def ended(self, end: Callable[[Operation], None]) -> Operation:
        """Returns the operation, which `end` was to end while it committed."""
        self.thread.start()
        assert self.entered.wait(60)
        end(self.running)
        self._go_on.set()
        self.thread.join(60)
        return self.running


ENDS: list[Callable[[Operation], None]] = [Operation.cancel, lambda it: it.cancel(StatementTimedOut(1))]


@pytest.mark.parametrize("end", ENDS)
def test_a_statement_that_commits_is_not_reported_as_ended(end: Callable[[Operation], None]) -> None:
    done = Commits().ended(end)
    assert (done.state, done.error) == (OperationState.FINISHED, None)
    assert not done.fetch(1).has_more


def test_a_statement_that_commits_is_closed_when_it_has_ended() -> None:
    commits, reported = Commits(), list[OperationState]()
    commits.running.on_end(lambda: reported.append(commits.running.state))
    closed = commits.ended(Operation.close)
    assert reported == [OperationState.FINISHED] and closed.state is OperationState.CLOSED
    with pytest.raises(OperationClosed):
        closed.fetch(1)


@pytest.mark.parametrize(("end", "state"), zip(ENDS, (OperationState.CANCELED, OperationState.TIMED_OUT), strict=True))
def test_a_statement_that_ends_between_two_commits_names_the_first(
    end: Callable[[Operation], None], state: OperationState
) -> None:
    done = Commits(lambda context: context.cancel.reopen()).ended(end)
    assert done.state is state
    assert str(done.error).count("default.t (version 7)") == 1


def test_a_commit_of_unknown_outcome_is_not_a_cancelled_one() -> None:
    def unknown(_: StatementRequest) -> None:
        raise CommitOutcomeUnknown("t", 7, "id", "lost")

    done = Commits(unknown).ended(Operation.cancel)
    assert done.state is OperationState.FAILED and isinstance(done.error, CommitOutcomeUnknown)


def test_an_operation_cancelled_before_it_started_never_runs() -> None:
    ran: list[int] = []
    pending = operation(lambda context: ran.append(1))
    pending.cancel()
    pending.run()
    assert ran == [] and pending.state is OperationState.CANCELED


def test_a_bug_shows_the_client_an_id_and_the_log_the_trace(caplog: pytest.LogCaptureFixture) -> None:
    def run(request: StatementRequest) -> ResultStream:
        raise ZeroDivisionError("secret detail")

    broken = operation(run)
    broken.run()
    assert isinstance(broken.error, InternalError)
    assert "secret detail" not in str(broken.error)
    assert broken.error.error_id in caplog.text and "secret detail" in caplog.text


def test_rows_before_the_end_are_refused_by_name() -> None:
    with pytest.raises(ResultNotReady):
        operation(lambda context: stream(1)).fetch(1)


def whole(source: Iterable[pa.RecordBatch], closed: list[bool]) -> Operation:
    given = ResultStream(schema=SCHEMA, source=source, on_close=lambda: closed.append(True))
    return Operation(Identity("ann"), "SELECT", lambda _: given, result_bytes_max=1 << 20, whole=True)


def test_a_whole_result_is_held_before_the_statement_counts_as_finished() -> None:
    closed: list[bool] = []
    done = whole(batches(2, 3), closed)
    done.run()
    assert done.state is OperationState.FINISHED and closed == [True] and done.result_bytes == 40
    done.cancel()
    done.close()
    assert done.cancel_token.reason is None, "nothing was left to cancel"


def test_failing_result_fails_statement_and_is_released() -> None:
    def failing() -> Iterator[pa.RecordBatch]:
        yield from batches(2)
        raise ResultTooLarge(1)

    closed: list[bool] = []
    done = whole(failing(), closed)
    done.run()
    assert done.state is OperationState.FAILED and isinstance(done.error, ResultTooLarge) and closed == [True]


def test_a_whole_result_stops_being_pulled_when_it_is_cancelled() -> None:
    def endless() -> Iterator[pa.RecordBatch]:
        for batch in itertools.repeat(batches(1)[0]):
            pulled.append(batch)
            if len(pulled) == 3:
                running.cancel()
            yield batch

    pulled: list[pa.RecordBatch] = []
    running = whole(endless(), [])
    running.run()
    assert running.state is OperationState.CANCELED and len(pulled) == 3


def test_statement_end_is_reported_once() -> None:
    reported: list[str] = []
    ended = operation(lambda context: stream(1))
    ended.on_end(lambda: reported.append("first"))
    ended.cancel()
    ended.on_end(lambda: reported.append("late"))
    ended.close()
    assert reported == ["first", "late"]


def test_staged_change_reports_its_result_before_its_end() -> None:
    goes_on = threading.Event()

    def run(request: StatementRequest) -> ResultStream:
        request.on_staged(stream(1))
        goes_on.wait(10)
        return stream(1)

    staged = operation(run)
    thread = threading.Thread(target=staged.run)
    thread.start()
    result = staged.wait_until_staged(10)
    assert result is not None and result.schema == SCHEMA
    assert staged.state is OperationState.RUNNING
    goes_on.set()
    assert staged.wait(10) is OperationState.FINISHED
    assert staged.wait_until_staged(10) is None  # its own result has its rows
    thread.join()
