"""What is recorded, and when: the events of log-ins, sessions and statements as fields of a trail's lines.

A line has the same fields wherever they apply: `event`, `outcome`, `sqlstate`, `principal`, `real_user`, `method`,
`client_id`, `groups_sha256`, `peer`, `wire`, `session`, `statement`, `owner` (of a session or statement that another
user ends). Of a statement there are two lines. The one of its beginning is written when it may run and before it has
done anything; if that fails, so does the statement. The one of its end tells how it ended, which columns it read and
wrote and what it committed, and is the only one of a statement that was refused, or failed before it was understood.

Never recorded: passwords and tokens, handles of sessions, rows, values of parameters, and messages of errors, which may
have values of rows in them.
"""

from __future__ import annotations

import hashlib
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NotRequired, Protocol, TypedDict, assert_never

from catalog.conditions import AuditNotWritten, InsufficientPermissions, TooManyFailures, ViewOwnerLacksPrivileges
from catalog.errors import SqlError
from engine.runtime.accesses import StatementAccess
from engine.runtime.identity import Identity
from gateway.audit.lineage import traced
from gateway.audit.lineage_sender import LineageEvents
from gateway.audit.trail import Trail
from gateway.configuration.config import OnFailure, StatementText
from gateway.observability.redaction import identifiers, redact, without_literals
from gateway.observability.trace import Trace
from gateway.sessions.operation import Operation
from gateway.sessions.operation_state import OperationState
from gateway.sessions.session import Origin

logger = logging.getLogger(__name__)

TEXT_MAX = 64 << 10
OBJECTS_MAX = 200
_KNOWN_S, _KNOWN_MAX = 60.0, 10_000


class Ended(TypedDict):
    """A session that is ended, or a statement in it."""

    session: str
    statement: NotRequired[str]


class Auditor(Protocol):
    """Told of what happens; a method that raises stops what it was told of."""

    def logged_in(self, identity: Identity, origin: Origin) -> None: ...

    def logged_out(self, identity: Identity, origin: Origin) -> None: ...

    def refused(self, user: str | None, origin: Origin, error: SqlError) -> None: ...

    def token_changed(
        self, event: str, outcome: str, identity: Identity, origin: Origin, token_id: str | None = None
    ) -> None: ...

    def session_opened(self, session: str, identity: Identity, origin: Origin) -> None: ...

    def session_closed(self, session: str, identity: Identity, origin: Origin, reason: str) -> None: ...

    def ended(self, event: str, identity: Identity, origin: Origin, owner: Identity, target: Ended) -> None: ...

    def trace(self) -> Trace | None:
        """What is to be filled while a statement runs, for its end; None where nobody asks for it."""

    def statement_began(self, operation: Operation, access: StatementAccess, session: str, origin: Origin) -> None: ...

    def statement_ended(self, operation: Operation, session: str, origin: Origin) -> None: ...

    def link_followed(self, operation: Operation, part: str, origin: Origin) -> None: ...

    def reloaded(self, file: str, is_usable: bool) -> None: ...

    def close(self) -> None: ...


class NoAudit:
    """Nothing is recorded."""

    def trace(self) -> None:
        return None

    def _ignored(self, *_: object) -> None:
        pass

    logged_in = logged_out = refused = token_changed = session_opened = session_closed = ended = _ignored
    statement_began = statement_ended = link_followed = reloaded = close = _ignored


class TrailAuditor:
    """Records into a trail; thread-safe."""

    def __init__(
        self, trail: Trail, *, text: StatementText, on_failure: OnFailure, events: LineageEvents | None = None
    ) -> None:
        """`events` are sent elsewhere besides."""
        self._trail = trail
        self._text = text
        self._on_failure = on_failure
        self._events = events
        self._lock = threading.Lock()
        self._known: OrderedDict[tuple[Identity | str | None, str], float] = OrderedDict()
        """Log-ins that were recorded, and when: clients of HTTP send their credentials with each request."""

    def logged_in(self, identity: Identity, origin: Origin) -> None:
        """Recorded once a minute for each identity and address."""
        if self._is_new((identity, origin.peer)):
            self._record("login", "ok", identity, origin)

    def refused(self, user: str | None, origin: Origin, error: SqlError) -> None:
        """`user` is what the client gave for a name, which may be a token. Never raises: the client is told why.

        Attempts that come too fast to be looked at are recorded once a minute for each name and address.
        """
        if isinstance(error, TooManyFailures) and not self._is_new((user, origin.peer)):
            return
        name = user and redact(user)[:200]
        fields = {"condition": error.condition, "user": name, "peer": origin.peer, "wire": origin.wire}
        with suppress(AuditNotWritten):
            self._write({"event": "login", "outcome": "denied", "sqlstate": error.sqlstate, **fields})

    def logged_out(self, identity: Identity, origin: Origin) -> None:
        """Never raises: a log-out is not refused."""
        with self._lock:
            self._known.pop((identity, origin.peer), None)
        with suppress(AuditNotWritten):
            self._record("logout", "ok", identity, origin)

    def token_changed(
        self, event: str, outcome: str, identity: Identity, origin: Origin, token_id: str | None = None
    ) -> None:
        """Raises at the beginning only: what was done is done."""
        if outcome == "begin":
            self._record(f"{event}.begin", "ok", identity, origin)
            return
        with suppress(AuditNotWritten):
            self._record(event, outcome, identity, origin, token_id=token_id)

    def session_opened(self, session: str, identity: Identity, origin: Origin) -> None:
        self._record("session.open", "ok", identity, origin, session=session, user_agent=origin.user_agent)

    def session_closed(self, session: str, identity: Identity, origin: Origin, reason: str) -> None:
        """`reason`: its client closed it, or has read all of its only statement, it was idle, or had to make room."""
        with suppress(AuditNotWritten):
            self._record("session.close", "ok", identity, origin, session=session, reason=reason)

    def ended(self, event: str, identity: Identity, origin: Origin, owner: Identity, target: Ended) -> None:
        """Before an administrator ends what is another's, which then has the line of its own end."""
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
        """Never raises: what was done is done."""
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
            fields |= _denied(operation.error)
        if operation.trace is not None:
            fields |= traced(operation.trace, lambda: self._identifiers(operation.text))
        names = {"session": session, "statement": str(operation.id)}
        with suppress(AuditNotWritten):
            self._record("statement.end", _outcome(operation), operation.identity, origin, **names, **fields)
        if self._events is not None:
            self._events.ended(operation, text)
        operation.trace = None

    def link_followed(self, operation: Operation, part: str, origin: Origin) -> None:
        """The holder of a link is not known: the principal is the one whose result it is."""
        self._record("download", "ok", operation.identity, origin, statement=str(operation.id), part=part)

    def reloaded(self, file: str, is_usable: bool) -> None:
        """A file that the configuration names was read again. Never raises."""
        with suppress(AuditNotWritten):
            self._write({"event": "config.reload", "outcome": "ok" if is_usable else "failed", "file": file})

    def close(self) -> None:
        self._trail.close()
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
        """Returns the identifiers that may be recorded of a statement's text, in lower case."""
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
            self._trail.write({key: value for key, value in fields.items() if value is not None})
        except AuditNotWritten:
            logger.error("the audit trail could not be written", exc_info=True)
            if self._on_failure is OnFailure.REFUSE:
                raise


def _denied(error: SqlError) -> dict[str, Any]:
    """What was refused to whom lacks a privilege; the message of no other error is recorded."""
    match error:
        case InsufficientPermissions(privilege=privilege, on=on):
            return {"denied": {"privilege": privilege, "on": on}}
        case ViewOwnerLacksPrivileges(on=on):
            return {"denied": {"on": on}}
        case _:  # errors of any other class
            return {}


def _outcome(operation: Operation) -> str:
    if operation.error is None:
        return "ok" if operation.state is OperationState.FINISHED else "cancelled"
    if operation.error.sqlstate in ("42501", "28000"):
        return "denied"
    return "cancelled" if operation.state is OperationState.CANCELED else "failed"
