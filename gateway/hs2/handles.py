"""Session and operation handles: an id and the session's secret, so that an id from a log grants no access.

A session has the secret's digest alone, also in the state folder: each request brings the secret, of which the handles
of new operations are made.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import uuid
from dataclasses import dataclass
from typing import Any

from catalog.conditions import MalformedHandle
from gateway.hs2.gen import ttypes as t
from gateway.sessions.session import Session

_SECRET_BYTES = 16


@dataclass(frozen=True, slots=True)
class Handle:
    """A handle that a client has sent, or receives."""

    id: uuid.UUID
    secret: bytes

    def identifier(self) -> Any:
        """Returns it as a THandleIdentifier."""
        return t.THandleIdentifier(self.id.bytes, self.secret)

    def ensure_opens(self, session: Session) -> None:
        """Raises `MalformedHandle` if the secret is not the session's."""
        if not hmac.compare_digest(_digest(self.secret), session.secret):
            raise MalformedHandle()


def new_handle(session: Session) -> Handle:
    """Returns a new session's handle, and gives the session its secret."""
    handle = Handle(session.id, secrets.token_bytes(_SECRET_BYTES))
    session.secret = _digest(handle.secret)
    return handle


def parse_handle(identifier: Any) -> Handle:
    """Returns the handle in a THandleIdentifier; raises `MalformedHandle` for None or a malformed one."""
    guid, secret = (identifier.guid, identifier.secret) if identifier else (None, None)
    if guid is None or secret is None or len(guid) != _SECRET_BYTES or len(secret) != _SECRET_BYTES:
        raise MalformedHandle()
    return Handle(uuid.UUID(bytes=guid), secret)


def _digest(secret: bytes) -> str:
    return hashlib.sha256(secret).hexdigest()
