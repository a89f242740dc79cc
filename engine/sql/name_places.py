"""Finds the place of an error in the statement's text by the name that the error reports.

Errors of name resolution, definitions and settings report a name, key or value, but not where it is written. A place is
only returned if it is unambiguous: a name after a word that precedes names (FROM, TABLE), or the only occurrence.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum, auto

from catalog.conditions import SparkFailure
from catalog.errors import Position, SqlError
from catalog.names import SchemaName, fold
from engine.sql.dialect.dialect import SyntaxFailure, tokenize
from engine.sql.dialect.tokens import Token, TokenError, TokenType
from engine.sql.query.source_text import position_in

# Longer texts take too long to tokenize again.
_TEXT_MAX = 200_000
_NAME_MAX = 1000
_QUOTED_NAME = re.compile(r"`(?:[^`]|``)+`(?:\.`(?:[^`]|``)+`)*")
_QUOTED_PART = re.compile(r"`((?:[^`]|``)+)`")
_WORD = re.compile(r"\w+")
_STRINGS = frozenset({TokenType.STRING, TokenType.RAW_STRING})
# Words directly before the name of an object.
_BEFORE_NAMES = frozenset(
    "CATALOG CLONE DATABASE DESC DESCRIBE DETAIL EXISTS EXTENDED FROM FUNCTION GENERATE HISTORY INTO JOIN LIKE OPTIMIZE"
    " OVERWRITE REORG REPAIR SCHEMA TABLE TRUNCATE UPDATE USE USING VACUUM VIEW VOLUME".split()
)


class _Match(IntEnum):
    """Ways in which a written name matches, best first."""

    OBJECT = auto()
    NAME = auto()
    PART = auto()
    STRING = auto()


@dataclass(frozen=True, slots=True)
class _WrittenName:
    parts: tuple[str, ...]
    start: int
    is_string: bool = False
    is_after_word: bool = False


def name_position(error: SqlError, text: str, current: SchemaName) -> Position | None:
    """Returns the place of the first name, key or value of `error` that `text` contains; None if it is ambiguous.

    Names are resolved in the schema `current`.
    """
    if isinstance(error, SparkFailure) or len(text) > _TEXT_MAX:
        return None
    try:
        written = tuple(_written_names(tokenize(text)))
    except (SqlError, SyntaxFailure, TokenError):
        return None
    for value in error.echoed_values:
        start = _place_of(value, written, current) if 0 < len(value) <= _NAME_MAX else None
        if start is not None:
            return position_in(text, start)
    return None


def _place_of(value: str, written: Sequence[_WrittenName], current: SchemaName) -> int | None:
    wanted = tuple(map(fold, _parts_of(value)))
    places: dict[_Match, list[int]] = {}
    for name in written:
        if (match := _match(name, wanted, value, current)) is not None:
            places.setdefault(match, []).append(name.start)
    if not places:
        return None
    best = min(places)
    return places[best][0] if best is _Match.OBJECT or len(places[best]) == 1 else None


def _match(name: _WrittenName, wanted: tuple[str, ...], value: str, current: SchemaName) -> _Match | None:
    parts = tuple(map(fold, name.parts))
    if name.is_string:
        is_equal = ".".join(name.parts) == value or _is_name(parts, wanted, current)
        return _Match.STRING if is_equal else None
    if len(wanted) == 1:  # of a column, setting or privilege, for example
        return _Match.NAME if parts == wanted else _Match.PART if wanted[0] in (parts[0], parts[-1]) else None
    is_whole = _is_name(parts, wanted, current)
    if not is_whole and not any(_is_name(parts[:count], wanted, current) for count in range(1, len(parts))):
        return None
    return _Match.OBJECT if name.is_after_word else _Match.NAME if is_whole else _Match.PART


def _is_name(parts: tuple[str, ...], wanted: tuple[str, ...], current: SchemaName) -> bool:
    missing = len(wanted) - len(parts)
    return missing >= 0 and tuple(map(fold, current.parts))[:missing] + parts == wanted


def _parts_of(value: str) -> tuple[str, ...]:
    if _QUOTED_NAME.fullmatch(value):
        return tuple(part.replace("``", "`") for part in _QUOTED_PART.findall(value))
    return tuple(value.split("."))


def _written_names(tokens: Sequence[Token]) -> Iterator[_WrittenName]:
    """Yields the dotted names and the strings after the statement's first word."""
    index = 1
    while index < len(tokens):
        token, first = tokens[index], index
        index += 1
        if token.token_type in _STRINGS:
            yield _WrittenName(tuple(token.text.split(".")), token.start, is_string=True)
        elif _is_part(token):
            parts = [token.text]
            while index + 1 < len(tokens) and tokens[index].token_type == TokenType.DOT and _is_part(tokens[index + 1]):
                parts.append(tokens[index + 1].text)
                index += 2
            words = tokens[first - 1].text.upper().split()
            yield _WrittenName(tuple(parts), token.start, is_after_word=words[-1:] != [] and words[-1] in _BEFORE_NAMES)


def _is_part(token: Token) -> bool:
    if token.token_type in _STRINGS or token.token_type == TokenType.NUMBER:
        return False
    return token.token_type == TokenType.IDENTIFIER or _WORD.fullmatch(token.text) is not None
