"""The cookie of a client that has logged in: its principal, until when, and an HMAC over both and its address.

Its key is made when the server starts and never leaves it. The cookie is good for an hour, from the address to which
it was given; a client whose cookie is refused sends its credentials again. A password that is changed, or a user who is
removed, keeps what a cookie opens for that hour.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from urllib.parse import quote, unquote

COOKIE_NAME = "hive.server2.auth"


@dataclass(frozen=True, slots=True, kw_only=True)
class CookieSigner:
    """Makes cookies and reads them; `clock` is in seconds since the epoch."""

    lifetime_s: int = 3600
    key: bytes = field(default_factory=lambda: secrets.token_bytes(32), repr=False)
    clock: Callable[[], float] = time.time

    def format(self, principal: str, peer: str, *, is_secure: bool) -> str:
        """The Set-Cookie header for `principal` at address `peer`."""
        expires, name = str(int(self.clock()) + self.lifetime_s), quote(principal, safe="")
        secure = "; Secure" if is_secure else ""
        value = f"{name}!{expires}!{self._signature(name, expires, peer)}"
        return f"{COOKIE_NAME}={value}; Path=/; Max-Age={self.lifetime_s}; HttpOnly; SameSite=Strict{secure}"

    def principal(self, value: str, peer: str) -> str | None:
        """Whose cookie it is; None for one that is not ours, not of this address or not good any more."""
        name, _, rest = value.partition("!")
        expires, _, signature = rest.partition("!")
        if not hmac.compare_digest(self._signature(name, expires, peer).encode(), signature.encode()):
            return None
        return unquote(name) if self.clock() < int(expires) else None  # signed, so it is a number

    def _signature(self, name: str, expires: str, peer: str) -> str:
        return hmac.new(self.key, f"{name}\n{expires}\n{peer}".encode(), hashlib.sha256).hexdigest()
