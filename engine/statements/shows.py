"""The closed union of statements: what SQL text, or a metadata call of a wire protocol, means before names are bound.

Pure values. `engine/sql` makes them from text; a front end may make the `List…` ones for its metadata calls, which then
take the same road (bind, authorise, …) as any other statement. `match` over :data:`Statement` ends in `assert_never`.
Offsets are into `text`, in characters, the end exclusive.
"""

from __future__ import annotations

from dataclasses import dataclass


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
    """`SHOW [SYSTEM|USER|ALL] FUNCTIONS [IN schema] [LIKE 'pattern']`: `builtin` those of Spark, `user` the others."""

    schema_parts: tuple[str, ...] = ()
    pattern: str | None = None
    builtin: bool = True
    user: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowCurrentNamespace:
    """`SHOW CURRENT NAMESPACE`: the session's catalog and schema."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FindSchemas:
    """`SHOW SCHEMAS IN CATALOG c | ALL CATALOGS [LIKE 'pattern']`, as the Databricks clients list schemas."""

    catalog: str | None = None
    pattern: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FindTables:
    """`SHOW TABLES IN CATALOG c | ALL CATALOGS [SCHEMA LIKE 'p'] [[TABLE] LIKE 'p']`; `catalog` None for all."""

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
class FindFunctions:
    """`SHOW FUNCTIONS IN CATALOG c | ALL CATALOGS [SCHEMA LIKE 'p'] [LIKE 'p']`: those of schemas, not Spark's."""

    catalog: str | None = None
    schema_pattern: str | None = None
    pattern: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FindKeys:
    """The columns of the primary key of a table, or of its foreign keys.

    `SHOW [PRIMARY | FOREIGN] KEYS {IN | FROM} t`, or `IN CATALOG c IN SCHEMA s IN TABLE t`
    """

    table_parts: tuple[str, ...]
    foreign: bool = False


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
    """`DESCRIBE [TABLE] [EXTENDED|FORMATTED] t [column] [AS JSON]`; metadata calls may ask for an older `version`."""

    table_parts: tuple[str, ...]
    extended: bool = False
    column_parts: tuple[str, ...] = ()
    as_json: bool = False
    version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeSchema:
    schema_parts: tuple[str, ...]
    extended: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeCatalog:
    """`DESCRIBE CATALOG [EXTENDED] c`"""

    catalog: str
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
class ListFiles:
    """Metadata call: the `limit` largest data files of a table, of its newest version or an older one."""

    table_parts: tuple[str, ...]
    limit: int
    version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListFunctions:
    """Metadata call. Spark's own functions, which are in no schema, are listed with any, as the stock server does."""

    catalog: str | None = None
    schema_pattern: str | None = None
    pattern: str | None = None


TablePattern = tuple[str | None, str | None, str | None]
"""Catalog, schema and table by name, in any case; None for any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPrimaryKeys:
    """Metadata call: the columns of primary keys, in their order."""

    table: TablePattern = (None, None, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListForeignKeys:
    """Metadata call: the columns of foreign keys of the tables `child` that reference tables `parent`."""

    parent: TablePattern = (None, None, None)
    child: TablePattern = (None, None, None)
