"""Records of a session and its statements in the state folder.

A session is recorded before its client learns its id, and a statement with the response that has its id: until then no
client can come back for it, and a statement that nobody knows is not run again after a crash. The session's state is
recorded with the end of the statement that changed it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from types import MappingProxyType

from catalog.errors import SqlError
from engine.engine import EngineSession
from engine.runtime.parameters import Parameter
from engine.runtime.results import ResultStream
from engine.spool.spool_file import SpoolFile
from gateway.results.result_buffer import ResultBuffer
from gateway.sessions.operation import TEXT_CHARACTERS_MAX, Operation
from gateway.sessions.operation_state import OperationState
from gateway.state.journal import Journal, StateStore
from gateway.state.records import (
    Record,
    SavedError,
    SavedParameter,
    SavedResult,
    SessionChanged,
    SessionOpened,
    StatementClosed,
    StatementEnded,
    StatementRecorded,
    VersionsRead,
)
from gateway.state.results import saved_result
from gateway.state.shared_journal import SharedSession

logger = logging.getLogger(__name__)

# The option that names the front end.
_FRONT_END = "front_end"
_NO_VERSIONS: Mapping[str, str] = MappingProxyType({})


class SessionRecorder:
    """Records one session. Thread-safe."""

    def __init__(self, store: StateStore, engine_session: EngineSession, opened: Callable[[], SessionOpened]) -> None:
        """Prepares the records; nothing is written before the session, or a statement in it, is to be recorded.

        `opened` returns the first record.
        """
        self.store = store
        self._engine_session = engine_session
        self._opened = opened
        # Guards the fields below, and the order of records about the session.
        self._lock = threading.Lock()
        self._journal: Journal | SharedSession | None = None
        self._mark: object = None
        self._is_single = False
        self._is_suspended = False
        # The session, or its state, may not be in an object store yet.
        self._has_news = False
        # Records that are written with the next ones.
        self._later: tuple[Record, ...] = ()

    def adopt(self, journal: Journal | SharedSession) -> None:
        """Continues the journal of a restored session."""
        with self._lock:
            self._journal, self._mark = journal, self._engine_session.state_mark

    def append(self, *records: Record) -> None:
        """Records the session, if it is not recorded yet, its state, if it has changed, and then `records`."""
        with self._lock:
            if self._is_suspended:
                return
            is_new, has_news = self._journal is None, False
            if is_new:
                opened = self._opened()
                self._is_single = opened.is_single
                owner = opened.identity.principal
                self._journal = self.store.open_journal(opened.id, owner, is_single=opened.is_single)
                records, has_news = (opened, *self._changes(), *records), True
            elif self._engine_session.state_mark is not self._mark:
                records, has_news = (*self._changes(), *records), True
            if self._journal is not None and records:
                later, self._later = self._later, ()
                if self._journal.append(*later, *records):
                    self._has_news |= has_news and not self._is_single
                    return
                # On a full disk: the next record begins again with what this one should have written.
                self._mark = None
                if is_new:
                    self._journal.remove()
                    self._journal = None

    def _changes(self) -> tuple[Record, ...]:
        """Returns the record of the state if it has changed."""
        mark = self._engine_session.state_mark
        if mark is self._mark:
            return ()
        self._mark = mark
        return (SessionChanged(state=self._engine_session.saved_state()),)

    def flush(self, *, is_whole: bool) -> None:
        """Waits until the records are stored, if they are in an object store; called before a client gets its response.

        With `is_whole` the client has no reason to come back for a statement, and only the session's state counts.
        """
        if self._has_news or not is_whole:
            self._has_news = False
            self.store.flush()

    def append_later(self, record: Record) -> None:
        """Records something of which the loss does no harm, without a write of its own."""
        with self._lock:
            self._later = (*self._later, record)

    def suspend(self) -> None:
        """Records nothing any more, and leaves the journal to another process."""
        with self._lock:
            self._is_suspended = True

    def remove(self) -> None:
        """Removes the journal; the session has ended."""
        with self._lock:
            if self._journal is not None and not self._is_suspended:
                self._journal.remove()
            self._is_suspended = True


class StatementRecorder:
    """Records one statement from its first record on. Thread-safe."""

    def __init__(self, session: SessionRecorder, operation: Operation) -> None:
        self._session = session
        self._operation = operation
        # Guards the fields below.
        self._lock = threading.Lock()
        self._is_recorded = self._has_end = self._has_files = self._is_flushed = False
        self._versions: Mapping[str, str] = _NO_VERSIONS
        self._files: list[SpoolFile] = []

    def adopt(self, *, has_end: bool) -> None:
        """Continues the records of a restored statement."""
        with self._lock:
            self._is_recorded, self._has_end, self._has_files = True, has_end, True
            self._is_flushed = True

    def record(self) -> None:
        """Records the statement, with its outcome if it has ended; called before its client learns its id."""
        if self._is_recorded:
            with self._lock:  # another thread may be about to write it
                return
        # Outside of the lock: `ended` is called while the operation is locked.
        outcome = self._outcome()
        with self._lock:
            if self._is_recorded:
                return
            self._is_recorded, self._has_end = True, outcome is not None
            if outcome is not None:
                self._session.append(recorded_ended_statement(self._operation, outcome.options), outcome)
                return
            versions = (self._read(),) if self._versions else ()
            self._session.append(recorded_statement(self._operation), *versions)
        if (outcome := self._outcome()) is not None:  # it ended meanwhile
            self._append_end(outcome)

    def flush(self, *, is_whole: bool) -> None:
        """Waits as `SessionRecorder.flush` does, once for each statement."""
        if not self._is_flushed:
            self._session.flush(is_whole=is_whole)
            self._is_flushed = not is_whole

    def versions_read(self, versions: Mapping[str, str]) -> None:
        """Records the versions that the running statement reads, with or after the statement itself."""
        if not versions:
            return
        with self._lock:
            self._versions = {**self._versions, **versions}
            if self._is_recorded and not self._has_end:
                self._session.append(self._read())

    def hold(self, stream: ResultStream, buffer: ResultBuffer) -> SavedResult | None:
        """Returns the whole result's record; None if the statement is not recorded, or if the result cannot be held.

        Waits for the rows.
        """
        return self._hold(stream, buffer) if self._is_recorded else None

    def ended(self, state: OperationState, error: SqlError | None, result: SavedResult | None) -> None:
        """Records the outcome, before it is visible."""
        if self._is_recorded:
            self._append_end(self._record(state, error, result))

    def _append_end(self, ended: StatementEnded) -> None:
        with self._lock:
            if not self._has_end:
                self._has_end = True
                self._session.append(ended)

    def closed(self) -> None:
        """Records that the statement's result is released.

        After a crash a closed statement may be open again until it expires, if its rows are part of the records.
        """
        operation = self._operation
        with self._lock:
            if self._is_recorded:
                append = self._session.append if self._has_files else self._session.append_later
                append(StatementClosed(id=operation.id_text))
            self._files.clear()
        self._session.store.positions.forget(operation.id)

    def _read(self) -> VersionsRead:
        return VersionsRead(id=self._operation.id_text, versions=dict(self._versions))

    def _outcome(self) -> StatementEnded | None:
        operation = self._operation
        state, stream, buffer = operation.outcome
        if not state.is_terminal:
            return None
        result = self._hold(stream, buffer) if stream is not None and buffer is not None else None
        return self._record(state, operation.error, result)

    def _record(self, state: OperationState, error: SqlError | None, result: SavedResult | None) -> StatementEnded:
        operation = self._operation
        return StatementEnded(
            id=operation.id_text,
            state=state.name,
            ended_ms=operation.ended_ms or time.time_ns() // 1_000_000,
            error=None if error is None else saved_error(error),
            result=result,
            options=operation.options(),
        )

    def _hold(self, stream: ResultStream, buffer: ResultBuffer) -> SavedResult | None:
        operation, spool = self._operation, self._session.store.spool
        if stream.is_staging:  # a URL that expires
            return None
        try:
            batches = buffer.all_batches(operation.cancel_token)
            is_cached, owner = operation.profile.is_from_cache, operation.identity.principal
            saved, files = saved_result(stream, batches, buffer.bytes_held, spool, owner, is_from_cache=is_cached)
        except SqlError as error:
            logger.info("the result of statement %s is not held for a restart: %s", operation.id, error)
            return None
        self._files += files
        self._has_files = bool(saved.batches)
        return saved


def recorded_statement(operation: Operation) -> StatementRecorded:
    """Returns the record for a statement that has not ended, with what is needed to run it."""
    requested, wanted = operation.requested, operation.requested.wanted
    # A DataFrame plan is not recorded: its statement is not run again.
    is_whole = operation.is_text
    return StatementRecorded(
        id=operation.id_text,
        text=operation.submitted_text if is_whole else operation.text[:TEXT_CHARACTERS_MAX],
        parameters=tuple(map(_saved_parameter, requested.parameters)) if is_whole else (),
        is_whole=is_whole,
        kind=operation.kind.name,
        is_kind_known=operation.is_kind_known,
        is_call=operation.is_call,
        created_ms=operation.created_ms,
        instant_us=operation.instant_us,
        timeout_s=requested.timeout_s,
        row_limit=wanted.row_limit,
        bytes_wanted=wanted.bytes_wanted,
        has_counts=wanted.has_counts,
        shows_materialized=wanted.shows_materialized,
        settings=dict(wanted.settings),
        options=operation.options(),
    )


def recorded_ended_statement(operation: Operation, options: dict[str, object]) -> StatementRecorded:
    """Returns the record for a statement that has ended and is not run again; the record of its end has the rest."""
    return StatementRecorded(
        id=operation.id_text,
        text=operation.text[:TEXT_CHARACTERS_MAX],
        is_whole=False,
        kind=operation.kind.name,
        is_kind_known=operation.is_kind_known,
        is_call=operation.is_call,
        created_ms=operation.created_ms,
        options={_FRONT_END: options[_FRONT_END]} if _FRONT_END in options else {},
    )


def saved_error(error: SqlError) -> SavedError:
    """Returns the error as a record from which its response can be made again.

    Its message lacks the position, which is separate.
    """
    position = error.position
    return SavedError(
        condition=error.condition,
        sqlstate=error.sqlstate,
        message=error.message if position is None else error.message.replace(f" ({position}).", "."),
        hint=error.hint,
        name=name if isinstance(name := getattr(error, "name", None), str) else None,
        position=None if position is None else asdict(position),
    )


def _saved_parameter(parameter: Parameter) -> SavedParameter:
    members = parameter.members
    return SavedParameter(
        value=parameter.value,
        sql_type=parameter.sql_type,
        name=parameter.name,
        members=None if members is None else tuple(map(_saved_parameter, members)),
    )
