"""The statements that change something: INSERT, DDL, comments. Values before names are bound.

Types, expressions and defaults are text in Spark's spelling, as the user wrote them; names are without quotes. Those
that have no plan yet are refused by name (`engine/plan/planner.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from engine.statements import Query, Span, Statement


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionItem:
    """`column = value` of a PARTITION clause, the value as text (`DEFAULT` too); None is a dynamic column."""

    column: str
    value: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceWhere:
    """`REPLACE WHERE condition`: the rows that match it go, and the new ones must match it."""

    condition: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceUsing:
    """`REPLACE USING (columns)`: rows go that equal a new one in these columns."""

    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceOn:
    """`REPLACE ON condition`, between the target under its alias and the source under its own, if they have any."""

    condition: str
    source_alias: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultMarker:
    """DEFAULT in the place of a value: `column` counts the columns of the source from 0, `span` is in its text."""

    column: int
    span: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Defaults:
    """The `markers` of a source, and in how many rows of VALUES, or lists of SELECT, they could stand."""

    markers: tuple[DefaultMarker, ...] = ()
    rows: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Insert:
    """`INSERT [WITH SCHEMA EVOLUTION] INTO|OVERWRITE t [PARTITION …] [BY NAME | (columns)] [REPLACE …] query`

    `source` has its own text; a WITH clause before INSERT is part of it.
    """

    table_parts: tuple[str, ...]
    source: Query
    overwrite: bool = False
    alias: str | None = None
    columns: tuple[str, ...] = ()
    by_name: bool = False
    partition: tuple[PartitionItem, ...] = ()
    if_not_exists: bool = False
    replace: ReplaceWhere | ReplaceUsing | ReplaceOn | None = None
    schema_evolution: bool = False
    defaults: Defaults = Defaults()


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
class First:
    """`FIRST`"""


@dataclass(frozen=True, slots=True, kw_only=True)
class After:
    """`AFTER column`, a sibling of the column that is placed."""

    column: str


Position = First | After


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
    position: Position | None = None


class CreateMode(StrEnum):
    """What an existing table means."""

    CREATE = "CREATE"
    CREATE_IF_NOT_EXISTS = "CREATE IF NOT EXISTS"
    REPLACE = "REPLACE"
    CREATE_OR_REPLACE = "CREATE OR REPLACE"


Properties = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTable:
    """`[CREATE [OR]] [REPLACE] TABLE t [(columns)] [USING p] … [AS query]`

    `partitioned_by` are column names, those that were given with a type are in `columns` too. `cluster_by` is None
    without the clause.
    """

    mode: CreateMode
    table_parts: tuple[str, ...]
    columns: tuple[ColumnDef, ...] = ()
    checks: tuple[Check, ...] = ()
    provider: str | None = None
    partitioned_by: tuple[str, ...] = ()
    cluster_by: tuple[tuple[str, ...], ...] | None = None
    location: str | None = None
    comment: str | None = None
    options: Properties = ()
    properties: Properties = ()
    query: Query | None = None

    @property
    def if_not_exists(self) -> bool:
        return self.mode is CreateMode.CREATE_IF_NOT_EXISTS

    @property
    def replaces(self) -> bool:
        """Whether it may take the place of a table that is there."""
        return self.mode in (CreateMode.REPLACE, CreateMode.CREATE_OR_REPLACE)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTableLike:
    """`CREATE TABLE [IF NOT EXISTS] t LIKE source …`"""

    table_parts: tuple[str, ...]
    source_parts: tuple[str, ...]
    if_not_exists: bool = False
    provider: str | None = None
    location: str | None = None
    properties: Properties = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AddColumns:
    columns: tuple[ColumnDef, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceColumns:
    columns: tuple[ColumnDef, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameColumn:
    parts: tuple[str, ...]
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DropColumns:
    columns: tuple[tuple[str, ...], ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterColumn:
    """One or more changes of one column; None changes nothing. `drop_default` takes the default away."""

    parts: tuple[str, ...]
    sql_type: str | None = None
    comment: str | None = None
    position: Position | None = None
    nullable: bool | None = None
    default: str | None = None
    drop_default: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SyncIdentity:
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AddConstraint:
    check: Check


@dataclass(frozen=True, slots=True, kw_only=True)
class DropConstraint:
    name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SetProperties:
    properties: Properties


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsetProperties:
    keys: tuple[str, ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameTable:
    table_parts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SetLocation:
    location: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterBy:
    """`CLUSTER BY (columns)`; `CLUSTER BY NONE` has none."""

    columns: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DropFeature:
    feature: str
    truncate_history: bool = False


TableChange = (
    AddColumns
    | ReplaceColumns
    | RenameColumn
    | DropColumns
    | AlterColumn
    | SyncIdentity
    | AddConstraint
    | DropConstraint
    | SetProperties
    | UnsetProperties
    | RenameTable
    | SetLocation
    | ClusterBy
    | DropFeature
)


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterTable:
    """`ALTER TABLE t …`: several changes only for a list of ALTER COLUMN."""

    table_parts: tuple[str, ...]
    changes: tuple[TableChange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DropTable:
    table_parts: tuple[str, ...]
    if_exists: bool = False
    purge: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class TruncateTable:
    table_parts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateSchema:
    schema_parts: tuple[str, ...]
    if_not_exists: bool = False
    comment: str | None = None
    location: str | None = None
    properties: Properties = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DropSchema:
    schema_parts: tuple[str, ...]
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateCatalog:
    catalog: str
    if_not_exists: bool = False
    comment: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DropCatalog:
    catalog: str
    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewColumn:
    """A name that a view gives to a column of its query."""

    name: str
    comment: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateView:
    """`CREATE [OR REPLACE] [TEMPORARY] VIEW [IF NOT EXISTS] v [(columns)] [COMMENT c] [TBLPROPERTIES …] AS query`"""

    view_parts: tuple[str, ...]
    query: Query
    or_replace: bool = False
    if_not_exists: bool = False
    temporary: bool = False
    columns: tuple[ViewColumn, ...] = ()
    comment: str | None = None
    properties: Properties = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DropView:
    view_parts: tuple[str, ...]
    if_exists: bool = False


class Commentable(StrEnum):
    CATALOG = "CATALOG"
    SCHEMA = "SCHEMA"
    TABLE = "TABLE"
    COLUMN = "COLUMN"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentOn:
    """`COMMENT ON kind name IS 'comment'|NULL`; for a column the last of `parts` is its name."""

    kind: Commentable
    parts: tuple[str, ...]
    comment: str | None


WriteStatement = (
    Insert
    | CreateTable
    | CreateTableLike
    | AlterTable
    | DropTable
    | TruncateTable
    | CreateSchema
    | DropSchema
    | CreateCatalog
    | DropCatalog
    | CreateView
    | DropView
    | CommentOn
)

AnyStatement = Statement | WriteStatement
