"""Statements that make and drop tables."""

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
    """A column of CREATE TABLE or ADD COLUMNS; `parts` has more than one only for a nested one of ADD COLUMNS."""

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
    """What an existing table means."""

    CREATE = "CREATE"
    CREATE_IF_NOT_EXISTS = "CREATE IF NOT EXISTS"
    REPLACE = "REPLACE"
    CREATE_OR_REPLACE = "CREATE OR REPLACE"


REPLACES = (CreateMode.REPLACE, CreateMode.CREATE_OR_REPLACE)
"""The modes that take the place of what is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTable(Statement):
    """`[CREATE [OR]] [REPLACE] TABLE t [(columns)] [USING p] … [AS query]`

    `partitioned_by` are column names, those that were given with a type are in `columns` too; where one of the terms is
    more than a column's name, all of them are `partition_terms`. `cluster_by` is None without the clause. Rows are
    written in the order of `sort_terms`, `distribution` is that of `SortBy`.
    """

    mode: CreateMode
    table_parts: tuple[str, ...]
    columns: tuple[ColumnDef, ...] = ()
    checks: tuple[Check, ...] = ()
    keys: tuple[KeyDef, ...] = ()
    """Those of the table; columns have theirs."""
    provider: str | None = None
    partitioned_by: tuple[str, ...] = ()
    partition_terms: tuple[PartitionTerm, ...] = ()
    cluster_by: tuple[tuple[str, ...], ...] | None = None
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
        """With the masks of columns."""
        masks = [column.mask for column in self.columns if column.mask is not None]
        return (*([self.row_filter] if self.row_filter else []), *masks)

    @property
    def is_partitioned(self) -> bool:
        return bool(self.partitioned_by or self.partition_terms)

    @property
    def all_keys(self) -> tuple[KeyDef, ...]:
        return (*(key for column in self.columns for key in column.keys), *self.keys)

    @property
    def if_not_exists(self) -> bool:
        return self.mode is CreateMode.CREATE_IF_NOT_EXISTS

    @property
    def replaces(self) -> bool:
        """Whether it may take the place of a table that is there."""
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

    `path` is None where a table is named by `table_parts`.
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
    """`DROP PRIMARY KEY [IF EXISTS]`, `DROP FOREIGN KEY [IF EXISTS] (columns)`: no columns for a primary key."""

    columns: tuple[str, ...] = ()
    if_exists: bool = False
