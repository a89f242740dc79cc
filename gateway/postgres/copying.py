"""COPY: its options, the rows of COPY TO as messages, and the bytes of COPY FROM as rows. Pure.

Rows of COPY FROM become texts, which the INSERT casts to the types of the table's columns; arrays are JSON arrays of
such texts.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute
import pyarrow.csv

from catalog.conditions import CopyDataInvalid, ParameterValueInvalid, PostgresFeatureNotSupported
from catalog.errors import SqlError
from gateway.postgres.encode import COPY_SIGNATURE, COPY_TRAILER, LineFormat, RowEncoder
from gateway.postgres.messages import MalformedMessage, Reader, message
from gateway.postgres.parameters import array_elements, binary_elements, parameter
from gateway.postgres.types import BINARY_FORMAT, BYTEA, TEXT_FORMAT, Column, PgType, pg_type

_OPTIONS = frozenset({"format", "header", "delimiter", "null", "quote", "escape", "encoding", "freeze", "force_quote"})
_FORMATS = ("text", "csv", "binary")
_UTF8 = frozenset({"utf8", "unicode"})
_CHUNK_BYTES = 8 << 20
# A message of the client has a type byte and a length before its content.
_MESSAGE_HEADER = 5
_END_MARK = b"\\."
_ESCAPED = re.compile(r"\\([0-7]{1,3}|x[0-9A-Fa-f]{1,2}|.)", re.DOTALL)
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_TRUE = frozenset({"", "true", "on", "1", "match"})


@dataclass(frozen=True, slots=True)
class CopyOptions:
    """The options of a COPY."""

    form: str
    has_header: bool
    lines: LineFormat

    @classmethod
    def of(cls, given: Mapping[str, str]) -> CopyOptions:
        """Reads the options; raises `PostgresFeatureNotSupported`, `ParameterValueInvalid`."""
        if unknown := given.keys() - _OPTIONS:
            raise PostgresFeatureNotSupported(f"The option {min(unknown)} of COPY")
        form = given.get("format", "text").lower()
        if form not in _FORMATS:
            raise PostgresFeatureNotSupported(f"The format {form} of COPY", "The formats are text, csv and binary.")
        if given.get("encoding", "utf8").lower().replace("-", "") not in _UTF8:
            raise ParameterValueInvalid("encoding", given["encoding"], "UTF8")
        is_csv = form == "csv"
        quote = _one_char("quote", given.get("quote", '"')) if is_csv else ""
        lines = LineFormat(
            delimiter=_one_char("delimiter", given.get("delimiter", "," if is_csv else "\t")),
            null=given.get("null", "" if is_csv else "\\N"),
            quote=quote,
            escape=_one_char("escape", given.get("escape", quote)) if is_csv else "",
        )
        return cls(form, "header" in given and given["header"].lower() in _TRUE, lines)

    @property
    def wire_format(self) -> int:
        """Returns the format code for CopyInResponse and CopyOutResponse: 0 for text and CSV, 1 for binary."""
        return BINARY_FORMAT if self.form == "binary" else TEXT_FORMAT


def _one_char(name: str, value: str) -> str:
    if len(value) != 1 or value in "\r\n":
        raise ParameterValueInvalid(name, value, "one character")
    return value


@dataclass(slots=True)
class CopyOut:
    """Encodes the rows of COPY TO STDOUT, a CopyData message for each."""

    options: CopyOptions
    columns: Sequence[Column]
    zone: str
    count: int = 0
    _encoder: RowEncoder = field(init=False)

    def __post_init__(self) -> None:
        self._encoder = RowEncoder(self.columns, [self.options.wire_format] * len(self.columns), self.zone)

    def begin(self) -> bytes:
        """Returns the header line, if there is one."""
        if self.options.form == "binary" or not self.options.has_header:
            return b""
        names = [pa.array([column.name], pa.string()) for column in self.columns]
        return bytes(self.options.lines.lines(names))

    def rows(self, rows: pa.Table) -> Iterator[memoryview | bytes]:
        """Yields the messages of some rows. The first one of the binary format has the header too, since clients read
        a whole row from it.
        """
        is_first = self.count == 0
        self.count += rows.num_rows
        if self.options.form != "binary":
            yield self.options.lines.lines(self._encoder.texts(rows))
            return
        if is_first and rows.num_rows:
            first = self._encoder.copy_rows(rows.slice(0, 1))
            yield message(b"d", COPY_SIGNATURE, bytes(first[_MESSAGE_HEADER:]))
            rows = rows.slice(1)
        if rows.num_rows:
            yield self._encoder.copy_rows(rows)

    def end(self) -> bytes:
        """Returns the end of the rows."""
        if self.options.form != "binary":
            return b""
        return message(b"d", b"" if self.count else COPY_SIGNATURE, COPY_TRAILER)


@dataclass(slots=True)
class CopyIn:
    """Reads the bytes of COPY FROM STDIN; `types` are the SQL types of the written columns. `take` gets the rows, as
    texts, each time when some megabytes have arrived.
    """

    options: CopyOptions
    types: Sequence[str]
    take: Callable[[pa.Table], None]
    count: int = 0
    _buffer: bytearray = field(default_factory=bytearray)
    _is_begun: bool = False
    _is_ended: bool = False

    @property
    def names(self) -> list[str]:
        """Returns the names of the columns in the tables that `take` gets."""
        return [f"c{index}" for index in range(len(self.types))]

    def receive(self, content: bytes) -> None:
        """Adds a CopyData message. Raises `CopyDataInvalid`."""
        self._buffer += content
        if len(self._buffer) >= _CHUNK_BYTES:
            self._read(is_last=False)

    def finish(self) -> None:
        """Reads the rest. Raises `CopyDataInvalid`."""
        self._read(is_last=True)

    def _read(self, *, is_last: bool) -> None:
        try:
            table = self._binary_rows(is_last=is_last) if self.options.form == "binary" else self._line_rows(is_last)
        except (pa.ArrowInvalid, MalformedMessage, UnicodeDecodeError, ValueError) as error:
            raise CopyDataInvalid(self.count + 1, str(error).partition("\n")[0][:200]) from error
        if table is not None and table.num_rows:
            self.take(table)
            self.count += table.num_rows

    def _line_rows(self, is_last: bool) -> pa.Table | None:
        end = len(self._buffer) if is_last else self._line_end()
        content = bytes(self._buffer[:end])
        del self._buffer[:end]
        if self._is_ended:
            return None
        if self.options.has_header and not self._is_begun and content:
            content = content.partition(b"\n")[2]
        self._is_begun = True
        content = self._without_end_mark(content)
        if not content:
            return None
        lines = self.options.lines
        is_csv = bool(lines.quote)
        table: pa.Table = pyarrow.csv.read_csv(
            io.BytesIO(content),
            read_options=pyarrow.csv.ReadOptions(column_names=self.names, block_size=max(len(content) + 1, 1 << 20)),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=lines.delimiter,
                quote_char=lines.quote if is_csv else False,
                double_quote=is_csv and lines.escape == lines.quote,
                escape_char=lines.escape if is_csv and lines.escape != lines.quote else False,
                newlines_in_values=is_csv,
                ignore_empty_lines=False,
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types={name: pa.string() for name in self.names},
                null_values=[lines.null],
                strings_can_be_null=True,
                quoted_strings_can_be_null=False,
            ),
        )
        return self._with_arrays(table if is_csv else _unescaped(table))

    def _with_arrays(self, table: pa.Table) -> pa.Table:
        """Replaces PostgreSQL's texts of arrays by JSON, and those of bytes by their hexadecimal form."""
        for index, kind in enumerate(map(pg_type, self.types)):
            read = _array_text if kind.element is not None else hexadecimal if kind.oid == BYTEA.oid else None
            if read is not None:
                values = [None if text is None else read(text, kind) for text in table.column(index).to_pylist()]
                table = table.set_column(index, table.column_names[index], pa.array(values, pa.string()))
        return table

    def _line_end(self) -> int:
        """Returns the end of the last whole line; with quotes a line may go on, so the last even one."""
        quote = self.options.lines.quote.encode()
        end = self._buffer.rfind(b"\n") + 1
        while quote and end and self._buffer.count(quote, 0, end) % 2:
            end = self._buffer.rfind(b"\n", 0, end - 1) + 1
        return end

    def _without_end_mark(self, content: bytes) -> bytes:
        """Removes the line that ends the data for older clients, and what follows it."""
        for mark in (b"\n" + _END_MARK + b"\n", b"\n" + _END_MARK + b"\r\n"):
            at = content.find(mark)
            if at >= 0:
                self._is_ended = True
                return content[: at + 1]
        if content.startswith(_END_MARK) and content[2:].strip() == b"":
            self._is_ended = True
            return b""
        return content[:-2] if content.endswith(b"\n" + _END_MARK) else content

    def _binary_rows(self, *, is_last: bool) -> pa.Table | None:
        kinds = [pg_type(kind) for kind in self.types]
        reader = Reader(bytes(self._buffer))
        if not self._is_begun:
            if reader.take(11) != COPY_SIGNATURE[:11]:
                raise MalformedMessage("the signature is missing")
            reader.take(4)
            reader.take(reader.int32())
            self._is_begun = True
        values: list[list[str | None]] = [[] for _ in kinds]
        done = reader.position
        while not reader.is_done and not self._is_ended:
            try:
                fields = self._binary_row(reader, kinds)
            except MalformedMessage:
                if is_last or len(reader.content) - done > _CHUNK_BYTES * 4:
                    raise
                break
            if fields is not None:
                for column, value in zip(values, fields, strict=True):
                    column.append(value)
            done = reader.position
        del self._buffer[:done]
        return pa.table([pa.array(column, pa.string()) for column in values], names=self.names)

    def _binary_row(self, reader: Reader, kinds: Sequence[PgType]) -> list[str | None] | None:
        count = reader.int16()
        if count == -1:
            self._is_ended = True
            return None
        if count != len(kinds):
            raise ValueError(f"it has {count} fields, and the table {len(kinds)} columns")
        return [self._field(reader, kind) for kind in kinds]

    def _field(self, reader: Reader, kind: PgType) -> str | None:
        length = reader.int32()
        if length == -1:
            return None
        content = reader.take(length)
        if kind.element is None:
            return _binary_value(content, kind)
        element = kind.element
        pieces = binary_elements(content)
        return _json_array([None if piece is None else _binary_value(piece, element) for piece in pieces])


def _binary_value(content: bytes, kind: PgType) -> str | None:
    """Returns a field of the binary format as a text. Raises ValueError."""
    if kind.oid == BYTEA.oid:
        return f"\\x{content.hex()}"
    try:
        return parameter(content, BINARY_FORMAT, kind.oid, 0).value
    except SqlError as error:
        raise ValueError(f"a field is not a value of the type {kind.name}") from error


def _array_text(text: str, kind: PgType) -> str:
    found = [None if one is None else one.decode("utf-8") for one in array_elements(text)]
    if kind.element is not None and kind.element.oid == BYTEA.oid:
        found = [None if one is None else hexadecimal(one, kind.element) for one in found]
    return _json_array(found)


def hexadecimal(text: str, kind: PgType) -> str:
    """Returns bytes in the hexadecimal form; `text` may have the escape form too. Raises ValueError."""
    if text.startswith("\\x"):
        return f"\\x{bytes.fromhex(text[2:]).hex()}"
    if _NOT_ESCAPED.search(text):
        raise ValueError(f"a field is not a value of the type {kind.name}")
    content = _BYTE_ESCAPES.sub(lambda one: chr(int(one[1], 8)) if one[1] else "\\", text)
    return f"\\x{content.encode('latin-1').hex()}"


def _json_array(elements: Sequence[str | bytes | None]) -> str:
    return json.dumps([one.decode("utf-8") if isinstance(one, bytes) else one for one in elements], ensure_ascii=False)


# Escapes of bytes: a doubled backslash, and one before three octal digits. Any other backslash is invalid.
_BYTE_ESCAPES = re.compile(r"\\\\|\\([0-3][0-7]{2})")
_NOT_ESCAPED = re.compile(r"(?:^|[^\\])(?:\\\\)*\\(?!\\|[0-3][0-7]{2})|[^\x00-\x7f]")


def _unescaped(table: pa.Table) -> pa.Table:
    """Replaces the escapes of the text format."""
    for index, name in enumerate(table.column_names):
        column = table.column(index).combine_chunks()
        if pa.compute.any(pa.compute.match_substring(column, "\\")).as_py():
            values = [None if value is None else _ESCAPED.sub(_char, value) for value in column.to_pylist()]
            table = table.set_column(index, name, pa.array(values, pa.string()))
    return table


def _char(escape: re.Match[str]) -> str:
    code = escape[1]
    if code[0] in "01234567":
        return chr(int(code, 8))
    if code[0] == "x" and len(code) > 1:
        return chr(int(code[1:], 16))
    return _ESCAPES.get(code, code)
