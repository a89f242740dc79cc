"""An operation is a statement's run in a session, as a small state machine that every front end reads the same way.

`gateway/sessions/operation_state.py` has the states and the rule; `Operation._move` is the only place that applies it.
An operation is made PENDING by its session, run once by a thread of the registry's pool, and read by the threads of the
front ends. Its one lock guards the state; its condition variable is what `wait` sleeps on, so a long poll costs no
processor time. Cancelling throws the statement's :class:`~engine.concurrency.cancel.CancelToken`, which reaches the
Spark job. Results are pulled from the engine's stream as they are asked for and kept until the operation closes, so
that a client may read them again (FETCH_FIRST over Thrift, a chunk by number over HTTP).
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from enum import Enum
from typing import assert_never

import pyarrow as pa

from catalog.conditions import (
    InternalError,
    OperationClosed,
    ResultNotReady,
    StatementCancelled,
    StatementEnded,
    StatementTimedOut,
)
from catalog.errors import SqlError
from engine.concurrency.cancel import CancelToken
from engine.concurrency.retry import Loss
from engine.errors.statement_errors import add_commits
from engine.runtime.accesses import Commit, StatementAccess
from engine.runtime.identity import Identity
from engine.runtime.profile import Profile, Stage
from engine.runtime.request import StatementRequest
from engine.runtime.results import ResultStream
from engine.runtime.statement_class import StatementClass
from gateway.observability.call_context import current_call
from gateway.observability.trace import Trace
from gateway.results.result_buffer import Page, ResultBuffer, Span
from gateway.results.result_store import ResultStore
from gateway.sessions.operation_state import TRANSITIONS, OperationState

logger = logging.getLogger(__name__)


TEXT_KEPT_MAX = 16_384
"""Characters of its text that an ended statement keeps: all of it may be megabytes, and many may be open."""


class FetchFrom(Enum):
    """The row at which a fetch begins: after the rows fetched last, so many rows before them, or at the first row."""

    NEXT = "next"
    PRIOR = "prior"
    FIRST = "first"


class Operation:
    """One statement's run. Thread-safe; see the module for the states."""

    def __init__(
        self,
        identity: Identity,
        text: str,
        run: Callable[[StatementRequest], ResultStream],
        *,
        result_bytes_max: int,
        whole: bool = False,
        streams: bool = False,
    ) -> None:
        """`whole`: the statement counts as finished when its whole result is held, not when its first rows are.
        `streams`: its rows may be fetched while it runs.
        """
        self.id = uuid.uuid4()
        self.identity, self.text = identity, text
        self.cancel_token = CancelToken()
        self.created_ms = time.time_ns() // 1_000_000
        self.ended_ms: int | None = None
        self.last_used = time.monotonic()
        self.error: SqlError | None = None
        self.on_access: Callable[[StatementAccess], None] = lambda _: None
        """Told on the statement's thread what it is about to touch; where it raises, the statement fails."""
        self.on_closed: Callable[[], None] = lambda: None
        """Told, perhaps more than once, that its result was given back."""
        self.kind, self.is_kind_known = StatementClass.READ, True
        self.pool: str | None = None
        self.scan_bytes_max = 0
        """Where it waits for its turn, and what it may take then; see `StatementRequest`."""
        self.call = current_call()
        """On behalf of what it is logged."""
        self.trace: Trace | None = None
        """Where it is recorded what the statement does."""
        self.store = ResultStore()
        """What holds its rows."""
        self.commits = 0
        self.losses: Counter[Loss] = Counter()
        """Versions that it made, and attempts that it made again because of others' commits."""
        self.is_call = False
        """Whether it is a call of a protocol or of the browser's, rather than a statement that somebody wrote."""
        self._versions: dict[str, int] = {}
        """Committed by now, the newest of each table."""
        self._context = StatementRequest(
            identity=identity,
            cancel=self.cancel_token,
            statement_id=self.id.hex,
            result_bytes_max=result_bytes_max,
            on_substituted=self._note_text,
            on_parsed=self._note_parsed,
            on_rows=self._note_rows if streams and not whole else None,
            on_authorized=self._note_access,
            on_commit=self._note_commit,
            on_loss=self._note_loss,
        )
        self.profile.enter(Stage.QUEUE)
        self._may_answer_rows: bool | None = None
        self._run, self._whole = run, whole
        self._state = OperationState.PENDING
        self._changed = threading.Condition()
        self._stream: ResultStream | None = None
        self._buffer: ResultBuffer | None = None
        self._page_row, self._next_row, self._logged, self._rows_given_back = 0, 0, 0, 0
        self._handed_out: dict[int, int] = {}  # rows by the offset from which they were asked for
        self._was_told_end = False
        self._thread: int | None = None
        self._timer: threading.Timer | None = None
        self._on_end: list[Callable[[], None]] = []
        self._is_closing = False
        self.cancel_token.on_cancel(self._end_early)  # the first one: the engine may not answer

    @property
    def state(self) -> OperationState:
        return self._state

    @property
    def schema(self) -> pa.Schema:
        """Columns of the result; raises the error of an operation that has none."""
        return self._result().schema

    def ensure_result(self) -> None:
        """Raise the error of an operation that has no result."""
        self._result()

    @property
    def is_read(self) -> bool:
        """Whether its client was told that it ended, and got all rows there are."""
        if not self._was_told_end or not self._state.is_terminal:
            return False
        buffer = self._buffer
        if buffer is None or not self.has_rows:
            return True
        return buffer.is_exhausted and sum(tuple(self._handed_out.values())) >= buffer.count()

    def tell_end(self) -> None:
        """Note that the client was told the operation's terminal state."""
        self._was_told_end = True

    @property
    def has_rows(self) -> bool:
        return self._stream is not None and self._stream.has_rows

    @property
    def may_have_rows(self) -> bool:
        """Whether it has a result set, as far as that is known by now."""
        return self.has_rows if self._stream else self._may_answer_rows is not False

    @property
    def is_staging(self) -> bool:
        """Returns whether its row says where the client transfers a file."""
        return self._stream is not None and self._stream.is_staging

    @property
    def rows_modified(self) -> int | None:
        return self._stream.rows_modified if self._stream else None

    @property
    def result_bytes(self) -> int:
        """Bytes of the rows held so far."""
        buffer = self._buffer
        return buffer.bytes_held if buffer else 0

    @property
    def rows_held(self) -> int:
        """Rows of the result that were pulled so far, or until it was given back."""
        buffer = self._buffer
        return buffer.rows_held if buffer else self._rows_given_back

    @property
    def rows_total(self) -> int | None:
        """Rows of the whole result; None while some were not pulled, as most are after the end of their statement."""
        buffer = self._buffer
        return buffer.rows_held if buffer and buffer.is_exhausted else None

    def log_lines(self, *, from_start: bool = False) -> tuple[str, ...]:
        """The log of the run so far: the lines that came since the last call, or all of them."""
        lines = self._context.profile.log_lines
        with self._changed:
            known, self._logged = 0 if from_start else self._logged, len(lines)
        return lines[known:]

    @property
    def profile(self) -> Profile:
        """What is known of the run."""
        return self._context.profile

    @property
    def time_zone(self) -> str:
        """The zone in which the session shows timestamps."""
        return self._stream.time_zone if self._stream else "UTC"

    @property
    def is_on_this_thread(self) -> bool:
        """Whether the caller is the thread that runs it."""
        return self._thread == threading.get_ident()

    def start_timer(self, timeout_s: float) -> None:
        """End the statement as TIMED_OUT after `timeout_s` seconds, queueing included."""
        self._timer = threading.Timer(timeout_s, self.cancel, [StatementTimedOut(timeout_s)])
        self._timer.daemon = True
        self._timer.start()

    def run(self) -> None:
        """Run to a terminal state; never raises. The first of the three rims where any exception is caught."""
        self._thread = threading.get_ident()
        if not self._move(OperationState.RUNNING):
            return
        self.profile.enter(Stage.PARSE)
        try:
            stream, buffer = self._open()
        except SqlError as error:
            self._fail(error)
        except Exception as error:
            error_id = uuid.uuid4().hex[:12]
            logger.exception("internal error %s in statement %s: %s", error_id, self.id, type(error).__name__)
            self._fail(InternalError(error_id))
        else:
            with self._changed:
                if self._state is not OperationState.STREAMING:
                    self._stream, self._buffer = stream, buffer
                finished = self._move(OperationState.FINISHED)
            if not finished:  # cancelled or closed while it ended
                buffer.close()
            self._tell_end()
        if self._is_closing:
            self._give_back()

    def wait(self, timeout_s: float) -> OperationState:
        """Sleep until the state is settled, at most `timeout_s` seconds; the state then."""
        with self._changed:
            self._changed.wait_for(lambda: self._state.is_settled, timeout_s)
            return self._state

    def wait_until_parsed(self, timeout_s: float) -> None:
        """Sleep until `may_have_rows` knows what the text says, or the state is settled."""
        with self._changed:
            self._changed.wait_for(lambda: self._may_answer_rows is not None or self._state.is_settled, timeout_s)

    def on_end(self, callback: Callable[[], None]) -> None:
        """Run `callback` once the state is terminal: on the thread that ends the operation, or at once."""
        with self._changed:
            if not self._state.is_terminal:
                self._on_end.append(callback)
                return
        callback()

    def refuse(self, reason: SqlError) -> None:
        """End the statement, which has not begun."""
        self._fail(reason)

    def cancel(self, reason: StatementCancelled | StatementTimedOut | None = None) -> None:
        """End the statement if it has not ended; returns at once. Ending an ended one does nothing.

        One whose commit is being made, or is made, ends as that does; see `CancelToken`.
        """
        if self._may_run():
            self.cancel_token.cancel(reason)

    def fetch(
        self,
        rows_max: int,
        *,
        start: FetchFrom = FetchFrom.NEXT,
        bytes_max: int | None = None,
        is_sent: bool = True,
        wait_s: float | None = None,
        is_filled: bool = False,
    ) -> Page:
        """The `rows_max` rows from `start` on; fewer where they pass `bytes_max`.

        At least one row is answered where there is one, and rows are taken to be of one size. Rows that are not sent
        now are those of a link, which its reader gets by :meth:`page`. Where none comes within `wait_s` seconds the
        page is empty, and says that more may follow. With `is_filled` all `rows_max` rows are waited for, or the end.
        """
        with self._reading() as buffer:
            offset = self._fetch_offset(start, rows_max)
            page = buffer.page(offset, rows_max, wait_s, bytes_max=bytes_max, is_filled=is_filled)
        with self._changed:
            self._page_row, self._next_row = offset, offset + page.rows.num_rows
        return self._note(page) if is_sent else page

    def _fetch_offset(self, start: FetchFrom, rows_max: int) -> int:
        match start:
            case FetchFrom.NEXT:
                return self._next_row
            case FetchFrom.PRIOR:
                return max(0, self._page_row - rows_max)
            case FetchFrom.FIRST:
                return 0
            case _:
                assert_never(start)

    def next_page(self, rows_max: int, bytes_max: int) -> Page | None:
        """What :meth:`fetch` would answer, of rows that are there; the position stays. None where there are none."""
        buffer = self._buffer
        return buffer.ready_page(self._next_row, rows_max, bytes_max) if buffer else None

    def skip(self, page: Page) -> bool:
        """Move on behind a page that is sent; False, and nothing changed, where it is not the next one any more."""
        self._result()
        with self._changed:
            if self._next_row != page.row_offset:
                return False
            self._page_row, self._next_row = page.row_offset, page.row_offset + page.rows.num_rows
        self.last_used = time.monotonic()
        self._note(page)
        return True

    def page(self, offset: int, rows_max: int, bytes_max: int | None = None) -> Page:
        """Rows by position, which leaves the position of `fetch` alone."""
        with self._reading() as buffer:
            page = buffer.page(offset, rows_max, bytes_max=bytes_max)
        return self._note(page)

    def pages(self, bytes_max: int, offset: int = 0, end: int | None = None) -> Iterator[pa.Table]:
        """The rows from `offset` to `end`, or to the last one, in tables of about `bytes_max`."""
        while end is None or offset < end:
            page = self.page(offset, (1 << 62) if end is None else end - offset, bytes_max)
            if not page.rows.num_rows:
                return
            yield page.rows
            offset += page.rows.num_rows

    def spans(self, bytes_max: int) -> list[Span]:
        """The whole result in parts of about `bytes_max`."""
        with self._reading() as buffer:
            return buffer.spans(bytes_max)

    def exceeds(self, bytes_max: int) -> bool:
        """Whether the result has more bytes in memory than that."""
        with self._reading() as buffer:
            return buffer.exceeds(bytes_max)

    def row_count(self) -> int:
        """Rows of the whole result."""
        with self._reading() as buffer:
            return buffer.count()

    def close(self) -> None:
        """Cancel if need be and give back the result; closing twice does nothing.

        One whose commit is being made, or is made, is closed when it has ended.
        """
        with self._changed:
            self._is_closing = True
            has_ended = self._state.is_terminal
        is_thrown = not self._may_run() or self.cancel_token.cancel()
        if is_thrown or has_ended:
            self._give_back()

    def _give_back(self) -> None:
        with self._changed:
            self._move(OperationState.CLOSED)
            buffer, self._buffer = self._buffer, None
        if buffer:
            self._rows_given_back = buffer.rows_held
            buffer.close()
        self._tell_end()
        self.on_closed()

    def _may_run(self) -> bool:
        """Whether the engine may still work for this statement; if not, its session may be gone too."""
        if self._buffer is not None:
            return not self._buffer.is_exhausted
        return not self._state.is_terminal

    def _open(self) -> tuple[ResultStream, ResultBuffer]:
        context = replace(self._context, pool=self.pool, scan_bytes_max=self.scan_bytes_max, spool=self.store.spool)
        if self.trace is not None:
            context = self.trace.following(context)
        stream = self._run(context)
        buffer = self._buffer_of(stream)
        if stream.row_counts is not None:
            self.profile.log(", ".join(f"{name}: {count}" for name, count in stream.row_counts.named.items()))
        if self._whole:
            self.profile.enter(Stage.STREAM)
            try:
                buffer.count(self.cancel_token)
            except BaseException:
                buffer.close()
                raise
        return stream, buffer

    def _buffer_of(self, stream: ResultStream) -> ResultBuffer:
        context = self._context
        return ResultBuffer(stream, context.result_bytes_max, self.profile.log, self.store, self.identity.principal)

    def _note_rows(self, stream: ResultStream) -> None:
        """The query's first rows are there. A stream of its last ones would be the same stream."""
        buffer = self._buffer_of(stream)
        with self._changed:
            if OperationState.STREAMING in TRANSITIONS[self._state]:
                self._stream, self._buffer = stream, buffer
                self._move(OperationState.STREAMING)

    def _note_access(self, access: StatementAccess) -> None:
        self.on_access(access)
        if self.trace:
            self.trace.accesses.append(access)

    def _note_commit(self, commit: Commit) -> None:
        self._versions[commit.relation] = commit.version
        self.commits += 1
        if self.trace:
            self.trace.commits.append(commit)
            self.trace.note(commit)

    def _note_loss(self, loss: Loss) -> None:
        self.losses[loss] += 1
        if self.trace:
            self.trace.note(loss)

    def _note_text(self, text: str) -> None:
        self.text = text

    def _note_parsed(self, may_answer_rows: bool) -> None:
        with self._changed:
            self._may_answer_rows = may_answer_rows
            self._changed.notify_all()

    @contextmanager
    def _reading(self) -> Iterator[ResultBuffer]:
        """The result, for a block that may wait for its rows.

        Where the operation is ended in between, its error is raised, whatever the block made of the closed stream.
        """
        buffer = self._result()
        self.last_used = time.monotonic()
        try:
            yield buffer
        finally:
            self._result()

    def _note(self, page: Page) -> Page:
        self._handed_out[page.row_offset] = page.rows.num_rows
        return page

    def _result(self) -> ResultBuffer:
        if self.error is not None:
            raise self.error
        if self._state is OperationState.CLOSED:
            raise OperationClosed()
        if self._buffer is None:
            raise ResultNotReady()
        return self._buffer

    def _end_early(self) -> None:
        """The switch was thrown: the state changes at once, though the run may take a while to end."""
        if self._is_closing:
            self._give_back()
        elif self.cancel_token.reason is not None:
            self._fail(self.cancel_token.reason)

    def _fail(self, error: SqlError) -> None:
        if isinstance(error, StatementEnded):
            add_commits(error, self._versions)
        match error:
            case StatementCancelled():
                state = OperationState.CANCELED
            case StatementTimedOut():
                state = OperationState.TIMED_OUT
            case _:  # errors of any other class
                state = OperationState.FAILED
        with self._changed:
            if state in TRANSITIONS[self._state]:
                self.error = error
                self._move(state)
        self._tell_end()

    def _move(self, to: OperationState) -> bool:
        """Apply TRANSITIONS; False, and nothing changed, where the table does not allow it."""
        with self._changed:
            if to not in TRANSITIONS[self._state]:
                return False
            self._state = to
            self.last_used = time.monotonic()
            if to.is_terminal:
                if self.ended_ms is None:
                    self.ended_ms = time.time_ns() // 1_000_000
                    state = to.name.lower().replace("_", " ")
                    self.profile.log(f"{state} after {(self.ended_ms - self.created_ms) / 1000:.3f} s")
                    self.profile.enter(None)
                if self._timer:
                    self._timer.cancel()
            self._changed.notify_all()
            return True

    def _tell_end(self) -> None:
        """Run the callbacks of `on_end`; called without the lock, since they may take their time."""
        with self._changed:
            callbacks, self._on_end = self._on_end, []
        for callback in callbacks:
            callback()
        if callbacks:  # those that another thread runs may still read the text
            self.text, self._run = self.text[:TEXT_KEPT_MAX], _closed


def _closed(_: StatementRequest) -> ResultStream:
    """In the place of what an ended statement would run, which holds its text."""
    raise OperationClosed()
