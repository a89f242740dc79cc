"""Column types in CREATE TABLE's syntax: quoted field names, NOT NULL and comments, and `char(n)` if declared.

A log stores `char(n)` and `varchar(n)` as strings. The declared type is in the column's metadata, as one text for the
entire type in Spark's spelling, in which names are unquoted and may contain anything. The actual type determines the
text's structure, so the text is parsed along the type, and only string declarations are taken from it. A text that does
not fit the type is ignored.
"""

from __future__ import annotations

import re
from typing import assert_never

from catalog.names import quote
from engine.types.schema import ArrayType, DataType, DecimalType, MapType, PrimitiveType, StructField, StructType
from engine.types.sql_types import column_sql_type, format_sql_type

_STRING = re.compile(r"(?:char|varchar)\(\d+\)|string(?: collate \w+)?", re.IGNORECASE)


class _Mismatch(ValueError):
    pass


def declared_type(column: StructField) -> str:
    """Returns a column's type in a statement's syntax."""
    reader = _Reader(column_sql_type(column))
    try:
        text = _type(column.data_type, reader)
        reader.ensure_done()
        return text
    except _Mismatch:
        return _type(column.data_type, None)


def literal(text: str) -> str:
    """Returns a string literal."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


class _Reader:
    """The remaining text of a declared type."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0

    def take(self, *choices: str) -> None:
        for text in choices:
            if self._text[self._at : self._at + len(text)].lower() == text.lower():
                self._at += len(text)
                return
        raise _Mismatch

    def take_string(self) -> str:
        found = _STRING.match(self._text, self._at)
        if found is None:
            raise _Mismatch
        self._at = found.end()
        return found[0].upper()

    def ensure_done(self) -> None:
        if self._at != len(self._text):
            raise _Mismatch


def _take(reader: _Reader | None, *choices: str) -> None:
    if reader is not None:
        reader.take(*choices)


def _type(data_type: DataType, declared: _Reader | None) -> str:
    match data_type:
        case PrimitiveType.STRING if declared is not None:
            return declared.take_string()
        case PrimitiveType() | DecimalType():
            text = format_sql_type(data_type)
            _take(declared, text)
            return text.upper()
        case ArrayType(element_type=element):
            _take(declared, "array<")
            inner = _type(element, declared)
            _take(declared, ">")
            return f"ARRAY<{inner}>"
        case MapType(key_type=key, value_type=value):
            _take(declared, "map<")
            key_text = _type(key, declared)
            _take(declared, ", ", ",")
            value_text = _type(value, declared)
            _take(declared, ">")
            return f"MAP<{key_text}, {value_text}>"
        case StructType(fields=fields):
            _take(declared, "struct<")
            texts: list[str] = []
            for field in fields:
                if texts:
                    _take(declared, ",")
                texts.append(_field(field, declared))
            _take(declared, ">")
            return f"STRUCT<{', '.join(texts)}>"
        case _:
            assert_never(data_type)


def _field(field: StructField, declared: _Reader | None) -> str:
    names = (field.name, quote(field.name))
    _take(declared, *(f"{blank}{name}{colon}" for name in names for blank in ("", " ") for colon in (": ", ":")))
    text = f"{quote(field.name)}: {_type(field.data_type, declared)}"
    if not field.nullable:
        text += " NOT NULL"
    return f"{text} COMMENT {literal(field.comment)}" if field.comment else text
