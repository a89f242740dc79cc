"""Plans of statements that only Delta has: what a `FormatPlan` of Delta carries."""

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
    """Make a table with the files of `source`, or copies of them; `replaced` is the table whose place it takes.

    `is_past`: the files may be gone already. `sources` are the folders that a shallow clone names files of.
    """

    source: BoundTable
    shallow: bool
    is_past: bool
    sources: tuple[str, ...]
    entry: TableEntry
    replaced: BoundTable | None
    is_path: bool
    """As in `CreateTablePlan`."""
    definition: Definition
    description: CommitDescription
    tolerated: tuple[type[SqlError], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertPlan:
    """Make a table of the Parquet files that lie at `entry.location`, whose folders tell `partition_columns`.

    Its other columns are those of the files; `changes` are applied to its definition. `source` is the table of another
    format that lies there, whose files, columns and partitions become those of the Delta table; the entry takes the
    place of its own if the catalog `has_entry` of it.
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
    """Remove the versions of `table` that need `feature` (its final name), then give it a definition without it.

    Its newest version does not need the feature any more.
    """

    table: BoundTable
    feature: str
    definition: TableDefinition
    description: CommitDescription


@dataclass(frozen=True, slots=True, kw_only=True)
class BackfillPlan:
    """Give ids to the rows of `files`, live files of `table` without them; then the statement is planned again."""

    table: BoundTable
    files: pa.Table
    description: CommitDescription


@dataclass(frozen=True, slots=True, kw_only=True)
class RewritePlan:
    """Write the rows of `files`, live files of `table`, into new files as `definition` has them; no row changes.

    `is_last` False: the statement is planned again on the version that this one makes.
    """

    table: BoundTable
    files: pa.Table
    definition: TableDefinition
    description: CommitDescription
    is_last: bool


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
"""What Delta plans by itself."""
