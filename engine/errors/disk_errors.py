"""Errors from the disks with tables and temporary files."""

from __future__ import annotations

import errno
import os

from catalog.conditions import DiskFull, TableFilesNotWritable
from catalog.errors import SqlError

_FULL = (errno.ENOSPC, errno.EDQUOT)
_REFUSED = (errno.EROFS, errno.EACCES, errno.EPERM)
# A device or a network file system fails, or denies access to a file.
_UNREADABLE = (*_REFUSED, errno.EIO, errno.ESTALE, errno.ETIMEDOUT)
# Hadoop's local file system reports each disk error with this message, without the reason.
_NO_FOLDER = "Mkdirs failed to create"


def storage_error(error: OSError) -> SqlError | None:
    """Returns the error for a full disk or a missing write permission; None for any other `error`."""
    if error.errno in _FULL:
        return DiskFull()
    return TableFilesNotWritable(os.strerror(error.errno)) if error.errno in _REFUSED else None


def is_disk_full(error: BaseException) -> bool:
    """Returns whether `error`, or its cause, is a full disk."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.errno in _FULL:
            return True
        cause = cause.__cause__
    return False


def reported_storage_error(message: str) -> SqlError | None:
    """Returns the error for a Java exception's message as `storage_error` does for an `OSError`, or None.

    Java has no errno; its messages end in the C library's text for it, such as "No space left on device".
    """
    if any(os.strerror(number) in message for number in _FULL):
        return DiskFull()
    for number in _REFUSED:
        if os.strerror(number) in message:
            return TableFilesNotWritable(os.strerror(number))
    return TableFilesNotWritable("a folder cannot be created") if _NO_FOLDER in message else None


def is_read_failure(message: str) -> bool:
    """Returns whether a Java exception's message, for a file that cannot be read, contains the system's own error."""
    return any(os.strerror(number) in message for number in _UNREADABLE)
