"""Password hashing with argon2id (RFC 9106), and the limit on concurrent verifications.

The cost is OWASP's second choice, 19 MiB and two passes (about 30 ms of CPU time), so that one verification per core
takes little memory. Further attempts wait some seconds, and are then rejected: logins must not take the CPU from
statements. A nonexistent user costs the same time as an existing one.
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
# For new passwords; NIST SP 800-63B, section 5.1.1.2.
PASSWORD_CHARACTERS_MIN = 8
_HASHER = PasswordHasher(time_cost=2, memory_cost=19 << 10, parallelism=1, type=Type.ID)
_WAIT_S = 10.0


def hash_password(password: str) -> str:
    """Returns the text to store. Raises :class:`PasswordInvalid` for a password that could not be used for a login."""
    ensure_password(password)
    return _HASHER.hash(_normalize(password))


def ensure_password(password: str) -> None:
    """Raises :class:`PasswordInvalid` for an invalid password."""
    if not password:
        raise PasswordInvalid("it is empty")
    if "\0" in password or len(password.encode("utf-8", "replace")) > PASSWORD_BYTES_MAX:
        raise PasswordInvalid(f"it has a character NUL or more than {PASSWORD_BYTES_MAX} bytes")


def ensure_new_password(password: str) -> None:
    """Raises :class:`PasswordInvalid` for a password that is not permitted for a new user."""
    ensure_password(password)
    if len(_normalize(password)) < PASSWORD_CHARACTERS_MIN:
        raise PasswordInvalid(f"it has fewer than {PASSWORD_CHARACTERS_MIN} characters")


def is_password_hash(text: str) -> bool:
    """Returns True for a hash from :func:`hash_password`, or from another program with its own costs."""
    return text.startswith("$argon2id$") and text.count("$") == 5


class PasswordVerifier:
    """Verifies passwords, concurrently up to the number of cores; thread-safe."""

    def __init__(self, places: int | None = None, wait_s: float = _WAIT_S) -> None:
        self._places = threading.BoundedSemaphore(places or os.cpu_count() or 1)
        self._wait_s = wait_s
        self._nobodys = _HASHER.hash(secrets.token_hex(16))

    def matches(self, password: str, stored: str | None) -> bool:
        """Returns True if the password matches `stored`; None for a nonexistent user, which takes the same time.

        Raises :class:`TooManyLogIns`.
        """
        if not self._places.acquire(timeout=self._wait_s):
            raise TooManyLogIns()
        try:
            matches = _HASHER.verify(stored or self._nobodys, _normalize(password))
        except (VerificationError, InvalidHashError):
            return False
        finally:
            self._places.release()
        return matches and stored is not None


def _normalize(password: str) -> str:
    """Normalizes a password, because keyboards compose characters differently (RFC 8265, OpaqueString)."""
    return unicodedata.normalize("NFC", password)
