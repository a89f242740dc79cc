"""Passwords that were right a moment ago: clients of HTTP send theirs with every request, and drivers open many
connections at once, while one verification takes a core for some 30 ms, or a directory its time.

The table has an HMAC of user and password under a key of this process, and nothing of which a password could be made.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from engine.runtime.identity import Identity

GOOD_FOR_S = 60.0
_ENTRIES_MAX = 10_000


class RecentLogIns:
    """Thread-safe; `clock` is in seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._key = clock, secrets.token_bytes(32)
        self._lock = threading.Lock()
        self._entries: OrderedDict[bytes, tuple[Identity, float]] = OrderedDict()

    def find(self, user: str, password: str, generation: int) -> Identity | None:
        """Who logged in with them lately, in the same generation of the users."""
        with self._lock:
            identity, until = self._entries.get(self._digest(user, password, generation), (None, 0.0))
        return identity if self._clock() < until else None

    def add(self, user: str, password: str, generation: int, identity: Identity) -> None:
        with self._lock:
            digest = self._digest(user, password, generation)
            self._entries[digest] = identity, self._clock() + GOOD_FOR_S
            self._entries.move_to_end(digest)
            while len(self._entries) > _ENTRIES_MAX:
                self._entries.popitem(last=False)

    def _digest(self, user: str, password: str, generation: int) -> bytes:
        message = f"{generation} {len(user)} {user}{password}".encode("utf-8", "replace")
        return hmac.digest(self._key, message, hashlib.sha256)
