"""Links to chunks of results that need no credentials: their holder may fetch that chunk until it expires.

Clients fetch external links without their Authorization header, so the link itself carries the right: its path and
expiry under an HMAC (SHA-256) with a key that is made when the server starts and never leaves it.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from catalog.conditions import LinkRefused


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkSigner:
    """Signs paths and checks them; `clock` is in seconds since the epoch."""

    lifetime_s: float
    key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    clock: Callable[[], float] = time.time

    def sign(self, path: str) -> tuple[str, int]:
        """`path` with its signature, and when it expires."""
        expires = int(self.clock() + self.lifetime_s)
        return f"{path}?expires={expires}&signature={self._signature(path, str(expires))}", expires

    def ensure_valid(self, path: str, expires: str, signature: str) -> None:
        """Raise :class:`LinkRefused` for a link that is not ours or not good any more."""
        expected = self._signature(path, expires)
        if not hmac.compare_digest(expected.encode(), signature.encode()):
            raise LinkRefused("has a wrong signature")
        if self.clock() >= int(expires):  # signed, so it is a number
            raise LinkRefused("has expired")

    def _signature(self, path: str, expires: str) -> str:
        return hmac.new(self.key, f"{path}\n{expires}".encode(), hashlib.sha256).hexdigest()
