"""Encoding of result rows as bytes or JSON values; pure functions over Arrow tables.

JSON and CSV cells are text in the form of :func:`engine.runtime.value_text.to_text`; a null is null in JSON and `null`
without quotes in CSV. An Arrow stream has the rows as the engine created them.
"""

from __future__ import annotations

import json
import re

import pyarrow as pa
import pyarrow.compute as pc

from engine.runtime.results import sql_type_of
from engine.runtime.value_text import to_text

_CSV_QUOTED = r'[",\r\n]|^\s|\s$|^$|^null$'

Cell = str | None

# The type_name in Databricks' API for a SQL type's first word; complex types are named by that word.
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
    """Returns a column in the manifest."""
    return {"name": field.name, "position": position} | type_info(sql_type_of(field))


def type_info(sql_type: str) -> dict[str, object]:
    """Returns a type's fields in Databricks' APIs."""
    lower = sql_type.lower()
    word = re.split(r"[(<\s]", lower, maxsplit=1)[0]
    info: dict[str, object] = {
        "type_name": _TYPE_NAMES.get(word, word.upper()),
        "type_text": sql_type.upper() if "<" not in sql_type else sql_type,
    }
    if decimal := re.fullmatch(r"decimal\((\d+),\s*(-?\d+)\)", lower):
        info |= {"type_precision": int(decimal[1]), "type_scale": int(decimal[2])}
    if word == "interval":
        info["type_interval_type"] = lower.removeprefix("interval ").upper()
    return info


def json_rows(table: pa.Table, time_zone: str) -> list[list[Cell]]:
    """Returns rows with cells, each a string or null."""
    columns = [text.to_pylist() for text in _text_arrays(table, time_zone)]
    return [list(row) for row in zip(*columns, strict=True)]


def json_bytes(table: pa.Table, time_zone: str) -> bytes:
    """Returns `json_rows` as a document."""
    return json.dumps(json_rows(table, time_zone), ensure_ascii=False, separators=(",", ":")).encode()


def csv_bytes(table: pa.Table, time_zone: str, *, header: bool) -> bytes:
    """Returns lines that end with a newline; a cell is quoted if it would be ambiguous."""
    cells = [_csv_cells(column) for column in _text_arrays(table, time_zone)]
    written = _csv_lines([_csv_cells(pa.array([name], pa.string())) for name in table.column_names]) if header else b""
    return written + _csv_lines(cells)


def arrow_stream(table: pa.Table) -> bytes:
    """Returns an IPC stream: the schema, the rows, the end."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def _text_arrays(table: pa.Table, time_zone: str) -> list[pa.StringArray]:
    return [
        to_text(column, sql_type_of(field), time_zone)
        for field, column in zip(table.schema, table.columns, strict=True)
    ]


def _csv_cells(text: pa.StringArray) -> pa.StringArray:
    """Quotes cells if necessary."""
    quoted = pc.binary_join_element_wise('"', pc.replace_substring(text, '"', '""'), '"', "")
    requires_quotes = pc.match_substring_regex(text, _CSV_QUOTED)
    return pc.fill_null(pc.if_else(requires_quotes, quoted, text), "null")


def _csv_lines(columns: list[pa.StringArray]) -> bytes:
    if not columns or not len(columns[0]):
        return b""
    lines = pc.binary_join_element_wise(pc.binary_join_element_wise(*columns, ","), "", "\n")
    joined: str = pc.binary_join(pa.ListArray.from_arrays([0, len(lines)], lines), "")[0].as_py()
    return joined.encode()
