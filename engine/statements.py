"""The closed union of statements: what SQL text, or a metadata call of a wire protocol, means before names are bound.

Pure values. `engine/sql` makes them from text; a front end may make the `List…` ones for its metadata calls, which then
take the same road (bind, authorise, …) as any other statement. `match` over :data:`Statement` ends in `assert_never`.
Offsets are into `text`, in characters, the end exclusive.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from engine.delta.predicates import Predicate


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


TimeTravel = AsOfVersion | AsOfTimestamp


@dataclass(frozen=True, slots=True)
class ChangeRange:
    """`table_changes(…, start[, end])`: expressions without columns, as text; of numbers (versions) or times."""

    start: str
    end: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """One place in a query that names a table (not a CTE, not a function), or the changes of one.

    `name_parts` as written, without quotes, one to three (``delta.`/p` `` is `("delta", "/p")`). `span` covers the name
    and its time travel clause, or the whole call of `table_changes`, nothing else. `alias` is the written alias, or
    None; `alias_at` is where one may be put in (after a TABLESAMPLE clause), None where the grammar allows none
    (`TABLE t`) and where no qualifier can stand for the relation.
    """

    name_parts: tuple[str, ...]
    span: Span
    alias: str | None = None
    alias_at: int | None = None
    time_travel: TimeTravel | None = None
    changes: ChangeRange | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A relation without a written alias that a qualifier may stand for.

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
class Query:
    """SELECT, WITH, VALUES, TABLE t, FROM t: the user's own text and where it names tables.

    `relations` and `qualifiers` are in the order of the text. `engine.sql.splice` puts other names in their places.
    `log_question` is the whole of what is asked, if the log may know it.
    """

    text: str
    relations: tuple[Relation, ...] = ()
    qualifiers: tuple[Qualifier, ...] = ()
    log_question: LogQuestion | None = None


class ExplainMode(StrEnum):
    SIMPLE = "simple"
    EXTENDED = "extended"
    CODEGEN = "codegen"
    COST = "cost"
    FORMATTED = "formatted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Explain:
    mode: ExplainMode
    inner: Query


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowCatalogs:
    pattern: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowSchemas:
    """`SHOW SCHEMAS|DATABASES [IN catalog] [LIKE 'pattern']`."""

    catalog: str | None = None
    pattern: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowTables:
    """`SHOW TABLES [IN schema] [LIKE 'pattern']`; `schema_parts` is empty for the current schema."""

    schema_parts: tuple[str, ...] = ()
    pattern: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowTableExtended:
    """`SHOW TABLE EXTENDED [IN schema] LIKE 'pattern'`."""

    pattern: str
    schema_parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowViews:
    schema_parts: tuple[str, ...] = ()
    pattern: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowColumns:
    table_parts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowFunctions:
    """`SHOW [SYSTEM|USER|ALL] FUNCTIONS [LIKE 'pattern']`: `builtin` those of Spark, `user` those that were created."""

    pattern: str | None = None
    builtin: bool = True
    user: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowCurrentNamespace:
    """`SHOW CURRENT NAMESPACE`: the session's catalog and schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FindSchemas:
    """`SHOW SCHEMAS IN ALL CATALOGS [LIKE 'pattern']`, as the Databricks clients list schemas."""

    pattern: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FindTables:
    """`SHOW TABLES IN CATALOG c | ALL CATALOGS [SCHEMA LIKE 'p'] [TABLE LIKE 'p']`; `catalog` None for all."""

    catalog: str | None = None
    schema_pattern: str | None = None
    table_pattern: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FindColumns:
    """`SHOW COLUMNS IN CATALOG c | ALL CATALOGS [SCHEMA LIKE 'p'] [TABLE LIKE 'p'] [LIKE 'p']`, as `FindTables`."""

    catalog: str | None = None
    schema_pattern: str | None = None
    table_pattern: str | None = None
    column_pattern: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowTblProperties:
    """`SHOW TBLPROPERTIES t [('key')]`."""

    table_parts: tuple[str, ...]
    key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowPartitions:
    """`SHOW PARTITIONS t [PARTITION (column = 'value', …)]`: `spec` has the columns and their values as text."""

    table_parts: tuple[str, ...]
    spec: tuple[tuple[str, str | None], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowCreateTable:
    table_parts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeTable:
    """`DESCRIBE [TABLE] [EXTENDED|FORMATTED] t [column]`."""

    table_parts: tuple[str, ...]
    extended: bool = False
    column_parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeSchema:
    schema_parts: tuple[str, ...]
    extended: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeHistory:
    """`DESCRIBE HISTORY t|'/path' [LIMIT n]`; a path is `("delta", path)`."""

    table_parts: tuple[str, ...]
    limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeDetail:
    """`DESCRIBE DETAIL t|'/path'`; a path is `("delta", path)`."""

    table_parts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeQuery:
    """`DESCRIBE [QUERY] SELECT …`: the columns of the result, nothing runs."""

    inner: Query


@dataclass(frozen=True, slots=True, kw_only=True)
class UseSchema:
    """`USE [SCHEMA|DATABASE] a[.b]`: one part is a schema (or, for plain `USE`, a catalog); two are catalog.schema."""

    parts: tuple[str, ...]
    schema_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UseCatalog:
    """`USE CATALOG c`, `SET CATALOG c`."""

    catalog: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SetSetting:
    key: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowSettings:
    """`SET` (key None: all), `SET -v`, `SET key`."""

    key: str | None = None
    verbose: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetSetting:
    """`RESET` (key None: all), `RESET key`."""

    key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListSchemas:
    """Metadata call: JDBC patterns (`%`, `_`, backslash escapes), None matches all."""

    catalog: str | None = None
    schema_pattern: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListTables:
    """Metadata call; `types` among TABLE and VIEW, empty for all."""

    catalog: str | None = None
    schema_pattern: str | None = None
    table_pattern: str | None = None
    types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ListColumns:
    """Metadata call."""

    catalog: str | None = None
    schema_pattern: str | None = None
    table_pattern: str | None = None
    column_pattern: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListFunctions:
    """Metadata call."""

    pattern: str | None = None


Statement = (
    Query
    | Explain
    | ShowCatalogs
    | ShowSchemas
    | ShowTables
    | ShowTableExtended
    | ShowViews
    | ShowColumns
    | ShowFunctions
    | ShowCurrentNamespace
    | ShowTblProperties
    | ShowPartitions
    | ShowCreateTable
    | FindSchemas
    | FindTables
    | FindColumns
    | DescribeTable
    | DescribeSchema
    | DescribeHistory
    | DescribeDetail
    | DescribeQuery
    | UseSchema
    | UseCatalog
    | SetSetting
    | ShowSettings
    | ResetSetting
    | ListSchemas
    | ListTables
    | ListColumns
    | ListFunctions
)
