"""All sessions and operations on the server, by id, shared by both front ends and the shutdown.

The registry enforces every session limit: number, idle time, concurrent statements (`statement_threads.py`; further
ones wait as PENDING). One thread closes expired sessions; an error in closing one does not affect the others, and if
the thread ends, the process ends (`supervision.py`). `drain` is the orderly shutdown: no new statements, running ones
finish or are cancelled at the deadline, all sessions close.

Ids belong to the identity that created them. A caller passes its identity with the id, and only `_admit` compares: for
everybody else an id is unknown, so that existing ids are not revealed. The only exception is `linked_operation`, for
links that were signed for one chunk.

A session that was opened for one statement retires when that statement ends (`retire_after`): it no longer counts, and
the operation remains with its rows until it is closed, expires, or is evicted for newer ones, first from the principal
with the most kept rows.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from catalog.conditions import (
    LogInEnded,
    OperationNotFound,
    ServerDraining,
    SessionNotFound,
    StatementCancelled,
    TooManySessions,
    TooManySessionsOfUser,
)
from catalog.errors import SqlError
from engine.engine import Engine, EngineSession
from engine.runtime.identity import Identity, Method
from gateway.audit.auditor import Auditor, Ended, NoAudit
from gateway.observability.counters import Counters
from gateway.observability.history import History, StatementInfo, may_manage, redact_for, statement_info
from gateway.observability.tracing import StatementTracer
from gateway.process.supervision import OnDeath, ignore_death, supervised_thread
from gateway.results.result_store import ResultStore
from gateway.sessions.call_context import working_for
from gateway.sessions.limits import Limits
from gateway.sessions.open_statements import OpenStatements
from gateway.sessions.operation import Operation
from gateway.sessions.retired import RetiredSessions
from gateway.sessions.session import POLLED_WIRES, Origin, Session
from gateway.sessions.statement_threads import StatementThreads
from gateway.state.journal import StateStore

logger = logging.getLogger(__name__)

READ_AFTER_EXPIRY_S = 600.0


# Raises if an identity's login is no longer valid.
EnsureCurrent = Callable[[Identity], None]


def believe(_: Identity) -> None:
    """Accepts every login indefinitely."""


class Registry:
    """Sessions and operations by id; thread-safe."""

    def __init__(
        self,
        engine: Engine,
        limits: Limits,
        on_death: OnDeath = ignore_death,
        ensure_current: EnsureCurrent = believe,
        auditor: Auditor | None = None,
        store: ResultStore | None = None,
    ) -> None:
        """Creates the registry. `on_death` is called if the expiry thread ends by itself; `ensure_current` is called
        before each statement to check its session's login; `auditor` records sessions and statements; `store` holds
        their rows.
        """
        self.engine = engine
        self.limits = limits
        self._ensure_current = ensure_current
        self._auditor = auditor or NoAudit()
        self.store = store or ResultStore()
        # Called for each statement, but not for protocol calls.
        self.tracer: StatementTracer | None = None
        # None: sessions end with this process.
        self.state: StateStore | None = None
        self._sessions_per_user_max = limits.sessions_per_user_max or limits.sessions_max
        self._sessions: dict[uuid.UUID, Session] = {}
        self._retired = RetiredSessions(limits)
        self._owners: dict[uuid.UUID, Session] = {}
        self._open = OpenStatements(limits.statements_per_user_max)
        self._lock = threading.Lock()
        self._history = History()
        self.counters = Counters()
        self._threads = StatementThreads(limits, engine.restart, lambda: engine.left_statements)
        # True during the shutdown, when new sessions are rejected. Attributes, because each call reads them.
        self.is_draining = False
        self._draining = threading.Event()
        # True if the sessions were left to another process: their statements here are cancelled.
        self.is_suspended = False
        self._reaper = supervised_thread("reaper", self._reap_loop, self._draining.is_set, on_death)
        self._reaper.start()

    def holds(self, object_id: uuid.UUID) -> bool:
        """Returns True if there is a session or an operation with this id, of any identity."""
        return object_id in self._sessions or object_id in self._owners or object_id in self._retired

    @property
    def abandoned_count(self) -> int:
        """Returns the number of ended statements whose threads, or tasks in Spark, have not all ended."""
        return self._threads.abandoned_count

    @property
    def threads(self) -> StatementThreads:
        """Returns the threads that run statements."""
        return self._threads

    def open_session(
        self,
        identity: Identity,
        *,
        settings: Mapping[str, str] | None = None,
        catalog: str | None = None,
        schema: str | None = None,
        may_lack_schema: bool = False,
        origin: Origin | None = None,
    ) -> Session:
        """Opens a session; rejects unknown settings, catalogs and, unless `may_lack_schema`, schemas with an error that
        names them.
        """
        return self._add_session(
            identity,
            origin,
            lambda: self.engine.open_session(
                identity, settings=settings or {}, catalog=catalog, schema=schema, may_lack_schema=may_lack_schema
            ),
        )

    def open_single_session(
        self, identity: Identity, *, catalog: str | None = None, schema: str | None = None, origin: Origin | None = None
    ) -> Session:
        """Opens a session as :meth:`open_session` does, for one statement, after which `retire_after` retires it."""
        return self._add_session(
            identity,
            origin,
            lambda: self.engine.open_session(
                identity, settings={}, catalog=catalog, schema=schema, may_lack_schema=False
            ),
            is_single=True,
        )

    def clone_session(self, session: Session, identity: Identity, origin: Origin | None = None) -> Session:
        """Opens a session that begins with the state of `session`."""
        saved = session.engine_session.saved_state()
        return self._add_session(identity, origin, lambda: self.engine.restore_session(identity, saved))

    def _add_session(
        self,
        identity: Identity,
        origin: Origin | None,
        open_session: Callable[[], EngineSession],
        *,
        is_single: bool = False,
    ) -> Session:
        self._ensure_current(identity)
        self._evict(identity.principal)
        with self._lock:
            self._ensure_capacity(identity.principal)
        session = self._new_session(identity, open_session(), is_single=is_single)
        session.origin = origin or Origin()
        try:
            self._auditor.record_session_open(str(session.id), identity, session.origin)
            with self._lock:
                self._ensure_capacity(identity.principal)
                self._sessions[session.id] = session
        except SqlError:
            session.close()
            raise
        return session

    def _new_session(self, identity: Identity, engine_session: EngineSession, *, is_single: bool = False) -> Session:
        session = Session(identity, engine_session, self._submit, self._owners, self._open, self.limits)
        session.is_single = is_single
        session.store = self.store
        if self.state is not None:
            session.record_in(self.state)
        return session

    def restore_session(self, session_id: uuid.UUID, identity: Identity, engine_session: EngineSession) -> Session:
        """Adds a session that was open in a former process. Its client is not connected, so it expires without
        calls.
        """
        session = self._new_session(identity, engine_session)
        session.id, session.is_detached = session_id, True
        with self._lock:
            self._sessions[session.id] = session
        return session

    def note_ended(self, session: Session, operation: Operation) -> None:
        """Adds a restored statement to the history."""
        if not operation.is_call:
            self._history.add(statement_info(operation, session.id, session.origin.wire))

    def session(self, session_id: uuid.UUID, identity: Identity | None) -> Session:
        """Returns the session, which then acts for this login of its owner: HTTP clients renew their tokens."""
        session = _admit(self._sessions.get(session_id), identity)
        if session is None or identity is None:
            raise SessionNotFound()
        # Databricks clients refresh OAuth tokens within a session, so that the session
        # follows the newest one.
        session.renew(identity)
        session.last_used = time.monotonic()
        return session

    def find_operation(self, operation_id: uuid.UUID, identity: Identity | None) -> tuple[Session, Operation]:
        """Returns the operation and its session, searching all sessions of `identity`."""
        session = _admit(self._owners.get(operation_id), identity)
        operation = session.operation(operation_id) if session else None
        if session and operation:
            _ensure_may_read(identity)
            session.last_used = time.monotonic()
            return session, operation
        raise OperationNotFound()

    def session_of(self, operation_id: uuid.UUID, identity: Identity | None) -> Session | None:
        """Returns the session of an operation of `identity`; None for an unknown one."""
        return _admit(self._owners.get(operation_id), identity)

    def find_anonymous(self, object_id: uuid.UUID) -> Session | None:
        """Returns a restored session, or the one of a statement, that was opened without authentication."""
        session = self._sessions.get(object_id) or self._owners.get(object_id)
        is_open = session is not None and session.is_detached and session.identity.method is Method.ANONYMOUS
        return session if is_open else None

    def linked_operation(self, operation_id: uuid.UUID, part: str = "", origin: Origin | None = None) -> Operation:
        """Returns an operation for the holder of a link to a part of its result; the caller has checked the
        signature.
        """
        session = self._owners.get(operation_id)
        _, operation = self.find_operation(operation_id, session.identity if session else None)
        self._auditor.record_link_access(operation, part, origin or Origin())
        return operation

    def retire_after(self, session: Session, operation: Operation) -> None:
        """Retires `session`, opened for `operation`, when that ends. The whole result must be held by then."""
        operation.on_end(lambda: self._retire(session, operation))

    def close_operation(self, operation_id: uuid.UUID, identity: Identity | None) -> None:
        """Ends and drops an operation, with its session if that was opened for it; an unknown one is not an error."""
        if _admit(self._owners.get(operation_id), identity):
            self._drop_operation(operation_id)

    def sessions(self) -> tuple[Session, ...]:
        """Returns a copy of the list of open sessions, of all users."""
        with self._lock:
            return tuple(self._sessions.values())

    def operations(self) -> tuple[Operation, ...]:
        """Returns all open operations, including those in retired sessions."""
        return tuple(
            operation
            for operation_id, session in list(self._owners.items())
            if (operation := session.operation(operation_id))
        )

    def statements(self, identity: Identity) -> Iterator[StatementInfo]:
        """Yields the running and the ended statements that are visible to `identity`, each newest first."""
        running = sorted(self._running_statements(), key=lambda info: info.created_ms, reverse=True)
        for operation in self.operations():
            self._history.note_rows(operation.id, operation.rows_held)
        for info in (*running, *self._history):
            if seen := redact_for(identity, info):
                yield seen

    def managed_sessions(self, identity: Identity) -> tuple[Session, ...]:
        """Returns the sessions that `identity` may see and end."""
        return tuple(session for session in self.sessions() if may_manage(identity, session.identity))

    def end_session(self, session_id: uuid.UUID, identity: Identity, origin: Origin | None = None) -> None:
        """Closes a session as :meth:`close_session` does, also for administrators, with an audit record; raises
        :class:`SessionNotFound`.
        """
        session = self._sessions.get(session_id)
        if session is None or not may_manage(identity, session.identity):
            raise SessionNotFound()
        is_own = session.identity.admits(identity)
        if not is_own:
            ended = Ended(session=str(session_id))
            self._auditor.record_end("session.end", identity, origin or Origin(), session.identity, ended)
        self._drop_session(session_id, "client" if is_own else "administrator")

    def end_operation(self, operation_id: uuid.UUID, identity: Identity, origin: Origin | None = None) -> None:
        """Cancels an operation of `identity`, or, with an audit record, another user's as an administrator; raises
        :class:`OperationNotFound`.
        """
        session = self._owners.get(operation_id)
        operation = session.operation(operation_id) if session else None
        if session is None or operation is None or not may_manage(identity, session.identity):
            raise OperationNotFound()
        with working_for(operation.call):
            logger.info("statement %s of %s is cancelled by %s", operation.id, session.principal, identity.principal)
        if not session.identity.admits(identity):
            ended = Ended(session=str(session.id), statement=str(operation.id))
            self._auditor.record_end("statement.cancel", identity, origin or Origin(), session.identity, ended)
        operation.cancel()

    def close_session(self, session_id: uuid.UUID, identity: Identity | None) -> None:
        """Closes a session with all its statements; an unknown one is not an error."""
        if _admit(self._sessions.get(session_id), identity):
            self._drop_session(session_id, "client")

    def drain(self, deadline_s: float) -> None:
        """Rejects new work, waits for the running statements up to `deadline_s` seconds, then cancels and closes
        all.
        """
        self.is_draining = True
        self._draining.set()
        end = time.monotonic() + deadline_s
        while time.monotonic() < end and any(map(self._is_awaited, self.operations())):
            time.sleep(0.02)
        if self.state is None:
            for session in self.sessions():
                self._drop_session(session.id, "shutdown")
            for operation in self.operations():
                self._drop_operation(operation.id)
        else:
            self.is_suspended = True
            with self._lock:
                retired = list(self._retired)
            for session in (*self.sessions(), *retired):
                session.suspend()
        if not self._threads.close(self.limits.end_grace_s):
            logger.warning("%d statements do not end, and are left to the end of Spark", self._threads.abandoned_count)
        self._reaper.join(timeout=self.limits.reap_every_s + 1)

    def _running_statements(self) -> Iterator[StatementInfo]:
        for operation_id, session in list(self._owners.items()):
            operation = session.operation(operation_id)
            if operation and not operation.state.is_terminal and not operation.is_call:
                yield statement_info(operation, session.id, session.origin.wire)

    def _drop_session(self, session_id: uuid.UUID, reason: str) -> None:
        with self._lock:
            session = self._sessions.pop(session_id, None) or self._retired.pop(session_id)
        if session:
            session.close()
            self._auditor.record_session_close(str(session.id), session.identity, session.origin, reason)

    def _drop_operation(self, operation_id: uuid.UUID) -> None:
        session = self._owners.get(operation_id)
        operation = session.operation(operation_id) if session else None
        if session and operation:
            session.forget(operation)
            if session.id in self._retired:
                self._drop_session(session.id, "read")

    def _evict(self, user: str) -> None:
        """Ends the session whose client is most likely gone, if a limit is reached."""
        sessions = self.sessions()
        if len(sessions) < self.limits.sessions_max:
            sessions = tuple(one for one in sessions if one.principal == user)
            if len(sessions) < self._sessions_per_user_max:
                return
        since = time.monotonic() - self.limits.detached_idle_s
        # Only detached sessions can be silent: others end with their connection. A client
        # that comes back gets "session not found" and opens another.
        silent = [one for one in sessions if one.is_detached and one.is_idle() and one.last_used < since]
        if silent:
            oldest = min(silent, key=lambda session: session.last_used)
            logger.info("session %s of %s makes room for a new one", oldest.id, oldest.principal)
            self._drop_session(oldest.id, "room")

    def _ensure_capacity(self, user: str) -> None:
        if self.is_draining:
            raise ServerDraining()
        if len(self._sessions) >= self.limits.sessions_max:
            raise TooManySessions(self.limits.sessions_max)
        if sum(one.principal == user for one in self._sessions.values()) >= self._sessions_per_user_max:
            raise TooManySessionsOfUser(user, self._sessions_per_user_max)

    def _is_awaited(self, operation: Operation) -> bool:
        """Returns True if it runs, or a client still fetches from it."""
        return not operation.state.is_terminal or time.monotonic() - operation.last_used < self.limits.linger_s

    def _retire(self, session: Session, operation: Operation) -> None:
        with self._lock:
            if self._sessions.pop(session.id, None) is None:
                return  # closed by its client or by the shutdown
            dropped = self._retired.add(session, operation)
        session.retire()
        for old in dropped:
            old.close()
            self._auditor.record_session_close(str(old.id), old.identity, old.origin, "room")

    def _submit(self, operation: Operation) -> None:
        if self.is_draining:
            raise ServerDraining()
        # A login that was revoked or expired ends here, also for sessions that are open:
        # every statement is checked.
        self._ensure_current(operation.identity)
        if session := self._owners.get(operation.id):
            self._remember_end(operation, session)
            name, origin = str(session.id), session.origin
            operation.call = replace(
                operation.call, session_id=name, statement_id=str(operation.id), user=session.principal
            )
            operation.trace = self._auditor.trace()
            if self.tracer and not operation.is_call:
                operation.trace = self.tracer.follow(operation.trace)
                operation.on_end(partial(self.tracer.statement_ended, operation))
            operation.on_access = lambda access: self._auditor.statement_began(operation, access, name, origin)
            operation.on_end(lambda: self._auditor.statement_ended(operation, name, origin))
        try:
            self._threads.submit(operation)
        except SqlError as error:
            operation.refuse(error)
            raise

    def _remember_end(self, operation: Operation, session: Session) -> None:
        if not operation.is_call:
            operation.on_end(lambda: self._history.add(statement_info(operation, session.id, session.origin.wire)))
            operation.on_closed = lambda: self._history.note_rows(operation.id, operation.rows_held)
            operation.on_end(lambda: self.counters.add(operation))
            if self.limits.logs_statements:
                operation.on_end(partial(_log_end, operation))

    def _reap_loop(self) -> None:
        while not self._draining.wait(self.limits.reap_every_s):
            now = time.monotonic()
            _try(self._threads.watch, "the threads of statements")
            for operation in self.operations():
                if operation.state.is_terminal and now - operation.last_used > self.limits.statement_idle_s:
                    _try(partial(self._drop_operation, operation.id), f"statement {operation.id}")
            for session in self.sessions():
                self._cancel_unpolled(session, now)
                # A connected client that waits for its long statement is not idle, even if
                # it makes no calls; a detached one may be gone.
                may_expire = session.is_detached or session.is_idle()
                if may_expire and now - session.last_used > self.limits.session_idle_s:
                    logger.info("session %s of %s expired", session.id, session.principal)
                    _try(partial(self._drop_session, session.id, "idle"), f"session {session.id}")

    def _cancel_unpolled(self, session: Session, now: float) -> None:
        """Cancels statements whose client may be gone: nothing but requests shows that an HTTP client is there."""
        limit_s = self.limits.statement_unpolled_s
        if session.origin.wire not in POLLED_WIRES or not limit_s:
            return
        cancellation = StatementCancelled(cause=f", because its client sent no request for {limit_s:g} s")
        for operation in session.operations():
            if now - max(session.last_used, operation.last_used) > limit_s:
                _try(partial(operation.cancel, cancellation), f"statement {operation.id}")


def _log_end(operation: Operation) -> None:
    ended_ms = operation.ended_ms or operation.created_ms
    condition = f" [{operation.error.condition}]" if operation.error else ""
    rows = operation.rows_total
    with working_for(operation.call):
        logger.info(
            "%s statement %s%s after %.3f s%s",
            operation.kind.name.lower(),
            operation.state.name.lower().replace("_", " "),
            condition,
            (ended_ms - operation.created_ms) / 1000,
            "" if rows is None else f", {rows} rows",
        )


def _try(step: Callable[[], None], what: str) -> None:
    """Runs a step; after an error, the next round retries the remaining work."""
    try:
        step()
    except Exception:
        logger.exception("%s could not be looked after", what)


def _ensure_may_read(identity: Identity | None) -> None:
    """Permits reading a result to its end for slightly longer than starting statements."""
    expires_ms = identity.expires_ms if identity else None
    if expires_ms is not None and time.time() * 1000 >= expires_ms + READ_AFTER_EXPIRY_S * 1000:
        raise LogInEnded()


def _admit(session: Session | None, identity: Identity | None) -> Session | None:
    """Returns `session` if it belongs to `identity`; None, an unauthenticated client, owns nothing."""
    return session if session and identity and session.identity.admits(identity) else None
