"""The metadata calls of wire protocols: flat lists of schemas, tables, columns and functions, by JDBC pattern.

Columns are neutral; a front end shapes them to what its protocol asks. A table whose log cannot be read is left out of
a list of columns, since one broken table must not hide the others from a tool that lists them all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, assert_never

import numpy as np
import pyarrow as pa

from catalog.entries import TableEntry
from catalog.names import jdbc_matcher
from engine.bind.bound import BoundStatement, BoundTable, ColumnInfo, NamedRelation, Outcome
from engine.runtime.results import BOOLEAN, INT, STRING, ResultStream, small_result, sql_field
from engine.sql.dialect.functions import ALLOWED_FUNCTIONS
from engine.statements.shows import ListColumns, ListFunctions, ListSchemas, ListTables
from engine.types.schema import StructField
from engine.types.sql_types import column_sql_type

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
    """Made by column: a tool that asks for everything gets a million rows of ten thousand tables."""
    matches = jdbc_matcher(statement.column_pattern) if statement.column_pattern is not None else None
    found = _FoundColumns()
    for relation in bound.named:
        columns = _listed(relation)
        positions = [n for n, column in enumerate(columns) if matches is None or matches(column.name)]
        found.add(relation, columns if len(positions) == len(columns) else [columns[n] for n in positions], positions)
    return found.result()


def _listed(relation: NamedRelation) -> Sequence[StructField | ColumnInfo]:
    return relation.snapshot.schema.fields if isinstance(relation, BoundTable) else relation.columns


class _FoundColumns:
    """The cells so far, a list for each column of the result; names of relations are kept once each."""

    def __init__(self) -> None:
        self._relations: list[tuple[str, ...]] = []
        self._counts: list[int] = []
        self._cells: tuple[list[Any], ...] = ([], [], [], [], [], [])

    def add(
        self, relation: NamedRelation, columns: Sequence[StructField | ColumnInfo], positions: Sequence[int]
    ) -> None:
        """`columns` are those at the `positions` of the relation, which count from 0."""
        self._relations.append(relation.entry.name.parts)
        self._counts.append(len(columns))
        names, types, nullable, ordinals, comments, defaults = self._cells
        names += [column.name for column in columns]
        types += [column_sql_type(column) if isinstance(column, StructField) else column.type for column in columns]
        nullable += [column.nullable for column in columns]
        ordinals += [position + 1 for position in positions]
        comments += [column.comment for column in columns]
        defaults += [
            column.metadata.get("CURRENT_DEFAULT") if isinstance(column, StructField) else column.default
            for column in columns
        ]

    def result(self) -> ResultStream:
        """Catalog, schema and table; name, type, nullability, position, comment and default of each column."""
        rows = pa.array(np.repeat(np.arange(len(self._counts)), self._counts))
        owners = [pa.array(parts, pa.string()).take(rows) for parts in zip(*self._relations, strict=True)]
        owners = owners or [pa.array([], pa.string())] * 3
        kinds = (STRING, STRING, BOOLEAN, INT, STRING, STRING)
        own = [pa.array(cells, kind.arrow_type) for cells, kind in zip(self._cells, kinds, strict=True)]
        names = ("catalog", "schema", "table", "column", "sql_type", "nullable", "position", "comment", "default")
        fields = [
            sql_field(name, kind.arrow_type, kind.sql_type)
            for name, kind in zip(names, (STRING, STRING, STRING, *kinds), strict=True)
        ]
        batch = pa.record_batch([*owners, *own], schema=pa.schema(fields))
        return ResultStream(schema=batch.schema, source=(batch,))
