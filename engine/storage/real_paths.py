"""Where a local path really lies, with all links followed.

`os.path.realpath` looks at each part of a path from Python, which a list of ten thousand tables pays several times for
each. Linux answers the same in three calls: it opens the path without its content, and the name of what was opened is
a link in /proc.
"""

from __future__ import annotations

import os

_OWN_FILES = "/proc/self/fd"
_REMOVED = " (deleted)"
"""What the kernel puts behind the name of a file that is gone; a name may also end so."""


def real_path(path: str) -> str:
    """As `os.path.realpath`: a missing part, and what is behind it, stays as it is written."""
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except (AttributeError, OSError):  # another system; nothing there, or a circle of links
        return os.path.realpath(path)
    try:
        return opened_path(descriptor, path)
    finally:
        os.close(descriptor)


def opened_path(descriptor: int, path: str) -> str:
    """Returns the path, without links, of the file that was opened at `path`."""
    try:
        found = os.readlink(f"{_OWN_FILES}/{descriptor}")
    except OSError:  # a system without /proc
        return os.path.realpath(path)
    return found if found.startswith("/") and not found.endswith(_REMOVED) else os.path.realpath(path)
