"""The configuration of one table version, for all formats: what its rows must satisfy, and how files store them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Protocol

from catalog.errors import SqlError
from engine.tables.column_metadata import IdentityColumn
from engine.tables.operations import TableOperation
from engine.types.schema import StructType


@dataclass(frozen=True, slots=True)
class Constraint:
    """A CHECK condition in SQL; `name` as displayed. `settings` are Spark settings captured when the constraint was
    created; all others are the server's.
    """

    name: str
    expression: str
    settings: tuple[tuple[str, str], ...] = ()


class Capability(Enum):
    """Optional table capabilities, by format and settings."""

    CHANGE_FEED = "records which rows a commit deleted, changed and inserted"
    VECTORS_ON_DELETE = "marks rows that are deleted or replaced beside their files, which stay"
    VECTORS_ON_UPDATE = "the same of rows that an UPDATE changes"
    VECTORS_ON_MERGE = "the same of rows that a MERGE changes or deletes"
    WHOLE_FILES = "tells, where rows are deleted, which files have no others, whatever its partitions are"
    ROW_IDS = "gives rows ids, which they keep wherever they are moved to"
    TYPE_WIDENING = "gives columns wider types while rows are written"
    COLUMN_DEFAULTS = "has columns with defaults"
    ADDED_DEFAULTS = "gives the rows that are there the default of a column that is added"
    NAMED_FIELDS = "finds fields of structs by name if an INSERT names its columns as the table does"
    OPTIONAL_PARENTS = "lets a struct be NULL that has fields which cannot be"


@dataclass(frozen=True, slots=True)
class PartitionSource:
    """A partition value computed from the column or struct field at `path`, as in files: by a transform, with its
    number if it has one.
    """

    path: tuple[str, ...]
    transform: str
    width: int = 0
    # The divisor for the stored number, applied first: time units are based on microseconds.
    divisor: int = 1


@dataclass(frozen=True, slots=True)
class StoredValue:
    """A column whose stored type differs from the exposed one, or stores only some values.

    `text` is SQL for the stored value, valid if `condition` is true, both over the exposed column; None: unchanged, or
    always valid. `type_name` is the type in messages.
    """

    type_name: str
    text: str | None
    condition: str | None


@dataclass(frozen=True, slots=True)
class SortColumn:
    """A sort column or struct field, as in files; or a partition transform on it, like `PartitionSource`."""

    path: tuple[str, ...]
    descending: bool
    nulls_first: bool
    transform: str | None = None
    width: int = 0
    divisor: int = 1


class Distribution(StrEnum):
    """The distribution of a write's rows to tasks, as in Iceberg's `write.distribution-mode`."""

    NONE = "none"
    HASH = "hash"
    RANGE = "range"


class TableConfig(Protocol):
    """One table version's configuration, which its format reads from the metadata."""

    @property
    def schema(self) -> StructType:
        """Returns the columns by logical name, partition columns included."""
        ...

    def has(self, capability: Capability) -> bool:
        """Returns True if the table, in its format and with its properties, has the capability."""
        ...

    def ensure_supported(self, operation: TableOperation) -> None:
        """Raises an error that names the unsupported feature if the format or table does not allow the operation."""
        ...

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """Returns the logical names, as spelled in the schema."""
        ...

    @property
    def partition_keys(self) -> tuple[str, ...]:
        """Returns the partition columns' physical names in file metadata, in order."""
        ...

    @property
    def partition_sources(self) -> tuple[PartitionSource, ...]:
        """Returns the source of each of `partition_keys`, if files contain the source columns.

        Empty if the values are `partition_columns`, which files do not contain.
        """
        ...

    @property
    def sort_columns(self) -> tuple[SortColumn, ...]:
        """Returns the sort order for new files, first column first."""
        ...

    @property
    def distribution(self) -> Distribution | None:
        """Returns the distribution of rows to tasks; None if not set."""
        ...

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """Returns the conditions that hold for every row."""
        ...

    @property
    def generations(self) -> Mapping[str, str]:
        """Returns the generation expressions in SQL, by column name."""
        ...

    @property
    def identities(self) -> tuple[IdentityColumn, ...]:
        """Returns the identity columns, in the order of the schema."""
        ...

    @property
    def is_append_only(self) -> bool:
        """Returns True if rows cannot be deleted or changed (`delta.appendOnly`)."""
        ...

    @property
    def stored_schema(self) -> StructType:
        """Returns the columns as in files, in the order of `schema`: by name, with field ids if files have them."""
        ...

    @property
    def stored_values(self) -> Mapping[str, StoredValue]:
        """Returns the columns whose stored form differs from the exposed one, by name.

        Their stored types are in `stored_schema`.
        """
        ...

    @property
    def compression(self) -> str | None:
        """Returns the codec for new files; None: the session's."""
        ...

    def field_mismatch(self, reason: str) -> SqlError | None:
        """Returns the format's error for an assigned struct with different fields; None: Spark's own error."""
        ...

    @property
    def target_file_size(self) -> int | None:
        """Returns the size of new files in bytes; None if not set."""
        ...

    @property
    def optimizes_writes(self) -> bool | None:
        """Returns True if rows are shuffled to write fewer and larger files; None if not set."""
        ...


class UnconstrainedConfig:
    """The configuration of a format without constraints, generated columns, identities, and write settings."""

    __slots__ = ()
    schema: StructType

    def has(self, capability: Capability) -> bool:
        """Returns False: no optional capability."""
        return False

    @property
    def partition_sources(self) -> tuple[PartitionSource, ...]:
        """Returns an empty tuple: files do not contain partition columns."""
        return ()

    @property
    def sort_columns(self) -> tuple[SortColumn, ...]:
        """Returns an empty tuple: new files are not sorted."""
        return ()

    @property
    def distribution(self) -> Distribution | None:
        """Returns None: rows are not distributed."""
        return None

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """Returns an empty tuple: rows are not checked."""
        return ()

    @property
    def generations(self) -> Mapping[str, str]:
        """Returns an empty mapping: no column is generated."""
        return {}

    @property
    def identities(self) -> tuple[IdentityColumn, ...]:
        """Returns an empty tuple: no column is an identity column."""
        return ()

    @property
    def is_append_only(self) -> bool:
        """Returns False: rows may be deleted."""
        return False

    @property
    def stored_schema(self) -> StructType:
        """Returns the schema itself: files have the columns' names and types."""
        return self.schema

    @property
    def stored_values(self) -> Mapping[str, StoredValue]:
        """Returns an empty mapping: files have the values of the columns."""
        return {}

    @property
    def compression(self) -> str | None:
        """Returns None: the session's codec."""
        return None

    def field_mismatch(self, reason: str) -> SqlError | None:
        """Returns None: Spark's own error."""
        return None

    @property
    def target_file_size(self) -> int | None:
        """Returns None: not set."""
        return None

    @property
    def optimizes_writes(self) -> bool | None:
        """Returns None: not set."""
        return None
