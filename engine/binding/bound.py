"""How far a statement has come, said by its type.

    Statement ──bind──► BoundStatement ──authorize──► AuthorizedStatement ──plan──► Plan ──execute──► Outcome

Each stage takes only what the former one makes: `engine/binding/binder.py` alone makes a :class:`BoundStatement`,
`engine/authorization/authorize.py` alone an :class:`AuthorizedStatement`, and planning takes nothing else, so a
statement that was not authorised cannot be planned. All values are frozen. After bind nothing asks the catalog or lists
a log again: the statement sees one generation of the catalog and one version of each table, and what was checked is
what runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, assert_never

import pyarrow as pa

from catalog.catalog import CatalogView
from catalog.entries import FunctionEntry, LocationEntry, SecurableEntry, TableEntry, ViewEntry, VolumeEntry
from catalog.grants.conditions import Condition
from catalog.names import TableName
from catalog.policies.policies import NO_POLICIES, Policies
from catalog.rest.names import is_rest
from engine.runtime.results import ResultStream
from engine.runtime.session_state import SessionState, is_temporary
from engine.runtime.statement import Statement
from engine.runtime.variables import RowValues
from engine.sql.query.values import FilesAt, Query
from engine.tables.changes import TableChanges
from engine.tables.formats import TableFormat
from engine.tables.given_rows import GivenRows
from engine.tables.keys import ForeignKey, TableKey, keys_of
from engine.tables.rearrangement import Rearrangement
from engine.tables.scan import FileFormat
from engine.tables.snapshot import MetadataTable, TableSnapshot
from engine.types.schema import StructType
from engine.types.sql_types import column_sql_type


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnInfo:
    """A column of a table or a view, for those who list them; `type` in SQL's spelling."""

    name: str
    type: str
    nullable: bool = True
    comment: str | None = None
    default: str | None = None


PathOwner: TypeAlias = TableEntry | LocationEntry | VolumeEntry


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundExpression:
    """A query that selects one expression over a table's columns, with the functions that it calls inlined, and what
    their bodies read.
    """

    query: Query
    relations: tuple[BoundRelation, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundPolicy:
    """Row filters and column masks of a table.

    A row is read where all of `filters` are TRUE; `masks` are pairs of a column and what is read in its place.
    `settings` are those under which their functions were created.
    """

    filters: tuple[BoundExpression, ...] = ()
    masks: tuple[tuple[str, BoundExpression], ...] = ()
    settings: tuple[tuple[str, str], ...] = ()

    @property
    def relations(self) -> tuple[BoundRelation, ...]:
        """What it reads beside the table."""
        expressions = (*self.filters, *(mask for _, mask in self.masks))
        return tuple(relation for each in expressions for relation in each.relations)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundTable:
    """A name of the statement, what the catalog knows of it, and the one version that the statement sees.

    `name` is None for a table that was named by its path. Then `owners` are, where privileges count, the tables that
    the path belongs to, or the external location that it lies in.
    """

    name: TableName | None
    entry: TableEntry
    snapshot: TableSnapshot
    own: TableFormat = field(compare=False, repr=False)
    """Its format."""
    owners: tuple[PathOwner, ...] = ()
    policies: Policies = NO_POLICIES
    """Those that hold for the session's principal, of the table, or of all tables to which a path belongs."""
    is_policed: bool = False
    """Whether there are any; also where it is not clear which, and no row is read."""
    policy: BoundPolicy | None = None
    """What of it is read, where its rows are read by a query. Without one nothing is hidden."""
    shown_as: str | None = None
    """What messages call it to a reader of a view who may not know what the view reads."""
    has_dates_as_texts: bool = False
    """Whether Spark compares its dates and times with texts as texts, so that no condition is decided without it."""

    @property
    def label(self) -> str:
        """How messages call it."""
        return self.shown_as or self.own_label

    @property
    def own_label(self) -> str:
        """What it is called to those who may know of it."""
        return str(self.name) if self.name else f"{self.entry.format}.`{self.entry.location}`"

    def is_used_by_policy(self, column: str) -> bool:
        """Whether a policy, or a tag that policies may look at, is about a column; by its path as by its name."""
        entries = (self.entry, *(owner for owner in self.owners if isinstance(owner, TableEntry)))
        return any(each.policies.uses(column) or each.tags.of_column(column) for each in entries)

    @property
    def location(self) -> str:
        """Where it lies: a table of a REST catalog where its metadata says."""
        return self.snapshot.table_root if is_rest(self.entry.location) else self.entry.location

    @property
    def columns(self) -> tuple[ColumnInfo, ...]:
        return _columns_of(self.snapshot.schema)

    @property
    def keys(self) -> tuple[TableKey, ...]:
        """The primary key, then foreign keys by name."""
        return keys_of(self.snapshot.details.properties, self.snapshot.schema.names)


def references(key: TableKey, table: TableName) -> bool:
    """Whether `key` is a foreign key to `table`."""
    return isinstance(key, ForeignKey) and TableName(*key.parent) == table


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundChanges:
    """The change data feed of a table, read where the statement names `table_changes`: a read of that table."""

    table: BoundTable
    feed: TableChanges

    @property
    def name(self) -> None:
        """Only its alias can refer to it."""

    @property
    def label(self) -> str:
        return f"the changes of {self.table.label}"

    @property
    def columns(self) -> tuple[ColumnInfo, ...]:
        return _columns_of(self.feed.schema)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundMetadata:
    """What the metadata of a table says, read as `<table>.<part>`: a read of that table."""

    table: BoundTable
    part: str
    content: MetadataTable = field(compare=False, repr=False)

    @property
    def name(self) -> None:
        """Only its alias can refer to it."""

    @property
    def label(self) -> str:
        return f"{self.table.label}.{self.part}"

    @property
    def columns(self) -> tuple[ColumnInfo, ...]:
        return _columns_of(self.content.schema)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundFunction:
    """A function of the catalog that a query calls, and those that its body calls."""

    entry: FunctionEntry
    functions: tuple[BoundFunction, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundView:
    """A view that the statement names: its query, and what that names, bound where the view was made."""

    entry: ViewEntry
    query: Query
    relations: tuple[BoundRelation, ...]
    functions: tuple[BoundFunction, ...] = ()
    is_hidden: bool = False
    """Whether the principal may not read by itself all that the view reads."""
    rows: GivenRows | None = None
    """The rows of a view that is not made of a query."""

    @property
    def name(self) -> TableName:
        return self.entry.name

    @property
    def label(self) -> str:
        return str(self.entry.name)

    @property
    def columns(self) -> tuple[ColumnInfo, ...]:
        """As they were when the view was made."""
        return tuple(
            ColumnInfo(name=column.name, type=column.type, comment=column.comment) for column in self.entry.columns
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FileView(ViewEntry):
    """A temporary view of the files at a path: those that are there when it is read, with the columns that it has had
    since it was created.
    """

    files: FilesAt
    schema: StructType


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundFiles:
    """The files below the folder `root` that are read as they are, with the columns of `Scan.files`.

    `schema` None: it is not known yet.
    """

    root: str
    files: pa.Table
    format: FileFormat
    schema: StructType | None = None
    owners: tuple[PathOwner, ...] = ()
    """As in `BoundTable`."""
    path: str = ""
    """Their path in a volume, whose folder is not shown."""
    shown_root: str = ""
    """The path in a volume of `root`, which differs from `path` if that is a file."""
    partition_columns: tuple[str, ...] = ()
    """The last of `schema`, whose values are those of `partition_values`."""
    statistics: pa.Table | None = field(default=None, compare=False, repr=False)
    """What is known of each file: `max_values` as statistics of a table's files have them."""

    @property
    def name(self) -> None:
        """Only their alias can refer to them."""

    @property
    def label(self) -> str:
        return f"the files at {self.path or self.root}"

    @property
    def columns(self) -> tuple[ColumnInfo, ...]:
        return _columns_of(self.schema or StructType(()))


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundInBody:
    """What the body of a function names, read as the owner of `function`. Messages name `called`, whose body it is
    in, or which calls the function.
    """

    function: FunctionEntry
    called: FunctionEntry
    relation: NamedRelation | BoundChanges | BoundMetadata

    @property
    def name(self) -> None:
        """Nothing but the body can refer to it."""

    @property
    def label(self) -> str:
        return self.relation.label

    @property
    def columns(self) -> tuple[ColumnInfo, ...]:
        return self.relation.columns


NamedRelation: TypeAlias = BoundTable | BoundView
BoundRelation: TypeAlias = NamedRelation | BoundChanges | BoundMetadata | BoundFiles | BoundInBody


def tables_of(relations: Iterable[BoundRelation]) -> Iterator[BoundTable]:
    """Those that are named, and those that views and the bodies of functions name."""
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
    """The files that are named, and those that views name."""
    for relation in relations:
        if isinstance(relation, BoundFiles):
            yield relation
        elif isinstance(relation, BoundView):
            yield from files_of(relation.relations)


def _columns_of(schema: StructType) -> tuple[ColumnInfo, ...]:
    return tuple(
        ColumnInfo(
            name=column.name,
            type=column_sql_type(column),
            nullable=column.nullable,
            comment=column.comment,
            default=column.metadata.get("CURRENT_DEFAULT"),
        )
        for column in schema.fields
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FreeName:
    """A name that a statement may give to a table, and the place for it.

    `found` is the table that lies there already; then the name is all that is made. `managed`: the catalog chose the
    place, and dropping the table removes it. `is_path`: the statement says ``delta.`/path` ``, which nobody records.
    `owners` are as in `BoundTable`, of a place that the statement chose.
    """

    name: TableName
    location: str
    managed: bool
    own: TableFormat
    """The format of the new table."""
    found: TableSnapshot | None = None
    is_path: bool = False
    owners: tuple[PathOwner, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenName:
    """A name that leads to `entry`, whose log is not looked at: for what only concerns names."""

    entry: TableEntry | ViewEntry


Target: TypeAlias = BoundTable | FreeName | TakenName


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundNames:
    """The names of a statement, looked up: the table or name that it changes, the relations that it reads, and the
    object whose privileges or definition it is about.

    `time_ms` is a time that the statement gives by an expression, in ms since the epoch. `is_kept`: the text is kept in
    the catalog and will be read as its owner. `statement` replaces the one that was parsed, if what it means depends on
    what a name stands for.
    """

    target: Target | None = None
    relations: tuple[BoundRelation, ...] = ()
    securable: SecurableEntry | None = None
    time_ms: int | None = None
    is_kept: bool = False
    statement: Statement | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundStatement:
    """`relations` has one element for each relation of the statement, in their order.

    `target` is what the statement writes, makes or drops; None also where it is gone already (DROP … IF EXISTS).
    """

    statement: Statement
    state: SessionState
    view: CatalogView
    relations: tuple[BoundRelation, ...] = ()
    target: Target | None = None
    functions: tuple[BoundFunction, ...] = ()
    """Those that its queries call, without those in views."""
    securable: SecurableEntry | None = None
    """What a statement about privileges names; None where it names nothing, or what is gone (IF EXISTS)."""
    time_ms: int | None = None
    """The time among the arguments of a procedure, in milliseconds since the epoch."""
    is_kept: bool = False
    """True if the text is kept in the catalog and will be read as its owner."""
    knows_user: Callable[[str], bool] = lambda _: False
    """Returns whether a user of this name can log in, as far as the server can look up users."""
    condition: Condition | None = None
    """What a change of the catalog looks at again. Set by `authorize`, where privileges count."""

    @property
    def named(self) -> tuple[NamedRelation, ...]:
        """The tables and views among the relations."""
        return tuple(relation for relation in self.relations if isinstance(relation, BoundTable | BoundView))

    def tells_all(self, relation: NamedRelation) -> bool:
        """Whether the principal may know what only those do who manage an object: where it lies, a view's text."""
        if self.view.rights is None or is_temporary(relation.entry.name):
            return True
        if isinstance(relation, BoundTable) and relation.name is None:
            return all(map(self.view.tells_all, relation.owners))
        return self.view.tells_all(relation.entry)

    def comments(self) -> Mapping[TableName, str]:
        """Those of the tables and views among the relations, a table's own from its log."""
        found = {
            relation.entry.name: (relation.snapshot.details.description if isinstance(relation, BoundTable) else None)
            or relation.entry.comment
            for relation in self.named
        }
        return {name: comment for name, comment in found.items() if comment}

    @property
    def tables(self) -> tuple[BoundTable, ...]:
        """The tables among the relations."""
        return tuple(relation for relation in self.relations if isinstance(relation, BoundTable))


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizedStatement:
    """A statement that its principal may run."""

    bound: BoundStatement


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a statement answers, and how it changes the session's state (None: not at all).

    `values` are the rows of an `EvaluateQuery`, which answers no client. `left` is what is left of a statement that is
    committed in steps; then it has to go on. `resolved` is the snapshot with the positions of rows that were deleted by
    value, for planning the statement again.

    The change is a function, so that it applies to the newest state: two statements of a session may end at once.
    """

    result: ResultStream
    change: Callable[[SessionState], SessionState] | None = None
    values: RowValues | None = None
    left: Rearrangement | None = None
    resolved: TableSnapshot | None = None
