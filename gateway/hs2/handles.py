"""Handles of sessions and operations: an id, and a secret made from it, so that an id out of a log opens nothing."""

from __future__ import annotations

import hmac
import secrets
import uuid
from typing import Any

from catalog.conditions import MalformedHandle
from gateway.hs2.gen import ttypes as t


class Handles:
    """Makes handles and reads them; those of another server process are malformed."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(32)

    def handle(self, handle_id: uuid.UUID) -> Any:
        """The THandleIdentifier of an id."""
        return t.THandleIdentifier(handle_id.bytes, self._secret(handle_id.bytes))

    def parse(self, handle: Any) -> uuid.UUID:
        """The id of a THandleIdentifier, or of None; raises `MalformedHandle` for one that was not made here."""
        guid, secret = (handle.guid, handle.secret) if handle else (None, None)
        if guid is None or secret is None or not hmac.compare_digest(secret, self._secret(guid)):
            raise MalformedHandle()
        return uuid.UUID(bytes=guid)

    def _secret(self, guid: bytes) -> bytes:
        return hmac.digest(self._key, guid, "sha256")[:16]
