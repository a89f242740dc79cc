"""Session and operation handles: an id and a derived secret, so that an id from a log grants no access."""

from __future__ import annotations

import hmac
import secrets
import uuid
from typing import Any

from catalog.conditions import MalformedHandle
from gateway.hs2.gen import ttypes as t


class Handles:
    """Creates and parses handles; another server process's handles are malformed."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def handle(self, handle_id: uuid.UUID) -> Any:
        """Returns an id's THandleIdentifier."""
        return t.THandleIdentifier(handle_id.bytes, self._secret(handle_id.bytes))

    def parse(self, handle: Any) -> uuid.UUID:
        """Returns the id in a THandleIdentifier; raises `MalformedHandle` for None or a foreign one."""
        guid, secret = (handle.guid, handle.secret) if handle else (None, None)
        if guid is None or secret is None or not hmac.compare_digest(secret, self._secret(guid)):
            raise MalformedHandle()
        return uuid.UUID(bytes=guid)

    def _secret(self, guid: bytes) -> bytes:
        return hmac.digest(self._key, guid, "sha256")[:16]
