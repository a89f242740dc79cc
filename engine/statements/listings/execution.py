"""Wire protocols' metadata calls: flat lists with schemas, tables, columns and functions, by JDBC pattern.

Columns are neutral; a front end converts them to its protocol's columns. A table with an unreadable log is omitted from
a column list, because one broken table must not hide the others from a tool that lists them all. `list_files` lists a
table's data files, for the console.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeVar, assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from catalog.entries import TableEntry, ViewEntry
from catalog.names import Matcher, jdbc_matcher, matches_all
from engine.binding.bound import BoundStatement, BoundTable, ColumnInfo, Outcome
from engine.runtime.results import BIGINT, BOOLEAN, INT, STRING, STRING_MAP, ResultStream, small_result, sql_field
from engine.runtime.session_state import GLOBAL_SCHEMA
from engine.sql.dialect.functions import ALLOWED_FUNCTIONS
from engine.statements.listings.statement import ListColumns, ListFiles, ListFunctions, ListSchemas, ListTables
from engine.tables.column_metadata import DEFAULT, generation_clause
from engine.types.schema import DataType, StructField
from engine.types.sql_types import column_sql_type, format_sql_type

ListStatement = ListSchemas | ListTables | ListColumns | ListFunctions


def list_objects(bound: BoundStatement, statement: ListStatement) -> Outcome:
    """Returns one metadata call's rows."""
    match statement:
        case ListSchemas():
            schemas = bound.view.find_schemas(statement.catalog, jdbc_matcher(statement.schema_pattern))
            result = small_result({"catalog": STRING, "schema": STRING}, [schema.name.parts for schema in schemas])
        case ListTables():
            result = _tables(bound, statement)
        case ListColumns():
            result = _columns(bound, statement)
        case ListFunctions():
            result = _functions(bound, statement)
        case _:
            assert_never(statement)
    return Outcome(result=result)


def _tables(bound: BoundStatement, statement: ListTables) -> ResultStream:
    rows: list[tuple[str | None, ...]] = []
    comments = bound.comments()
    schemas, tables = jdbc_matcher(statement.schema_pattern), jdbc_matcher(statement.table_pattern)
    for relation in bound.view.find_relations(statement.catalog, schemas, tables):
        kind = "TABLE" if isinstance(relation, TableEntry) else "VIEW"
        if not statement.types or kind in statement.types:
            rows.append((*relation.name.parts, kind, comments.get(relation.name, relation.comment)))
    if not statement.types or "VIEW" in statement.types:
        views = _global_views(bound, statement.catalog, schemas, tables)
        rows += [(None, GLOBAL_SCHEMA, view.name.table, "VIEW", view.comment) for view in views]
    columns = {"catalog": STRING, "schema": STRING, "table": STRING, "type": STRING, "comment": STRING}
    return small_result(columns, rows)


def _functions(bound: BoundStatement, statement: ListFunctions) -> ResultStream:
    schemas, matches = jdbc_matcher(statement.schema_pattern), jdbc_matcher(statement.pattern)
    rows: list[tuple[str | None, ...]] = [
        (None, None, name, None) for name in sorted(filter(matches, ALLOWED_FUNCTIONS))
    ]
    for schema in bound.view.find_schemas(statement.catalog, schemas):
        rows.extend((*entry.name.parts, entry.comment) for entry in bound.view.functions(schema.name, matches))
    return small_result(dict.fromkeys(("catalog", "schema", "name", "description"), STRING), rows)


def _columns(bound: BoundStatement, statement: ListColumns) -> ResultStream:
    """Returns the list, built column by column: a tool that lists everything gets a million rows from ten thousand
    tables.
    """
    matches = jdbc_matcher(statement.column_pattern) if statement.column_pattern is not None else matches_all
    found = _FoundColumns()
    for relation in bound.named:
        if isinstance(relation, BoundTable):
            found.add_fields(relation.entry.name.parts, relation.snapshot.schema.fields, matches)
        else:
            found.add_columns(relation.entry.name.parts, *_selected_columns(relation.columns, matches))
    schemas, tables = jdbc_matcher(statement.schema_pattern), jdbc_matcher(statement.table_pattern)
    for view in _global_views(bound, statement.catalog, schemas, tables):
        columns = [ColumnInfo(name=one.name, type=one.type, comment=one.comment) for one in view.columns]
        found.add_columns((None, GLOBAL_SCHEMA, view.name.table), *_selected_columns(columns, matches))
    return found.result()


def _global_views(bound: BoundStatement, catalog: str | None, schemas: Matcher, tables: Matcher) -> list[ViewEntry]:
    """Returns global temporary views. As in Spark, they have a schema, but no catalog."""
    if catalog is not None or not schemas(GLOBAL_SCHEMA):
        return []
    return [view for view in bound.state.global_views.values() if tables(view.name.table)]


_LISTED = "catalog schema table column sql_type nullable position comment default generated".split()
_Column = TypeVar("_Column", StructField, ColumnInfo)
_Cells = tuple[Iterable[Any], ...]


def _selected_columns(columns: Sequence[_Column], matches: Matcher) -> tuple[Sequence[_Column], Sequence[int]]:
    """Returns the columns that match by name, and their positions from 1."""
    if matches is matches_all:
        return columns, range(1, len(columns) + 1)
    positions = [n for n, column in enumerate(columns) if matches(column.name)]
    return [columns[n] for n in positions], [n + 1 for n in positions]


class _FoundColumns:
    """The cells so far, a list per result column; relation names are stored once each."""

    def __init__(self) -> None:
        self._relations: list[tuple[str | None, ...]] = []
        # Each relation's first and last cell: tables with the same schema share them.
        self._spans: list[tuple[int, int]] = []
        self._cells: tuple[list[Any], ...] = ([], [], [], [], [], [], [])
        # SQL type names by type identity; there are few.
        self._types: dict[int, str] = {}
        # The span by the identity of a table's fields. The fields and their types are kept alive, since a freed
        # object's identity may be reused.
        self._of_fields: dict[int, tuple[Sequence[StructField], tuple[int, int]]] = {}

    def add_fields(self, table: tuple[str, ...], fields: Sequence[StructField], matches: Matcher) -> None:
        known = self._of_fields.get(id(fields))
        if known is None:
            known = self._of_fields[id(fields)] = fields, self._add(self._cells_of(*_selected_columns(fields, matches)))
        self._relations.append(table)
        self._spans.append(known[1])

    def _cells_of(self, fields: Sequence[StructField], positions: Sequence[int]) -> _Cells:
        known = self._types.get
        types = [known(id(column.data_type)) or self._type(column.data_type) for column in fields]
        comments: list[str | None] = [None] * len(fields)
        defaults: list[Any] = comments.copy()
        generated = comments.copy()
        for place, column in enumerate(fields):
            if column.metadata:
                types[place] = column_sql_type(column)
                comments[place] = column.comment
                defaults[place] = column.metadata.get(DEFAULT)
                generated[place] = generation_clause(column)
        names = [column.name for column in fields]
        return names, types, [column.nullable for column in fields], positions, comments, defaults, generated

    def add_columns(
        self, relation: tuple[str | None, ...], columns: Sequence[ColumnInfo], positions: Sequence[int]
    ) -> None:
        own = (
            (one.name, one.type, one.nullable, position, one.comment, one.default, None)
            for one, position in zip(columns, positions, strict=True)
        )
        self._relations.append(relation)
        self._spans.append(self._add(tuple(zip(*own, strict=True)) if columns else ((),) * 7))

    def _add(self, cells: _Cells) -> tuple[int, int]:
        before = len(self._cells[0])
        for known, more in zip(self._cells, cells, strict=True):
            known += more
        return before, len(self._cells[0])

    def _type(self, data_type: DataType) -> str:
        return self._types.setdefault(id(data_type), format_sql_type(data_type))

    def result(self) -> ResultStream:
        """Returns catalog, schema and table; each column's name, type, nullability, position, comment and default, and
        the clause by which its values are generated.
        """
        spans = np.array(self._spans, np.int64).reshape(-1, 2)
        counts = spans[:, 1] - spans[:, 0]
        rows = pa.array(np.repeat(np.arange(len(spans)), counts))
        owners = [pa.array(parts, pa.string()).take(rows) for parts in zip(*self._relations, strict=True)]
        owners = owners or [pa.array([], pa.string())] * 3
        kinds = (STRING, STRING, BOOLEAN, INT, STRING, STRING, STRING)
        own = [pa.array(cells, kind.arrow_type) for cells, kind in zip(self._cells, kinds, strict=True)]
        moved = np.repeat(spans[:, 0] - np.cumsum(counts) + counts, counts)
        if moved.any():
            places = pa.array(np.arange(len(rows)) + moved)
            own = [cells.take(places) for cells in own]
        fields = [
            sql_field(name, kind.arrow_type, kind.sql_type)
            for name, kind in zip(_LISTED, (STRING, STRING, STRING, *kinds), strict=True)
        ]
        batch = pa.record_batch([*owners, *own], schema=pa.schema(fields))
        return ResultStream(schema=batch.schema, source=(batch,))


_COLUMNS = {"path": STRING, "size": BIGINT, "rows": BIGINT, "deleted_rows": BIGINT, "partition": STRING_MAP}


def list_files(bound: BoundStatement, statement: ListFiles) -> Outcome:
    """Lists the largest files first, with live row counts if statistics have them; `deleted_rows` are in deletion
    vectors.
    """
    snapshot = bound.tables[0].snapshot
    counted = snapshot.counted_files(())
    files = counted.files
    order = np.argsort(-files["size"].to_numpy(), kind="stable")[: statement.limit]
    taken = files.take(pa.array(order))
    rows = counted.live_rows()[order]
    texts = snapshot.partition_texts().take(pa.array(order))
    names = snapshot.partition_columns
    physical = snapshot.columns().physical_partition_columns
    values = [texts.column(key).cast(pa.string()).to_pylist() for key in physical]
    partitions = [list(zip(names, each, strict=True)) for each in zip(*values, strict=True)] or [[]] * len(order)
    vectors = taken["deletion_vector"]
    deleted = pc.if_else(vectors.is_valid(), pc.struct_field(vectors, "cardinality"), 0)
    cells = (
        taken["path"].to_pylist(),
        taken["size"].to_pylist(),
        [int(count) if count >= 0 else None for count in rows],
        deleted.to_pylist(),
        partitions,
    )
    return Outcome(result=small_result(_COLUMNS, zip(*cells, strict=True)))
