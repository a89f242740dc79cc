"""Errors of the disks that tables and temporary files are on."""

from __future__ import annotations

import errno
import os

from catalog.conditions import DiskFull, TableFilesNotWritable
from catalog.errors import SqlError

_FULL = (errno.ENOSPC, errno.EDQUOT)
_REFUSED = (errno.EROFS, errno.EACCES, errno.EPERM)
_NO_FOLDER = "Mkdirs failed to create"
"""How Hadoop's local file system reports any of them, without the reason."""


def storage_error(error: OSError) -> SqlError | None:
    """Returns the error to raise for a disk that is full or that may not be written; None for any other `error`."""
    if error.errno in _FULL:
        return DiskFull()
    return TableFilesNotWritable(os.strerror(error.errno)) if error.errno in _REFUSED else None


def is_disk_full(error: BaseException) -> bool:
    """Returns whether `error`, or what caused it, is that there is no room on a disk."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in _FULL:
            return True
        cause = cause.__cause__
    return False


def reported_storage_error(message: str) -> SqlError | None:
    """Returns the same for the text of an exception of Java, which has the system's own text for the error."""
    if any(os.strerror(number) in message for number in _FULL):
        return DiskFull()
    for number in _REFUSED:
        if os.strerror(number) in message:
            return TableFilesNotWritable(os.strerror(number))
    return TableFilesNotWritable("a folder cannot be created") if _NO_FOLDER in message else None
