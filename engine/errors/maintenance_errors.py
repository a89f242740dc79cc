"""Conditions of statements that maintain a table: VACUUM, RESTORE and their like."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.errors import SqlError


@dataclass(eq=False)
class RetentionTooShort(SqlError, condition="DELTA_VACUUM_RETENTION_PERIOD_TOO_SHORT", sqlstate="22003"):
    hours: float
    least_hours: float
    setting: str
    template = (
        "RETAIN {hours:g} HOURS is shorter than the {least_hours:g} hours for which the table keeps removed files "
        "(delta.deletedFileRetentionDuration). Statements of other servers that read older versions, or have not "
        "committed their files yet, would lose files, and older versions could not be read any more. Change the "
        "property of the table, or, if nothing else uses the table now, SET {setting} = false."
    )


@dataclass(eq=False)
class RetentionNegative(SqlError, condition="DELTA_VACUUM_RETENTION_PERIOD_NEGATIVE", sqlstate="22003"):
    hours: float
    template = "RETAIN {hours:g} HOURS is not possible: the retention must not be negative."


@dataclass(eq=False)
class FilesNotRemoved(SqlError, condition="VACUUM_FILES_NOT_REMOVED", sqlstate="58030"):
    table: str
    count: int
    first: str
    reason: str
    template = (
        "VACUUM of {table} could not remove {count} of the files that are not needed any more, such as {first}: "
        "{reason}. The others are gone. Correct the permissions and run it again."
    )
