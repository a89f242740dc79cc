"""A bounded history of ended statements, and its visibility.

A statement is visible to its owner, and to administrators, who see it with secrets redacted; its rows are visible only
to its owner. Protocol calls are not statements and are not kept. The newest :data:`ENTRIES_MAX` are kept, each with at
most :data:`~gateway.sessions.operation.TEXT_CHARACTERS_MAX` characters from its text and :data:`MESSAGE_MAX` from its
error message.
"""

from __future__ import annotations

import threading
import uuid
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import replace

import msgspec

from engine.runtime.identity import Identity, Scope
from engine.runtime.profile import StageTime
from engine.runtime.request import with_changes
from engine.runtime.statement import StatementClass
from gateway.observability.redaction import redact
from gateway.observability.status import Failure, describe
from gateway.sessions.operation import TEXT_CHARACTERS_MAX, Operation
from gateway.sessions.operation_state import OperationState

ENTRIES_MAX = 5000
MESSAGE_MAX = 4096


class StatementInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A statement as listed.

    Times are milliseconds since the epoch, `wire` is the protocol, `bytes_read` is the data files' total size,
    `bytes_pruned` the pruned files'. `is_from_cache`: the rows come from an earlier identical query.
    """

    id: uuid.UUID
    session_id: uuid.UUID
    identity: Identity
    wire: str
    text: str
    kind: StatementClass
    state: OperationState
    created_ms: int
    ended_ms: int | None
    rows: int
    bytes_read: int
    bytes_pruned: int
    is_from_cache: bool
    stages: tuple[StageTime, ...]
    failure: Failure | None


def statement_info(operation: Operation, session_id: uuid.UUID, wire: str) -> StatementInfo:
    """Returns the current information about `operation`."""
    reads = operation.profile.reads
    return StatementInfo(
        id=operation.id,
        session_id=session_id,
        identity=operation.identity,
        wire=wire,
        text=operation.text[:TEXT_CHARACTERS_MAX],
        kind=operation.kind,
        state=operation.state,
        created_ms=operation.created_ms,
        ended_ms=operation.ended_ms,
        rows=operation.rows_held,
        bytes_read=sum(read.bytes for read in reads),
        bytes_pruned=sum(read.bytes_total - read.bytes for read in reads),
        is_from_cache=operation.profile.is_from_cache,
        stages=operation.profile.stages,
        failure=_short(describe(operation.error)) if operation.error else None,
    )


def _short(failure: Failure) -> Failure:
    """Returns `failure` with a truncated message, since it may quote the statement. Redacts first, because a truncated
    secret is not recognized.
    """
    if len(failure.message) <= MESSAGE_MAX:
        return failure
    return replace(failure, message=redact(failure.message)[:MESSAGE_MAX])


def _redact(failure: Failure) -> Failure:
    """Returns `failure` without secrets. The excerpt goes: redaction does not find a secret that it shows in part."""
    message, position = failure.message, failure.position
    if position is not None:
        message, position = message.replace(f"\n{position.excerpt}", ""), replace(position, excerpt="")
    return replace(failure, message=redact(message), hint=redact(failure.hint), position=position)


def may_manage(identity: Identity, owner: Identity) -> bool:
    """Returns True if `identity` may see and end the statements and sessions of `owner`: its own, or all as an
    administrator.
    """
    return owner.admits(identity) or (identity.is_admin and Scope.SQL in identity.scopes)


def redact_for(identity: Identity, info: StatementInfo) -> StatementInfo | None:
    """Returns the information that is visible to `identity`; None if there is none."""
    if info.identity.admits(identity):
        return info
    if not may_manage(identity, info.identity):
        return None
    failure = info.failure and _redact(info.failure)
    return with_changes(info, text=redact(info.text), failure=failure)


class History:
    """Ended statements, newest first; thread-safe."""

    def __init__(self, entries_max: int = ENTRIES_MAX) -> None:
        self._lock = threading.Lock()
        self._statements: OrderedDict[uuid.UUID, StatementInfo] = OrderedDict()
        self._entries_max = entries_max

    def add(self, info: StatementInfo) -> None:
        """Adds an ended statement; drops the oldest one if the history is full."""
        with self._lock:
            self._statements[info.id] = info
            if len(self._statements) > self._entries_max:
                self._statements.popitem(last=False)

    def note_rows(self, statement_id: uuid.UUID, rows: int) -> None:
        """Updates the number of fetched rows: most are fetched after the statement has ended."""
        with self._lock:
            info = self._statements.get(statement_id)
            if info is not None and info.rows != rows:
                self._statements[statement_id] = with_changes(info, rows=rows)

    def __iter__(self) -> Iterator[StatementInfo]:
        with self._lock:
            return iter(tuple(reversed(self._statements.values())))
