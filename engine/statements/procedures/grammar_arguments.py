"""Parses procedure argument values: literals, except times, which remain text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from engine.sql.dialect.cursor import Cursor

_LONG_MAX = 2**63 - 1
_INT_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Kind:
    """A value's parser, and its description in errors."""

    read: Callable[[Cursor], Any]
    expected: str


def _read_string(cursor: Cursor) -> str | None:
    return cursor.take_string()


def _read_integer(cursor: Cursor) -> int | None:
    sign = -1 if cursor.take("-") else 1
    text = cursor.take_number_text() or ""
    cursor.take("::", "L")  # the suffix of a BIGINT, as sqlglot tokenizes it
    return sign * int(text) if text.isdecimal() and int(text) <= _LONG_MAX else None


def _read_int(cursor: Cursor) -> int | None:
    found = _read_integer(cursor)
    return found if found is not None and abs(found) <= _INT_MAX else None


def _read_boolean(cursor: Cursor) -> bool | None:
    word = cursor.take_any("TRUE", "FALSE")
    return None if word is None else word == "TRUE"


def _read_integers(cursor: Cursor) -> tuple[int, ...] | None:
    return _read_items(cursor, "ARRAY", _read_integer)


def _read_map(cursor: Cursor) -> Mapping[str, str] | None:
    items = _read_items(cursor, "MAP", _read_map_item)
    if items is None or len(items) % 2:
        return None
    return MappingProxyType(dict(zip(items[::2], items[1::2], strict=True)))


def _read_map_item(cursor: Cursor) -> str | None:
    """Reads an option value; numbers and booleans are often written without quotes."""
    text = cursor.take_string() or cursor.take_number_text()
    return text if text is not None else (cursor.take_any("TRUE", "FALSE") or "").lower() or None


def _read_items(cursor: Cursor, word: str, read: Callable[[Cursor], Any]) -> tuple[Any, ...] | None:
    if not cursor.take(word):
        return None
    closing = "]" if cursor.take("[") else ")"
    if closing == ")":
        cursor.read("(")
    items: list[Any] = []
    while not cursor.take(closing):
        if items:
            cursor.read(",")
        item = read(cursor)
        if item is None:
            return None
        items.append(item)
    return tuple(items)


TEXT = Kind(_read_string, "it takes a string in quotes")
LONG = Kind(_read_integer, "it takes a whole number")
INT = Kind(_read_int, "it takes a whole number of 32 bits")
BOOLEAN = Kind(_read_boolean, "it takes true or false")
LONGS = Kind(_read_integers, "it takes whole numbers, as array(1, 2)")
MAP = Kind(_read_map, "it takes strings in pairs, as map('key', 'value')")
TIME = Kind(lambda cursor: cursor.read_text(what="a time"), "it takes a timestamp")
