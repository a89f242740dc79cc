"""Databricks clients' metadata statements: `SHOW SCHEMAS|TABLES|COLUMNS|FUNCTIONS IN [ALL CATALOGS | CATALOG c] …`.

Columns equal Databricks', in its order, because clients look them up by name and by position (databricks-sql-connector
filters tables by the sixth column). Patterns may be SHOW's or a metadata call's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from catalog.entries import Relation, TableEntry
from catalog.names import any_matcher
from engine.binding.bound import BoundStatement, Outcome
from engine.runtime.results import BOOLEAN, INT, STRING, small_result
from engine.statements.listings.statement import FindColumns, FindFunctions, FindSchemas, FindTables
from engine.types.sql_types import type_sizes

FindStatement = FindSchemas | FindTables | FindColumns | FindFunctions

_COLUMNS = {
    **dict.fromkeys(("col_name", "catalogName", "namespace", "tableName", "columnType"), STRING),
    **dict.fromkeys(("columnSize", "decimalDigits", "radix"), INT),
    "isNullable": STRING,
    "remarks": STRING,
    "ordinalPosition": INT,
    **dict.fromkeys(("isAutoIncrement", "isGenerated"), STRING),
}
_FUNCTIONS = dict.fromkeys(
    ("functionName", "namespace", "catalogName", "remarks", "functionType", "specificName"), STRING
)


def find_objects(bound: BoundStatement, statement: FindStatement) -> Outcome:
    """Returns one statement's rows."""
    match statement:
        case FindSchemas(catalog=catalog, pattern=pattern):
            columns = {"databaseName": STRING, "catalog": STRING}
            rows: list[tuple[object, ...]] = [
                (schema.name.schema, schema.name.catalog)
                for schema in bound.view.find_schemas(catalog, any_matcher(pattern))
            ]
        case FindTables():
            columns = {"namespace": STRING, "tableName": STRING, "isTemporary": BOOLEAN, "information": STRING}
            columns |= dict.fromkeys(("catalogName", "tableType", "remarks"), STRING)
            found = bound.view.find_relations(
                statement.catalog, any_matcher(statement.schema_pattern), any_matcher(statement.table_pattern)
            )
            comments = bound.comments()
            rows = [_table_row(relation, comments.get(relation.name, relation.comment)) for relation in found]
        case FindColumns():
            columns = _COLUMNS
            rows = list(_column_rows(bound, statement))
        case FindFunctions():
            columns = _FUNCTIONS
            rows = list(_function_rows(bound, statement))
        case _:
            assert_never(statement)
    return Outcome(result=small_result(columns, rows))


def _function_rows(bound: BoundStatement, statement: FindFunctions) -> Iterator[tuple[object, ...]]:
    matches = any_matcher(statement.pattern)
    for schema in bound.view.find_schemas(statement.catalog, any_matcher(statement.schema_pattern)):
        for entry in bound.view.functions(schema.name, matches):
            name = entry.name
            full_name = ".".join(name.parts)
            kind = "TABLE" if entry.table_columns else "SCALAR"
            yield name.table, name.schema, name.catalog, entry.comment or "", kind, full_name


def _table_row(relation: Relation, comment: str | None) -> tuple[object, ...]:
    kind = "TABLE" if isinstance(relation, TableEntry) else "VIEW"
    return relation.name.schema, relation.name.table, False, "", relation.name.catalog, kind, comment or ""


def _column_rows(bound: BoundStatement, statement: FindColumns) -> Iterator[tuple[object, ...]]:
    matches = any_matcher(statement.column_pattern)
    for relation in bound.named:
        for position, column in enumerate(relation.columns):
            if matches(column.name):
                sizes = type_sizes(column.type)
                size = sizes.precision if sizes.length is None else sizes.length
                numbers = (size, sizes.scale, sizes.radix)
                nullable = "true" if column.nullable else "false"
                described = (nullable, column.comment or "", position, "NO", "NO")
                yield column.name, *relation.entry.name.parts, _shown_type(column.type), *numbers, *described


def _shown_type(text: str) -> str:
    """Returns the type in upper case, as Databricks' JDBC driver expects; a nested type's outer name alone."""
    leading_words, bracket, rest = text.partition("<")
    return leading_words.upper() + bracket + rest
