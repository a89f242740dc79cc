"""Restores the sessions and statements of gateway processes that have ended.

    a session           continues with its state and its handles, for its own principal; Spark's session is opened with
                        its first statement
    an ended statement  has its outcome again, and its result at the row that its client has reached
    a running query     runs again, at the versions of the tables that it had read; if its client has received rows it
                        continues after them, or fails if this run returns other rows first
    a running write     is looked up in its table's log by its transaction id, and runs again if it is not there
    a protocol's call   fails: drivers repeat it

Statements that no client knows, because the process ended before the response with their id, are not in the records:
their clients get an error of their connection, as for any server, and look at the table.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from catalog.conditions import SessionNotFound, StatementInterrupted
from catalog.errors import Position, SqlError
from engine.engine import Engine, EngineSession
from engine.runtime.dataframe import DataFramePlan
from engine.runtime.identity import Identity
from engine.runtime.parameters import Parameter
from engine.runtime.request import StatementRequest
from engine.runtime.results import ResultStream
from engine.runtime.statement import Statement, StatementClass
from engine.spool.spool_file import SpoolFile
from engine.statements.volumes.statement import ChangeFile
from gateway.process.supervision import OnDeath, supervised_thread
from gateway.registry import Registry
from gateway.results.sent_rows import SentRows
from gateway.sessions.operation import Operation, RestoredOutcome
from gateway.sessions.operation_state import OperationState
from gateway.sessions.recorder import StatementRecorder
from gateway.sessions.requested import Repetition, RequestedStatement, WantedResult
from gateway.sessions.session import Origin, Session
from gateway.state.journal import Journal, Places, StateStore
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
    restored_identity,
)
from gateway.state.replica import UNKNOWN_POSITION
from gateway.state.results import file_names, restored_stream
from gateway.state.shared_journal import SharedSession

logger = logging.getLogger(__name__)

Through = Callable[[ResultStream], ResultStream]
Attach = Callable[[Operation], None]


class FrontEnd(Protocol):
    """A front end that continues its statements."""

    def through(self, session: Session, options: Mapping[str, object]) -> tuple[Through | None, Attach]:
        """Returns the conversion of a statement's result, and a function that gives the operation its options."""
        ...


@dataclass(slots=True)
class _Saved:
    """The records about one statement."""

    recorded: StatementRecorded
    ended: StatementEnded | None = None
    versions: dict[str, str] = field(default_factory=dict)


class Recovery:
    """Restores the sessions of former processes into a registry."""

    def __init__(self, registry: Registry, state: StateStore, front_ends: Mapping[str, FrontEnd]) -> None:
        """`front_ends` are by the name in their statements' options."""
        self._registry = registry
        self._state = state
        self._front_ends = front_ends

    def take_over(self) -> int:
        """Restores all sessions of processes that have ended; returns their number. A session that cannot be restored
        is left out, with a line in the log.
        """
        count, used = 0, set[str]()
        for journal, records, positions in self._state.take_over(used):
            try:
                self._restore(journal, records, positions, used)
                count += 1
            except Exception:
                logger.exception("a session of a former process cannot be restored")
                journal.remove()
        if count:
            logger.info("restored %d sessions of a former process", count)
        return count

    def _restore(
        self,
        journal: Journal | SharedSession,
        records: Sequence[Record],
        positions: Places,
        used: set[str],
    ) -> None:
        opened, state, statements = _read(records)
        identity = restored_identity(opened.identity)
        engine_session = DeferredSession(self._registry.engine, identity, state)
        session = self._registry.restore_session(uuid.UUID(opened.id), identity, engine_session)
        session.origin = Origin(opened.wire, opened.peer, opened.user_agent)
        session.secret, session.client, session.is_single = opened.secret, opened.client, opened.is_single
        assert session.recorder is not None
        session.recorder.adopt(journal)
        for saved in statements.values():
            operation_id = uuid.UUID(saved.recorded.id)
            operation = self._restore_statement(session, saved, positions.get(operation_id), used)
            if session.is_single:
                self._registry.retire_after(session, operation)

    def _restore_statement(self, session: Session, saved: _Saved, sent: SentRows | None, used: set[str]) -> Operation:
        recorded = saved.recorded
        front_end = self._front_ends.get(str(recorded.options.get("front_end")))
        options = saved.ended.options if saved.ended is not None else recorded.options
        through, attach = front_end.through(session, options) if front_end is not None else (None, _ignore)
        outcome = self._outcome(session, saved, sent, used)
        if outcome is None:
            try:
                return session.repeat(
                    recorded.text, _requested(recorded), through, _repetition(saved, sent), partial(_prepare, attach)
                )
            except SqlError as error:  # its user's login has ended, say, or too many statements wait
                outcome = _failed(recorded, error)
        operation = session.restore(recorded.text, outcome, uuid.UUID(recorded.id))
        operation.kind = StatementClass[recorded.kind]
        operation.is_kind_known, operation.is_call = recorded.is_kind_known, recorded.is_call
        _prepare(attach, operation)
        self._registry.note_ended(session, operation)
        return operation

    def _outcome(
        self, session: Session, saved: _Saved, sent: SentRows | None, used: set[str]
    ) -> RestoredOutcome | None:
        """Returns how the statement ended; None if it has to run again."""
        recorded, ended = saved.recorded, saved.ended
        if sent is not None:
            self._state.positions.restore(uuid.UUID(recorded.id), sent)
        if sent == UNKNOWN_POSITION:
            is_write = StatementClass[recorded.kind] in (StatementClass.WRITE, StatementClass.MAINTENANCE)
            if not (is_write and recorded.is_kind_known):
                return _failed(recorded, StatementInterrupted())
            sent = None  # the counts of a write may be read again
        if ended is not None and (ended.error is not None or ended.result is not None):
            stream = None if ended.result is None else self._stream(session, ended.result, used)
            if ended.error is not None or stream is not None:
                return RestoredOutcome(
                    state=OperationState[ended.state],
                    created_ms=recorded.created_ms,
                    ended_ms=ended.ended_ms,
                    error=None if ended.error is None else RecordedError(ended.error),
                    stream=stream,
                    sent=sent or SentRows(),
                )
        # It runs again if it can: a query, or a write of which the log shows whether it is committed.
        is_repeatable = recorded.is_whole and not recorded.is_call
        return None if is_repeatable else _failed(recorded, StatementInterrupted())

    def _stream(self, session: Session, result: SavedResult, used: set[str]) -> ResultStream | None:
        """Returns the result; None if its files are lost."""
        files: dict[str, SpoolFile] = {}
        try:
            for name in file_names(result):
                files[name] = self._state.adopt_file(name, session.principal)
        except SqlError as error:
            logger.warning("a result of a former process is lost: %s", error)
            return None
        used.update(files)
        return restored_stream(result, files)


def _failed(recorded: StatementRecorded, error: SqlError) -> RestoredOutcome:
    now_ms = time.time_ns() // 1_000_000
    return RestoredOutcome(state=OperationState.FAILED, created_ms=recorded.created_ms, ended_ms=now_ms, error=error)


def _prepare(attach: Callable[[Operation], None], operation: Operation) -> None:
    attach(operation)
    if isinstance(operation.recorder, StatementRecorder):
        operation.recorder.adopt(has_end=operation.state.is_terminal)


def _ignore(_: Operation) -> None:
    pass


def _read(records: Sequence[Record]) -> tuple[SessionOpened, dict[str, object], dict[str, _Saved]]:
    """Returns a journal's session, its newest state, and its open statements by id."""
    opened, state, statements = records[0], dict[str, object](), dict[str, _Saved]()
    assert isinstance(opened, SessionOpened)
    for record in records[1:]:
        match record:
            case SessionChanged():
                state = record.state
            case StatementRecorded():
                statements[record.id] = _Saved(record)
            # A statement that is not there could not be recorded, on a disk that was full.
            case VersionsRead():
                if record.id in statements:
                    statements[record.id].versions |= record.versions
            case StatementEnded():
                if record.id in statements:
                    statements[record.id].ended = record
            case StatementClosed():
                statements.pop(record.id, None)
            case SessionOpened():
                pass  # the first one counts
    return opened, state, statements


def _requested(recorded: StatementRecorded) -> RequestedStatement:
    return RequestedStatement(
        parameters=tuple(map(_parameter, recorded.parameters)),
        timeout_s=recorded.timeout_s,
        wanted=WantedResult(
            row_limit=recorded.row_limit,
            bytes_wanted=recorded.bytes_wanted,
            has_counts=recorded.has_counts,
            shows_materialized=recorded.shows_materialized,
            settings=recorded.settings,
        ),
    )


def _parameter(saved: SavedParameter) -> Parameter:
    members = saved.members
    return Parameter(
        value=saved.value,
        sql_type=saved.sql_type,
        name=saved.name,
        members=None if members is None else tuple(map(_parameter, members)),
    )


def _repetition(saved: _Saved, sent: SentRows | None) -> Repetition:
    recorded = saved.recorded
    return Repetition(
        statement_id=uuid.UUID(recorded.id),
        instant_us=recorded.instant_us,
        created_ms=recorded.created_ms,
        versions=saved.versions,
        sent=sent,
    )


class DeferredSession:
    """An engine session that is opened with its first statement. Thread-safe."""

    def __init__(self, engine: Engine, identity: Identity, saved: Mapping[str, object]) -> None:
        self._engine = engine
        self._identity = identity
        self._saved = saved
        self._lock = threading.Lock()
        self._opened: EngineSession | None = None
        self._is_closed = False

    @property
    def current_catalog(self) -> str:
        opened = self._opened
        return str(self._saved.get("catalog")) if opened is None else opened.current_catalog

    @property
    def current_schema(self) -> str:
        opened = self._opened
        return str(self._saved.get("schema")) if opened is None else opened.current_schema

    @property
    def statement_timeout_s(self) -> float:
        return self._open().statement_timeout_s

    @property
    def trace_parent(self) -> str | None:
        opened = self._opened
        return None if opened is None else opened.trace_parent

    @property
    def state_mark(self) -> object:
        opened = self._opened
        return self._saved if opened is None else opened.state_mark

    def saved_state(self) -> dict[str, object]:
        opened = self._opened
        return dict(self._saved) if opened is None else opened.saved_state()

    def execute(
        self, text: str | DataFramePlan, request: StatementRequest, parameters: Sequence[Parameter] = ()
    ) -> ResultStream:
        return self._open().execute(text, request, parameters)

    def run(self, statement: Statement | ChangeFile, request: StatementRequest) -> ResultStream:
        return self._open().run(statement, request)

    def close(self) -> None:
        with self._lock:
            self._is_closed, opened = True, self._opened
        if opened is not None:
            opened.close()

    def _open(self) -> EngineSession:
        with self._lock:
            if self._opened is None:
                if self._is_closed:
                    raise SessionNotFound()
                self._opened = self._engine.restore_session(self._identity, self._saved)
            return self._opened


class RecordedError(SqlError):
    """An error that a former process has recorded, with the texts that it had."""

    template = ""

    def __init__(self, saved: SavedError) -> None:
        super().__init__()
        self.condition, self.sqlstate = saved.condition, saved.sqlstate
        self.name = saved.name
        self._message, self._hint = saved.message, saved.hint
        if saved.position is not None:
            self.position = Position(**saved.position)  # type: ignore[arg-type]

    @property
    def message(self) -> str:
        message = self._message
        return message if self.position is None else f"{message.removesuffix('.')} ({self.position})."

    @property
    def hint(self) -> str:
        return self._hint


class TakeOver:
    """Looks every `beat_s` seconds, from `start` until `stop`."""

    def __init__(self, recovery: Recovery, exchange: Callable[[], None], beat_s: float, on_death: OnDeath) -> None:
        """Prepares the thread; `exchange` writes and reads this gateway's and the others' addresses and counts."""
        self._recovery = recovery
        self._exchange = exchange
        self._beat_s = beat_s
        self._stopping = threading.Event()
        self._thread = supervised_thread("state-take-over", self._run, self._stopping.is_set, on_death)

    def start(self) -> None:
        """Starts the thread; it takes over for the first time after `beat_s` seconds."""
        self._thread.start()

    def stop(self) -> None:
        """Ends the thread after its current round: the next process continues with what it leaves."""
        self._stopping.set()
        if self._thread.ident:
            self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(self._beat_s):
            try:
                self._exchange()
                self._recovery.take_over()
            except Exception:  # the next round repeats what it has left
                logger.exception("the sessions of other gateways could not be taken over")
