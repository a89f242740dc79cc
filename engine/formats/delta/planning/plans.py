"""Plans for Delta-only statements, the contents of Delta's `FormatPlan`."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from catalog.entries import TableEntry
from catalog.errors import SqlError
from engine.binding.bound import BoundTable
from engine.delta.definition.metadata_changes import MetadataChange
from engine.delta.definition.table_draft import Definition
from engine.formats.delta.planning.maintenance_plans import (
    AnalyzePlan,
    ManifestPlan,
    RepairPlan,
    RestorePlan,
    VacuumPlan,
)
from engine.formats.delta.planning.optimize_plans import OptimizePlan
from engine.tables.definition import TableDefinition
from engine.tables.operations import CommitDescription
from engine.types.schema import StructField


@dataclass(frozen=True, slots=True, kw_only=True)
class ClonePlan:
    """Creates a table with the files in `source`, or copies of them; `replaced` is the table to replace.

    `is_past`: the files may have been removed already. `sources` are the folders whose files a shallow clone
    references.
    """

    source: BoundTable
    shallow: bool
    is_past: bool
    sources: tuple[str, ...]
    entry: TableEntry
    replaced: BoundTable | None
    # See `CreateTablePlan`.
    is_path: bool
    definition: Definition
    description: CommitDescription
    tolerated: tuple[type[SqlError], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertPlan:
    """Creates a table from the Parquet files at `entry.location`, whose folder names contain `partition_columns`.

    The other columns come from the files; `changes` are applied to the definition. `source` is the existing table in
    another format, whose files, columns and partitions the Delta table takes over; the new entry replaces the existing
    one if the catalog `has_entry` for it.
    """

    entry: TableEntry
    partition_columns: tuple[StructField, ...]
    changes: tuple[MetadataChange, ...]
    has_statistics: bool
    description: CommitDescription
    source: BoundTable | None = None
    has_entry: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TruncateHistoryPlan:
    """Removes the versions of `table` that need `feature` (its final name), then commits a definition without it.

    The newest version must not need the feature any more.
    """

    table: BoundTable
    feature: str
    definition: TableDefinition
    description: CommitDescription


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillPlan:
    """Assigns row ids in `files`, live files of `table` without ids; then the statement is planned again."""

    table: BoundTable
    files: pa.Table
    description: CommitDescription


@dataclass(frozen=True, slots=True, kw_only=True)
class RewritePlan:
    """Rewrites `files`, live files of `table`, according to `definition`; no row changes.

    `is_last` False: the statement is planned again on the resulting version.
    """

    table: BoundTable
    files: pa.Table
    definition: TableDefinition
    description: CommitDescription
    is_last: bool


# Plans that only Delta has.
DeltaPlan = (
    ClonePlan
    | ConvertPlan
    | BackfillPlan
    | TruncateHistoryPlan
    | RewritePlan
    | OptimizePlan
    | VacuumPlan
    | RestorePlan
    | RepairPlan
    | ManifestPlan
    | AnalyzePlan
)
