"""Output of text rows for people (an aligned table, Markdown, a line per value) and for programs (JSON, CSV).

All of them write chunk by chunk. The table's column widths come from the first chunk, so that a result of any size
needs only one chunk's memory; a longer cell later on shifts the rest of its line.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TextIO

from gateway.cli.client import Column, Rows

_NUMBERS = frozenset(("BYTE", "SHORT", "INT", "LONG", "FLOAT", "DOUBLE", "DECIMAL"))
_NESTED = frozenset(("ARRAY", "MAP", "STRUCT"))
_NOT_FINITE = frozenset(("NaN", "Infinity", "-Infinity"))


NULL = "NULL"


def write_table(columns: Sequence[Column], chunks: Iterator[Rows], out: TextIO, null: str = NULL) -> None:
    """Writes aligned columns, numbers to the right, `null` for null; then the number of rows.

    A single cell with several lines, such as a plan or the result of SHOW CREATE TABLE, is written unchanged.
    """
    if not columns:
        out.write("OK\n")
        return
    first = next(chunks, [])
    text = first[0][0] if len(columns) == 1 and len(first) == 1 else None
    if text and "\n" in text:
        following = next(chunks, [])
        if not following:
            out.write("\n".join(map(_printable, text.rstrip("\n").split("\n"))) + "\n")
            return
        chunks = chain([following], chunks)
    header = [_printable(column.name) for column in columns]
    shown = ([_cell_text(cell, null) for cell in row] for row in first)
    lines = [header, *shown]
    widths = [max(map(_width, cells)) for cells in zip(*lines, strict=True)]
    to_right = [column.type_name in _NUMBERS for column in columns]
    out.write(_line(header, widths, [False] * len(columns)))
    out.write("-+-".join("-" * width for width in widths) + "\n")
    count = 0
    for row in chain(first, chain.from_iterable(chunks)):
        out.write(_line([_cell_text(cell, null) for cell in row], widths, to_right))
        count += 1
    out.write(_count_line(count))


def write_expanded(columns: Sequence[Column], chunks: Iterator[Rows], out: TextIO, null: str = NULL) -> None:
    """Writes each row as a block with a line per column, for rows that are wider than the screen."""
    if not columns:
        out.write("OK\n")
        return
    names = [_printable(column.name) for column in columns]
    width = max(map(_width, names))
    count = 0
    for row in chain.from_iterable(chunks):
        count += 1
        out.write(f"-[ ROW {count} ]{'-' * max(1, width - 6 - len(str(count)))}\n")
        for name, cell in zip(names, row, strict=True):
            out.write(f"{name}{' ' * (width - _width(name))} | {_cell_text(cell, null)}".rstrip() + "\n")
    out.write(_count_line(count))


def write_markdown(columns: Sequence[Column], chunks: Iterator[Rows], out: TextIO, null: str = NULL) -> None:
    """Writes a table of GitHub's Markdown."""
    if not columns:
        return
    out.write(_markdown_line(column.name for column in columns))
    out.write(_markdown_line("---:" if column.type_name in _NUMBERS else "---" for column in columns))
    for row in chain.from_iterable(chunks):
        out.write(_markdown_line(null if cell is None else cell for cell in row))


def _markdown_line(cells: Iterable[str]) -> str:
    shown = (cell.replace("\\", "\\\\").replace("|", "\\|").replace("\n", "<br>") for cell in cells)
    return f"| {' | '.join(map(_printable, shown))} |\n"


def write_csv(columns: Sequence[Column], chunks: Iterator[Rows], out: TextIO, null: str) -> None:
    """Writes RFC 4180 with a header and `null`, unquoted, for null; a string that equals `null` is quoted."""
    if not columns:
        return
    out.write(",".join(_csv_cell(column.name, null) for column in columns) + "\n")
    for row in chain.from_iterable(chunks):
        out.write(",".join(null if cell is None else _csv_cell(cell, null) for cell in row) + "\n")


def _csv_cell(cell: str, null: str) -> str:
    is_quoted = cell == null or any(character in cell for character in ',"\r\n')
    return '"' + cell.replace('"', '""') + '"' if is_quoted else cell


def _count_line(count: int) -> str:
    return f"({count} {'row' if count == 1 else 'rows'})\n"


def write_json(columns: Sequence[Column], chunks: Iterator[Rows], out: TextIO) -> None:
    """Writes a list with an object per row, one per line; numbers, booleans and nested values are JSON values."""
    if not columns:
        return
    names = [json.dumps(column.name, ensure_ascii=False) for column in columns]
    separator = "["
    for row in chain.from_iterable(chunks):
        cells = (_json_cell(column, cell) for column, cell in zip(columns, row, strict=True))
        members = ", ".join(f"{name}: {cell}" for name, cell in zip(names, cells, strict=True))
        out.write(f"{separator}{{{members}}}")
        separator = ",\n "
    out.write("[]\n" if separator == "[" else "]\n")


def _json_cell(column: Column, cell: str | None) -> str:
    if cell is None:
        return "null"
    is_bare = column.type_name in _NESTED or column.type_name == "BOOLEAN" or column.type_name in _NUMBERS
    return cell if is_bare and cell not in _NOT_FINITE else json.dumps(cell, ensure_ascii=False)


def _line(cells: Sequence[str], widths: Sequence[int], to_right: Iterable[bool]) -> str:
    padded = (
        " " * (width - _width(cell)) + cell if right else cell + " " * (width - _width(cell))
        for cell, width, right in zip(cells, widths, to_right, strict=True)
    )
    return " | ".join(padded).rstrip() + "\n"


def _cell_text(cell: str | None, null: str) -> str:
    return null if cell is None else _printable(cell)


def _printable(text: str) -> str:
    """Escapes control characters, so that a cell stays on its line and cannot control the terminal."""
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def _width(text: str) -> int:
    """Returns the number of terminal columns: two for wide characters, none for combining ones."""
    if text.isascii():
        return len(text)
    wide = sum(unicodedata.east_asian_width(char) in "WF" for char in text)
    return len(text) + wide - sum(map(bool, map(unicodedata.combining, text)))
