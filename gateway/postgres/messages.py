"""The messages of PostgreSQL's protocol 3: clients' messages as values, and the server's as bytes. Pure.

A message is a type byte, an int32 length that counts itself, and the content; strings end with NUL. Malformed content
raises :class:`MalformedMessage`. See "Message Formats" in PostgreSQL's documentation.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from gateway.postgres.types import Column

_I16, _I32 = struct.Struct(">h"), struct.Struct(">i")
_FIELD = struct.Struct(">ihihih")
# Columns and parameters are counted by 16 bits.
COUNT_MAX = 0x7FFF
EMPTY_QUERY = b"I\0\0\0\4"
PARSE_COMPLETE = b"1\0\0\0\4"
BIND_COMPLETE = b"2\0\0\0\4"
CLOSE_COMPLETE = b"3\0\0\0\4"
NO_DATA = b"n\0\0\0\4"
PORTAL_SUSPENDED = b"s\0\0\0\4"
COPY_DONE = b"c\0\0\0\4"


class MalformedMessage(Exception):
    """The bytes are not a message of the protocol; the text has the reason."""


@dataclass(slots=True)
class Reader:
    """Reads a message's content."""

    content: bytes
    _at: int = 0

    @property
    def position(self) -> int:
        """Returns the number of bytes that were taken."""
        return self._at

    @property
    def is_done(self) -> bool:
        """Returns True at the end of the content."""
        return self._at >= len(self.content)

    def take(self, count: int) -> bytes:
        """Returns the next bytes."""
        end = self._at + count
        if count < 0 or end > len(self.content):
            raise MalformedMessage("a message ends too early")
        taken = self.content[self._at : end]
        self._at = end
        return taken

    def rest(self) -> bytes:
        """Returns the remaining bytes."""
        return self.take(len(self.content) - self._at)

    def int16(self) -> int:
        """Reads a signed 16-bit integer. Raises `MalformedMessage` at the end of the content."""
        return int(_I16.unpack(self.take(2))[0])

    def int32(self) -> int:
        """Reads a signed 32-bit integer. Raises `MalformedMessage` at the end of the content."""
        return int(_I32.unpack(self.take(4))[0])

    def count(self) -> int:
        """Returns a number of 16 bits without a sign."""
        return self.int16() & 0xFFFF

    def text(self) -> str:
        """Returns a string, which must be UTF-8."""
        end = self.content.find(b"\0", self._at)
        if end < 0:
            raise MalformedMessage("a string does not end")
        taken = self.take(end - self._at)
        self._at += 1
        try:
            return taken.decode("utf-8")
        except UnicodeDecodeError:
            raise MalformedMessage("a string is not UTF-8") from None

    def end(self) -> None:
        """Raises `MalformedMessage` if bytes remain."""
        if not self.is_done:
            raise MalformedMessage("a message has more bytes than its fields")


@dataclass(frozen=True, slots=True)
class Parse:
    name: str
    text: str
    oids: tuple[int, ...]

    @classmethod
    def of(cls, reader: Reader) -> Parse:
        """Reads the message Parse; object ids are unsigned, 0 for an unspecified type."""
        name, text = reader.text(), reader.text()
        oids = tuple(reader.int32() & 0xFFFFFFFF for _ in range(reader.count()))
        return cls(name, text, oids)


@dataclass(frozen=True, slots=True)
class Bind:
    """`values` has None for a null; `formats` and `result_formats` have no, one or all entries."""

    portal: str
    statement: str
    formats: tuple[int, ...]
    values: tuple[bytes | None, ...]
    result_formats: tuple[int, ...]

    @classmethod
    def of(cls, reader: Reader) -> Bind:
        """Reads the message Bind. Raises `MalformedMessage`."""
        portal, statement = reader.text(), reader.text()
        formats = tuple(reader.int16() for _ in range(reader.count()))
        values: list[bytes | None] = []
        for _ in range(reader.count()):
            length = reader.int32()
            values.append(None if length == -1 else reader.take(length))
        return cls(portal, statement, formats, tuple(values), tuple(reader.int16() for _ in range(reader.count())))


def format_of(formats: Sequence[int], index: int) -> int:
    """Returns the format of a column or parameter: none means text, one applies to all."""
    if not formats:
        return 0
    return formats[0] if len(formats) == 1 else formats[index]


def message(kind: bytes, *content: bytes) -> bytes:
    """Returns a message of the server."""
    return b"".join((kind, _I32.pack(4 + sum(map(len, content))), *content))


def string(text: str) -> bytes:
    """Returns a string with its NUL; a NUL inside, which no string may contain, is left out."""
    return text.replace("\0", "").encode("utf-8", "replace") + b"\0"


def ready(state: bytes) -> bytes:
    """Returns ReadyForQuery; `state` is `I`, `T` or `E`."""
    return message(b"Z", state)


def command_complete(tag: str) -> bytes:
    """Returns CommandComplete with a tag such as `INSERT 0 5`."""
    return message(b"C", string(tag))


def parameter_status(name: str, value: str) -> bytes:
    """Returns ParameterStatus, which reports a parameter's value to the client."""
    return message(b"S", string(name), string(value))


def row_description(columns: Sequence[Column], formats: Sequence[int]) -> bytes:
    """Returns RowDescription; `formats` has none, one, or one format code for each column."""
    fields = [_I16.pack(len(columns))]
    for index, column in enumerate(columns):
        kind = column.type
        content = _FIELD.pack(0, 0, _signed(kind.oid), kind.length, kind.modifier, format_of(formats, index))
        fields += [string(column.name), content]
    return message(b"T", *fields)


def parameter_description(oids: Sequence[int]) -> bytes:
    """Returns ParameterDescription with the parameters' object ids."""
    return message(b"t", _I16.pack(len(oids)), *(_I32.pack(_signed(oid)) for oid in oids))


def copy_response(kind: bytes, form: int, count: int) -> bytes:
    """Returns CopyOutResponse (`H`) or CopyInResponse (`G`) for `count` columns, all in one format."""
    return message(kind, bytes([form]), _I16.pack(count), *(_I16.pack(form) for _ in range(count)))


def authentication(code: int, content: bytes = b"") -> bytes:
    """Returns an Authentication message: `code` is 0 for success, and selects the method and step otherwise."""
    return message(b"R", _I32.pack(code), content)


def backend_key(process_id: int, key: bytes) -> bytes:
    """Returns BackendKeyData, with which clients cancel statements."""
    return message(b"K", _I32.pack(process_id), key)


def negotiate_version(version: int, options: Iterable[str]) -> bytes:
    """Returns the newest version that the server offers, and the options that it does not know."""
    named = [string(option) for option in options]
    return message(b"v", _I32.pack(version), _I32.pack(len(named)), *named)


def text_row(values: Sequence[str | None]) -> bytes:
    """Returns a DataRow of texts."""
    cells = [_I16.pack(len(values))]
    for value in values:
        content = None if value is None else value.encode("utf-8", "replace")
        cells.append(_I32.pack(-1) if content is None else _I32.pack(len(content)) + content)
    return message(b"D", *cells)


def _signed(oid: int) -> int:
    return oid - (1 << 32) if oid >= 1 << 31 else oid
