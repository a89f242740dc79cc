"""The metadata calls of wire protocols: flat lists of schemas, tables, columns and functions, by JDBC pattern.

Columns are neutral; a front end shapes them to what its protocol asks. A table whose log cannot be read is left out of
a list of columns, since one broken table must not hide the others from a tool that lists them all.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import assert_never

import pyarrow as pa

from catalog.entries import Relation, TableEntry
from catalog.names import CatalogName, SchemaName, jdbc_matcher
from engine.bound import BoundStatement, Outcome
from engine.results import ResultStream, sql_field
from engine.sql.functions import ALLOWED_FUNCTIONS
from engine.sql_types import column_sql_type
from engine.statements import ListColumns, ListFunctions, ListSchemas, ListTables

logger = logging.getLogger(__name__)

ListStatement = ListSchemas | ListTables | ListColumns | ListFunctions

_STRING, _INT, _BOOLEAN = (pa.string(), "string"), (pa.int32(), "int"), (pa.bool_(), "boolean")


def list_objects(bound: BoundStatement, statement: ListStatement) -> Outcome:
    """The rows of one metadata call."""
    match statement:
        case ListSchemas():
            schemas = _schemas(bound, statement.catalog, statement.schema_pattern)
            result = _rows({"catalog": _STRING, "schema": _STRING}, [schema.parts for schema in schemas])
        case ListTables():
            result = _tables(bound, statement)
        case ListColumns():
            result = _columns(bound, statement)
        case ListFunctions():
            matches = jdbc_matcher(statement.pattern)
            names = [name for name in sorted(ALLOWED_FUNCTIONS) if matches(name)]
            result = _rows({"name": _STRING, "description": _STRING}, [(name, None) for name in names])
        case _:
            assert_never(statement)
    return Outcome(result=result)


def _tables(bound: BoundStatement, statement: ListTables) -> ResultStream:
    rows = []
    for relation in _relations(bound, statement.catalog, statement.schema_pattern, statement.table_pattern):
        kind = "TABLE" if isinstance(relation, TableEntry) else "VIEW"
        if not statement.types or kind in statement.types:
            rows.append((*relation.name.parts, kind, relation.comment))
    columns = {"catalog": _STRING, "schema": _STRING, "table": _STRING, "type": _STRING, "comment": _STRING}
    return _rows(columns, rows)


def _columns(bound: BoundStatement, statement: ListColumns) -> ResultStream:
    matches = jdbc_matcher(statement.column_pattern)
    rows = [
        (
            *table.entry.name.parts,
            column.name,
            column_sql_type(column),
            column.nullable,
            position,
            column.comment,
            column.metadata.get("CURRENT_DEFAULT"),
        )
        for table in bound.tables
        for position, column in enumerate(table.snapshot.schema.fields, 1)
        if matches(column.name)
    ]
    names = ("catalog", "schema", "table", "column", "sql_type")
    columns = dict.fromkeys(names, _STRING) | {
        "nullable": _BOOLEAN,
        "position": _INT,
        "comment": _STRING,
        "default": _STRING,
    }
    return _rows(columns, rows)


def _schemas(bound: BoundStatement, catalog: str | None, pattern: str | None) -> Iterator[SchemaName]:
    wanted = [CatalogName(catalog)] if catalog else [entry.name for entry in bound.view.catalogs()]
    for name in wanted:
        if bound.view.has_catalog(name):
            yield from (schema.name for schema in bound.view.schemas(name, jdbc_matcher(pattern)))


def _relations(
    bound: BoundStatement, catalog: str | None, schema_pattern: str | None, table_pattern: str | None
) -> Iterator[Relation]:
    for schema in _schemas(bound, catalog, schema_pattern):
        yield from bound.view.relations(schema, jdbc_matcher(table_pattern))


def _rows(columns: dict[str, tuple[pa.DataType, str]], rows: Sequence[tuple[object, ...]]) -> ResultStream:
    fields = [sql_field(name, arrow_type, sql_type) for name, (arrow_type, sql_type) in columns.items()]
    arrays = [pa.array([row[index] for row in rows], field.type) for index, field in enumerate(fields)]
    batch = pa.record_batch(arrays, schema=pa.schema(fields))
    return ResultStream(schema=batch.schema, source=(batch,))
