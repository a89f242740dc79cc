"""The permissions of files and folders that the server creates (`lake.umask`).

The process's umask applies to everything that Python and Java write, mainly table files. The server's private files
have their own modes: the catalog, pending results, tokens, the audit log.
"""

from __future__ import annotations

import os
import re

# Permissions removed by default: all for others, and write for the group.
_OTHERS = 0o027
_OCTAL = re.compile(r"0[0-7]{3}")


def is_umask(text: str) -> bool:
    """Returns True if `text` is a four-digit octal number that keeps the owner's permissions."""
    return _OCTAL.fullmatch(text) is not None and text[1] == "0"


def apply_umask(setting: str) -> None:
    """Sets this process's umask: `setting`, or if that is empty the inherited one and :data:`_OTHERS`."""
    inherited = os.umask(0o077)
    os.umask(int(setting, 8) if setting else inherited | _OTHERS)
