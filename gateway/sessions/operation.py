"""An operation: a statement's run in a session, as a small state machine for all front ends.

`gateway/sessions/operation_state.py` has the states and transitions; only `Operation._move` applies them. Its session
creates an operation as PENDING, a thread from the registry's pool runs it once, and the front ends' threads read it.
Its single lock guards the state; `wait` sleeps on its condition variable, so a long poll costs no CPU time.
Cancellation sets the statement's :class:`~engine.concurrency.cancel.CancelToken`, which reaches the Spark job. Results
are pulled from the engine's stream on demand and kept until the operation closes, so that a client may read them again
(FETCH_FIRST over Thrift, a chunk by number over HTTP).
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from typing import Protocol, assert_never

import pyarrow as pa

from catalog.conditions import (
    InternalError,
    OperationClosed,
    ResultNotReady,
    StatementCancelled,
    StatementEnded,
    StatementInterrupted,
    StatementTimedOut,
)
from catalog.errors import SqlError
from engine.concurrency.cancel import CancelToken
from engine.concurrency.retry import RetryReason
from engine.errors.statement_errors import add_commits
from engine.runtime.accesses import Commit, StatementAccess
from engine.runtime.identity import Identity
from engine.runtime.profile import Profile, Stage
from engine.runtime.request import StatementRequest, with_changes
from engine.runtime.results import ResultStream, empty_result
from engine.runtime.statement import StatementClass
from engine.spool.spool_file import AnyBatch
from gateway.results.result_buffer import Page, ResultBuffer, Span
from gateway.results.result_store import ResultStore
from gateway.results.sent_rows import DIGEST_BYTES, PrefixDigest, SentRows, has_digest
from gateway.sessions.call_context import current_call
from gateway.sessions.operation_state import TRANSITIONS, OperationState
from gateway.sessions.requested import Repetition, RequestedStatement
from gateway.sessions.trace import Trace
from gateway.state.records import SavedResult

logger = logging.getLogger(__name__)


# Characters that an ended statement keeps from its text: the text may be megabytes, and many may be open.
TEXT_CHARACTERS_MAX = 16_384
# Time in seconds that a fetch waits for a statement that is run again.
_REPEATED_S = 300.0


class FetchFrom(Enum):
    """A fetch's start: after the last fetched rows, a number of rows before them, or at the first row."""

    NEXT = "next"
    PRIOR = "prior"
    FIRST = "first"


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredOutcome:
    """A statement's end in a former process: with an error, or with a result if its rows were held. `sent` are the rows
    that its client has received.
    """

    state: OperationState
    created_ms: int
    ended_ms: int
    error: SqlError | None = None
    stream: ResultStream | None = None
    sent: SentRows = SentRows()


class Recorder(Protocol):
    """Records a statement for the case that this process ends; see `gateway/sessions/recorder.py`."""

    def record(self) -> None:
        """Records the statement; called before its client learns its id."""
        ...

    def flush(self, *, is_whole: bool) -> None:
        """Waits until a record in an object store is stored; with `is_whole` the client has the whole response."""
        ...

    def versions_read(self, versions: Mapping[str, str]) -> None:
        """Records the versions of the tables that the statement reads."""
        ...

    def hold(self, stream: ResultStream, buffer: ResultBuffer) -> SavedResult | None:
        """Returns the whole result's record, or None."""
        ...

    def ended(self, state: OperationState, error: SqlError | None, result: SavedResult | None) -> None:
        """Records the outcome, before it is visible."""
        ...

    def closed(self) -> None:
        """Records that the result is released."""
        ...


class NoRecorder:
    """Records nothing: the statement ends with the process."""

    def record(self) -> None:
        pass

    def flush(self, *, is_whole: bool) -> None:
        pass

    def versions_read(self, versions: Mapping[str, str]) -> None:
        pass

    def hold(self, stream: ResultStream, buffer: ResultBuffer) -> SavedResult | None:
        return None

    def ended(self, state: OperationState, error: SqlError | None, result: SavedResult | None) -> None:
        pass

    def closed(self) -> None:
        pass


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
        """Creates a PENDING operation. `whole`: the statement is finished when its whole result is held, not its first
        rows. `streams`: its rows may be fetched while it runs.
        """
        self.id = uuid.uuid4()
        self.identity, self.text, self.submitted_text = identity, text, text
        self.requested = RequestedStatement()
        self.recorder: Recorder = NoRecorder()
        # Returns its front end's state, from which a response can be made after a restart.
        self.options: Callable[[], dict[str, object]] = dict
        self.cancel_token = CancelToken()
        self.created_ms = time.time_ns() // 1_000_000
        self.ended_ms: int | None = None
        self.last_used = time.monotonic()
        self.error: SqlError | None = None
        # Called on the statement's thread with the accessed objects before planning; an exception fails the statement.
        self.on_access: Callable[[StatementAccess], None] = lambda _: None
        # Called when it waits for the end of its transaction block.
        self.on_staged: Callable[[], None] = lambda: None
        # Called, perhaps more than once, after its result was released.
        self.on_closed: Callable[[], None] = lambda: None
        self.kind, self.is_kind_known = StatementClass.READ, True
        self.pool: str | None = None
        # The scheduler pool and the scan limit; see `StatementRequest`.
        self.scan_bytes_max = 0
        # The call for its log lines.
        self.call = current_call()
        # The trace that records its execution.
        self.trace: Trace | None = None
        # The storage for its rows.
        self.store = ResultStore()
        self.commits = 0
        # Retries by reason, after conflicts with other commits.
        self.retries: Counter[RetryReason] = Counter()
        # True for a protocol's or the browser's call, rather than a user's statement.
        self.is_call = False
        # Its text is SQL; otherwise that describes a DataFrame plan.
        self.is_text = True
        # Committed versions so far, the newest per table.
        self._versions: dict[str, int] = {}
        self._context = self._new_request(result_bytes_max, streams=streams and not whole)
        self.profile.enter(Stage.QUEUE)
        self._may_answer_rows: bool | None = None
        self._run, self._whole = run, whole
        self._state = OperationState.PENDING
        self._changed = threading.Condition()
        self._running_query: ResultStream | None = None  # only its columns may be read
        self._staged: ResultStream | None = None
        self._stream: ResultStream | None = None
        self._buffer: ResultBuffer | None = None
        self._page_row, self._next_row, self._logged, self._rows_given_back = 0, 0, 0, 0
        # The rows that were sent while the query ran, in this process and in a former one.
        self._digest: PrefixDigest | None = None
        self._sent_before: SentRows | None = None
        self._handed_out: dict[int, int] = {}  # rows by requested offset
        self._was_end_reported = self._is_restored = False
        self._thread: int | None = None
        self._timer: threading.Timer | None = None
        self._on_end: list[Callable[[], None]] = []
        self._is_closing = False
        self.cancel_token.on_cancel(self._end_early)  # registered first: the engine may not respond

    def _new_request(self, result_bytes_max: int, *, streams: bool) -> StatementRequest:
        return StatementRequest(
            identity=self.identity,
            cancel=self.cancel_token,
            statement_id=self.id.hex,
            transaction_id=str(self.id),
            result_bytes_max=result_bytes_max,
            on_substituted=self._note_text,
            on_parsed=self._note_parsed,
            on_columns=self._note_columns,
            on_rows=self._note_rows if streams else None,
            on_authorized=self._note_access,
            on_versions=lambda versions: self.recorder.versions_read(versions),
            on_staged=self._note_staged,
            on_commit=self._note_commit,
            on_retry=self._note_retry,
        )

    @property
    def state(self) -> OperationState:
        """Returns the state at this moment; a transition may follow at once, unless it is terminal."""
        return self._state

    @property
    def instant_us(self) -> int:
        """Returns the time of `current_timestamp()`, in microseconds since the epoch."""
        return self._context.instant_us

    @property
    def outcome(self) -> tuple[OperationState, ResultStream | None, ResultBuffer | None]:
        """Returns the state, and the result if there is one."""
        with self._changed:
            return self._state, self._stream, self._buffer

    @property
    def id_text(self) -> str:
        """Returns the id as a text."""
        return self._context.transaction_id or str(self.id)

    def identify(self, operation_id: uuid.UUID) -> None:
        """Sets the id; called before anything refers to it."""
        self.id = operation_id
        self._context = with_changes(self._context, statement_id=operation_id.hex, transaction_id=str(operation_id))

    def repeat(self, repetition: Repetition) -> None:
        """Continues a statement that a former process began; called before it is submitted."""
        self.created_ms, self._sent_before = repetition.created_ms, repetition.sent
        self._context = with_changes(
            self._context,
            instant_us=repetition.instant_us,
            began_ms=repetition.created_ms,
            is_repeated=True,
            versions=repetition.versions,
        )

    def restore(self, outcome: RestoredOutcome) -> None:
        """Sets the outcome of a statement that ended in a former process; called instead of running it."""
        with self._changed:
            self.created_ms, self.ended_ms = outcome.created_ms, outcome.ended_ms
            self.error = outcome.error
            if outcome.stream is not None:
                self._stream, self._buffer = outcome.stream, self._buffer_of(outcome.stream)
                with suppress(SqlError):  # a fetch raises it
                    self._buffer.count()
            self._page_row, self._next_row = outcome.sent.page_row, outcome.sent.next_row
            # Whether its client knows that it ended is not recorded. It counts as known.
            self._was_end_reported, self._handed_out = True, {0: self._next_row}
            self._is_restored = True
            self._run, self._state = _raise_closed, outcome.state

    @property
    def sent_rows(self) -> SentRows:
        """Returns the rows that its client has received if the current response arrives."""
        digest = self._digest
        known = (0, bytes(DIGEST_BYTES)) if digest is None else (digest.rows, digest.digest())
        return SentRows(self._page_row, self._next_row, *known)

    @property
    def schema(self) -> pa.Schema:
        """Returns the result's columns; raises the error for an operation without a result."""
        return self._result().schema

    def ensure_result(self) -> None:
        """Raises the error for an operation without a result."""
        self._result()

    @property
    def is_read(self) -> bool:
        """Returns True if its client has received its end, and all available rows."""
        if not self._was_end_reported or not self._state.is_terminal:
            return False
        buffer = self._buffer
        if buffer is None or not self.has_rows:
            return True
        return buffer.is_exhausted and sum(tuple(self._handed_out.values())) >= buffer.count()

    @property
    def is_restored(self) -> bool:
        """Returns True if it ended in a former process. The rows that a client read by their numbers, as over HTTP, are
        not recorded, so :attr:`is_read` may be False for a result that was read.
        """
        return self._is_restored

    def tell_end(self) -> None:
        """Records that the client has received the operation's terminal state."""
        self._was_end_reported = True

    @property
    def has_rows(self) -> bool:
        """Returns True if the statement has a result with rows; False until its stream exists."""
        return self._stream is not None and self._stream.has_rows

    @property
    def may_have_rows(self) -> bool:
        """Returns True if it has a result set, as far as known."""
        return self.has_rows if self._stream else self._may_answer_rows is not False

    @property
    def is_staging(self) -> bool:
        """Returns True if its row is a URL for the client's file transfer."""
        return self._stream is not None and self._stream.is_staging

    @property
    def rows_modified(self) -> int | None:
        """Returns the number of rows that a DML statement changed; None for others, and until the stream exists."""
        return self._stream.rows_modified if self._stream else None

    @property
    def result_bytes(self) -> int:
        """Returns the bytes held so far."""
        buffer = self._buffer
        return buffer.bytes_held if buffer else 0

    @property
    def rows_held(self) -> int:
        """Returns the number of rows pulled so far, or until the release."""
        buffer = self._buffer
        return buffer.rows_held if buffer else self._rows_given_back

    @property
    def rows_total(self) -> int | None:
        """Returns the number of rows in the whole result; None while some were not pulled, usual even after the
        statement's end.
        """
        buffer = self._buffer
        return buffer.rows_held if buffer and buffer.is_exhausted else None

    def log_lines(self, *, from_start: bool = False) -> tuple[str, ...]:
        """Returns the log lines since the last call, or all of them."""
        lines = self._context.profile.log_lines
        with self._changed:
            known, self._logged = 0 if from_start else self._logged, len(lines)
        return lines[known:]

    @property
    def profile(self) -> Profile:
        """Returns the run's profile."""
        return self._context.profile

    @property
    def time_zone(self) -> str:
        """Returns the session's time zone for timestamps."""
        return self._stream.time_zone if self._stream else "UTC"

    @property
    def is_on_this_thread(self) -> bool:
        """Returns True on the thread that runs it."""
        return self._thread == threading.get_ident()

    def start_timer(self, timeout_s: float) -> None:
        """Ends the statement as TIMED_OUT after `timeout_s` seconds, including queueing."""
        self._timer = threading.Timer(timeout_s, self.cancel, [StatementTimedOut(timeout_s)])
        self._timer.daemon = True
        self._timer.start()

    def run(self) -> None:
        """Runs to a terminal state; never raises. The first of the three outermost handlers that catch any
        exception.
        """
        self._thread = threading.get_ident()
        # Cancelled while it waited: the state table has no way from there.
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
                # A streaming statement already has its buffer, from which its client may
                # have read; replacing it would send rows twice.
                if self._state is not OperationState.STREAMING:
                    self._stream, self._buffer = stream, buffer
                stream, held = self._stream or stream, self._buffer or buffer
            result = self.recorder.hold(stream, held)
            with self._changed:
                finished = OperationState.FINISHED in TRANSITIONS[self._state]
                if finished:
                    self.recorder.ended(OperationState.FINISHED, None, result)
                    self._move(OperationState.FINISHED)
            if not finished:  # cancelled or closed while it ended
                buffer.close()
            self._tell_end()
        if self._is_closing:
            self._give_back()

    def wait(self, timeout_s: float) -> OperationState:
        """Waits until the state is settled, at most `timeout_s` seconds; returns the state."""
        with self._changed:
            self._changed.wait_for(lambda: self._state.is_final, timeout_s)
            return self._state

    def wait_until_parsed(self, timeout_s: float) -> None:
        """Waits until the text is parsed, so that `may_have_rows` is known, or the state is settled."""
        with self._changed:
            self._changed.wait_for(lambda: self._may_answer_rows is not None or self._state.is_final, timeout_s)

    def wait_for_columns(self, timeout_s: float) -> ResultStream | None:
        """Waits until the columns of a running statement's result are known, at most `timeout_s` seconds.

        Returns a stream whose columns alone may be read; None if they are not known, or if the state is settled.
        """
        with self._changed:
            self._changed.wait_for(
                lambda: self._running_query is not None or self._may_answer_rows is False or self._state.is_final,
                timeout_s,
            )
            if self._state.is_final:
                return None
            return empty_result() if self._may_answer_rows is False else self._running_query

    def wait_until_staged(self, timeout_s: float) -> ResultStream | None:
        """Waits until a statement in a transaction block waits for the block's end, or the state is settled.

        Returns the result that it will have; None if it does not wait.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._staged is not None or self._state.is_final, timeout_s)
            return None if self._state.is_final else self._staged

    def on_end(self, callback: Callable[[], None]) -> None:
        """Runs `callback` once the state is terminal: on the thread that ends the operation, or immediately."""
        with self._changed:
            if not self._state.is_terminal:
                self._on_end.append(callback)
                return
        callback()

    def refuse(self, reason: SqlError) -> None:
        """Ends the statement before it has begun."""
        self._fail(reason)

    def cancel(self, reason: StatementCancelled | StatementTimedOut | None = None) -> None:
        """Cancels the statement if it has not ended; returns immediately. Does nothing for an ended one.

        A statement that is committing, or has committed, ends with that commit's outcome; see `CancelToken`.
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
        """Returns the `rows_max` rows from `start` on; fewer if they exceed `bytes_max`.

        Returns at least one row if there is one; rows are assumed to have equal sizes. Rows that are not sent now are a
        link's, which its reader gets by :meth:`page`. If no row arrives within `wait_s` seconds, the page is empty, and
        reports that more may follow. `is_filled` waits for all `rows_max` rows, or the end.
        """
        with self._open_result() as buffer:
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
        """Returns the same page as :meth:`fetch`, from available rows, without advancing. None if there are none."""
        buffer = self._buffer
        return buffer.ready_page(self._next_row, rows_max, bytes_max) if buffer else None

    def skip(self, page: Page) -> bool:
        """Advances past a page that was sent; returns False, without a change, if it is no longer the next one."""
        self._result()
        with self._changed:
            # The page was sent ahead of the client's request; a FETCH_FIRST in between has
            # moved the position.
            if self._next_row != page.row_offset:
                return False
            self._page_row, self._next_row = page.row_offset, page.row_offset + page.rows.num_rows
        self.last_used = time.monotonic()
        self._note(page)
        return True

    def take_back(self, page: Page) -> None:
        """Moves the position back to `page`, which is not sent, unless another fetch has moved it since."""
        with self._changed:
            if (self._page_row, self._next_row) == (page.row_offset, page.row_offset + page.rows.num_rows):
                self._next_row = page.row_offset
                self._handed_out.pop(page.row_offset, None)

    def page(self, offset: int, rows_max: int, bytes_max: int | None = None, wait_s: float | None = None) -> Page:
        """Returns rows by position, without advancing `fetch`. If no row arrives within `wait_s` seconds, the page is
        empty.
        """
        with self._open_result() as buffer:
            page = buffer.page(offset, rows_max, wait_s, bytes_max=bytes_max)
        return self._note(page)

    def parts(self, offset: int, rows_max: int, bytes_max: int) -> list[AnyBatch]:
        """Returns rows of a statement that has ended, by position, in batches that are not loaded; none after the last
        row.
        """
        with self._open_result() as buffer:
            found = buffer.parts(offset, rows_max, bytes_max)
        self._handed_out[offset] = sum(batch.num_rows for batch in found)
        return found

    def pages(self, bytes_max: int, offset: int = 0, end: int | None = None) -> Iterator[pa.Table]:
        """Yields the rows from `offset` to `end`, or to the last one, in tables with about `bytes_max`."""
        while end is None or offset < end:
            page = self.page(offset, (1 << 62) if end is None else end - offset, bytes_max)
            if not page.rows.num_rows:
                return
            yield page.rows
            offset += page.rows.num_rows

    def spans(self, bytes_max: int) -> list[Span]:
        """Returns the whole result's spans with about `bytes_max`."""
        with self._open_result() as buffer:
            return buffer.spans(bytes_max)

    def exceeds(self, bytes_max: int) -> bool:
        """Returns True if the result has more bytes in memory."""
        with self._open_result() as buffer:
            return buffer.exceeds(bytes_max)

    def row_count(self) -> int:
        """Returns the number of rows in the whole result."""
        with self._open_result() as buffer:
            return buffer.count()

    def close(self) -> None:
        """Cancels if necessary and releases the result; closing twice does nothing.

        A statement that is committing, or has committed, is closed after its end.
        """
        with self._changed:
            if self._state is OperationState.CLOSED:
                return
            self._is_closing = True
            has_ended = self._state.is_terminal
        # A commit cannot be cancelled. Its result is released by `run`, once the outcome is
        # known and audited.
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
        self.recorder.closed()
        self._tell_end()
        self.on_closed()

    def _may_run(self) -> bool:
        """Returns True if the engine may still work for this statement; otherwise its session may be gone too."""
        if self._buffer is not None:
            return not self._buffer.is_exhausted
        return not self._state.is_terminal

    def _open(self) -> tuple[ResultStream, ResultBuffer]:
        context = with_changes(
            self._context, pool=self.pool, scan_bytes_max=self.scan_bytes_max, spool=self.store.spool
        )
        if self.trace is not None:
            context = self.trace.record_execution(context)
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
        if (sent := self._sent_before) is not None:
            if not has_digest(sent, lambda offset, count: buffer.page(offset, count).rows):
                buffer.close()
                raise StatementInterrupted()
            self._page_row, self._next_row = sent.page_row, sent.next_row
        return stream, buffer

    def _buffer_of(self, stream: ResultStream) -> ResultBuffer:
        context = self._context
        return ResultBuffer(stream, context.result_bytes_max, self.profile.log, self.store, self.identity.principal)

    def _note_rows(self, stream: ResultStream) -> None:
        """Records the query's first rows. The stream for its last rows would be the same."""
        buffer = self._buffer_of(stream)
        with self._changed:
            if OperationState.STREAMING in TRANSITIONS[self._state]:
                self._stream, self._buffer = stream, buffer
                if not isinstance(self.recorder, NoRecorder):
                    self._digest = PrefixDigest()
                self._move(OperationState.STREAMING)

    def _note_columns(self, stream: ResultStream) -> None:
        with self._changed:
            self._running_query = stream
            self._changed.notify_all()

    def _note_staged(self, result: ResultStream) -> None:
        self.on_staged()
        with self._changed:
            self._staged = result
            self._changed.notify_all()

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

    def _note_retry(self, reason: RetryReason) -> None:
        self.retries[reason] += 1
        if self.trace:
            self.trace.note(reason)

    def _note_text(self, text: str) -> None:
        self.text = text

    def _note_parsed(self, may_answer_rows: bool) -> None:
        with self._changed:
            self._may_answer_rows = may_answer_rows
            self._changed.notify_all()

    @contextmanager
    def _open_result(self) -> Iterator[ResultBuffer]:
        """Yields the result, for a block that may wait for its rows.

        If the operation ends meanwhile, its error is raised, whatever the block read from the closed stream.
        """
        buffer = self._result()
        self.last_used = time.monotonic()
        try:
            yield buffer
        finally:
            self._result()

    def _note(self, page: Page) -> Page:
        self._handed_out[page.row_offset] = page.rows.num_rows
        digest = self._digest
        if digest is not None and digest.rows == page.row_offset and self._state is OperationState.STREAMING:
            digest.add(page.rows)
        return page

    def _result(self) -> ResultBuffer:
        # The client may know from the former process that there are rows, and does not poll again.
        if self._context.is_repeated:
            self.wait(_REPEATED_S)
        if self.error is not None:
            raise self.error
        if self._state is OperationState.CLOSED:
            raise OperationClosed()
        if self._buffer is None:
            raise ResultNotReady()
        return self._buffer

    def _end_early(self) -> None:
        """Changes the state immediately, although the run may take a while to end. The cancel token calls it."""
        if self._is_closing:
            self._give_back()
        elif self.cancel_token.reason is not None:
            self._fail(self.cancel_token.reason)

    def _fail(self, error: SqlError) -> None:
        # A cancelled statement with several commits (OPTIMIZE in steps, say) has changed
        # the table already, which its error must tell.
        if isinstance(error, StatementEnded):
            add_commits(error, self._versions)
        match error:
            case StatementCancelled():
                state = OperationState.CANCELED
            case StatementTimedOut():
                state = OperationState.TIMED_OUT
            case _:  # errors from any other class
                state = OperationState.FAILED
        with self._changed:
            # The first end wins: an error that cancellation provokes must not replace the
            # cancellation.
            if state in TRANSITIONS[self._state]:
                self.error = error
                self.recorder.ended(state, error, None)
                self._move(state)
        self._tell_end()

    def _move(self, to: OperationState) -> bool:
        """Applies TRANSITIONS; returns False, without a change, if the table does not permit it."""
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
        """Runs the `on_end` callbacks; called without the lock, since they may be slow."""
        with self._changed:
            # Swapped under the lock: of two threads that end the operation only one runs
            # the callbacks.
            callbacks, self._on_end = self._on_end, []
        for callback in callbacks:
            callback()
        if callbacks:  # callbacks on another thread may still read the text
            self.text, self.submitted_text, self._run = self.text[:TEXT_CHARACTERS_MAX], "", _raise_closed


def _raise_closed(_: StatementRequest) -> ResultStream:
    """Replaces an ended statement's run function, which references its text."""
    raise OperationClosed()
