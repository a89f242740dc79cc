"""Names of users and groups. One person is one principal, however the name is typed.

A name is compared in Unicode's form NFKC without regard to case, and the principal is the name as the file or the
directory spells it. What looks like another name, or like none, is no name: control characters, blanks at its ends,
the characters that separate fields and lists, and the name of the group that has everybody.

A :class:`UserDirectory` looks up users who are not there to log in.
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
    """The form in which names are compared."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def ensure_name(name: str) -> str:
    """`name`, if a user or a group may have it. Raises :class:`UserNameInvalid`."""
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
        """The user as they are now; None for nobody."""
        ...
