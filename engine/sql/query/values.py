"""Queries as values: the text, the relations that it names, and their spans in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from catalog.names import TableName
from engine.pruning.predicates import Predicate
from engine.runtime.dataframe import DataFramePlan
from engine.runtime.statement import Statement
from engine.tables.scan import FileFormat
from engine.types.schema import StructType

# Metadata for a statement's fields (`dataclasses.field`) that may contain catalog function calls.
EXPRESSION: Mapping[str, bool] = MappingProxyType({"expression": True})  # the field contains an expression's text
STORED: Mapping[str, bool] = MappingProxyType({"stored": True})  # the query's function is stored by its name


@dataclass(frozen=True, slots=True)
class Span:
    """A text range: `text[start:end]`."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class AsOfVersion:
    """A version, `VERSION AS OF n` or `t@v3`."""

    version: int


@dataclass(frozen=True, slots=True)
class AsOfTimestamp:
    """A timestamp, `TIMESTAMP AS OF '…'` or `t@20240101000000000`: an expression without columns, as text."""

    expression: str


@dataclass(frozen=True, slots=True)
class AsOfReference:
    """A branch or a tag of the table: `VERSION AS OF 'name'`."""

    name: str


TimeTravel = AsOfVersion | AsOfTimestamp | AsOfReference


@dataclass(frozen=True, slots=True)
class ChangeRange:
    """The range in `table_changes(…, start[, end])`: expressions without columns, as text; numbers (versions) or
    times.
    """

    start: str
    end: str | None = None


@dataclass(frozen=True, slots=True)
class HistoryOf:
    """`(DESCRIBE HISTORY t [LIMIT n])` in FROM: the newest `limit` commits; None: all."""

    limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesAt:
    """Files at a path. `recursive`: subdirectories are read too. Without `schema` Spark infers their columns."""

    path: str
    format: FileFormat
    recursive: bool = False
    schema: StructType | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A table reference in a query (not a CTE, not a function), a table's changes or history, files, or a DataFrame.

    `name_parts` as written, without quotes, one to three (``delta.`/p` `` is `("delta", "/p")`). `span` covers the name
    and its time travel clause, or the whole `table_changes` or `read_files` call, or
    `(DESCRIBE HISTORY …)`, nothing else. `alias` is the written
    alias, or None; `alias_at` is the position for an inserted alias (after a TABLESAMPLE clause), None if the grammar
    allows none (`TABLE t`) or if no qualifier can refer to the relation.
    """

    name_parts: tuple[str, ...]
    span: Span
    alias: str | None = None
    alias_at: int | None = None
    time_travel: TimeTravel | None = None
    changes: ChangeRange | None = None
    files: FilesAt | None = None
    history: HistoryOf | None = None
    frame: DataFramePlan | None = None
    # Catalog functions, outermost first: the last one's body names the relation, the others call it. The relation then
    # has no position in the text itself.
    functions: tuple[TableName, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A relation without a written alias that a qualifier may refer to.

    `level` counts scopes outwards from the qualifier: the innermost candidate wins. `is_shadowed`: another visible
    source has the same last name part, so that this part alone would not resolve to the relation.
    """

    relation: int
    level: int
    is_shadowed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Qualifier:
    """A name before a column (`s.t` in `s.t.c` and in `s.t.*`), or in a join hint, that may refer to a relation.

    `parts` as written, without quotes; `span` covers them without the dot before the column. `candidates` index
    `Query.relations`, innermost first; a candidate whose written name is shorter than `parts` counts only if its full
    name, which the parser cannot determine, ends in `parts`.
    """

    parts: tuple[str, ...]
    span: Span
    candidates: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A call of a function that is not a Spark built-in: `span` covers its name, arguments and parentheses.

    `names` has for each argument the parameter that it names (`f(x => 1)`), or None; an argument's span covers its
    value. `places` are the numbers of their parameters, once the function is resolved. `is_column`: it is a whole
    selected column without an alias, which gets its name. `is_table`: it is in FROM; `is_aliased`: with a written
    alias.
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
    """A placeholder in an intermediate text for the name of the query's relation `number`, in backticks."""

    number: int


Piece = str | int | RelationName


@dataclass(frozen=True, slots=True, kw_only=True)
class InlinedCall:
    """A call's replacement: texts, argument numbers, which are replaced by the arguments' texts, and relations."""

    span: Span
    arguments: tuple[Span, ...]
    pieces: tuple[Piece, ...]


class AggregateKind(StrEnum):
    COUNT_ROWS = "count(*)"
    COUNT_VALUES = "count"
    MIN = "min"
    MAX = "max"
    # The kind of the grouping column.
    VALUE = "value"


@dataclass(frozen=True, slots=True, kw_only=True)
class Aggregate:
    """A result column that the log may have: a count, or an aggregate over `column`; `name` is the result's."""

    kind: AggregateKind
    name: str
    column: str | None = None
    qualifier: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataQuery:
    """A metadata-only query over one table: all its values may be in the log.

    `condition` is the WHERE condition (None: all rows), `group` the only grouping column, as the query spells it (None:
    one group with all rows, also if it is empty).
    """

    items: tuple[Aggregate, ...]
    condition: Predicate | None = None
    group: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NeededRows:
    """The rows that a query needs from its only relation: rows for which all `conditions` may be true. Literals have
    the types that they are written with.
    """

    conditions: tuple[Predicate, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Query(Statement):
    """SELECT, WITH, VALUES, TABLE t, FROM t: the user's own text and the positions of table names.

    `relations` and `qualifiers` are in text order. `engine.sql.query.splice` inserts other names at their positions.
    `metadata_query` is the whole query, if it may be metadata-only; `needed` None: all rows. `calls` may refer to
    catalog functions; `inlined` are the ones that do, once the statement is bound. Relations in their bodies follow the
    text's relations.
    """

    text: str
    relations: tuple[Relation, ...] = ()
    qualifiers: tuple[Qualifier, ...] = ()
    metadata_query: MetadataQuery | None = None
    needed: NeededRows | None = None
    calls: tuple[Call, ...] = ()
    inlined: tuple[InlinedCall, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetQuery:
    """A query over a statement's target table: it selects the affected rows, or their new values.

    `target` is the relation for this table, `items` the position for inserted columns when the table is resolved:
    instead of the select list, or after it; `values` are the spans of the selected values, or of the condition, each in
    parentheses. `source` is the position for a MERGE source; `source_relation` is the relation there, None for a
    placeholder.
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
    """An assignment, `path = text`, to a column or a field; `is_default`: it is the table's default for a missing
    value.
    """

    path: tuple[str, ...]
    text: str = field(metadata=EXPRESSION)
    is_default: bool = False
