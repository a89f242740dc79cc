"""Guesses of passwords get slower: after some failures, the next attempt has to wait, twice as long each time.

Failures are counted by user and network, by user, and by network, each with a number of them that is free. So one
client that guesses, many that guess one user's password, and one that tries many users are all slowed down. Whoever has
logged in from a network before is only kept by failures of that user there: nobody can lock out others by failing.

A failure is counted when the attempt begins and taken back when it succeeds, so that attempts at the same time are no
way around it; and it is answered no sooner than :data:`FAILURE_S` after it began.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from gateway.authenticators.errors import CredentialsRefused, TooManyFailures
from gateway.authenticators.peer import Peer

FAILURE_S = 0.25
_FREE, _FREE_OF_MANY = 5, 20
_WAIT_S, _WAIT_S_MAX = 1.0, 60.0
_FORGOTTEN_S = 900.0
_ENTRIES_MAX = 20_000
_Key = tuple[str, str]


@dataclass(slots=True)
class _Failures:
    count: int = 0
    last: float = 0.0


class Throttle:
    """Thread-safe; `clock` is in seconds, `sleep` waits so many."""

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._clock, self._sleep = clock, sleep
        self._lock = threading.Lock()
        self._failures: OrderedDict[_Key, _Failures] = OrderedDict()
        self._known: OrderedDict[_Key, None] = OrderedDict()

    @contextlib.contextmanager
    def attempt(self, user: str, peer: Peer) -> Iterator[None]:
        """One log-in of `user` (folded), whose body may raise :class:`CredentialsRefused`.

        Raises :class:`TooManyFailures`.
        """
        began, pair = self._clock(), (user, peer.network)
        with self._lock:
            counted = {pair: _FREE}
            if pair not in self._known:
                counted |= {(user, ""): _FREE_OF_MANY, ("", peer.network): _FREE_OF_MANY}
            left = max(self._left_s(key, free, began) for key, free in counted.items())
            if left > 0:
                raise TooManyFailures(math.ceil(left))
            for key in counted:
                self._count(key, began)
        try:
            yield
        except CredentialsRefused:
            self._sleep(max(0.0, FAILURE_S - (self._clock() - began)))
            raise
        except BaseException:  # nothing was found out about the password
            self._take_back(counted)
            raise
        self._take_back(counted)
        with self._lock:
            self._failures.pop(pair, None)
            self._known[pair] = None
            self._known.move_to_end(pair)
            _trim(self._known)

    def _take_back(self, keys: Iterable[_Key]) -> None:
        with self._lock:
            for key in keys:
                if failures := self._failures.get(key):
                    failures.count -= 1

    def _left_s(self, key: _Key, free: int, now: float) -> float:
        """How long `key` has to wait still."""
        failures = self._failures.get(key)
        if failures is None or now - failures.last > _FORGOTTEN_S:
            return 0.0
        over = failures.count - free
        wait = 0.0 if over < 0 else min(_WAIT_S * 2.0 ** min(over, 10), _WAIT_S_MAX)
        return failures.last + wait - now

    def _count(self, key: _Key, now: float) -> None:
        failures = self._failures.setdefault(key, _Failures())
        failures.count = 1 if now - failures.last > _FORGOTTEN_S else failures.count + 1
        failures.last = now
        self._failures.move_to_end(key)
        _trim(self._failures)


def _trim(table: OrderedDict[_Key, _Failures] | OrderedDict[_Key, None]) -> None:
    while len(table) > _ENTRIES_MAX:
        table.popitem(last=False)
