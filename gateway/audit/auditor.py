"""Audit records: login, session and statement events as fields in the audit log's lines.

All lines use the same fields if they apply: `event`, `outcome`, `sqlstate`, `principal`, `real_user`, `method`,
`client_id`, `groups_sha256`, `peer`, `wire`, `session`, `statement`, `owner` (the owner if another user ends a session
or statement). A statement has two lines. The first is written when it may run and before it has any effect; if that
write fails, the statement fails. The second contains its outcome, the columns that it read and wrote, and its commits;
it is the only line for a statement that was denied, or failed before it was analyzed.

Never recorded: passwords and tokens, session handles, rows, parameter values, and error messages, which may contain
values from rows.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, NotRequired, Protocol, TypedDict, assert_never

from catalog.conditions import (
    AuditNotWritten,
    InsufficientPermissions,
    LogInNotStarted,
    TooManyFailures,
    ViewOwnerLacksPrivileges,
)
from catalog.errors import SqlError
from catalog.grants.right_differences import RightDifference
from engine.runtime.accesses import StatementAccess
from engine.runtime.identity import Identity
from gateway.audit.audit_log import AuditLog
from gateway.audit.lineage import lineage_fields
from gateway.audit.lineage_sender import LineageEvents
from gateway.configuration.config import OnFailure, StatementText
from gateway.observability.redaction import identifiers, redact, without_literals
from gateway.sessions.operation import Operation
from gateway.sessions.operation_state import OperationState
from gateway.sessions.session import Origin
from gateway.sessions.trace import Trace

logger = logging.getLogger(__name__)

TEXT_MAX = 64 << 10
OBJECTS_MAX = 200
_KNOWN_S, _KNOWN_MAX = 60.0, 10_000


class Ended(TypedDict):
    """A session that a user ends, or a statement in it."""

    session: str
    statement: NotRequired[str]


@dataclass(slots=True)
class QueryEvent:
    """A change of a saved query, or of a folder with some; its second record has the query's id, text and rights."""

    action: str
    query_id: str | None = None
    text: str | None = None
    rights: RightDifference | None = None

    def found(self, query_id: str, text: str) -> None:
        """Sets the query's id and its text before the change, for the second record."""
        self.query_id, self.text = query_id, text

    def shared(self, rights: RightDifference) -> None:
        """Sets the rights that the change gave and took away, for the second record."""
        self.rights = rights


class Auditor(Protocol):
    """The interface for audit events; a method that raises prevents the event's action."""

    def logged_in(self, identity: Identity, origin: Origin) -> None:
        """Records a successful login. Clients that log in with each request have one record a minute."""
        ...

    def logged_out(self, identity: Identity, origin: Origin) -> None:
        """Records a logout. Never raises, because a logout must not fail."""
        ...

    def record_refusal(self, user: str | None, origin: Origin, error: SqlError) -> None:
        """Records a failed login. `user` is the name from the client, which may be a token. Never raises."""
        ...

    def record_token_change(
        self, event: str, outcome: str, identity: Identity, origin: Origin, token_id: str | None = None
    ) -> None:
        """Records a token's creation or revocation, `event`, before it (`outcome` "begin") and after it.

        Raises only before it.
        """
        ...

    def record_query_change(self, event: QueryEvent, outcome: str, identity: Identity, origin: Origin) -> None:
        """Records a change of saved queries, before it (`outcome` "begin") and after it. Raises only before it."""
        ...

    def record_session_open(self, session: str, identity: Identity, origin: Origin) -> None:
        """Records that a session opens; `session` is its id."""
        ...

    def record_session_close(self, session: str, identity: Identity, origin: Origin, reason: str) -> None:
        """Records a session's end with its reason. Never raises."""
        ...

    def record_end(self, event: str, identity: Identity, origin: Origin, owner: Identity, target: Ended) -> None:
        """Records that an administrator is about to end a session or statement of `owner`."""
        ...

    def trace(self) -> Trace | None:
        """Returns a trace to fill while a statement runs, for its last line; None if it is not needed."""

    def statement_began(self, operation: Operation, access: StatementAccess, session: str, origin: Origin) -> None:
        """Records that a statement is authorized and may have effects, with the objects that it accesses.

        Called before any effect.
        """
        ...

    def statement_ended(self, operation: Operation, session: str, origin: Origin) -> None:
        """Records a statement's outcome. Never raises, because its effects are final."""
        ...

    def record_link_access(self, operation: Operation, part: str, origin: Origin) -> None:
        """Records the download of a part of a result by a link, whose holder is unknown."""
        ...

    def record_reload(self, file: str, is_usable: bool) -> None:
        """Records that a configuration file was reread. Never raises."""
        ...

    def close(self) -> None:
        """Closes the audit log; no event may follow."""
        ...


class NoAudit:
    """An auditor without records."""

    def trace(self) -> None:
        return None

    def _ignore(self, *_: object) -> None:
        pass

    logged_in = logged_out = record_refusal = record_token_change = record_query_change = _ignore
    record_session_open = record_session_close = record_end = _ignore
    statement_began = statement_ended = record_link_access = record_reload = close = _ignore


class LogAuditor:
    """Writes events to the audit log; thread-safe."""

    def __init__(
        self, audit_log: AuditLog, *, text: StatementText, on_failure: OnFailure, events: LineageEvents | None = None
    ) -> None:
        """Opens an auditor; `events` are additionally sent to a lineage collector."""
        self._audit_log = audit_log
        self._text = text
        self._on_failure = on_failure
        self._events = events
        self._lock = threading.Lock()
        # Recently recorded logins with their times: HTTP clients send credentials with each request.
        self._known: OrderedDict[tuple[Identity | str | None, str], float] = OrderedDict()

    def logged_in(self, identity: Identity, origin: Origin) -> None:
        """Records a login once a minute for each identity and address."""
        if self._is_new((identity, origin.peer)):
            self._record("login", "ok", identity, origin)

    def record_refusal(self, user: str | None, origin: Origin, error: SqlError) -> None:
        """Records a failed login. `user` is the name from the client, which may be a token. Never raises, so that the
        client gets the original error.

        Attempts that were rejected before any check are recorded once a minute for each name and address.
        """
        # An attacker must not be able to fill the disk with denied attempts.
        if isinstance(error, TooManyFailures | LogInNotStarted) and not self._is_new((user, origin.peer)):
            return
        # Some clients put a token into the user's field.
        name = user and redact(user)[:200]
        fields = {"condition": error.condition, "user": name, "peer": origin.peer, "wire": origin.wire}
        with suppress(AuditNotWritten):
            self._write({"event": "login", "outcome": "denied", "sqlstate": error.sqlstate, **fields})

    def logged_out(self, identity: Identity, origin: Origin) -> None:
        """Records a logout. Never raises, because a logout must not fail."""
        with self._lock:
            self._known.pop((identity, origin.peer), None)
        with suppress(AuditNotWritten):
            self._record("logout", "ok", identity, origin)

    def record_token_change(
        self, event: str, outcome: str, identity: Identity, origin: Origin, token_id: str | None = None
    ) -> None:
        """Records a token's creation or revocation. Raises only for the record before the change, which cannot be
        undone afterwards.
        """
        if outcome == "begin":
            self._record(f"{event}.begin", "ok", identity, origin)
            return
        with suppress(AuditNotWritten):
            self._record(event, outcome, identity, origin, token_id=token_id)

    def record_query_change(self, event: QueryEvent, outcome: str, identity: Identity, origin: Origin) -> None:
        """Records a change of saved queries. Raises only for the record before the change."""
        objects = None
        if event.query_id is not None:
            objects = [{"name": redact(event.query_id)[:200], "kind": "SAVED QUERY", "use": event.action}]
        if outcome == "begin":
            self._record(f"query.{event.action}.begin", "ok", identity, origin, objects=objects)
            return
        fields = {} if event.text is None else self._text_fields(event.text)
        rights = None if event.rights is None else [asdict(event.rights)]
        with suppress(AuditNotWritten):
            self._record(f"query.{event.action}", outcome, identity, origin, objects=objects, rights=rights, **fields)

    def record_session_open(self, session: str, identity: Identity, origin: Origin) -> None:
        self._record("session.open", "ok", identity, origin, session=session, user_agent=origin.user_agent)

    def record_session_close(self, session: str, identity: Identity, origin: Origin, reason: str) -> None:
        """Records a session's end. `reason`: the client closed it, or has read its only statement to the end, it was
        idle, or it was evicted.
        """
        with suppress(AuditNotWritten):
            self._record("session.close", "ok", identity, origin, session=session, reason=reason)

    def record_end(self, event: str, identity: Identity, origin: Origin, owner: Identity, target: Ended) -> None:
        """Records that an administrator is about to end another user's session or statement; its own end is recorded
        separately.
        """
        self._record(event, "ok", identity, origin, owner=owner.principal, **target)

    def trace(self) -> Trace | None:
        return Trace()

    def statement_began(self, operation: Operation, access: StatementAccess, session: str, origin: Origin) -> None:
        objects = [
            {
                "name": one.name,
                "kind": one.kind,
                "use": one.use,
                "version": one.version,
                "via_view": one.via_view,
            }
            for one in access.objects[:OBJECTS_MAX]
        ]
        text = self._text_fields(operation.text)
        self._record(
            "statement.begin",
            "ok",
            operation.identity,
            origin,
            session=session,
            statement=str(operation.id),
            kind=access.statement,
            objects=objects,
            objects_omitted=max(0, len(access.objects) - OBJECTS_MAX),
            **text,
        )
        if self._events is not None:
            self._events.began(operation, access, text)

    def statement_ended(self, operation: Operation, session: str, origin: Origin) -> None:
        """Records a statement's outcome. Never raises, because its effects are final."""
        ended_ms = operation.ended_ms or time.time_ns() // 1_000_000
        text = self._text_fields(operation.text)
        fields = {
            "rows_modified": operation.rows_modified,
            "bytes_out": operation.result_bytes,
            "ms": ended_ms - operation.created_ms,
            **text,
        }
        if operation.error is not None:
            fields |= {"sqlstate": operation.error.sqlstate, "condition": operation.error.condition}
            fields |= _denial_fields(operation.error)
        if operation.trace is not None:
            fields |= lineage_fields(operation.trace, lambda: self._identifiers(operation.text))
        names = {"session": session, "statement": str(operation.id)}
        with suppress(AuditNotWritten):
            self._record("statement.end", _outcome(operation), operation.identity, origin, **names, **fields)
        if self._events is not None:
            self._events.record_end(operation, text)
        operation.trace = None

    def record_link_access(self, operation: Operation, part: str, origin: Origin) -> None:
        """Records access by link. The holder is unknown: the principal is the result's owner."""
        self._record("download", "ok", operation.identity, origin, statement=str(operation.id), part=part)

    def record_reload(self, file: str, is_usable: bool) -> None:
        """Records that a configuration file was reread. Never raises."""
        with suppress(AuditNotWritten):
            self._write({"event": "config.reload", "outcome": "ok" if is_usable else "failed", "file": file})

    def close(self) -> None:
        self._audit_log.close()
        if self._events is not None:
            self._events.close()

    def _is_new(self, key: tuple[Identity | str | None, str]) -> bool:
        now = time.monotonic()
        with self._lock:
            last = self._known.pop(key, None)
            is_new = last is None or now - last > _KNOWN_S
            self._known[key] = now if last is None or is_new else last
            if len(self._known) > _KNOWN_MAX:
                self._known.popitem(last=False)
        return is_new

    def _text_fields(self, text: str) -> dict[str, Any]:
        # The digest is over the whole text, also if the text is cut or left out: a text
        # from elsewhere can be matched with it.
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        text = text[:TEXT_MAX]
        match self._text:
            case StatementText.NONE:
                return {"text_sha256": digest}
            case StatementText.REDACTED:
                text = without_literals(text)
            case StatementText.FULL:
                text = redact(text)
            case _:
                assert_never(self._text)
        return {"text_sha256": digest, "text": text}

    def _identifiers(self, text: str) -> frozenset[str]:
        """Returns the identifiers, in lower case, that may be recorded from a statement's text."""
        return frozenset() if self._text is StatementText.NONE else identifiers(redact(text[:TEXT_MAX]))

    def _record(self, event: str, outcome: str, identity: Identity, origin: Origin, **fields: Any) -> None:
        groups = hashlib.sha256("\0".join(sorted(identity.groups)).encode()).hexdigest() if identity.groups else None
        self._write(
            {
                "event": event,
                "outcome": outcome,
                "principal": identity.principal,
                "real_user": identity.real_user,
                "method": identity.method,
                "client_id": identity.client_id,
                "groups_sha256": groups,
                "peer": origin.peer,
                "wire": origin.wire,
                **fields,
            }
        )

    def _write(self, fields: Mapping[str, Any]) -> None:
        try:
            self._audit_log.write({key: value for key, value in fields.items() if value is not None})
        except AuditNotWritten:
            logger.error("the audit trail could not be written", exc_info=True)
            if self._on_failure is OnFailure.REFUSE:
                raise


def _denial_fields(error: SqlError) -> dict[str, Any]:
    """Returns the missing privilege and the object for a denial; no other error's message is recorded."""
    match error:
        case InsufficientPermissions(privilege=privilege, on=on):
            return {"denied": {"privilege": privilege, "on": on}}
        case ViewOwnerLacksPrivileges(on=on):
            return {"denied": {"on": on}}
        case _:  # errors from any other class
            return {}


def _outcome(operation: Operation) -> str:
    if operation.error is None:
        return "ok" if operation.state is OperationState.FINISHED else "cancelled"
    if operation.error.sqlstate in ("42501", "28000"):
        return "denied"
    return "cancelled" if operation.state is OperationState.CANCELED else "failed"
