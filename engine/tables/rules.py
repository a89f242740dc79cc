"""Define what a table demands of its rows and how they are stored, for the rules of `engine.enforcement`."""

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
    """A condition in SQL that every row of a table satisfies; `name` as it is shown. `settings` are Spark's, captured
    when the constraint was created; all others are the server's.
    """

    name: str
    expression: str
    settings: tuple[tuple[str, str], ...] = ()


class Capability(Enum):
    """What a table can do beyond what every table can, by its format and its settings."""

    CHANGE_FEED = "records which rows a commit deleted, changed and inserted"
    DELETED_ROW_MARKS = "marks rows that are deleted or replaced beside their files, which stay"
    UPDATED_ROW_MARKS = "the same of rows that an UPDATE changes"
    MERGED_ROW_MARKS = "the same of rows that a MERGE changes or deletes"
    WHOLE_FILES = "tells, where rows are deleted, which files have no others, whatever its partitions are"
    ROW_IDS = "gives rows ids, which they keep wherever they are moved to"
    TYPE_WIDENING = "gives columns wider types while rows are written"
    COLUMN_DEFAULTS = "has columns with defaults"
    ADDED_DEFAULTS = "gives the rows that are there the default of a column that is added"
    NAMED_FIELDS = "finds fields of structs by name if an INSERT names its columns as the table does"
    OPTIONAL_PARENTS = "lets a struct be NULL that has fields which cannot be"


@dataclass(frozen=True, slots=True)
class PartitionSource:
    """A partition value that is made from the column, or field in structs, at `path`, as files have it: by a transform,
    and its number where it has one.
    """

    path: tuple[str, ...]
    transform: str
    width: int = 0
    divisor: int = 1
    """What the number in the column is divided by first: units of time are of microseconds."""


@dataclass(frozen=True, slots=True)
class StoredValue:
    """A column whose values files hold as another type than the table shows, or not all values of which: `text` is SQL
    of what is stored of those that `condition` is true of, both over the column as the table shows it; None: all, or as
    it is. `type_name` is what messages call the type.
    """

    type_name: str
    text: str | None
    condition: str | None


@dataclass(frozen=True, slots=True)
class SortColumn:
    """A column, or field in structs, as files have it, by which their rows are sorted; or by what a partition transform
    makes of it, as of a `PartitionSource`.
    """

    path: tuple[str, ...]
    descending: bool
    nulls_first: bool
    transform: str | None = None
    width: int = 0
    divisor: int = 1


class Distribution(StrEnum):
    """How the rows of a write come to the tasks that write them, as Iceberg's `write.distribution-mode` says it."""

    NONE = "none"
    HASH = "hash"
    RANGE = "range"


class TableRules(Protocol):
    """Of one version of a table."""

    @property
    def schema(self) -> StructType: ...

    def has(self, capability: Capability) -> bool: ...

    def ensure_supported(self, operation: TableOperation) -> None:
        """Raises, by name, for what the format, or a feature of the table, does not allow us to do."""
        ...

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """Logical names, as the schema spells them."""
        ...

    @property
    def partition_keys(self) -> tuple[str, ...]:
        """What the partition columns are called where the values of files are kept, in their order."""
        ...

    @property
    def partition_sources(self) -> tuple[PartitionSource, ...]:
        """For each of `partition_keys` what its values are made from, where files have the columns too; none where the
        values are those of `partition_columns`, which files do not have.
        """
        ...

    @property
    def sort_columns(self) -> tuple[SortColumn, ...]:
        """How the rows of new files are sorted, the first column first."""
        ...

    @property
    def distribution(self) -> Distribution | None:
        """How rows come to the tasks that write them; None where nothing is said."""
        ...

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        """Conditions that are true of every row."""
        ...

    @property
    def generations(self) -> Mapping[str, str]:
        """SQL of the columns that the table computes, by name."""
        ...

    @property
    def identities(self) -> tuple[IdentityColumn, ...]: ...

    @property
    def is_append_only(self) -> bool: ...

    @property
    def stored_schema(self) -> StructType:
        """The columns as files have them, in the order of `schema`: by name, with field ids where files have these."""
        ...

    @property
    def stored_values(self) -> Mapping[str, StoredValue]:
        """Of columns that are not stored as they are shown, by name; `stored_schema` has the types that are stored."""
        ...

    @property
    def compression(self) -> str | None:
        """The codec of new files; None: the session's."""
        ...

    def field_mismatch(self, reason: str) -> SqlError | None:
        """The format's error for an assigned struct whose fields are not those of the column; None: Spark's own."""
        ...

    @property
    def target_file_size(self) -> int | None:
        """Bytes; None where nothing is said."""
        ...

    @property
    def optimizes_writes(self) -> bool | None:
        """Whether rows are shuffled so that fewer and larger files are written; None where nothing is said."""
        ...


class NoRules:
    """The rules of a format that has none: no constraints, generated columns, identities, or settings of writes."""

    __slots__ = ()
    schema: StructType

    def has(self, capability: Capability) -> bool:
        return False

    @property
    def partition_sources(self) -> tuple[PartitionSource, ...]:
        return ()

    @property
    def sort_columns(self) -> tuple[SortColumn, ...]:
        return ()

    @property
    def distribution(self) -> Distribution | None:
        return None

    @property
    def constraints(self) -> tuple[Constraint, ...]:
        return ()

    @property
    def generations(self) -> Mapping[str, str]:
        return {}

    @property
    def identities(self) -> tuple[IdentityColumn, ...]:
        return ()

    @property
    def is_append_only(self) -> bool:
        return False

    @property
    def stored_schema(self) -> StructType:
        return self.schema

    @property
    def stored_values(self) -> Mapping[str, StoredValue]:
        return {}

    @property
    def compression(self) -> str | None:
        return None

    def field_mismatch(self, reason: str) -> SqlError | None:
        return None

    @property
    def target_file_size(self) -> int | None:
        return None

    @property
    def optimizes_writes(self) -> bool | None:
        return None
