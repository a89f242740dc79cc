"""Statements that maintain a table's files and log, and change no row."""

from __future__ import annotations

from dataclasses import dataclass

from engine.runtime.statement import Statement
from engine.sql.query.values import TimeTravel


@dataclass(frozen=True, slots=True, kw_only=True)
class Vacuum(Statement):
    """`VACUUM t|'/path' [LITE|FULL] [RETAIN n HOURS] [DRY RUN]`; a path is `("delta", path)`."""

    table_parts: tuple[str, ...]
    # May be negative, which planning rejects.
    retain_hours: float | None = None
    lite: bool = False
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreTable(Statement):
    """`RESTORE [TABLE] t|'/path' [TO] VERSION|TIMESTAMP AS OF …`; a path is `("delta", path)`."""

    table_parts: tuple[str, ...]
    to: TimeTravel


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairTable(Statement):
    """`FSCK REPAIR TABLE t|'/path' [DRY RUN]`"""

    table_parts: tuple[str, ...]
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerateManifest(Statement):
    """`GENERATE symlink_format_manifest FOR TABLE t|'/path'`"""

    table_parts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalyzeTable(Statement):
    """`ANALYZE TABLE t COMPUTE [DELTA] STATISTICS [NOSCAN | FOR COLUMNS a, b | FOR ALL COLUMNS]`

    Distinct values are counted for `columns`: the named ones, for all columns if empty, for none if None. `no_scan`:
    reads no data.
    """

    table_parts: tuple[str, ...]
    columns: tuple[tuple[str, ...], ...] | None = None
    no_scan: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimize(Statement):
    """`OPTIMIZE t [FULL] [WHERE condition] [ZORDER BY (columns)]`; the condition is over partition columns."""

    table_parts: tuple[str, ...]
    condition: str | None = None
    zorder_by: tuple[tuple[str, ...], ...] = ()
    full: bool = False
    # True if it was not written by a user, but follows a write to a table with auto compaction.
    is_auto: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reorg(Statement):
    """`REORG TABLE t [WHERE condition] APPLY (PURGE)`; the condition is over partition columns."""

    table_parts: tuple[str, ...]
    condition: str | None = None


MaintenanceStatement = Optimize | Reorg | Vacuum | RestoreTable | RepairTable | GenerateManifest | AnalyzeTable
