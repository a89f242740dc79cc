"""Define queries as values: the text, the relations that it names, and their places in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from catalog.names import TableName
from engine.pruning.predicates import Predicate
from engine.runtime.statement import Statement
from engine.tables.scan import FileFormat
from engine.types.schema import StructType

# Marks of a statement's fields (`dataclasses.field`), for calls of the catalog's functions in them.
EXPRESSION: Mapping[str, bool] = MappingProxyType({"expression": True})  # the field is the text of an expression
STORED: Mapping[str, bool] = MappingProxyType({"stored": True})  # the query's function is stored by its name


@dataclass(frozen=True, slots=True)
class Span:
    """`text[start:end]`."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class AsOfVersion:
    """`VERSION AS OF n`, `t@v3`."""

    version: int


@dataclass(frozen=True, slots=True)
class AsOfTimestamp:
    """`TIMESTAMP AS OF '…'`, `t@20240101000000000`: an expression without columns, as text."""

    expression: str


@dataclass(frozen=True, slots=True)
class AsOfReference:
    """`VERSION AS OF 'name'`: a branch or a tag of the table."""

    name: str


TimeTravel = AsOfVersion | AsOfTimestamp | AsOfReference


@dataclass(frozen=True, slots=True)
class ChangeRange:
    """`table_changes(…, start[, end])`: expressions without columns, as text; of numbers (versions) or times."""

    start: str
    end: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesAt:
    """Files at a path. `recursive`: also those of all folders below it. Without `schema` Spark finds their columns."""

    path: str
    format: FileFormat
    recursive: bool = False
    schema: StructType | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """One place in a query that names a table (not a CTE, not a function), the changes of one, or files.

    `name_parts` as written, without quotes, one to three (``delta.`/p` `` is `("delta", "/p")`). `span` covers the name
    and its time travel clause, or the whole call of `table_changes` or `read_files`, nothing else. `alias` is the
    written alias, or None; `alias_at` is where one may be put in (after a TABLESAMPLE clause), None where the grammar
    allows none (`TABLE t`) and where no qualifier can refer to the relation.
    """

    name_parts: tuple[str, ...]
    span: Span
    alias: str | None = None
    alias_at: int | None = None
    time_travel: TimeTravel | None = None
    changes: ChangeRange | None = None
    files: FilesAt | None = None
    functions: tuple[TableName, ...] = ()
    """Of the catalog: it is named in the body of the last one, which the others call, outermost first. Then it has no
    place in the text itself.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A relation without a written alias that a qualifier may refer to.

    `level` counts scopes outwards from the qualifier: the innermost candidate wins. `is_shadowed` says that another
    source of the same last name is in sight, so that the last name alone would not lead to this relation.
    """

    relation: int
    level: int
    is_shadowed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Qualifier:
    """A name before a column (`s.t` in `s.t.c` and in `s.t.*`), or in a join hint, that may stand for a relation.

    `parts` as written, without quotes; `span` covers them without the dot before the column. `candidates` index
    `Query.relations`, innermost first; one whose written name is shorter than `parts` counts only if its full name,
    which the parser cannot know, ends in `parts`.
    """

    parts: tuple[str, ...]
    span: Span
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call of a function that is none of Spark's: `span` is its name, arguments and parentheses.

    `names` has for each argument the parameter that it names (`f(x => 1)`), or None; the spans of arguments are those
    of the values. `places` are the numbers of their parameters, once the function is known. `is_column`: it is all of a
    selected column that has no alias, and is what this is called by. `is_table`: it is in FROM, where `is_aliased` says
    whether an alias is written.
    """

    name_parts: tuple[str, ...]
    span: Span
    arguments: tuple[Span, ...]
    names: tuple[str | None, ...] = ()
    places: tuple[int, ...] = ()
    is_column: bool = False
    is_table: bool = False
    is_aliased: bool = False


@dataclass(frozen=True, slots=True)
class RelationName:
    """In a text under way, the name of the query's relation `number`, in backticks."""

    number: int


Piece = str | int | RelationName


@dataclass(frozen=True, slots=True, kw_only=True)
class InlinedCall:
    """What comes in the place of a call: texts, numbers of its arguments, whose own texts come there, and relations."""

    span: Span
    arguments: tuple[Span, ...]
    pieces: tuple[Piece, ...]


class AggregateKind(StrEnum):
    COUNT_ROWS = "count(*)"
    COUNT_VALUES = "count"
    MIN = "min"
    MAX = "max"
    VALUE = "value"
    """Of the column that rows are grouped by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """A column of a result that the log may know: a count, or something of `column`; `name` is the result's."""

    kind: AggregateKind
    name: str
    column: str | None = None
    qualifier: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogQuestion:
    """All that a query of one table asks, where it asks for nothing but what the log may know.

    `condition` is that of WHERE (None: all rows), `group` the one column that rows are grouped by, as the query spells
    it (None: one group of all rows, also if there are none).
    """

    items: tuple[Aggregate, ...]
    condition: Predicate | None = None
    group: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NeededRows:
    """Which rows a query needs of the one relation that it names: those of which all `conditions` may be true.
    Literals have the types that they are written with.
    """

    conditions: tuple[Predicate, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Query(Statement):
    """SELECT, WITH, VALUES, TABLE t, FROM t: the user's own text and where it names tables.

    `relations` and `qualifiers` are in the order of the text. `engine.sql.query.splice` puts other names in their
    places. `log_question` is the whole of what is asked, if the log may know it; `needed` None: all rows. `calls` may
    be of functions of the catalog; `inlined` are those that are, once the statement is bound, and the relations that
    their bodies name come behind those of the text.
    """

    text: str
    relations: tuple[Relation, ...] = ()
    qualifiers: tuple[Qualifier, ...] = ()
    log_question: LogQuestion | None = None
    needed: NeededRows | None = None
    calls: tuple[Call, ...] = ()
    inlined: tuple[InlinedCall, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetQuery:
    """A query over the table that a statement changes: which rows it means, or what their new values are.

    `target` is the one of its relations that is this table, `items` where columns are put in when the table is known:
    in the place of all that is selected, or after it; `values` are the places of the values that it selects, or of its
    condition, each in parentheses. `source` is where the source of a MERGE is put in;
    `source_relation` is the one of its relations that is there, None where a placeholder is.
    """

    query: Query
    items: Span
    target: int | None
    source: Span | None = None
    source_relation: int | None = None
    values: tuple[Span, ...] = ()


Properties = tuple[tuple[str, str], ...]


class ExplainMode(StrEnum):
    SIMPLE = "simple"
    EXTENDED = "extended"
    CODEGEN = "codegen"
    COST = "cost"
    FORMATTED = "formatted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """`path = text`: a column, or a field of one; `is_default`: what the table has when a statement gives no value."""

    path: tuple[str, ...]
    text: str = field(metadata=EXPRESSION)
    is_default: bool = False
