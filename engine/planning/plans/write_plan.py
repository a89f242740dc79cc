"""A write that the rules transform: the query's columns, values that the table adds, and conditions for each row.

A rule maps a :class:`WritePlan` to a :class:`WritePlan`; it may reject a write that can never be valid. A condition on
row values becomes a :class:`RowCheck`, which is evaluated during the write: if a check is false or null for a row, the
write fails with its error, and nothing is committed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from catalog.errors import SqlError
from engine.planning.plans.file_writes import FieldMatching
from engine.tables.column_metadata import IdentityColumn
from engine.tables.config import SortColumn, TableConfig
from engine.types.schema import StructField, StructType

# One row's columns, as text.
Values = Mapping[str, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCheck:
    """A row condition. `text` is SQL over the table's columns that must be true for each row.

    `shown` are the columns (paths) whose values the error contains.
    """

    text: str
    shown: tuple[tuple[str, ...], ...]
    error: Callable[[Values], SqlError]
    # Spark settings under which it is evaluated, in addition to the server's; None: the session's own.
    settings: tuple[tuple[str, str], ...] | None = None
    # The column that must not be null, if `text` checks nothing else.
    present: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPerFile:
    """Each task of the query has one file's rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePerPartition:
    """One file for each partition, if its rows fit into `target_bytes`."""

    target_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AlongCurve:
    """A sort along a Z-order or Hilbert curve through `stored_columns` (name paths as in the files).

    `num_files` None: by partition, as `FilePerPartition`. Otherwise all rows belong to one partition, and are written
    to this many files.
    """

    stored_columns: tuple[tuple[str, ...], ...]
    is_hilbert: bool
    num_files: int | None
    target_bytes: int
    # The fraction that is sampled for the value distribution.
    sampled: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LiteralRows:
    """The query reads nothing: literal rows are written without a job, others according to the table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InOrder:
    """A sort by these columns instead of the table's: by partition, without partitions all rows together."""

    columns: tuple[SortColumn, ...]


Arrangement = TaskPerFile | FilePerPartition | AlongCurve | InOrder | LiteralRows


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedColumns:
    """Some query rows are unchanged table rows: the rules do not apply to them.

    `flag` is a query column that is true for all other rows. `before` names, for each table column that the rules may
    change, the query column with the previous value. These columns follow all other query columns, in this order.
    """

    flag: str
    before: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class WritePlan:
    """A write. `table` is its name for messages. The first attributes come from the statement, the second group from
    the rules.
    """

    table: str
    config: TableConfig
    # The column list; empty without one.
    insert_columns: tuple[str, ...] = ()
    # The query's column names, if columns match by name and not by position.
    source_columns: tuple[str, ...] | None = None
    fields: FieldMatching = FieldMatching.POSITION
    # True if the values are assigned by an UPDATE, or by a MERGE clause.
    assigns: bool = False
    # Partition column -> SQL text of its value, from the PARTITION clause.
    static_partitions: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    # The REPLACE WHERE condition.
    replaces: str | None = None
    # Existing rows are removed.
    removes: bool = False
    # The rows are existing table rows with other values, so that they keep their identity column values.
    updates: bool = False

    # The table columns that the query's columns are written to, in the query's order unless they match by name.
    target_columns: tuple[StructField, ...] = ()
    # Columns that the files have in addition to the table's. A query with values for all of them has them last.
    extra_columns: tuple[StructField, ...] = ()
    # Column -> SQL text without columns.
    constants: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    # Identity columns for which the statement has no values.
    identities: tuple[IdentityColumn, ...] = ()
    # Column -> SQL text over the columns above, for columns without values in the statement.
    generated: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    # Column -> SQL text over the columns above, for columns whose values are stored, and checked, in another form.
    stored_as: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    checks: tuple[RowCheck, ...] = ()
    copied_columns: CopiedColumns | None = None
    # The rows' arrangement in files; None: according to the table's settings.
    arrangement: Arrangement | None = None

    @property
    def schema(self) -> StructType:
        """Returns the table's columns, partition columns included."""
        return self.config.schema

    @property
    def target_names(self) -> frozenset[str]:
        """Returns the names of the columns that the query's columns are written to."""
        return frozenset(column.name for column in self.target_columns)

    @property
    def identity_names(self) -> frozenset[str]:
        """Returns the names of the identity columns for which the statement has no values."""
        return frozenset(column.name for column in self.identities)

    def extend(self, checks: Iterable[RowCheck] = (), **changes: Any) -> WritePlan:
        """Returns the plan with further checks, and with changed attributes; this object if it has them already."""
        more = tuple(checks)
        if not more and all(getattr(self, name) == value for name, value in changes.items()):
            return self
        return replace(self, checks=(*self.checks, *more), **changes)


EnforcementStep = Callable[[WritePlan], WritePlan]
