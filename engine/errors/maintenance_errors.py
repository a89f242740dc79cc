"""Conditions of statements that maintain a table: VACUUM, RESTORE and their like."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

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


@dataclass(eq=False)
class CannotRestoreVersion(SqlError, condition="DELTA_CANNOT_RESTORE_TABLE_VERSION", sqlstate="22003"):
    """`reason` is a sentence."""

    table: str
    reason: str
    template = "{table} cannot be restored to this version. {reason}"


@dataclass(eq=False)
class RestoreTimestampTooEarly(SqlError, condition="DELTA_CANNOT_RESTORE_TIMESTAMP_EARLIER", sqlstate="22003"):
    table: str
    reason: str
    template = "{table} cannot be restored to this time. {reason}"


@dataclass(eq=False)
class RestoreTimestampTooLate(SqlError, condition="DELTA_CANNOT_RESTORE_TIMESTAMP_GREATER", sqlstate="22003"):
    table: str
    reason: str
    template = "{table} cannot be restored to this time. {reason}"


RESTORE_ERRORS: Mapping[str, Callable[[str, str], SqlError]] = MappingProxyType(
    {
        "DELTA_VERSION_NOT_FOUND": CannotRestoreVersion,
        "DELTA_TIMESTAMP_EARLIER_THAN_COMMIT_RETENTION": RestoreTimestampTooEarly,
        "DELTA_TIMESTAMP_GREATER_THAN_COMMIT": RestoreTimestampTooLate,
    }
)
"""Why an older version cannot be read, by condition -> how RESTORE says it."""


@dataclass(eq=False)
class RestoredFilesMissing(SqlError, condition="RESTORE_FILES_MISSING", sqlstate="42K03"):
    table: str
    version: int
    count: int
    names: str
    template = (
        "{table} cannot be restored to version {version}: {count} of its files are not there any more ({names}). They "
        "were removed by VACUUM, or by hand. Restore a later version, or get the files back from a backup."
    )
