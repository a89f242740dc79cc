"""The permissions of files and folders that the server makes (`lake.umask`).

The process's umask holds for whatever Python and Java write, tables' files above all. What is the server's alone has
modes of its own besides: the catalog, results that wait, tokens, the audit log.
"""

from __future__ import annotations

import os
import re

_OTHERS = 0o027
"""What others and the group's writing lose if nothing is set."""
_OCTAL = re.compile(r"0[0-7]{3}")


def is_umask(text: str) -> bool:
    """Returns whether `text` is an octal number of four digits that leaves the owner's permissions."""
    return _OCTAL.fullmatch(text) is not None and text[1] == "0"


def apply_umask(setting: str) -> None:
    """Sets the umask of this process: `setting`, or if that is empty the inherited one and :data:`_OTHERS`."""
    inherited = os.umask(0o077)
    os.umask(int(setting, 8) if setting else inherited | _OTHERS)
