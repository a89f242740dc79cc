"""All sessions and operations of the server, by id: the one table that both front ends and the shutdown share.

Every limit of a session is kept here: how many there are, how long one may idle, how many statements run at once (a
pool of threads; further ones wait as PENDING). One thread looks for what has expired. `drain` is the orderly end: no
new statements, the running ones finish or are cancelled at the deadline, all sessions close.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from engine.engine import Engine
from gateway.errors import OperationNotFound, ServerDraining, SessionNotFound, TooManySessions
from gateway.operation import Operation
from gateway.session import Session

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Times in seconds, sizes in bytes."""

    sessions_max: int = 1000
    session_idle_s: float = 3600.0
    statements_running_max: int = 32
    statements_per_session_max: int = 100
    statement_idle_s: float = 3600.0
    statement_timeout_s: float = 0.0
    result_bytes_max: int = 1 << 30
    reap_every_s: float = 5.0


class Registry:
    """Sessions and operations by id; thread-safe."""

    def __init__(self, engine: Engine, limits: Limits) -> None:
        self.engine, self.limits = engine, limits
        self._sessions: dict[uuid.UUID, Session] = {}
        self._owners: dict[uuid.UUID, Session] = {}
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(limits.statements_running_max, thread_name_prefix="statement")
        self._draining = threading.Event()
        self._reaper = threading.Thread(target=self._reap_loop, name="reaper", daemon=True)
        self._reaper.start()

    @property
    def is_draining(self) -> bool:
        return self._draining.is_set()

    def open_session(
        self,
        principal: str,
        *,
        settings: Mapping[str, str] | None = None,
        catalog: str | None = None,
        schema: str | None = None,
    ) -> Session:
        """A new session; refuses unknown settings, catalogs and schemas by name."""
        with self._lock:
            self._ensure_room()
        engine_session = self.engine.open_session(principal, settings=settings or {}, catalog=catalog, schema=schema)
        session = Session(
            principal,
            engine_session,
            self._submit,
            self._owners,
            statements_max=self.limits.statements_per_session_max,
            result_bytes_max=self.limits.result_bytes_max,
            timeout_s=self.limits.statement_timeout_s,
        )
        try:
            with self._lock:
                self._ensure_room()
                self._sessions[session.id] = session
        except (ServerDraining, TooManySessions):
            session.close()
            raise
        return session

    def session(self, session_id: uuid.UUID) -> Session:
        session = self._sessions.get(session_id)
        if session is None:
            raise SessionNotFound()
        session.last_used = time.monotonic()
        return session

    def find_operation(self, operation_id: uuid.UUID) -> tuple[Session, Operation]:
        """The operation and its session; any session's, since handles are unguessable."""
        session = self._owners.get(operation_id)
        operation = session.operation(operation_id) if session else None
        if session and operation:
            session.last_used = time.monotonic()
            return session, operation
        raise OperationNotFound()

    def sessions(self) -> tuple[Session, ...]:
        with self._lock:
            return tuple(self._sessions.values())

    def close_session(self, session_id: uuid.UUID) -> None:
        """Close it with all it runs; closing an unknown one does nothing."""
        with self._lock:
            session = self._sessions.pop(session_id, None)
        if session:
            session.close()

    def drain(self, deadline_s: float) -> None:
        """Refuse new work, wait for the running statements up to `deadline_s` seconds, then cancel and close all."""
        self._draining.set()
        end = time.monotonic() + deadline_s
        while time.monotonic() < end and not all(session.is_idle() for session in self.sessions()):
            time.sleep(0.05)
        for session in self.sessions():
            self.close_session(session.id)
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._reaper.join(timeout=self.limits.reap_every_s + 1)

    def _ensure_room(self) -> None:
        if self._draining.is_set():
            raise ServerDraining()
        if len(self._sessions) >= self.limits.sessions_max:
            raise TooManySessions(self.limits.sessions_max)

    def _submit(self, run: object) -> object:
        if self._draining.is_set():
            raise ServerDraining()
        return self._pool.submit(run)  # type: ignore[arg-type]

    def _reap_loop(self) -> None:
        while not self._draining.wait(self.limits.reap_every_s):
            now = time.monotonic()
            for session in self.sessions():
                for operation in session.operations():
                    if operation.state.is_terminal and now - operation.last_used > self.limits.statement_idle_s:
                        session.forget(operation)
                if session.is_idle() and now - session.last_used > self.limits.session_idle_s:
                    logger.info("session %s of %s expired", session.id, session.principal)
                    self.close_session(session.id)
