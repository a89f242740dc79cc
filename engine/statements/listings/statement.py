"""Drivers' metadata calls: the listings that JDBC and ODBC request."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from engine.runtime.statement import Statement


class ObjectKind(StrEnum):
    """The kinds of objects that `ListEntries` lists; a view is a table."""

    CATALOG = "catalog"
    SCHEMA = "schema"
    TABLE = "table"
    FUNCTION = "function"
    VOLUME = "volume"


@dataclass(frozen=True, slots=True, kw_only=True)
class FindSchemas(Statement):
    """`SHOW SCHEMAS IN CATALOG c | ALL CATALOGS [LIKE 'pattern']`, as the Databricks clients list schemas."""

    catalog: str | None = None
    pattern: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FindTables(Statement):
    """`SHOW TABLES IN CATALOG c | ALL CATALOGS [SCHEMA LIKE 'p'] [[TABLE] LIKE 'p']`; `catalog` None for all."""

    catalog: str | None = None
    schema_pattern: str | None = None
    table_pattern: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FindColumns(Statement):
    """`SHOW COLUMNS IN CATALOG c | ALL CATALOGS [SCHEMA LIKE 'p'] [TABLE LIKE 'p'] [LIKE 'p']`, as `FindTables`."""

    catalog: str | None = None
    schema_pattern: str | None = None
    table_pattern: str | None = None
    column_pattern: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FindFunctions(Statement):
    """`SHOW FUNCTIONS IN CATALOG c | ALL CATALOGS [SCHEMA LIKE 'p'] [LIKE 'p']`: functions in schemas, not Spark's."""

    catalog: str | None = None
    schema_pattern: str | None = None
    pattern: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FindKeys(Statement):
    """The columns in a table's primary key, or in its foreign keys.

    `SHOW [PRIMARY | FOREIGN] KEYS {IN | FROM} t`, or `IN CATALOG c IN SCHEMA s IN TABLE t`
    """

    table_parts: tuple[str, ...]
    foreign: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ListSchemas(Statement):
    """Metadata call: JDBC patterns (`%`, `_`, backslash escapes), None matches all."""

    catalog: str | None = None
    schema_pattern: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListTables(Statement):
    """Metadata call; `types` among TABLE and VIEW, empty for all."""

    catalog: str | None = None
    schema_pattern: str | None = None
    table_pattern: str | None = None
    types: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ListColumns(Statement):
    """Metadata call."""

    catalog: str | None = None
    schema_pattern: str | None = None
    table_pattern: str | None = None
    column_pattern: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListEntries(Statement):
    """Metadata call: the entries of a kind in a catalog or a schema, by name, as JSON.

    With `name` the one entry; else at most `limit` entries whose names, in lower case, come after `after`. Without
    `schema` all tables or functions in the catalog, in no order.
    """

    kind: ObjectKind
    catalog: str = ""
    schema: str = ""
    name: str | None = None
    after: str = ""
    limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListFiles(Statement):
    """Metadata call: the `limit` largest data files in a table's newest or an older version."""

    table_parts: tuple[str, ...]
    limit: int
    version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListColumnStatistics(Statement):
    """Metadata call: the statistics of a table's columns that its log has, in its newest or an older version."""

    table_parts: tuple[str, ...]
    version: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListLineage(Statement):
    """Metadata call: the relations that a view reads, and the views that read a relation."""

    table_parts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListFunctions(Statement):
    """Metadata call. Spark's own functions, which are in no schema, are listed with any, as in the stock server."""

    catalog: str | None = None
    schema_pattern: str | None = None
    pattern: str | None = None


# Catalog, schema and table by name, ignoring case; None for any.
TablePattern = tuple[str | None, str | None, str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListPrimaryKeys(Statement):
    """Metadata call: primary key columns, in order."""

    table: TablePattern = (None, None, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListChecks(Statement):
    """Metadata call: CHECK constraints with their expressions."""

    table: TablePattern = (None, None, None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListForeignKeys(Statement):
    """Metadata call: foreign key columns in tables `child` that reference tables `parent`."""

    parent: TablePattern = (None, None, None)
    child: TablePattern = (None, None, None)
