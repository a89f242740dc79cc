"""The Databricks clients' metadata statements: `SHOW SCHEMAS|TABLES|COLUMNS IN [ALL CATALOGS | CATALOG c] …`.

Column names are what those clients look for; patterns may be SHOW's or a metadata call's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from catalog.entries import Relation, TableEntry
from catalog.names import any_matcher
from engine.bind.bound import BoundStatement, Outcome
from engine.runtime.results import BOOLEAN, INT, STRING, small_result
from engine.statements.shows import FindColumns, FindSchemas, FindTables

FindStatement = FindSchemas | FindTables | FindColumns


def find_objects(bound: BoundStatement, statement: FindStatement) -> Outcome:
    """The rows of one such statement."""
    match statement:
        case FindSchemas(pattern=pattern):
            columns = {"databaseName": STRING, "catalogName": STRING}
            rows: list[tuple[object, ...]] = [
                (schema.name.schema, schema.name.catalog)
                for schema in bound.view.find_schemas(None, any_matcher(pattern))
            ]
        case FindTables():
            columns = {"namespace": STRING, "tableName": STRING, "isTemporary": BOOLEAN, "catalogName": STRING}
            columns |= {"tableType": STRING, "remarks": STRING}
            found = bound.view.find_relations(
                statement.catalog, any_matcher(statement.schema_pattern), any_matcher(statement.table_pattern)
            )
            rows = [_table_row(relation) for relation in found]
        case FindColumns():
            columns = dict.fromkeys(("catalogName", "namespace", "tableName", "col_name", "columnType"), STRING)
            columns |= {"isNullable": STRING, "ordinalPosition": INT, "remarks": STRING}
            rows = list(_column_rows(bound, statement))
        case _:
            assert_never(statement)
    return Outcome(result=small_result(columns, rows))


def _table_row(relation: Relation) -> tuple[object, ...]:
    kind = "TABLE" if isinstance(relation, TableEntry) else "VIEW"
    return relation.name.schema, relation.name.table, False, relation.name.catalog, kind, relation.comment or ""


def _column_rows(bound: BoundStatement, statement: FindColumns) -> Iterator[tuple[object, ...]]:
    matches = any_matcher(statement.column_pattern)
    for relation in bound.named:
        for position, column in enumerate(relation.columns):
            if matches(column.name):
                nullable = "true" if column.nullable else "false"
                described = (column.name, column.type, nullable, position, column.comment or "")
                yield (*relation.entry.name.parts, *described)
