"""Changes to a table's definition, for all formats.

A DDL statement is a tuple of changes. A format folds them onto its own definition of a table
(`TableSnapshot.change_definition`, `TableFormat.define`), and rejects changes that it does not support. The planner
checks rows and expressions: whether existing rows satisfy a new constraint, whether a constraint uses a column that is
renamed.

ALTER TABLE is parsed to these values if a format can fold them as written. A `WrittenChange` needs no planning, and has
its entry in DESCRIBE HISTORY itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from engine.tables.column_metadata import HIGH_WATER_MARK, IdentityColumn
from engine.tables.definition import TableDetails
from engine.tables.keys import TableKey
from engine.tables.operations import HistoryOperation
from engine.types.column_paths import Path, format_name
from engine.types.partition_terms import PartitionTerm, SortTerm
from engine.types.schema import DataType, StructField
from engine.types.schema_changes import Position


@dataclass(frozen=True, slots=True, kw_only=True)
class AddColumn:
    """Adds a column, or a field in the struct at `parent`."""

    field: StructField
    parent: Path = ()
    position: Position = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameColumn:
    path: Path
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DropColumn:
    path: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveColumn:
    path: Path
    position: Position


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeType:
    path: Path
    data_type: DataType


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeNullable:
    path: Path
    nullable: bool
    # True if existing rows are checked before the commit; otherwise a column cannot become NOT NULL.
    rows_checked: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SetColumnMetadata:
    """Sets a comment, default, generation expression, or identity high-water mark; None removes the key."""

    path: Path
    key: str
    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class SetProperty:
    """Sets a property, including protocol keys: versions and `delta.feature.*`."""

    key: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsetProperty:
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AddConstraint:
    name: str
    # SQL text.
    expression: str
    # Spark settings captured when the constraint is created.
    settings: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AddKey:
    """Adds a primary or foreign key; the caller checks its columns."""

    key: TableKey


@dataclass(frozen=True, slots=True, kw_only=True)
class DropConstraint:
    """Drops a CHECK constraint or a key. `cascade`: with a primary key also the foreign keys that reference it."""

    name: str
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameConstraint:
    """Renames a CHECK constraint or a key, whose rows need not be checked again."""

    name: str
    new_name: str

    def operation(self, before: TableDetails, after: TableDetails) -> HistoryOperation:
        """Returns the history entry `RENAME CONSTRAINT` with both names."""
        return "RENAME CONSTRAINT", {"oldName": self.name, "newName": self.new_name}


@dataclass(frozen=True, slots=True, kw_only=True)
class SetDescription:
    text: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterBy:
    """Sets the clustering columns; an empty tuple ends clustering. In a new table, it follows the column changes.

    `is_automatic`: it is `CLUSTER BY AUTO`, which keeps the clustering columns.
    """

    columns: tuple[Path, ...] = ()
    is_automatic: bool = False

    def operation(self, before: TableDetails, after: TableDetails) -> HistoryOperation:
        """Returns delta-spark's history entry `CLUSTER BY`, with both column lists separated by commas."""
        old, new = (",".join(map(format_name, each.clustering_columns)) for each in (before, after))
        return "CLUSTER BY", {"oldClusteringColumns": old, "newClusteringColumns": new}


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionBy:
    """Partitions a new table by transforms, instead of columns."""

    terms: tuple[PartitionTerm, ...]


class _SetLayout:
    __slots__ = ()

    def operation(self, before: TableDetails, after: TableDetails) -> HistoryOperation:
        return "SET LAYOUT", {}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePartitioning(_SetLayout):
    """Changes new files' partitioning; existing files are unchanged. If both are present, the new term replaces
    `dropped`.
    """

    added: PartitionTerm | None = None
    dropped: PartitionTerm | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SortBy(_SetLayout):
    """Sets new files' row order; empty for unordered. `distribution` is the write distribution mode (`hash`, `range`,
    `none`), None to keep it.
    """

    terms: tuple[SortTerm, ...]
    distribution: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeIdentifiers(_SetLayout):
    """Sets the columns that identify a row, which are not enforced."""

    columns: tuple[Path, ...]
    dropped: bool = False


def set_properties(settings: Mapping[str, str]) -> tuple[SetProperty, ...]:
    """Returns a change for each setting."""
    return tuple(SetProperty(key=key, value=value) for key, value in settings.items())


def set_high_water_mark(column: IdentityColumn, high_water_mark: int) -> SetColumnMetadata:
    """Returns the change that moves the high-water mark."""
    return SetColumnMetadata(path=(column.name,), key=HIGH_WATER_MARK, value=high_water_mark)


# ALTER TABLE's changes that are passed on as they are written.
WrittenChange: TypeAlias = RenameConstraint | ClusterBy | ChangePartitioning | SortBy | ChangeIdentifiers

ColumnChange: TypeAlias = (
    AddColumn | RenameColumn | DropColumn | MoveColumn | ChangeType | ChangeNullable | SetColumnMetadata
)
# Changes to properties, and to what a format may store as properties.
PropertyChange: TypeAlias = (
    SetProperty | UnsetProperty | SetDescription | AddConstraint | AddKey | DropConstraint | RenameConstraint
)
LayoutChange: TypeAlias = ClusterBy | PartitionBy | ChangePartitioning | SortBy | ChangeIdentifiers

DefinitionChange: TypeAlias = ColumnChange | PropertyChange | LayoutChange
