"""Errors of the disks that tables and temporary files are on."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass

from catalog.errors import SqlError

_FULL = (errno.ENOSPC, errno.EDQUOT)
_REFUSED = (errno.EROFS, errno.EACCES, errno.EPERM)
_NO_FOLDER = "Mkdirs failed to create"
"""How Hadoop's local file system reports any of them, without the reason."""


@dataclass(eq=False)
class DiskFull(SqlError, condition="DISK_FULL", sqlstate="53100"):
    template = (
        "A disk that the server writes to is full: the table's, or the one for temporary files. Nothing was written. "
        "Free some of it, ask for less at once (fewer rows, a smaller join), or let the server use a larger folder for "
        "temporary files: spark.local_dir in its configuration."
    )


@dataclass(eq=False)
class TableFilesNotWritable(SqlError, condition="TABLE_FILES_NOT_WRITABLE", sqlstate="58030"):
    reason: str
    template = (
        "The storage refuses what the statement does to the files of a table: {reason}. The statement was not "
        "committed. Have the operator check the permissions of the table's folder and how its disk is mounted."
    )


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


@dataclass(eq=False)
class SpoolFull(SqlError, condition="RESULT_SPOOL_FULL", sqlstate="53100"):
    bytes_max: int
    setting: str
    template = (
        "The server holds results on its disk up to {bytes_max} bytes in all, and this one does not fit beside the "
        "others. Close statements whose rows are read, try again later, or raise {setting} in the server's "
        "configuration."
    )


@dataclass(eq=False)
class SpoolFullOfOwner(SqlError, condition="RESULT_SPOOL_FULL.OF_USER", sqlstate="53100"):
    owner: str
    bytes_max: int
    setting: str
    template = (
        "The server holds results of {owner} on its disk up to {bytes_max} bytes, and this one does not fit beside the "
        "others. Close statements whose rows are read, or raise {setting} in the server's configuration."
    )


@dataclass(eq=False)
class SpooledRowsLost(SqlError, condition="RESULT_SPOOL_LOST", sqlstate="XX001"):
    reason: str
    template = (
        "Rows that the server had written to a temporary file cannot be read again: {reason}. Run the statement again; "
        "if it recurs, look at the disk of spark.local_dir, and for programs that clean temporary folders up."
    )
