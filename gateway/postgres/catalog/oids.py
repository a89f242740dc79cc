"""Object identifiers: hashes of names, so that they are the same in each session and after a restart.

PostgreSQL's own objects have oids below 16384. Two names with the same hash are rare (a chance of 2 % for 10,000
names); the one that the process meets second gets the hash of a longer name.
"""

from __future__ import annotations

import hashlib
import threading

FIRST_OID = 16_384
_OIDS = (1 << 31) - FIRST_OID
_OBJECTS_MAX = 1_000_000


class OidTable:
    """The oids that this process has given, by kind and name of the object; shared by all principals."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_name: dict[tuple[str, ...], int] = {}
        self._by_oid: dict[int, tuple[str, ...]] = {}

    def oid(self, *name: str) -> int:
        """Returns the oid of an object, which is named by its kind and the parts of its name."""
        known = self._by_name.get(name)
        return known if known is not None else self._added(name)

    def _added(self, name: tuple[str, ...]) -> int:
        with self._lock:
            if len(self._by_name) >= _OBJECTS_MAX:  # of dropped objects, for the most part
                self._by_name.clear()
                self._by_oid.clear()
            attempt = 0
            while True:
                oid = _hash(name, attempt)
                if self._by_oid.setdefault(oid, name) == name:
                    break
                attempt += 1
            self._by_name[name] = oid
            return oid


def _hash(name: tuple[str, ...], attempt: int) -> int:
    key = "\0".join((*name, str(attempt)) if attempt else name)
    digest = hashlib.blake2b(key.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return FIRST_OID + int.from_bytes(digest, "big") % _OIDS
