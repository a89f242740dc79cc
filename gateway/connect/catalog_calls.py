"""The calls of `spark.catalog`, as statements of the pipeline: they show and change the same objects as SQL.

The rows have the columns that clients read by position.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from catalog.conditions import ConnectFeatureNotSupported, ConnectPlanInvalid
from catalog.errors import SqlError
from catalog.names import quote
from engine.runtime.results import BOOLEAN, STRING, STRINGS, ResultStream, small_result
from engine.runtime.statement import Statement
from engine.sql.query.source_text import GeneratedText
from engine.sql.string_literals import spark_string
from engine.statements.describe.statement import DescribeSchema, DescribeTable
from engine.statements.session.statement import UseCatalog, UseSchema
from engine.statements.show.statement import (
    ShowCatalogs,
    ShowCreateTable,
    ShowFunctions,
    ShowPartitions,
    ShowSchemas,
    ShowTables,
    ShowTblProperties,
    ShowViews,
)
from engine.statements.views.statement import DropView
from gateway.connect.cached_frames import DEFAULT_LEVEL, CachedFrames
from gateway.connect.inputs import name_parts, quote_name
from gateway.connect.proto import pb2
from gateway.connect.types import ddl_columns
from gateway.sessions.session import Session
from gateway.sessions.waiting import ended, rows_of, run_call

Row = Mapping[str, Any]
_NOT_FOUND = ("42P01", "42704", "42883", "42P08")
_DATABASE = {"name": STRING, "catalog": STRING, "description": STRING, "locationUri": STRING}
_TABLE = {
    "name": STRING,
    "catalog": STRING,
    "namespace": STRINGS,
    "description": STRING,
    "tableType": STRING,
    "isTemporary": BOOLEAN,
}
_FUNCTION = {
    "name": STRING,
    "catalog": STRING,
    "namespace": STRINGS,
    "description": STRING,
    "className": STRING,
    "isTemporary": BOOLEAN,
}
_COLUMN = {
    **dict.fromkeys(("name", "description", "dataType"), STRING),
    **dict.fromkeys(("nullable", "isPartition", "isBucket", "isCluster"), BOOLEAN),
}
_FORMATS = frozenset({"", "delta", "iceberg"})


@dataclass(frozen=True, slots=True)
class CatalogCalls:
    """The calls in a session, for a client that is there while `is_active`."""

    session: Session
    is_active: Callable[[], bool]
    cached: CachedFrames

    def answer(self, call: pb2.Catalog) -> ResultStream:
        """Returns a call's rows. Raises `ConnectFeatureNotSupported`, and the errors of its statements."""
        kind = call.WhichOneof("cat_type")
        method = _CALLS.get(kind or "")
        if method is None:
            raise ConnectFeatureNotSupported(f"The call {kind or 'of a newer client'} of the catalog")
        return method(self, getattr(call, kind or ""))

    # ------------------------------------------------------------------------------------------- catalogs and schemas

    def current_catalog(self, _: pb2.CurrentCatalog) -> ResultStream:
        """Returns the name as one row with one column, for `spark.catalog.currentCatalog`."""
        return _text(self.session.engine_session.current_catalog)

    def current_database(self, _: pb2.CurrentDatabase) -> ResultStream:
        """Returns the schema's name without its catalog, for `spark.catalog.currentDatabase`."""
        return _text(self.session.engine_session.current_schema)

    def set_current_catalog(self, call: pb2.SetCurrentCatalog) -> ResultStream:
        """Runs USE CATALOG. Raises `ConnectPlanInvalid` for a name with several parts."""
        return self._change(UseCatalog(catalog=_one_part(call.catalog_name)))

    def set_current_database(self, call: pb2.SetCurrentDatabase) -> ResultStream:
        """Runs USE SCHEMA with the name's parts."""
        return self._change(UseSchema(parts=name_parts(call.db_name), schema_only=True))

    def list_catalogs(self, call: pb2.ListCatalogs) -> ResultStream:
        """Returns the visible catalogs that match the pattern; descriptions are NULL."""
        rows = self._rows(ShowCatalogs(pattern=_optional(call, "pattern")))
        return small_result({"name": STRING, "description": STRING}, [(_first(row), None) for row in rows])

    def list_databases(self, call: pb2.ListDatabases) -> ResultStream:
        """Returns the visible schemas of the current catalog that match the pattern."""
        rows = self._rows(ShowSchemas(pattern=_optional(call, "pattern")))
        catalog = self.session.engine_session.current_catalog
        return small_result(_DATABASE, [self._database((catalog, _first(row))) for row in rows])

    def get_database(self, call: pb2.GetDatabase) -> ResultStream:
        """Returns one row about a schema. Raises `SchemaNotFound`."""
        return small_result(_DATABASE, [self._database(name_parts(call.db_name))])

    def database_exists(self, call: pb2.DatabaseExists) -> ResultStream:
        """Returns true or false; a schema that is not visible does not exist."""
        return _flag(self._exists(DescribeSchema(schema_parts=name_parts(call.db_name))))

    def create_database(self, call: pb2.CreateDatabase) -> ResultStream:
        """Runs CREATE SCHEMA with the call's properties."""
        exists = "IF NOT EXISTS " if call.if_not_exists else ""
        pairs = ", ".join(f"{spark_string(key)} = {spark_string(value)}" for key, value in call.properties.items())
        clause = f" WITH DBPROPERTIES ({pairs})" if pairs else ""
        return self._run_text(f"CREATE SCHEMA {exists}{quote_name(call.db_name)}{clause}")

    def drop_database(self, call: pb2.DropDatabase) -> ResultStream:
        """Runs DROP SCHEMA."""
        exists, last = "IF EXISTS " if call.if_exists else "", " CASCADE" if call.cascade else ""
        return self._run_text(f"DROP SCHEMA {exists}{quote_name(call.db_name)}{last}")

    # ------------------------------------------------------------------------------------------------------- tables

    def list_tables(self, call: pb2.ListTables) -> ResultStream:
        """Returns the visible tables, views and temporary views of a schema that match the pattern."""
        return self._listed(call, ShowTables(schema_parts=_schema(call), pattern=_optional(call, "pattern")))

    def list_views(self, call: pb2.ListViews) -> ResultStream:
        """Returns the visible views and temporary views of a schema that match the pattern."""
        return self._listed(call, ShowViews(schema_parts=_schema(call), pattern=_optional(call, "pattern")))

    def get_table(self, call: pb2.GetTable) -> ResultStream:
        """Returns one row about a table or view. Raises `TableNotFound`."""
        return small_result(_TABLE, [self._table(_qualified(call, call.table_name))])

    def table_exists(self, call: pb2.TableExists) -> ResultStream:
        """Returns true or false; a table that is not visible does not exist."""
        return _flag(self._exists(DescribeTable(table_parts=_qualified(call, call.table_name))))

    def list_columns(self, call: pb2.ListColumns) -> ResultStream:
        """Returns a row for each column, with flags for partition and clustering columns. All are shown as nullable."""
        described = self._rows(DescribeTable(table_parts=_qualified(call, call.table_name)))
        columns, partitions, clusters = _columns(described)
        rows = [
            (row["col_name"], row["comment"], row["data_type"], True, name in partitions, False, name in clusters)
            for row in columns
            for name in [row["col_name"]]
        ]
        return small_result(_COLUMN, rows)

    def create_table(self, call: pb2.CreateTable) -> ResultStream:
        """Runs CREATE TABLE in the Delta or the Iceberg format.

        Raises `ConnectFeatureNotSupported` for other formats and for options.
        """
        kind = call.source.lower()
        if kind not in _FORMATS or call.options:
            raise ConnectFeatureNotSupported("A table of another format, or with options", "Use CREATE TABLE in SQL.")
        fields = call.schema.struct.fields
        columns = f" ({ddl_columns(fields)})" if fields else ""
        comment = f" COMMENT {spark_string(call.description)}" if getattr(call, "description", "") else ""
        location = f" LOCATION {spark_string(call.path)}" if call.path else ""
        return self._run_text(
            f"CREATE TABLE {quote_name(call.table_name)}{columns} USING {kind or 'delta'}{comment}{location}"
        )

    def drop_table(self, call: pb2.DropTable) -> ResultStream:
        """Runs DROP TABLE."""
        exists, purge = "IF EXISTS " if call.if_exists else "", " PURGE" if call.purge else ""
        return self._run_text(f"DROP TABLE {exists}{quote_name(call.table_name)}{purge}")

    def truncate_table(self, call: pb2.TruncateTable) -> ResultStream:
        """Runs TRUNCATE TABLE."""
        return self._run_text(f"TRUNCATE TABLE {quote_name(call.table_name)}")

    def analyze_table(self, call: pb2.AnalyzeTable) -> ResultStream:
        """Runs ANALYZE TABLE … COMPUTE STATISTICS."""
        scan = " NOSCAN" if call.no_scan else ""
        return self._run_text(f"ANALYZE TABLE {quote_name(call.table_name)} COMPUTE STATISTICS{scan}")

    def list_partitions(self, call: pb2.ListPartitions) -> ResultStream:
        """Returns the partitions as texts `name=value/…`, as SHOW PARTITIONS has them in Spark."""
        statement = ShowPartitions(table_parts=name_parts(call.table_name))
        rows = [("/".join(f"{name}={value}" for name, value in row.items()),) for row in self._rows(statement)]
        return small_result({"partition": STRING}, rows)

    def get_table_properties(self, call: pb2.GetTableProperties) -> ResultStream:
        """Returns the table properties as rows with key and value."""
        rows = self._rows(ShowTblProperties(table_parts=name_parts(call.table_name)))
        return small_result({"key": STRING, "value": STRING}, [(row["key"], row["value"]) for row in rows])

    def get_create_table_string(self, call: pb2.GetCreateTableString) -> ResultStream:
        """Returns the statement of SHOW CREATE TABLE."""
        return _text(_first(self._rows(ShowCreateTable(table_parts=name_parts(call.table_name)))[0]))

    def refresh_table(self, call: pb2.RefreshTable) -> ResultStream:
        """Runs REFRESH TABLE."""
        return self._run_text(f"REFRESH TABLE {quote_name(call.table_name)}")

    # --------------------------------------------------------------------------------------- views, functions, caches

    def drop_temp_view(self, call: pb2.DropTempView) -> ResultStream:
        """Drops a temporary view; returns false if it does not exist."""
        return _flag(self._drops(_one_part(call.view_name)))

    def drop_global_temp_view(self, call: pb2.DropGlobalTempView) -> ResultStream:
        """Drops a global temporary view; returns false if it does not exist."""
        return _flag(self._drops("global_temp", _one_part(call.view_name)))

    def drop_view(self, call: pb2.DropView) -> ResultStream:
        """Runs DROP VIEW."""
        exists = "IF EXISTS " if call.if_exists else ""
        return self._run_text(f"DROP VIEW {exists}{quote_name(call.view_name)}")

    def list_functions(self, call: pb2.ListFunctions) -> ResultStream:
        """Returns the functions that match the pattern, the built-in ones included."""
        statement = ShowFunctions(schema_parts=_schema(call), pattern=_optional(call, "pattern"))
        return small_result(_FUNCTION, [_function(_first(row)) for row in self._rows(statement)])

    def get_function(self, call: pb2.GetFunction) -> ResultStream:
        """Returns one row about a function. Raises `FunctionNotFound`."""
        if self._is_built_in(call):
            return small_result(_FUNCTION, [_function(call.function_name)])
        lines = map(_first, self._rows_of_text(f"DESCRIBE FUNCTION EXTENDED {_quoted_function(call)}"))
        details = {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}
        return small_result(_FUNCTION, [_function(details["Function"], details.get("Comment"))])

    def function_exists(self, call: pb2.FunctionExists) -> ResultStream:
        """Returns true or false; a function that is not visible does not exist."""
        text = f"DESCRIBE FUNCTION {_quoted_function(call)}"
        return _flag(self._is_built_in(call) or self._finds(lambda: self._rows_of_text(text)))

    def is_cached(self, call: pb2.IsCached) -> ResultStream:
        """Returns true if the client has cached the table or view. Raises `TableNotFound`."""
        return _flag(self._cache_key(call.table_name) in self.cached)

    def cache_table(self, call: pb2.CacheTable) -> ResultStream:
        """Records a table or view as cached, with the call's storage level. Raises `TableNotFound`."""
        level = call.storage_level if call.HasField("storage_level") else DEFAULT_LEVEL
        self.cached.add(self._cache_key(call.table_name), level)
        return _nothing()

    def uncache_table(self, call: pb2.UncacheTable) -> ResultStream:
        """Forgets that a table or view is cached. Raises `TableNotFound`."""
        self.cached.remove(self._cache_key(call.table_name))
        return _nothing()

    def clear_cache(self, _: pb2.ClearCache) -> ResultStream:
        """Forgets all cached tables and views."""
        self.cached.clear()
        return _nothing()

    def recover_partitions(self, call: pb2.RecoverPartitions) -> ResultStream:
        """Checks that the table exists: partitions of Delta and Iceberg are in the log."""
        self._rows(DescribeTable(table_parts=name_parts(call.table_name)))
        return _nothing()

    def refresh_by_path(self, _: pb2.RefreshByPath) -> ResultStream:
        """Does nothing: the server reads the newest files."""
        return _nothing()

    def _cache_key(self, name: str) -> str:
        """Returns the full name of a table or a view. Raises the error of one that is not visible."""
        found, catalog, namespace, *_ = self._table(name_parts(name))
        return repr((catalog, namespace, found))

    # ------------------------------------------------------------------------------------------------------ helpers

    def _rows(self, statement: Statement) -> list[Row]:
        return list(run_call(self.session, statement, self.is_active).to_pylist())

    def _change(self, statement: Statement) -> ResultStream:
        self._rows(statement)
        self.session.record()
        return _nothing()

    def _rows_of_text(self, text: str) -> list[Row]:
        with ended(self.session, self.session.execute(GeneratedText(text)), self.is_active) as operation:
            return list(rows_of(operation).to_pylist())

    def _run_text(self, text: str) -> ResultStream:
        self._rows_of_text(text)
        self.session.record()
        return _nothing()

    def _exists(self, statement: Statement) -> bool:
        return self._finds(lambda: self._rows(statement))

    def _finds(self, call: Callable[[], object]) -> bool:
        """Returns False if the object of `call` does not exist, or is not visible to the user."""
        try:
            call()
        except SqlError as error:
            if error.sqlstate in _NOT_FOUND:
                return False
            raise
        return True

    def _is_built_in(self, call: pb2.GetFunction) -> bool:
        *qualifier, name = _qualified(call, call.function_name)
        if qualifier or not name.isidentifier():
            return False
        return any(_first(row).lower() == name.lower() for row in self._rows(ShowFunctions(pattern=name, user=False)))

    def _drops(self, *parts: str) -> bool:
        dropped = self._finds(lambda: self._rows(DropView(view_parts=_temporary(parts))))
        self.session.record()
        return dropped

    def _database(self, parts: tuple[str, ...]) -> tuple[str | None, ...]:
        rows = {_first(row): list(row.values())[1] for row in self._rows(DescribeSchema(schema_parts=parts))}
        name = rows.get("Namespace Name") or rows.get("Database Name") or parts[-1]
        catalog = rows.get("Catalog Name") or self.session.engine_session.current_catalog
        return name, catalog, rows.get("Comment"), rows.get("Location")

    def _listed(self, call: pb2.ListTables, statement: ShowTables | ShowViews) -> ResultStream:
        schema = _schema(call)
        rows: list[tuple[object, ...]] = []
        for row in self._rows(statement):
            cells = list(row.values())
            namespace, name, is_temporary = cells[0], cells[1], bool(cells[2])
            if is_temporary:
                rows.append((name, None, [namespace] if namespace else [], None, "TEMPORARY", True))
            else:
                rows.append(self._table((*schema[:-1], namespace, name)))
        return small_result(_TABLE, rows)

    def _table(self, parts: tuple[str, ...]) -> tuple[object, ...]:
        described = self._rows(DescribeTable(table_parts=parts, extended=True))
        details = {row["col_name"]: row["data_type"] for row in described}
        catalog, schema = details.get("Catalog"), details.get("Database") or details.get("Schema")
        if catalog is None:
            return parts[-1], None, [], None, "TEMPORARY", True
        namespace = [schema] if schema else []
        return details.get("Table") or parts[-1], catalog, namespace, details.get("Comment"), details.get("Type"), False


def _columns(described: list[Row]) -> tuple[list[Row], set[str], set[str]]:
    """Returns the columns, and the names of partition and clustering columns, from DESCRIBE's sections."""
    columns: list[Row] = []
    sections: dict[str, set[str]] = {}
    section = ""
    for row in described:
        name = row["col_name"]
        if name.startswith("# "):
            section = name if not name.startswith("# col_name") else section
        elif not section and name:
            columns.append(row)
        elif name:
            sections.setdefault(section, set()).add(name)
    partitions = sections.get("# Partition Information", set())
    return columns, partitions, sections.get("# Clustering Information", set())


def _function(name: str, description: str | None = None) -> tuple[object, ...]:
    parts = name_parts(name)
    catalog, namespace = (parts[0], list(parts[1:-1])) if len(parts) > 2 else (None, None)
    return parts[-1], catalog, namespace, description, "", not namespace


def _quoted_function(call: pb2.GetFunction) -> str:
    return ".".join(map(quote, _qualified(call, call.function_name)))


def _schema(call: pb2.ListTables) -> tuple[str, ...]:
    return name_parts(call.db_name) if call.HasField("db_name") else ()


def _qualified(call: pb2.GetTable, name: str) -> tuple[str, ...]:
    return (*_schema(call), *name_parts(name))


def _temporary(parts: Iterable[str]) -> tuple[str, ...]:
    """Returns the name of a temporary view, which no view of a catalog can have."""
    found = tuple(parts)
    return found if len(found) > 1 else ("system", "session", *found)


def _optional(call: pb2.ListTables, name: str) -> str | None:
    return getattr(call, name) if call.HasField(name) else None


def _one_part(name: str) -> str:
    parts = name_parts(name)
    if len(parts) != 1:
        raise ConnectPlanInvalid(f"{name[:200]!r} has several parts")
    return parts[0]


def _first(row: Row) -> str:
    return str(next(iter(row.values())))


def _text(value: str | None) -> ResultStream:
    return small_result({"value": STRING}, [(value,)])


def _flag(value: bool) -> ResultStream:
    return small_result({"value": BOOLEAN}, [(value,)])


def _nothing() -> ResultStream:
    return small_result({"value": STRING}, ())


_Method = Callable[[CatalogCalls, Any], ResultStream]
_NAMES = (
    "current_catalog current_database set_current_catalog set_current_database list_catalogs list_databases "
    "get_database database_exists create_database drop_database list_tables list_views get_table table_exists "
    "list_columns create_table drop_table truncate_table analyze_table list_partitions get_table_properties "
    "get_create_table_string refresh_table drop_temp_view drop_global_temp_view drop_view list_functions get_function "
    "function_exists recover_partitions refresh_by_path is_cached cache_table uncache_table clear_cache"
).split()
_CALLS: Mapping[str, _Method] = {
    **{name: getattr(CatalogCalls, name) for name in _NAMES},
    "create_external_table": CatalogCalls.create_table,
}
