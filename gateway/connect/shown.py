"""The text of `DataFrame.show()`, and the HTML of notebooks, as Spark formats them. Pure."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from html import escape

import pyarrow as pa

from engine.runtime.results import STRING, ResultStream, small_result, sql_type_of
from engine.runtime.value_text import to_text
from gateway.connect.proto import pb2

_CELL_CHARACTERS_MIN = 3
_ELLIPSIS = "..."
_FULL_WIDTH = frozenset("WF")
_ESCAPES = str.maketrans({"\n": "\\n", "\r": "\\r", "\t": "\\t", "\f": "\\f", "\b": "\\b", "\v": "\\v", "\a": "\\a"})
# The relations with such a text, which are also the names of their columns.
SHOWN = ("show_string", "html_string")


@dataclass(frozen=True, slots=True)
class Show:
    """`show(num_rows, truncate, vertical)`; `truncate` 0 shows whole cells."""

    num_rows: int
    truncate: int
    vertical: bool = False
    is_html: bool = False

    @classmethod
    def of(cls, given: pb2.ShowString | pb2.HtmlString) -> Show:
        """Reads the arguments from a message; the number of rows is limited as in Spark's `Dataset.showString`."""
        num_rows = max(0, min(given.num_rows, (1 << 31) - 16))
        if isinstance(given, pb2.HtmlString):
            return cls(num_rows, given.truncate, is_html=True)
        return cls(num_rows, given.truncate, given.vertical)

    @property
    def rows_wanted(self) -> int:
        """Returns the number of rows to read: one more shows that there are others."""
        return self.num_rows + 1

    def text(self, rows: pa.Table, time_zone: str) -> str:
        """Returns the text for the first `rows_wanted` rows."""
        has_more = rows.num_rows > self.num_rows
        rows = rows.slice(0, self.num_rows)
        names = [self._cut(name.translate(_ESCAPES)) for name in rows.schema.names]
        columns = [
            [self._cut(cell) for cell in _cells(column, sql_type_of(field), time_zone)]
            for column, field in zip(rows.columns, rows.schema, strict=True)
        ]
        lines = list(zip(*columns, strict=True)) if columns else [()] * rows.num_rows
        if self.is_html:
            body = _html(names, lines)
        else:
            body = self._vertical(names, lines) if self.vertical else self._table(names, lines)
        if self.vertical and not lines:
            return "(0 rows)"
        if not has_more:
            return body
        noun = "row" if self.num_rows == 1 else "rows"
        end = "\n" if self.is_html else ""  # clients print the text with a newline
        return f"{body}only showing top {self.num_rows} {noun}{end}"

    def _cut(self, cell: str) -> str:
        if not 0 < self.truncate < len(cell):
            return cell
        if self.truncate <= _CELL_CHARACTERS_MIN:
            return cell[: self.truncate]
        return cell[: self.truncate - len(_ELLIPSIS)] + _ELLIPSIS

    def _table(self, names: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
        widths = [
            max(_CELL_CHARACTERS_MIN, *(_width(line[index]) for line in (names, *lines))) for index in range(len(names))
        ]
        rule = f"+{'+'.join('-' * width for width in widths)}+\n"
        pad: Callable[[str, int], str] = _pad_left if self.truncate > 0 else _pad_right
        shown = [f"|{'|'.join(map(pad, line, widths))}|\n" for line in (names, *lines)]
        return rule + shown[0] + rule + "".join(shown[1:]) + rule

    def _vertical(self, names: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
        name_width = max((_CELL_CHARACTERS_MIN, *map(_width, names)))
        cell_width = max((_CELL_CHARACTERS_MIN, *(_width(cell) for line in lines for cell in line)))
        shown = []
        for number, line in enumerate(lines):
            shown.append(f"-RECORD {number}".ljust(name_width + cell_width + 5, "-") + "\n")
            shown += [
                f" {_pad_right(name, name_width)} | {_pad_right(cell, cell_width)} \n"
                for name, cell in zip(names, line, strict=True)
            ]
        return "".join(shown)


def shown_result(show: Show, stream: ResultStream) -> ResultStream:
    """Returns the one row that the client expects."""
    rows = pa.Table.from_batches(stream.batches(), stream.schema)
    text = show.text(rows, stream.time_zone)
    name = SHOWN[show.is_html]
    return replace(small_result({name: STRING}, [(text,)]), on_close=stream.close)


def _html(names: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    rows = [_html_row("th", names), *(_html_row("td", line) for line in lines)]
    return f"<table border='1'>\n{''.join(rows)}</table>\n"


def _html_row(tag: str, cells: Sequence[str]) -> str:
    joined = f"</{tag}><{tag}>".join(map(escape, cells))
    return f"<tr><{tag}>{joined}</{tag}></tr>\n"


def _cells(column: pa.ChunkedArray, sql_type: str, time_zone: str) -> list[str]:
    values = column.combine_chunks()
    if isinstance(values, pa.ChunkedArray):
        values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.nulls(0, column.type)
    return [cell.translate(_ESCAPES) for cell in _texts(values, sql_type, time_zone)]


def _texts(values: pa.Array, sql_type: str, time_zone: str) -> list[str]:
    """Returns each value as Spark's cast for show() writes it: `[1, NULL]`, `{k -> v}`, `{1, a}`."""
    kind = values.type
    if pa.types.is_list(kind):
        inner = _texts(values.values, "", time_zone)
        spans = zip(values.offsets.to_pylist(), values.offsets.to_pylist()[1:], strict=False)
        texts = [f"[{', '.join(inner[start:end])}]" for start, end in spans]
    elif pa.types.is_map(kind):
        keys, items = _texts(values.keys, "", time_zone), _texts(values.items, "", time_zone)
        pairs = [f"{key} -> {item}" for key, item in zip(keys, items, strict=True)]
        spans = zip(values.offsets.to_pylist(), values.offsets.to_pylist()[1:], strict=False)
        texts = [f"{{{', '.join(pairs[start:end])}}}" for start, end in spans]
    elif pa.types.is_struct(kind):
        parts = [_texts(values.field(index), "", time_zone) for index in range(kind.num_fields)]
        texts = [f"{{{', '.join(cells)}}}" for cells in zip(*parts, strict=True)] if parts else ["{}"] * len(values)
    elif pa.types.is_binary(kind):
        texts = [_hex(value) for value in values.to_pylist()]
    elif pa.types.is_null(kind):
        return ["NULL"] * len(values)
    else:
        texts = to_text(values, sql_type or "string", time_zone).to_pylist()
    return ["NULL" if is_null else text for is_null, text in zip(values.is_null().to_pylist(), texts, strict=True)]


def _hex(value: bytes | None) -> str:
    return "" if value is None else f"[{value.hex(' ').upper()}]"


def _width(text: str) -> int:
    """Returns the columns that a text takes: East Asian wide characters take two."""
    return sum(2 if unicodedata.east_asian_width(character) in _FULL_WIDTH else 1 for character in text)


def _pad_left(text: str, width: int) -> str:
    return " " * (width - _width(text)) + text


def _pad_right(text: str, width: int) -> str:
    return text + " " * (width - _width(text))
