"""Changes of a table's definition, for all formats.

A DDL statement is a tuple of changes. ALTER TABLE is parsed to these values where a format can fold them as written.
A format folds them onto its own definition of a table (`TableSnapshot.redefined`, `TableFormat.define`), and rejects
those that it does not support. The planner checks rows and expressions: whether existing rows satisfy a new constraint,
whether a constraint uses a column that is renamed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from engine.tables.column_metadata import HIGH_WATER_MARK, IdentityColumn
from engine.tables.keys import TableKey
from engine.types.column_paths import Path
from engine.types.partition_terms import PartitionTerm, SortTerm
from engine.types.schema import DataType, StructField
from engine.types.schema_changes import Position


@dataclass(frozen=True, slots=True, kw_only=True)
class AddColumn:
    """A column, or a field of the struct at `parent`."""

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
    rows_checked: bool = False
    """Rows that are there are asked before the commit; without that a column cannot become NOT NULL."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetColumnMetadata:
    """A comment, a default, a generation expression, an identity's high-water mark; None takes the key away."""

    path: Path
    key: str
    value: Any


@dataclass(frozen=True, slots=True, kw_only=True)
class SetProperty:
    """Also the keys that speak to the protocol: versions and `delta.feature.*`."""

    key: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsetProperty:
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AddConstraint:
    name: str
    expression: str
    """SQL text."""
    settings: tuple[tuple[str, str], ...] = ()
    """Captured when the constraint is created."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AddKey:
    """A primary or foreign key, whose columns are the caller's to see."""

    key: TableKey


@dataclass(frozen=True, slots=True, kw_only=True)
class DropConstraint:
    """A CHECK constraint or a key."""

    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SetDescription:
    text: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterBy:
    """Sets the clustering columns; none ends clustering. In a new table, it follows the changes of its columns."""

    columns: tuple[Path, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionBy:
    """Of a new table: by transforms of columns, in the place of columns."""

    terms: tuple[PartitionTerm, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePartitioning:
    """Of new files, the others stay as they are: by another term in the place of `dropped`, where both are given."""

    added: PartitionTerm | None = None
    dropped: PartitionTerm | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SortBy:
    """The order of rows in new files; none is any order. `distribution` is how rows are brought together for that
    (`hash`, `range`, `none`), None for as before.
    """

    terms: tuple[SortTerm, ...]
    distribution: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeIdentifiers:
    """The columns that identify a row, which nobody checks."""

    columns: tuple[Path, ...]
    dropped: bool = False


TransformChange: TypeAlias = PartitionBy | ChangePartitioning | SortBy | ChangeIdentifiers
"""Changes that only formats with partition transforms, sort orders and identifiers have."""


def set_properties(settings: Mapping[str, str]) -> tuple[SetProperty, ...]:
    """A change for each setting."""
    return tuple(SetProperty(key=key, value=value) for key, value in settings.items())


def set_high_water_mark(column: IdentityColumn, high_water_mark: int) -> SetColumnMetadata:
    """The change of the table's metadata that moves the high-water mark."""
    return SetColumnMetadata(path=(column.name,), key=HIGH_WATER_MARK, value=high_water_mark)


DefinitionChange: TypeAlias = (
    AddColumn
    | RenameColumn
    | DropColumn
    | MoveColumn
    | ChangeType
    | ChangeNullable
    | SetColumnMetadata
    | SetProperty
    | UnsetProperty
    | AddConstraint
    | AddKey
    | DropConstraint
    | SetDescription
    | ClusterBy
    | TransformChange
)
