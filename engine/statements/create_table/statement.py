"""Statements that create and drop tables."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from engine.runtime.statement import Statement
from engine.sql.query.values import Properties, Query, TimeTravel
from engine.statements.policies.statement import NewPolicy
from engine.tables.keys import KeyDef
from engine.types.partition_terms import PartitionTerm, SortTerm
from engine.types.schema_changes import Position


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """`GENERATED ALWAYS|BY DEFAULT AS IDENTITY (START WITH start INCREMENT BY step)`"""

    always: bool
    start: int = 1
    step: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """`[CONSTRAINT name] CHECK (expression)`"""

    name: str | None
    expression: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnDef:
    """A column in CREATE TABLE or ADD COLUMNS; `parts` has more than one name only for a nested column in ADD
    COLUMNS.
    """

    parts: tuple[str, ...]
    sql_type: str
    nullable: bool = True
    default: str | None = None
    generated: str | None = None
    identity: Identity | None = None
    comment: str | None = None
    checks: tuple[Check, ...] = ()
    keys: tuple[KeyDef, ...] = ()
    position: Position = None
    mask: NewPolicy | None = None


class CreateMode(StrEnum):
    """The behavior if the table exists."""

    CREATE = "CREATE"
    CREATE_IF_NOT_EXISTS = "CREATE IF NOT EXISTS"
    REPLACE = "REPLACE"
    CREATE_OR_REPLACE = "CREATE OR REPLACE"


# The modes that replace an existing table.
REPLACES = (CreateMode.REPLACE, CreateMode.CREATE_OR_REPLACE)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTable(Statement):
    """`[CREATE [OR]] [REPLACE] TABLE t [(columns)] [USING p] … [AS query]`

    `partitioned_by` are column names; columns declared with a type there are in `columns` too. If a term is not a plain
    column, all terms are in `partition_terms`. `cluster_by` is None without the clause, and empty for
    `CLUSTER BY AUTO`, which is `clusters_automatically`. `sort_terms` is the write
    order, `distribution` as in `SortBy`.
    """

    mode: CreateMode
    table_parts: tuple[str, ...]
    columns: tuple[ColumnDef, ...] = ()
    checks: tuple[Check, ...] = ()
    # The table's keys; columns have their own.
    keys: tuple[KeyDef, ...] = ()
    provider: str | None = None
    partitioned_by: tuple[str, ...] = ()
    partition_terms: tuple[PartitionTerm, ...] = ()
    cluster_by: tuple[tuple[str, ...], ...] | None = None
    clusters_automatically: bool = False
    sort_terms: tuple[SortTerm, ...] = ()
    distribution: str | None = None
    location: str | None = None
    comment: str | None = None
    options: Properties = ()
    properties: Properties = ()
    query: Query | None = None
    row_filter: NewPolicy | None = None

    @property
    def policies(self) -> tuple[NewPolicy, ...]:
        """Includes the columns' masks."""
        masks = [column.mask for column in self.columns if column.mask is not None]
        return (*([self.row_filter] if self.row_filter else []), *masks)

    @property
    def is_partitioned(self) -> bool:
        """Returns True if the statement has PARTITIONED BY with columns or terms."""
        return bool(self.partitioned_by or self.partition_terms)

    @property
    def declared_keys(self) -> tuple[KeyDef, ...]:
        """Returns the keys of the column definitions, in their order, then the table's."""
        return (*(key for column in self.columns for key in column.keys), *self.keys)

    @property
    def if_not_exists(self) -> bool:
        """Returns True for CREATE TABLE IF NOT EXISTS."""
        return self.mode is CreateMode.CREATE_IF_NOT_EXISTS

    @property
    def replaces(self) -> bool:
        """Returns True if it may replace an existing table."""
        return self.mode in (CreateMode.REPLACE, CreateMode.CREATE_OR_REPLACE)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTableLike(Statement):
    """`CREATE TABLE [IF NOT EXISTS] t LIKE source …`"""

    table_parts: tuple[str, ...]
    source_parts: tuple[str, ...]
    if_not_exists: bool = False
    provider: str | None = None
    location: str | None = None
    properties: Properties = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class CloneTable(Statement):
    """`[CREATE [OR]] [REPLACE] TABLE t SHALLOW|DEEP CLONE source [AS OF …] [TBLPROPERTIES …] [LOCATION …]`"""

    mode: CreateMode
    table_parts: tuple[str, ...]
    source_parts: tuple[str, ...]
    time_travel: TimeTravel | None = None
    shallow: bool = False
    location: str | None = None
    properties: Properties = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DropTable(Statement):
    table_parts: tuple[str, ...]
    if_exists: bool = False
    purge: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertTable(Statement):
    """``CONVERT TO DELTA parquet.`path` [NO STATISTICS] [PARTITIONED BY (column type, …)]``

    `path` is None if `table_parts` names a table.
    """

    table_parts: tuple[str, ...]
    path: str | None = None
    has_statistics: bool = True
    partitioned_by: tuple[ColumnDef, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AddKey:
    """`ADD [CONSTRAINT name] PRIMARY KEY … | FOREIGN KEY …`"""

    key: KeyDef


@dataclass(frozen=True, slots=True, kw_only=True)
class DropKey:
    """`DROP PRIMARY KEY [IF EXISTS] [CASCADE]`, which has no columns, or `DROP FOREIGN KEY [IF EXISTS] (columns)`"""

    columns: tuple[str, ...] = ()
    if_exists: bool = False
    cascade: bool = False
