"""Parses SHOW for names, columns, properties, partitions and definitions.

Grammar: Spark's, and Databricks' clients' extensions (`SHOW … IN ALL CATALOGS`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from catalog.conditions import ShowColumnsConflict
from engine.runtime.statement import Statement
from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.errors import unsupported_statement
from engine.sql.query.names import read_catalog, read_schema, read_table, take_pattern, take_schema
from engine.statements.listings.statement import FindColumns, FindFunctions, FindKeys, FindSchemas, FindTables
from engine.statements.show.statement import (
    ShowCatalogs,
    ShowColumns,
    ShowCreateTable,
    ShowCurrentNamespace,
    ShowFunctions,
    ShowPartitions,
    ShowSchemas,
    ShowTableExtended,
    ShowTables,
    ShowTblProperties,
    ShowViews,
)


def _show_schemas(cursor: Cursor) -> ShowSchemas | FindSchemas:
    is_wide, catalog = _take_catalogs(cursor)
    if is_wide:
        return FindSchemas(catalog=catalog, pattern=take_pattern(cursor))
    catalog = read_catalog(cursor) if cursor.take_any("FROM", "IN") else None
    return ShowSchemas(catalog=catalog, pattern=take_pattern(cursor))


def _show_tables(cursor: Cursor) -> ShowTables | FindTables:
    is_wide, catalog = _take_catalogs(cursor)
    if is_wide:
        return FindTables(
            catalog=catalog,
            schema_pattern=_take_named_pattern(cursor, "SCHEMA"),
            table_pattern=_take_named_pattern(cursor, "TABLE") or take_pattern(cursor),
        )
    statement = ShowTables(schema_parts=take_schema(cursor), pattern=take_pattern(cursor))
    _refuse_json(cursor)
    return statement


def _show_table_extended(cursor: Cursor) -> ShowTableExtended:
    schema = take_schema(cursor)
    cursor.read("LIKE")
    pattern = cursor.read_string()
    if cursor.take("PARTITION"):
        raise unsupported_statement("SHOW TABLE EXTENDED … PARTITION")
    _refuse_json(cursor)
    return ShowTableExtended(schema_parts=schema, pattern=pattern)


def _refuse_json(cursor: Cursor) -> None:
    if cursor.take("AS", "JSON"):
        raise unsupported_statement("SHOW TABLES … AS JSON")


def _show_views(cursor: Cursor) -> ShowViews:
    return ShowViews(schema_parts=take_schema(cursor), pattern=take_pattern(cursor))


def _show_columns(cursor: Cursor) -> ShowColumns | FindColumns:
    is_wide, catalog = _take_catalogs(cursor)
    if is_wide:
        return FindColumns(
            catalog=catalog,
            schema_pattern=_take_named_pattern(cursor, "SCHEMA"),
            table_pattern=_take_named_pattern(cursor, "TABLE"),
            column_pattern=cursor.read_string() if cursor.take("LIKE") else None,
        )
    if not cursor.take_any("FROM", "IN"):
        raise cursor.fail("FROM or IN is expected after SHOW COLUMNS")
    table = read_table(cursor)
    if cursor.take_any("FROM", "IN"):
        schema = read_schema(cursor)
        written = [part.lower() for part in table[:-1]]
        if written and written != [part.lower() for part in schema[-len(written) :]]:
            raise ShowColumnsConflict(".".join(table), ".".join(schema))
        table = (*schema, table[-1])
    return ShowColumns(table_parts=table)


def _show_functions(cursor: Cursor, *, builtin: bool = True, user: bool = True) -> ShowFunctions | FindFunctions:
    is_wide, catalog = _take_catalogs(cursor)
    if is_wide:
        schemas = _take_named_pattern(cursor, "SCHEMA")
        return FindFunctions(catalog=catalog, schema_pattern=schemas, pattern=take_pattern(cursor))
    schema = take_schema(cursor)
    pattern = take_pattern(cursor)
    if pattern is None and cursor.is_name():
        pattern = cursor.read_names()[-1]
    return ShowFunctions(schema_parts=schema, pattern=pattern, builtin=builtin, user=user)


def _show_keys(cursor: Cursor) -> FindKeys:
    """Parses `{IN | FROM} t`, or Databricks' `IN CATALOG c IN SCHEMA s IN TABLE t`."""
    if not cursor.take("FROM"):
        cursor.read("IN")
    ahead = cursor.copy()
    if not (ahead.take("CATALOG") and ahead.is_name()):  # a table may have that name
        cursor.take("TABLE")
        return FindKeys(table_parts=read_table(cursor))
    cursor.read("CATALOG")
    catalog = read_catalog(cursor)
    cursor.read("IN", "SCHEMA")
    schema = cursor.read_name()
    cursor.read("IN", "TABLE")
    return FindKeys(table_parts=(catalog, schema, cursor.read_name()))


def _show_tblproperties(cursor: Cursor) -> ShowTblProperties:
    table = read_table(cursor)
    key = None
    if cursor.take("("):
        key = cursor.take_string() or ".".join(cursor.read_names())
        cursor.read(")")
    return ShowTblProperties(table_parts=table, key=key)


def _show_partitions(cursor: Cursor) -> ShowPartitions:
    table = read_table(cursor)
    spec: list[tuple[str, str | None]] = []
    if cursor.take("PARTITION"):
        cursor.read("(")
        while not spec or cursor.take(","):
            column = cursor.read_name()
            cursor.read("=")
            spec.append((column, _read_partition_value(cursor)))
        cursor.read(")")
    return ShowPartitions(table_parts=table, spec=tuple(spec))


def _read_partition_value(cursor: Cursor) -> str | None:
    if cursor.take("NULL"):
        return None
    sign = "-" if cursor.take("-") else ""
    value = cursor.take_number_text() if sign else cursor.take_string() or cursor.take_number_text()
    value = value or cursor.take_any("TRUE", "FALSE")
    if value is None:
        raise cursor.fail("a value (a string, a number, true, false or NULL) is expected")
    return sign + value


def _show_create_table(cursor: Cursor) -> ShowCreateTable:
    table = read_table(cursor)
    if cursor.take("AS", "SERDE"):
        raise unsupported_statement("SHOW CREATE TABLE … AS SERDE")
    return ShowCreateTable(table_parts=table)


def _take_catalogs(cursor: Cursor) -> tuple[bool, str | None]:
    """Parses `IN ALL CATALOGS` (True, None), `IN CATALOG c` (True, c), or neither (False, None)."""
    for word in ("IN", "FROM"):
        if cursor.take(word, "ALL", "CATALOGS"):
            return True, None
        if cursor.words(2) == [word, "CATALOG"] and cursor.count > 2 and cursor.words(3)[2:] not in (["."], ["LIKE"]):
            cursor.read(word, "CATALOG")
            return True, read_catalog(cursor)
    return False, None


def _take_named_pattern(cursor: Cursor, word: str) -> str | None:
    """Reads `SCHEMA LIKE 'pattern'`."""
    return cursor.read_string() if cursor.take(word, "LIKE") else None


LEADING_WORDS: Mapping[tuple[str, ...], Callable[[Cursor], Statement]] = MappingProxyType(
    {
        ("SHOW", "CATALOGS"): lambda cursor: ShowCatalogs(pattern=take_pattern(cursor)),
        ("SHOW", "SCHEMAS"): _show_schemas,
        ("SHOW", "DATABASES"): _show_schemas,
        ("SHOW", "NAMESPACES"): _show_schemas,
        ("SHOW", "TABLES"): _show_tables,
        ("SHOW", "TABLE", "EXTENDED"): _show_table_extended,
        ("SHOW", "VIEWS"): _show_views,
        ("SHOW", "COLUMNS"): _show_columns,
        ("SHOW", "FUNCTIONS"): _show_functions,
        ("SHOW", "ALL", "FUNCTIONS"): _show_functions,
        ("SHOW", "USER", "FUNCTIONS"): partial(_show_functions, builtin=False),
        ("SHOW", "SYSTEM", "FUNCTIONS"): partial(_show_functions, user=False),
        ("SHOW", "CURRENT", "NAMESPACE"): lambda _: ShowCurrentNamespace(),
        ("SHOW", "TBLPROPERTIES"): _show_tblproperties,
        ("SHOW", "PARTITIONS"): _show_partitions,
        ("SHOW", "CREATE", "TABLE"): _show_create_table,
        ("SHOW", "KEYS"): _show_keys,
        ("SHOW", "PRIMARY", "KEYS"): _show_keys,
        ("SHOW", "FOREIGN", "KEYS"): lambda cursor: replace(_show_keys(cursor), foreign=True),
    }
)
