"""Cookies for logged-in clients: random values, and a table with their identities.

A cookie is valid for a limited time, while it is used regularly, no longer than its identity, and only from the address
to which it was issued; a client whose cookie is rejected sends its credentials again. The table has digests, not the
values themselves. Clients that send their credentials with every request, and never a cookie, get the same one for half
its lifetime, so that they do not fill the table. If a user exceeds the limit per user, its oldest cookies are removed,
and when the table is full, the user with the most loses cookies: a login cannot log out other users.

With a state folder each gateway accepts the others' cookies (`gateway/state/log_ins.py`), and a logout ends a login for
all of them.
"""

from __future__ import annotations

import hashlib
import math
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

from engine.runtime.identity import Identity
from gateway.state.log_ins import LogIns

COOKIE_NAME = "hive.server2.auth"
# Interval in seconds in which other gateways see that a cookie is used.
_USE_RECORDED_EVERY_S = 60.0
_COOKIES_MAX, _COOKIES_OF_USER_MAX = 10_000, 200


@dataclass(slots=True)
class _LogIn:
    identity: Identity
    peer: str
    until: float
    used: float
    id_token: str | None = field(default=None, repr=False)
    is_shared: bool = False


class Cookies:
    """Issues and verifies cookies; thread-safe. `clock` is in seconds since the epoch."""

    def __init__(
        self,
        name: str = COOKIE_NAME,
        *,
        lifetime_s: int = 3600,
        idle_s: float = math.inf,
        cookies_max: int = _COOKIES_MAX,
        of_user_max: int = _COOKIES_OF_USER_MAX,
        clock: Callable[[], float] = time.time,
    ) -> None:
        # The cookies of all gateways; None: there are no others.
        self.log_ins: LogIns | None = None
        self._name = name
        self._cookies_max = cookies_max
        self._of_user_max = of_user_max
        self._clock = clock
        self._lifetime_s = lifetime_s
        self._idle_s = idle_s
        self._lock = threading.Lock()
        self._log_ins: dict[bytes, _LogIn] = {}
        self._by_user: dict[str, OrderedDict[bytes, None]] = {}
        self._given: OrderedDict[tuple[Identity, str], tuple[str, float]] = OrderedDict()

    def make(self, identity: Identity, peer: str, id_token: str | None = None) -> str:
        """Returns a new cookie's value for `identity` at address `peer`; `id_token` is kept for :meth:`withdraw`."""
        with self._lock:
            return self._make(identity, peer, id_token)

    def give(self, identity: Identity, peer: str) -> str:
        """Returns a cookie's value for a client that may discard it."""
        now = self._clock()
        with self._lock:
            value, renewed_from = self._given.get((identity, peer), ("", 0.0))
            if now < renewed_from and _digest(value) in self._log_ins:
                return value
            value = self._make(identity, peer)
            self._given[identity, peer] = value, now + self._lifetime_s / 2
            self._given.move_to_end((identity, peer))
            while len(self._given) > self._cookies_max:
                self._given.popitem(last=False)
        return value

    def _make(self, identity: Identity, peer: str, id_token: str | None = None) -> str:
        value = secrets.token_urlsafe(32)
        now = self._clock()
        digest = _digest(value)
        log_in = _LogIn(identity, peer, now + self._lifetime_s, now, id_token)
        if self.log_ins is not None:
            log_in.is_shared = self.log_ins.write(self._file_name(digest), identity, peer, log_in.until, id_token)
        self._add(digest, log_in)
        return value

    def _add(self, digest: bytes, log_in: _LogIn) -> None:
        identity = log_in.identity
        self._log_ins[digest] = log_in
        own = self._by_user.setdefault(identity.principal, OrderedDict())
        own[digest] = None
        if len(own) > self._of_user_max:
            self._remove(next(iter(own)))
        while len(self._log_ins) > self._cookies_max:
            most = max(self._by_user, key=lambda user: len(self._by_user[user]))
            self._remove(next(iter(self._by_user[most])))

    def _find(self, digest: bytes, now: float) -> _LogIn | None:
        """Returns a login, also one at another gateway; None if it is unknown, or has ended at another gateway."""
        log_in = self._log_ins.get(digest)
        if self.log_ins is None or (log_in is not None and not log_in.is_shared):
            return log_in
        name = self._file_name(digest)
        used = self.log_ins.last_used(name)
        if used is None:
            self._forget(digest)
            return None
        if log_in is None:
            saved = self.log_ins.read(name)
            if saved is None:
                return None
            log_in = _LogIn(saved.identity, saved.peer, saved.until, used, saved.id_token, is_shared=True)
            self._add(digest, log_in)
        log_in.used = max(log_in.used, used)
        if now - used > _USE_RECORDED_EVERY_S and now < log_in.used + self._idle_s:
            self.log_ins.use(name)
        return log_in

    def _file_name(self, digest: bytes) -> str:
        # With the cookie's name: one of a driver does not log in a browser.
        return f"{self._name}-{digest.hex()}"

    def _remove(self, digest: bytes) -> _LogIn | None:
        if self.log_ins is not None:
            self.log_ins.remove(self._file_name(digest))
        return self._forget(digest)

    def _forget(self, digest: bytes) -> _LogIn | None:
        log_in = self._log_ins.pop(digest, None)
        if log_in is not None:
            own = self._by_user[log_in.identity.principal]
            del own[digest]
            if not own:
                del self._by_user[log_in.identity.principal]
        return log_in

    def format(self, value: str, *, is_secure: bool) -> str:
        """Returns the Set-Cookie header."""
        secure = "; Secure" if is_secure else ""
        return f"{self._name}={value}; Path=/; Max-Age={self._lifetime_s}; HttpOnly; SameSite=Strict{secure}"

    def identity(self, value: str, peer: str) -> Identity | None:
        """Returns the cookie's identity; None for one that is unknown, from another address, or expired."""
        now = self._clock()
        with self._lock:
            log_in = self._find(_digest(value), now)
            if log_in is None or log_in.peer != peer or now >= min(log_in.until, log_in.used + self._idle_s):
                return None
            log_in.used = now
        expires_ms = log_in.identity.expires_ms
        return log_in.identity if expires_ms is None or now * 1000 < expires_ms else None

    def withdraw(self, value: str) -> str | None:
        """Revokes a cookie; returns the ID token of a login at an identity provider."""
        with self._lock:
            digest = _digest(value)
            self._find(digest, self._clock())
            log_in = self._remove(digest)
            if log_in:
                self._given.pop((log_in.identity, log_in.peer), None)
        return log_in.id_token if log_in else None


def _digest(value: str) -> bytes:
    """Returns a digest, whose lookup time does not reveal the value."""
    return hashlib.sha256(value.encode()).digest()
