"""What temporary files run into."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.errors import SqlError


@dataclass(eq=False)
class DiskFull(SqlError, condition="DISK_FULL", sqlstate="53100"):
    template = (
        "A disk that the server writes to is full: the table's, or the one for temporary files. Nothing was written. "
        "Free some of it, ask for less at once (fewer rows, a smaller join), or let the server use a larger folder for "
        "temporary files: spark.local_dir in its configuration."
    )


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
