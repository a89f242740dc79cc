"""DESCRIBE: the columns of a table as its log has them, and what the catalog and the log say about it.

The layout is Spark's: three text columns, and sections that begin with `#`, since clients (dbt, SQLAlchemy) parse it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from catalog.errors import SqlError
from catalog.names import SchemaName
from engine.bound import BoundStatement, BoundTable, Outcome
from engine.delta.spec.schema import StructField, StructType
from engine.results import string_rows
from engine.sql_types import column_sql_type
from engine.statements import DescribeSchema, DescribeTable

Row = tuple[str, str | None, str | None]

COLUMNS = ("col_name", "data_type", "comment")


def describe_table(bound: BoundStatement, statement: DescribeTable) -> Outcome:
    """Columns and partitioning; with EXTENDED the details; with a column, that column alone."""
    table = bound.tables[0]
    if statement.column_parts:
        column = _find_column(table, statement.column_parts)
        rows = (
            ("col_name", column.name),
            ("data_type", column_sql_type(column)),
            ("comment", column.comment or "NULL"),
        )
        return Outcome(result=string_rows(("info_name", "info_value"), rows))
    rows_ = [*_columns(table), *(_details(table) if statement.extended else ())]
    return Outcome(result=string_rows(COLUMNS, rows_))


def describe_schema(bound: BoundStatement, statement: DescribeSchema) -> Outcome:
    entry = bound.view.schema(SchemaName.from_parts(statement.schema_parts, bound.state.catalog))
    rows = [
        ("Catalog Name", entry.name.catalog),
        ("Namespace Name", entry.name.schema),
        ("Comment", entry.comment or ""),
        ("Location", entry.location or ""),
        ("Owner", entry.owner or ""),
    ]
    return Outcome(result=string_rows(("info_name", "info_value"), rows))


def _columns(table: BoundTable) -> Iterator[Row]:
    schema, partition_columns = table.snapshot.schema, table.snapshot.partition_columns
    for column in schema.fields:
        yield column.name, column_sql_type(column), column.comment
    if partition_columns:
        yield "# Partition Information", "", ""
        yield "# col_name", "data_type", "comment"
        for name in partition_columns:
            found = schema.field(name)
            if found is not None:
                yield found.name, column_sql_type(found), found.comment


def table_details(table: BoundTable) -> dict[str, str]:
    """What is known beside the columns, under Spark's names."""
    snapshot, entry = table.snapshot, table.entry
    metadata = snapshot.metadata
    properties = dict(sorted(metadata.configuration.items())) | {
        "delta.minReaderVersion": str(snapshot.protocol.min_reader_version),
        "delta.minWriterVersion": str(snapshot.protocol.min_writer_version),
    }
    details = {
        "Catalog": table.name.catalog if table.name else "",
        "Database": table.name.schema if table.name else "",
        "Table": table.name.table if table.name else entry.location,
        "Owner": entry.owner,
        "Created Time": _time(metadata.created_time),
        "Last Access": "UNKNOWN",
        "Type": "MANAGED" if entry.managed else "EXTERNAL",
        "Comment": metadata.description or entry.comment,
        "Provider": "delta",
        "Version": str(snapshot.version),
        "Location": entry.location,
        "Partition Columns": json.dumps(list(snapshot.partition_columns)) if snapshot.partition_columns else None,
        "Table Properties": "[" + ",".join(f"{key}={value}" for key, value in properties.items()) + "]",
    }
    return {key: value for key, value in details.items() if value is not None}


def _details(table: BoundTable) -> Iterator[Row]:
    yield "", "", ""
    yield "# Detailed Table Information", "", ""
    for key, value in table_details(table).items():
        yield key, value, ""


def _time(milliseconds: int | None) -> str | None:
    return None if milliseconds is None else datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(" ", "seconds")


@dataclass(eq=False)
class ColumnNotFound(SqlError, condition="UNRESOLVED_COLUMN.WITH_SUGGESTION", sqlstate="42703"):
    name: str
    columns: str
    template = "The table has no column {name}. Its columns are: {columns}."


def _find_column(table: BoundTable, parts: tuple[str, ...]) -> StructField:
    column = StructField("", table.snapshot.schema)
    for depth, part in enumerate(parts):
        found = column.data_type.field(part) if isinstance(column.data_type, StructType) else None
        if found is None:
            raise ColumnNotFound(".".join(parts[: depth + 1]), ", ".join(table.snapshot.schema.names))
        column = found
    return column
