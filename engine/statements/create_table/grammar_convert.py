"""CONVERT TO DELTA."""

from __future__ import annotations

from catalog.conditions import TooManyNameParts, UnsupportedClause
from engine.sql.dialect.cursor import Cursor
from engine.sql.query.relations import is_file_name
from engine.statements.create_table.grammar_clauses import read_column
from engine.statements.create_table.statement import ColumnDef, ConvertTable

_NAME_PARTS_MAX = 3


def parse_convert(cursor: Cursor) -> ConvertTable:
    """What follows CONVERT TO DELTA."""
    parts = cursor.read_names()
    if len(parts) > _NAME_PARTS_MAX:
        raise TooManyNameParts(".".join(parts), _NAME_PARTS_MAX)
    path = None
    if is_file_name(parts):
        if parts[0].lower() != "parquet":
            advice = "Only Parquet files and Iceberg tables can be converted."
            raise UnsupportedClause(f"CONVERT TO DELTA {parts[0]}.`…`", advice)
        path = parts[1]
    has_statistics = not cursor.take("NO", "STATISTICS")
    partitioned_by = _read_partitioning(cursor) if cursor.take("PARTITIONED", "BY") else ()
    return ConvertTable(
        table_parts=parts if path is None else ("delta", path),
        path=path,
        has_statistics=has_statistics,
        partitioned_by=partitioned_by,
    )


def _read_partitioning(cursor: Cursor) -> tuple[ColumnDef, ...]:
    cursor.read("(")
    columns = [read_column(cursor)]
    while cursor.take(","):
        columns.append(read_column(cursor))
    cursor.read(")")
    for column in columns:
        if column.default or column.generated or column.identity or column.checks or column.position:
            raise UnsupportedClause("A rule in PARTITIONED BY", "Give names and types, NOT NULL and COMMENT alone.")
        if len(column.parts) > 1:
            raise cursor.fail("a column of PARTITIONED BY may have no dots")
    return tuple(columns)
