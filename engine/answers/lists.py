"""The metadata calls of wire protocols: flat lists of schemas, tables, columns and functions, by JDBC pattern.

Columns are neutral; a front end shapes them to what its protocol asks. A table whose log cannot be read is left out of
a list of columns, since one broken table must not hide the others from a tool that lists them all.
"""

from __future__ import annotations

import logging
from typing import assert_never

from catalog.entries import TableEntry
from catalog.names import jdbc_matcher
from engine.bind.bound import BoundStatement, Outcome
from engine.runtime.results import BOOLEAN, INT, STRING, ResultStream, small_result
from engine.sql.dialect.functions import ALLOWED_FUNCTIONS
from engine.statements.shows import ListColumns, ListFunctions, ListSchemas, ListTables

logger = logging.getLogger(__name__)

ListStatement = ListSchemas | ListTables | ListColumns | ListFunctions


def list_objects(bound: BoundStatement, statement: ListStatement) -> Outcome:
    """The rows of one metadata call."""
    match statement:
        case ListSchemas():
            schemas = bound.view.find_schemas(statement.catalog, jdbc_matcher(statement.schema_pattern))
            result = small_result({"catalog": STRING, "schema": STRING}, [schema.name.parts for schema in schemas])
        case ListTables():
            result = _tables(bound, statement)
        case ListColumns():
            result = _columns(bound, statement)
        case ListFunctions():
            matches = jdbc_matcher(statement.pattern)
            names = [name for name in sorted(ALLOWED_FUNCTIONS) if matches(name)]
            result = small_result({"name": STRING, "description": STRING}, [(name, None) for name in names])
        case _:
            assert_never(statement)
    return Outcome(result=result)


def _tables(bound: BoundStatement, statement: ListTables) -> ResultStream:
    rows = []
    comments = bound.comments()
    schemas, tables = jdbc_matcher(statement.schema_pattern), jdbc_matcher(statement.table_pattern)
    for relation in bound.view.find_relations(statement.catalog, schemas, tables):
        kind = "TABLE" if isinstance(relation, TableEntry) else "VIEW"
        if not statement.types or kind in statement.types:
            rows.append((*relation.name.parts, kind, comments.get(relation.name, relation.comment)))
    columns = {"catalog": STRING, "schema": STRING, "table": STRING, "type": STRING, "comment": STRING}
    return small_result(columns, rows)


def _columns(bound: BoundStatement, statement: ListColumns) -> ResultStream:
    matches = jdbc_matcher(statement.column_pattern)
    rows = [
        (
            *relation.entry.name.parts,
            column.name,
            column.type,
            column.nullable,
            position,
            column.comment,
            column.default,
        )
        for relation in bound.named
        for position, column in enumerate(relation.columns, 1)
        if matches(column.name)
    ]
    names = ("catalog", "schema", "table", "column", "sql_type")
    columns = dict.fromkeys(names, STRING) | {
        "nullable": BOOLEAN,
        "position": INT,
        "comment": STRING,
        "default": STRING,
    }
    return small_result(columns, rows)
