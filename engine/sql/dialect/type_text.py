"""Types in DDL spelling: `decimal(10,2)`, `struct<a: int NOT NULL COMMENT 'x', b: array<varchar(5)>>`.

The names are Spark's, in any case, with its synonyms. `char(n)` and `varchar(n)` are strings in a table's log; the
declared type is stored with the column, in Spark's spelling, so a parsed type has both.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass

from catalog.conditions import UnsupportedDataType
from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.dialect import tokenize
from engine.sql.dialect.words import CHARACTERS, DECIMALS, PRIMITIVES, TYPE_NAMES, hint
from engine.types.column_paths import Path
from engine.types.schema import ArrayType, DataType, DecimalType, MapType, PrimitiveType, StructField, StructType
from engine.types.sql_types import format_sql_type

_STRING = r"[rR]'[^']*'|[rR]\"[^\"]*\"|'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\""
_BLANK = r"(?:\s|/\*.*?\*/|--[^\n]*(?:\n|$))*"
_TOKEN = re.compile(rf"{_BLANK}(?:(`(?:[^`]|``)*`)|({_STRING})|([\w-]+)|(.))", re.DOTALL)
_PRECISION_MAX = 38


@dataclass(frozen=True, slots=True)
class SqlType:
    """A parsed type. `declared` is Spark's spelling if the type contains `char(n)` or `varchar(n)`, else None;
    `characters` has these types by their paths in the type.
    """

    data_type: DataType
    declared: str | None = None
    characters: tuple[tuple[Path, str], ...] = ()

    @property
    def spelling(self) -> str:
        """Returns the declared spelling with `char` and `varchar`; otherwise the type's canonical one."""
        return self.declared or format_sql_type(self.data_type)


class NoType(Exception):
    """A text with another word instead of a type, or with text after the type; `offset` is the position."""

    def __init__(self, reason: str, offset: int) -> None:
        super().__init__(reason)
        self.reason = reason
        self.offset = offset


def parse_type(text: str) -> SqlType:
    """Parses a type. Raises `UnsupportedDataType` for a type that Delta tables do not support."""
    reader = _Reader(text)
    try:
        found = reader.read_type()
    except NoType:
        raise UnsupportedDataType(text) from None
    reader.ensure_done()
    return found


def ensure_is_type(text: str) -> None:
    """Raises `NoType` if `text` is not a type; other errors in a type (its numbers, its brackets) are not detected."""
    reader = _Reader(text)
    with suppress(UnsupportedDataType):
        reader.read_type()
        reader.ensure_nothing_behind()


def _below(name: str, kind: SqlType) -> tuple[tuple[Path, str], ...]:
    return tuple(((name, *path), text) for path, text in kind.characters)


class _Reader:
    """A reader over a type's tokens, from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: list[str] = []
        self._offsets: list[int] = []
        self._offset = 0
        for match in _TOKEN.finditer(text.rstrip()):
            self._tokens.append(match[match.lastindex or 0])
            self._offsets.append(match.start(match.lastindex or 0))

    def read_type(self) -> SqlType:
        word = self._next().upper()
        if word in DECIMALS:
            return SqlType(self._decimal())
        if word in CHARACTERS:
            (length,) = self._arguments()
            text = f"{CHARACTERS[word]}({length})"
            return SqlType(PrimitiveType.STRING, text, (((), text),))
        if word == "ARRAY":
            return self._array()
        if word == "MAP":
            return self._map()
        if word == "STRUCT":
            return self._struct()
        if word not in TYPE_NAMES and (word.isidentifier() or not re.match(r"[\w`]", word)):
            raise NoType(f"{word} is not a type{hint(word, TYPE_NAMES)}", self._offset)
        if word not in PRIMITIVES:
            raise UnsupportedDataType(self._text)
        return SqlType(PRIMITIVES[word])

    def ensure_nothing_behind(self) -> None:
        if self._tokens and self._peek().upper() != "COLLATE":
            raise NoType(f"{self._peek()} is not expected behind a type", self._offsets[0])

    def ensure_done(self) -> None:
        if self._tokens:
            raise UnsupportedDataType(self._text)

    def _decimal(self) -> DecimalType:
        numbers = self._arguments() if self._peek() == "(" else []
        precision, scale = (*numbers, *(10, 0)[len(numbers) :])
        if not 1 <= precision <= _PRECISION_MAX or not 0 <= scale <= precision:
            raise UnsupportedDataType(self._text)
        return DecimalType(precision, scale)

    def _array(self) -> SqlType:
        self._read("<")
        element = self.read_type()
        self._read(">")
        declared = f"array<{element.spelling}>" if element.declared else None
        return SqlType(ArrayType(element.data_type), declared, _below("element", element))

    def _map(self) -> SqlType:
        self._read("<")
        key = self.read_type()
        self._read(",")
        value = self.read_type()
        self._read(">")
        declared = f"map<{key.spelling},{value.spelling}>" if key.declared or value.declared else None
        characters = (*_below("key", key), *_below("value", value))
        return SqlType(MapType(key.data_type, value.data_type), declared, characters)

    def _struct(self) -> SqlType:
        self._read("<")
        fields: list[StructField] = []
        types: list[SqlType] = []
        while self._peek() != ">":
            if fields:
                self._read(",")
            name = self._name()
            if self._peek() == ":":
                self._next()
            types.append(self.read_type())
            fields.append(self._field(name, types[-1]))
        self._read(">")
        spelled = ",".join(f"{field.name}:{kind.spelling}" for field, kind in zip(fields, types, strict=True))
        has_declared = any(kind.declared for kind in types)
        characters = [each for field, kind in zip(fields, types, strict=True) for each in _below(field.name, kind)]
        declared = f"struct<{spelled}>" if has_declared else None
        return SqlType(StructType(tuple(fields)), declared, tuple(characters))

    def _field(self, name: str, kind: SqlType) -> StructField:
        nullable = True
        if self._peek().upper() == "NOT":
            self._next()
            self._read("NULL")
            nullable = False
        metadata = {}
        if self._peek().upper() == "COMMENT":
            self._next()
            metadata["comment"] = self._string()
        return StructField(name, kind.data_type, nullable, metadata)

    def _arguments(self) -> list[int]:
        self._read("(")
        numbers = [self._number()]
        while self._peek() == ",":
            self._next()
            numbers.append(self._number())
        self._read(")")
        return numbers

    def _number(self) -> int:
        text = self._next()
        if not text.isdecimal():
            raise UnsupportedDataType(self._text)
        return int(text)

    def _name(self) -> str:
        text = self._next()
        return text[1:-1].replace("``", "`") if text.startswith("`") else text

    def _string(self) -> str:
        """Reads a string as elsewhere in a statement: adjacent strings are one."""
        pieces = [self._next()]
        while re.fullmatch(_STRING, self._peek(), re.DOTALL):
            pieces.append(self._next())
        text = " ".join(pieces)
        return Cursor(text, tokenize(text)).read_string()

    def _read(self, expected: str) -> None:
        if self._next().upper() != expected:
            raise UnsupportedDataType(self._text)

    def _peek(self) -> str:
        return self._tokens[0] if self._tokens else ""

    def _next(self) -> str:
        if not self._tokens:
            raise UnsupportedDataType(self._text)
        self._offset = self._offsets.pop(0)
        return str(self._tokens.pop(0))
