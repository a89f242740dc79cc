"""A statement's progress through the pipeline, expressed by its type.

    Statement ──bind──► BoundStatement ──authorize──► AuthorizedStatement ──plan──► Plan ──execute──► Outcome

Each stage accepts only the previous stage's result: only `engine/binding/binder.py` makes a :class:`BoundStatement`,
only `engine/authorization/authorize.py` an :class:`AuthorizedStatement`, and planning accepts nothing else, so an
unauthorized statement cannot be planned. All values are frozen. After bind no stage reads the catalog or lists a log
again: the statement sees one catalog generation and one version of each table, and runs exactly on the checked objects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias, assert_never

import pyarrow as pa

from catalog.catalog import CatalogView
from catalog.entries import FunctionEntry, LocationEntry, SecurableEntry, TableEntry, ViewEntry, VolumeEntry
from catalog.grants.conditions import Condition
from catalog.lineage.edges import INITIAL_LINEAGE, LineageState
from catalog.names import TableName
from catalog.policies.policies import NO_POLICIES, Policies
from catalog.rest.names import is_rest
from engine.runtime.dataframe import DataFramePlan
from engine.runtime.parameters import Parameter
from engine.runtime.results import ResultStream, RowCounts, empty_result
from engine.runtime.session_state import SessionState, is_temporary
from engine.runtime.statement import Statement
from engine.runtime.variables import RowValues
from engine.sql.query.values import FilesAt, Query
from engine.tables.changes import TableChanges
from engine.tables.column_metadata import DEFAULT
from engine.tables.compaction import Compaction
from engine.tables.formats import TableFormat
from engine.tables.given_rows import GivenRows
from engine.tables.keys import ForeignKey, TableKey, keys_of
from engine.tables.scan import FileFormat
from engine.tables.snapshot import MetadataTable, TableSnapshot
from engine.types.schema import StructType
from engine.types.sql_types import column_sql_type


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnInfo:
    """A column in a table or a view, for lists; `type` in SQL's spelling."""

    name: str
    type: str
    nullable: bool = True
    comment: str | None = None
    default: str | None = None


PathOwner: TypeAlias = TableEntry | LocationEntry | VolumeEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundExpression:
    """A query that selects one expression over a table's columns, with its function calls inlined, and the relations
    that the function bodies read.
    """

    query: Query
    relations: tuple[BoundRelation, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundPolicy:
    """A table's row filters and column masks.

    A row is visible if all `filters` are TRUE; `masks` are pairs (column, replacement expression). `settings` are the
    ones under which their functions were created.
    """

    filters: tuple[BoundExpression, ...] = ()
    masks: tuple[tuple[str, BoundExpression], ...] = ()
    settings: tuple[tuple[str, str], ...] = ()

    @property
    def relations(self) -> tuple[BoundRelation, ...]:
        """Returns the relations that it reads besides the table."""
        expressions = (*self.filters, *(mask for _, mask in self.masks))
        return tuple(relation for each in expressions for relation in each.relations)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundTable:
    """A name in the statement, its catalog entry, and the single version that the statement sees.

    `name` is None for a table that was named by its path. Then `owners` are, if privileges apply, the tables that the
    path belongs to, or its external location.
    """

    name: TableName | None
    entry: TableEntry
    snapshot: TableSnapshot
    # Its format.
    own: TableFormat = field(compare=False, repr=False)
    owners: tuple[PathOwner, ...] = ()
    # The policies that apply to the session's principal, on the table, or on all tables to which a path belongs.
    policies: Policies = NO_POLICIES
    # True if it has policies; also if they cannot be determined and no row is read.
    is_protected: bool = False
    # The policy's bound form, if its rows are read by a query. Without one nothing is hidden.
    policy: BoundPolicy | None = None
    # The name in messages for a view's reader, if the view's sources are not visible to the reader.
    shown_as: str | None = None
    # Spark compares its dates and times with texts as texts, so that only Spark can evaluate these conditions.
    has_dates_as_texts: bool = False

    @property
    def label(self) -> str:
        """Returns the name in messages."""
        return self.shown_as or self.visible_label

    @property
    def visible_label(self) -> str:
        """Returns the name for principals to whom it is visible."""
        return str(self.name) if self.name else f"{self.entry.format}.`{self.entry.location}`"

    def is_used_by_policy(self, column: str) -> bool:
        """Returns whether a policy, or a tag that policies may use, refers to a column; works for paths and names."""
        entries = (self.entry, *(owner for owner in self.owners if isinstance(owner, TableEntry)))
        return any(each.policies.uses(column) or each.tags.of_column(column) for each in entries)

    @property
    def location(self) -> str:
        """Returns its location: for a table in a REST catalog from its metadata."""
        return self.snapshot.table_root if is_rest(self.entry.location) else self.entry.location

    @property
    def columns(self) -> tuple[ColumnInfo, ...]:
        """Returns the columns at the pinned version, before column masks, in the schema's order."""
        return _columns_of(self.snapshot.schema)

    @property
    def keys(self) -> tuple[TableKey, ...]:
        """Returns the primary key, then foreign keys by name."""
        return keys_of(self.snapshot.details.properties, self.snapshot.schema.names)


def references(key: TableKey, table: TableName) -> bool:
    """Returns whether `key` is a foreign key to `table`."""
    return isinstance(key, ForeignKey) and TableName(*key.parent) == table


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundChanges:
    """A table's change data feed, read by `table_changes`: a read of that table."""

    table: BoundTable
    feed: TableChanges

    @property
    def name(self) -> None:
        """Returns None: only its alias can refer to it."""

    @property
    def label(self) -> str:
        """Returns the name for messages: "the changes of" the table."""
        return f"the changes of {self.table.label}"

    @property
    def columns(self) -> tuple[ColumnInfo, ...]:
        """Returns the table's columns, followed by the change feed's own."""
        return _columns_of(self.feed.schema)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundMetadata:
    """A metadata table, read as `<table>.<part>`: a read of that table."""

    table: BoundTable
    part: str
    content: MetadataTable = field(compare=False, repr=False)

    @property
    def name(self) -> None:
        """Returns None: only its alias can refer to it."""

    @property
    def label(self) -> str:
        """Returns the name for messages, `<table>.<part>`."""
        return f"{self.table.label}.{self.part}"

    @property
    def columns(self) -> tuple[ColumnInfo, ...]:
        """Returns the columns of the metadata table, in its schema's order."""
        return _columns_of(self.content.schema)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundFunction:
    """A catalog function that a query calls, and the functions that its body calls."""

    entry: FunctionEntry
    functions: tuple[BoundFunction, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundView:
    """A view that the statement names: its query, with relations bound in the view's schema."""

    entry: ViewEntry
    query: Query
    relations: tuple[BoundRelation, ...]
    functions: tuple[BoundFunction, ...] = ()
    # The principal may not read all its sources directly.
    is_hidden: bool = False
    # The rows, for a view without a query.
    rows: GivenRows | None = None

    @property
    def name(self) -> TableName:
        """Returns the view's qualified name, as in its entry."""
        return self.entry.name

    @property
    def label(self) -> str:
        """Returns the name for messages: the qualified name."""
        return str(self.entry.name)

    @property
    def is_unnamed(self) -> bool:
        """Returns whether it is a DataFrame of the statement, or an input of one."""
        return is_unnamed(self.entry)

    @property
    def columns(self) -> tuple[ColumnInfo, ...]:
        """Returns the columns as they were at the view's creation."""
        return tuple(
            ColumnInfo(name=column.name, type=column.type, comment=column.comment) for column in self.entry.columns
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FileView(ViewEntry):
    """A temporary view over the files at a path: the existing files at read time, with the columns from its
    creation.
    """

    files: FilesAt
    schema: StructType


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameView(ViewEntry):
    """A temporary view over a DataFrame plan. Without `is_named`, it is the DataFrame of one statement.

    `captured` are the temporary views that its inputs named when it was created: as in Spark, a later view with such a
    name does not change it, not even the view itself.
    """

    frame: DataFramePlan
    is_named: bool = True
    captured: tuple[ViewEntry, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class InputView(ViewEntry):
    """An input of a DataFrame plan, read like a temporary view; `frames` are DataFrames that only its text may name."""

    alias: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    frames: tuple[FrameView, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientRowsView(ViewEntry):
    """Rows that a client sends to one statement (`engine/spool/spooled_rows.py`), read like a temporary view."""


def is_unnamed(entry: SecurableEntry) -> bool:
    """Returns whether it is the view of a statement's DataFrame, of an input, or of its client's rows."""
    return isinstance(entry, InputView | ClientRowsView) or (isinstance(entry, FrameView) and not entry.is_named)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundFiles:
    """Files below the directory `root` that are read as they are, with the columns of `Scan.files`.

    `schema` None: not known yet.
    """

    root: str
    files: pa.Table
    format: FileFormat
    schema: StructType | None = None
    # As in `BoundTable`.
    owners: tuple[PathOwner, ...] = ()
    # Their path in a volume, whose directory is not shown.
    path: str = ""
    # The volume path of `root`, which differs from `path` if that is a file.
    shown_root: str = ""
    # The last columns of `schema`, whose values come from `partition_values`.
    partition_columns: tuple[str, ...] = ()
    # Statistics for each file: `max_values` in the same form as for table files.
    statistics: pa.Table | None = field(default=None, compare=False, repr=False)

    @property
    def name(self) -> None:
        """Returns None: only their alias can refer to them."""

    @property
    def label(self) -> str:
        """Returns the name for messages: the path as the statement has it, or the root."""
        return f"the files at {self.path or self.root}"

    @property
    def columns(self) -> tuple[ColumnInfo, ...]:
        """Returns the columns of the files' schema; an empty tuple if the schema is not known yet."""
        return _columns_of(self.schema or StructType(()))


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundInBody:
    """A relation in a function body, read as the owner of `function`. Messages name `called`, the function itself or
    the one that calls it.
    """

    function: FunctionEntry
    called: FunctionEntry
    relation: NamedRelation | BoundChanges | BoundMetadata
    # The principal may not read all its sources directly.
    is_hidden: bool = False

    @property
    def name(self) -> None:
        """Returns None: only the body can refer to it."""

    @property
    def label(self) -> str:
        """Returns the name of the relation in the body, for messages."""
        return self.relation.label

    @property
    def columns(self) -> tuple[ColumnInfo, ...]:
        """Returns the columns of the relation in the body."""
        return self.relation.columns


NamedRelation: TypeAlias = BoundTable | BoundView
BoundRelation: TypeAlias = NamedRelation | BoundChanges | BoundMetadata | BoundFiles | BoundInBody


def tables_of(relations: Iterable[BoundRelation]) -> Iterator[BoundTable]:
    """Yields the named tables, and the tables that views and function bodies name."""
    for relation in relations:
        match relation:
            case BoundTable():
                yield relation
            case BoundChanges(table=table) | BoundMetadata(table=table):
                yield table
            case BoundView(relations=inner):
                yield from tables_of(inner)
            case BoundInBody(relation=inner_relation):
                yield from tables_of((inner_relation,))
            case BoundFiles():
                pass
            case _:
                assert_never(relation)


def files_of(relations: Iterable[BoundRelation]) -> Iterator[BoundFiles]:
    """Yields the named files, and the files that views and function bodies name."""
    for relation in relations:
        named = relation.relation if isinstance(relation, BoundInBody) else relation
        if isinstance(named, BoundFiles):
            yield named
        elif isinstance(named, BoundView):
            yield from files_of(named.relations)


def _columns_of(schema: StructType) -> tuple[ColumnInfo, ...]:
    return tuple(
        ColumnInfo(
            name=column.name,
            type=column_sql_type(column),
            nullable=column.nullable,
            comment=column.comment,
            default=column.metadata.get(DEFAULT),
        )
        for column in schema.fields
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeName:
    """A name that a statement may give to a table, and its location.

    `found` is an existing table at the location; then only the name is created. `managed`: the catalog chose the
    location, and dropping the table removes it. `is_path`: the statement names ``delta.`/path` ``, which is not
    recorded. `owners` as in `BoundTable`, for a location that the statement chose.
    """

    name: TableName
    location: str
    managed: bool
    # The new table's format.
    own: TableFormat
    found: TableSnapshot | None = None
    is_path: bool = False
    owners: tuple[PathOwner, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenName:
    """A name that refers to `entry`, whose log is not read: for operations on names only."""

    entry: TableEntry | ViewEntry


Target: TypeAlias = BoundTable | FreeName | TakenName


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundNames:
    """A statement's resolved names: the table or name that it changes, the relations that it reads, and the object
    whose privileges or definition it concerns.

    `time_ms` is a time that the statement computes, in ms since the epoch. `is_persistent`: the text is stored in the
    catalog and will be read as its owner. `statement` replaces the parsed one, if its meaning depends on the object
    that a name refers to.
    """

    target: Target | None = None
    relations: tuple[BoundRelation, ...] = ()
    securable: SecurableEntry | None = None
    time_ms: int | None = None
    is_persistent: bool = False
    statement: Statement | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundStatement:
    """A bound statement; `relations` has one element for each relation in the statement, in order.

    `target` is the object that the statement writes, creates or drops; None also if it no longer exists (DROP … IF
    EXISTS).
    """

    statement: Statement
    state: SessionState
    view: CatalogView
    relations: tuple[BoundRelation, ...] = ()
    target: Target | None = None
    # Functions that its queries call, except functions in views.
    functions: tuple[BoundFunction, ...] = ()
    # The object in a statement about privileges; None if it names nothing, or a dropped object (IF EXISTS).
    securable: SecurableEntry | None = None
    # The time among a procedure's arguments, in milliseconds since the epoch.
    time_ms: int | None = None
    # True if the text is stored in the catalog and will be read as its owner.
    is_persistent: bool = False
    # Returns whether a user with this name can log in, as far as the server can look up users.
    knows_user: Callable[[str], bool] = lambda _: False
    # Returns the lineage of all tables.
    load_lineage: Callable[[], LineageState] = lambda: INITIAL_LINEAGE
    # The condition that a catalog change checks again. Set by `authorize`, if privileges apply.
    condition: Condition | None = None

    @property
    def named(self) -> tuple[NamedRelation, ...]:
        """Returns the tables and views among the relations."""
        return tuple(relation for relation in self.relations if isinstance(relation, BoundTable | BoundView))

    def tells_all(self, relation: NamedRelation) -> bool:
        """Returns whether a manager's information about the object is visible to the principal: its location, a view's
        text.
        """
        if self.view.rights is None or is_temporary(relation.entry.name):
            return True
        if isinstance(relation, BoundTable) and relation.name is None:
            return all(map(self.view.tells_all, relation.owners))
        return self.view.tells_all(relation.entry)

    def comments(self) -> Mapping[TableName, str]:
        """Returns the comments on tables and views among the relations, a table's own from its log."""
        found = {
            relation.entry.name: (relation.snapshot.details.description if isinstance(relation, BoundTable) else None)
            or relation.entry.comment
            for relation in self.named
        }
        return {name: comment for name, comment in found.items() if comment}

    @property
    def tables(self) -> tuple[BoundTable, ...]:
        """Returns the tables among the relations."""
        return tuple(relation for relation in self.relations if isinstance(relation, BoundTable))


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizedStatement:
    """A statement that its principal is allowed to run."""

    bound: BoundStatement


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A statement's result, and its change to the session's state (None: unchanged).

    `values` are the rows of an `EvaluateQuery`, which are not sent to a client. `left` is the remaining work of a
    statement that is committed in steps and has to continue. `resolved` is the snapshot with the positions of rows
    removed by equality deletes, for planning the statement again.

    The change is a function, so that it applies to the newest state: two statements in a session may end at the same
    time.
    """

    result: ResultStream
    change: Callable[[SessionState], SessionState] | None = None
    values: RowValues | None = None
    left: Compaction | None = None
    resolved: TableSnapshot | None = None


def counted(num_rows: int, *, defines_table: bool = False) -> Outcome:
    """Returns an outcome without rows, with the number of inserted rows; replaced rows are not counted."""
    counts = RowCounts(affected=num_rows, inserted=num_rows, defines_table=defines_table)
    return Outcome(result=replace(empty_result(), row_counts=counts))
