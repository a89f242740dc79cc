"""Rows of a result as bytes or JSON values; pure functions over Arrow tables.

Cells of JSON and CSV are text as :func:`engine.values.to_text` spells it; a null is null in JSON and `null` without
quotes in CSV. An Arrow stream carries the rows as the engine made them.
"""

from __future__ import annotations

import json
import re

import pyarrow as pa

from engine.results import sql_type_of
from engine.values import to_text

_CSV_QUOTED = re.compile(r'[",\r\n]|^\s|\s$|^$|^null$')

Cell = str | None

# The type_name of Databricks' API for the first word of a SQL type; complex types are named by that word.
_TYPE_NAMES = {
    "tinyint": "BYTE",
    "smallint": "SHORT",
    "bigint": "LONG",
    "varchar": "STRING",
    "timestamp_ntz": "TIMESTAMP",
    "void": "NULL",
    "variant": "STRING",
    "geometry": "STRING",
    "geography": "STRING",
}


def column_info(field: pa.Field, position: int) -> dict[str, object]:
    """A column of the manifest."""
    sql_type = sql_type_of(field)
    word = re.split(r"[(<\s]", sql_type, maxsplit=1)[0]
    info: dict[str, object] = {
        "name": field.name,
        "position": position,
        "type_name": _TYPE_NAMES.get(word, word.upper()),
        "type_text": sql_type.upper() if "<" not in sql_type else sql_type,
    }
    if decimal := re.fullmatch(r"decimal\((\d+),\s*(-?\d+)\)", sql_type):
        info |= {"type_precision": int(decimal[1]), "type_scale": int(decimal[2])}
    if word == "interval":
        info["type_interval_type"] = sql_type.removeprefix("interval ").upper()
    return info


def json_rows(table: pa.Table, time_zone: str) -> list[list[Cell]]:
    """Rows of cells, each a string or null."""
    return [list(row) for row in zip(*_text_columns(table, time_zone), strict=True)]


def json_bytes(table: pa.Table, time_zone: str) -> bytes:
    """`json_rows` as a document."""
    return json.dumps(json_rows(table, time_zone), ensure_ascii=False, separators=(",", ":")).encode()


def csv_bytes(table: pa.Table, time_zone: str, *, header: bool) -> bytes:
    """Lines ended by a newline; a cell is quoted where it could be read as something else."""
    lines = [_csv_line(table.schema.names)] if header else []
    lines += map(_csv_line, zip(*_text_columns(table, time_zone), strict=True))
    return "".join(lines).encode()


def arrow_stream(table: pa.Table) -> bytes:
    """An IPC stream: the schema, the rows, the end."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _text_columns(table: pa.Table, time_zone: str) -> list[list[Cell]]:
    return [
        to_text(column, sql_type_of(field), time_zone).to_pylist()
        for field, column in zip(table.schema, table.columns, strict=True)
    ]


def _csv_line(cells: tuple[Cell, ...] | list[str]) -> str:
    return ",".join(map(_csv_cell, cells)) + "\n"


def _csv_cell(cell: Cell) -> str:
    if cell is None:
        return "null"
    return '"' + cell.replace('"', '""') + '"' if _CSV_QUOTED.search(cell) else cell
