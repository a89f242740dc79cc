"""User and group names. One person is one principal, regardless of the typed spelling.

Names are compared in Unicode form NFKC without case, and the principal is the name as the file or the directory spells
it. Names that resemble other names, or nothing, are rejected: control characters, leading and trailing blanks,
separators for fields and lists, and the name of the group with all users.

A :class:`UserDirectory` looks up users without a login.
"""

from __future__ import annotations

import unicodedata
from typing import Protocol

from catalog.conditions import UserNameInvalid
from engine.runtime.identity import Identity

NAME_BYTES_MAX = 256
EVERYBODY = "account users"
_SEPARATORS = frozenset(":,*")


def fold_name(name: str) -> str:
    """Returns the form in which names are compared."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def ensure_name(name: str) -> str:
    """Returns `name` if it is valid for a user or a group. Raises :class:`UserNameInvalid`."""
    if not name or name != name.strip():
        raise UserNameInvalid(name, "it is empty, or begins or ends with a blank")
    if len(name.encode("utf-8", "replace")) > NAME_BYTES_MAX:
        raise UserNameInvalid(name[:40], f"it has more than {NAME_BYTES_MAX} bytes")
    if any(unicodedata.category(character).startswith("C") or character in _SEPARATORS for character in name):
        raise UserNameInvalid(name, f"it has control characters, or one of {' '.join(sorted(_SEPARATORS))}")
    if fold_name(name) == EVERYBODY:
        raise UserNameInvalid(name, "it is the group that has everybody")
    return name


class UserDirectory(Protocol):
    def find(self, user: str) -> Identity | None:
        """Returns the user's current identity; None if the user does not exist."""
        ...
