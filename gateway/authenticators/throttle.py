"""Throttles password guessing: after some failures, the next attempt must wait, twice as long each time.

Failures are counted by user and client, by user, and by client, each with a number of free failures. This slows down
one client that guesses, many that guess one user's password, and one that tries many users. A client is an address, so
that neighbors in a network do not lock out each other. For a user who has logged in from an address before, only that
user's failures at that address count: failures elsewhere lock out nobody.

At most as many attempts run concurrently as failures are free, and at least one, so that concurrency does not bypass
the limit. Others wait until one has ended, and depend on its result: correct passwords all succeed. The response to a
failure is sent no sooner than :data:`FAILURE_S` after its begin.
"""

from __future__ import annotations

import contextlib
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from catalog.conditions import CredentialsRefused, TooManyFailures, TooManyLogIns
from gateway.authenticators.peer import Peer

FAILURE_S = 0.25
_FREE = 5
_FREE_OF_CLIENT = 20
# From all clients; NIST SP 800-63B, section 5.2.2.
_FREE_OF_USER = 100
_WAIT_S, _WAIT_S_MAX = 1.0, 60.0
_FORGOTTEN_S = 900.0
_ENTRIES_MAX = 20_000
_Pair = tuple[str, str]
_Key = tuple[str | None, str | None]


@dataclass(slots=True)
class _Failures:
    """Failed attempts, the last one's time in seconds, and running attempts."""

    count: int = 0
    last: float = 0.0
    pending: int = 0


class Throttle:
    """Counts failures. Thread-safe; `clock` is in seconds, `sleep` waits in seconds. Attempts wait at most `wait_s`
    seconds for others.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        wait_s: float = 10.0,
    ) -> None:
        self._clock = clock
        self._sleep = sleep
        self._wait_s = wait_s
        self._ended = threading.Condition()
        self._failures: OrderedDict[_Key, _Failures] = OrderedDict()
        self._known: OrderedDict[_Pair, None] = OrderedDict()

    @contextlib.contextmanager
    def attempt(self, user: str, peer: Peer) -> Iterator[None]:
        """Runs one login for `user` (folded); its block may raise :class:`CredentialsRefused`.

        Raises :class:`TooManyFailures`, or :class:`TooManyLogIns` if other attempts do not end.
        """
        began, pair = self._clock(), (user, peer.client)
        keys = self._begin(pair)
        try:
            yield
        except CredentialsRefused:
            self._end(keys, has_failed=True)
            # The time of a failure must not tell whether the user exists: hashing a
            # password takes longer than not finding a name.
            self._sleep(max(0.0, FAILURE_S - (self._clock() - began)))
            raise
        except BaseException:  # the password was not checked
            self._end(keys)
            raise
        with self._ended:
            self._known[pair] = None
            self._known.move_to_end(pair)
            _trim(self._known)
            if failures := self._failures.get(pair):
                # Only this pair: a guesser's own correct login must not clear what it has
                # failed for other users.
                failures.count = 0
        self._end(keys)

    def _begin(self, pair: _Pair) -> tuple[_Key, ...]:
        """Waits for a turn; returns the keys under which the attempt is counted."""
        end = time.monotonic() + self._wait_s
        with self._ended:
            while True:
                now = self._clock()
                counted = self._counted_keys(pair)
                left = max(self._left_s(key, free, now) for key, free in counted.items())
                if left > 0:
                    raise TooManyFailures(math.ceil(left))
                if all(self._has_capacity(key, free, now) for key, free in counted.items()):
                    break
                if not self._ended.wait(max(0.0, end - time.monotonic())):
                    raise TooManyLogIns()
            for key in counted:
                self._failures.setdefault(key, _Failures()).pending += 1
            _trim(self._failures)
        return tuple(counted)

    def _counted_keys(self, pair: _Pair) -> dict[_Key, int]:
        """Returns the keys under which an attempt is counted, each with its number of free failures."""
        user, client = pair
        everywhere: dict[_Key, int] = (
            # Otherwise anybody could lock a user out by guessing from elsewhere.
            {} if pair in self._known else {(user, None): _FREE_OF_USER, (None, client): _FREE_OF_CLIENT}
        )
        return {pair: _FREE} | everywhere

    def _end(self, keys: Iterable[_Key], *, has_failed: bool = False) -> None:
        with self._ended:
            now = self._clock()
            for key in keys:
                if failures := self._failures.get(key):
                    failures.pending -= 1
                    if not has_failed and not failures.pending and not failures.count:
                        del self._failures[key]
                if has_failed:
                    self._count(key, now)
            self._ended.notify_all()

    def _has_capacity(self, key: _Key, free: int, now: float) -> bool:
        failures = self._failures.get(key)
        if failures is None:
            return True
        failed = 0 if now - failures.last > _FORGOTTEN_S else failures.count
        return failures.pending < max(1, free - failed)

    def _left_s(self, key: _Key, free: int, now: float) -> float:
        """Returns the seconds that `key` still has to wait."""
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


def _trim(table: OrderedDict[_Key, _Failures] | OrderedDict[_Pair, None]) -> None:
    while len(table) > _ENTRIES_MAX:
        table.popitem(last=False)
