"""A write on its way through the rules: what the query gives, what the table adds, what every row must satisfy.

A rule is a function of a :class:`WritePlan` to a :class:`WritePlan`; it may refuse a write that can never be legal.
What only rows can tell becomes a :class:`RowCheck`, which is evaluated where the rows are written: a check that is not
true of a row, null included, ends the write with its error, and nothing is committed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from catalog.errors import SqlError
from engine.planning.plans.file_writes import FieldMatching
from engine.tables.column_metadata import IdentityColumn
from engine.tables.rules import SortColumn, TableRules
from engine.types.schema import StructField, StructType

Values = Mapping[str, str | None]
"""Columns of one row, as text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCheck:
    """`text` is SQL over the table's columns that must be true of every row.

    `shown` are the columns (paths) whose values the error tells.
    """

    text: str
    shown: tuple[tuple[str, ...], ...]
    error: Callable[[Values], SqlError]
    settings: tuple[tuple[str, str], ...] | None = None
    """Spark's settings under which it is evaluated besides the server's; None: the session's own."""
    present: str | None = None
    """The column that `text` asks a value of, where it asks nothing else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPerFile:
    """Each task of the query has the rows of a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePerPartition:
    """A file for each partition, as far as its rows fit into one of `target_bytes`."""

    target_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AlongCurve:
    """Sorted along a Z-order or Hilbert curve through `stored_columns` (paths of names as in the files).

    `num_files` None: by partition, as `FilePerPartition`. Else all rows are one partition's, and become so many files.
    """

    stored_columns: tuple[tuple[str, ...], ...]
    is_hilbert: bool
    num_files: int | None
    target_bytes: int
    sampled: float = 1.0
    """The part of the rows that tells how the values are distributed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LiteralRows:
    """The query reads nothing: if its rows are literals, they are written without a job, else as the table says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InOrder:
    """Sorted by these columns and not as the table says: by partition, without partitions all rows together."""

    columns: tuple[SortColumn, ...]


Arrangement = TaskPerFile | FilePerPartition | AlongCurve | InOrder | LiteralRows


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptRows:
    """Some of the query's rows are rows of the table that stay as they are: the rules are not for these.

    `flag` is a column of the query that is true of all others. `before` names, for each column of the table that the
    rules may make another value of, a column of the query with the value of before. These columns are behind all others
    of the query, in this order.
    """

    flag: str
    before: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class WritePlan:
    """`table` is its name for messages. The first group is what the statement says, the second what rules found."""

    table: str
    config: TableRules
    insert_columns: tuple[str, ...] = ()
    """The column list; empty without one."""
    source_columns: tuple[str, ...] | None = None
    """The names of the query's columns, where these and not positions say which is which."""
    fields: FieldMatching = FieldMatching.POSITION
    assigns: bool = False
    """True if the values are those that an UPDATE, or a clause of a MERGE, assigns."""
    static_partitions: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Partition column -> SQL text of its value, from the PARTITION clause."""
    replaces: str | None = None
    """The condition of REPLACE WHERE."""
    removes: bool = False
    """Whether existing rows are removed."""
    updates: bool = False
    """Whether the rows are those of the table with other values, so that they keep those of identity columns."""

    target_columns: tuple[StructField, ...] = ()
    """The columns of the table that the query's columns go into, in the query's order unless they match by name."""
    extra_columns: tuple[StructField, ...] = ()
    """Columns that the files have besides the table's. A query with values for all of these has them last."""
    constants: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Column -> SQL text without columns."""
    identities: tuple[IdentityColumn, ...] = ()
    """Identity columns that the statement has no values for."""
    generated: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Column -> SQL text over the columns above, for columns that the statement has no values for."""
    stored_as: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """Column -> SQL text over the columns above, for columns whose values are stored, and checked, as other ones."""
    checks: tuple[RowCheck, ...] = ()
    kept: KeptRows | None = None
    arrangement: Arrangement | None = None
    """Which rows become a file; None: as the table's settings say."""

    @property
    def schema(self) -> StructType:
        return self.config.schema

    @property
    def target_names(self) -> frozenset[str]:
        return frozenset(column.name for column in self.target_columns)

    @property
    def identity_names(self) -> frozenset[str]:
        return frozenset(column.name for column in self.identities)


WriteRule = Callable[[WritePlan], WritePlan]
