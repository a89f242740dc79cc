"""Passwords as argon2id (RFC 9106): how they are stored, and how many are verified at once.

The cost is OWASP's second choice, 19 MiB and two passes (some 30 ms of a core), so that as many verifications as there
are cores take little memory. The rest wait some seconds, and are then refused: log-ins are not to take the cores from
statements. A user who does not exist costs what one who exists does.
"""

from __future__ import annotations

import os
import secrets
import threading
import unicodedata

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from argon2.low_level import Type

from catalog.conditions import PasswordInvalid, TooManyLogIns

PASSWORD_BYTES_MAX = 1024
PASSWORD_CHARACTERS_MIN = 8
"""Of new passwords; NIST SP 800-63B, section 5.1.1.2."""
_HASHER = PasswordHasher(time_cost=2, memory_cost=19 << 10, parallelism=1, type=Type.ID)
_WAIT_S = 10.0


def hash_password(password: str) -> str:
    """The text to store. Raises :class:`PasswordInvalid` for one that nobody could log in with."""
    ensure_password(password)
    return _HASHER.hash(_prepared(password))


def ensure_password(password: str) -> None:
    """Raise :class:`PasswordInvalid` for what no password may be."""
    if not password:
        raise PasswordInvalid("it is empty")
    if "\0" in password or len(password.encode("utf-8", "replace")) > PASSWORD_BYTES_MAX:
        raise PasswordInvalid(f"it has a character NUL or more than {PASSWORD_BYTES_MAX} bytes")


def ensure_new_password(password: str) -> None:
    """Raises :class:`PasswordInvalid` for a password that a user may not get."""
    ensure_password(password)
    if len(_prepared(password)) < PASSWORD_CHARACTERS_MIN:
        raise PasswordInvalid(f"it has fewer than {PASSWORD_CHARACTERS_MIN} characters")


def is_password_hash(text: str) -> bool:
    """Whether :func:`hash_password`, or another program with costs of its own, made it."""
    return text.startswith("$argon2id$") and text.count("$") == 5


class PasswordVerifier:
    """Verifies passwords, as many at once as there are cores; thread-safe."""

    def __init__(self, places: int | None = None, wait_s: float = _WAIT_S) -> None:
        self._places = threading.BoundedSemaphore(places or os.cpu_count() or 1)
        self._wait_s = wait_s
        self._nobodys = _HASHER.hash(secrets.token_hex(16))

    def matches(self, password: str, stored: str | None) -> bool:
        """Whether it is the password of `stored`; None for a user who does not exist, which takes as long.

        Raises :class:`TooManyLogIns`.
        """
        if not self._places.acquire(timeout=self._wait_s):
            raise TooManyLogIns()
        try:
            matches = _HASHER.verify(stored or self._nobodys, _prepared(password))
        except (VerificationError, InvalidHashError):
            return False
        finally:
            self._places.release()
        return matches and stored is not None


def _prepared(password: str) -> str:
    """Keyboards differ in how they compose characters (RFC 8265, OpaqueString)."""
    return unicodedata.normalize("NFC", password)
