"""Parses function references: single names, and row filters and column masks with their arguments."""

from __future__ import annotations

from catalog.conditions import TooManyNameParts, UnsupportedClause
from catalog.policies.policies import PolicyArgument
from engine.sql.dialect.cursor import Cursor
from engine.statements.policies.statement import NewPolicy

_PARTS_MAX = 3
_WORDS = ("TRUE", "FALSE", "NULL")
_UNITS = tuple(
    f"{unit}{plural}" for unit in ("YEAR", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND") for plural in ("", "S")
)


def read_function(cursor: Cursor) -> tuple[str, ...]:
    """Reads a function's name. Raises `TooManyNameParts` for more than three parts."""
    parts = cursor.read_names()
    if len(parts) > _PARTS_MAX:
        raise TooManyNameParts(".".join(parts), _PARTS_MAX)
    return parts


def read_row_filter(cursor: Cursor) -> NewPolicy:
    """Parses the text after ROW FILTER."""
    function = read_function(cursor)
    cursor.read("ON")
    return NewPolicy(function_parts=function, arguments=read_arguments(cursor))


def read_mask(cursor: Cursor, column: str) -> NewPolicy:
    """Parses the text after MASK."""
    function = read_function(cursor)
    arguments = read_arguments(cursor) if cursor.take("USING", "COLUMNS") else ()
    return NewPolicy(function_parts=function, arguments=arguments, column=column)


def read_arguments(cursor: Cursor) -> tuple[PolicyArgument, ...]:
    """Reads `(argument, …)` with the parentheses; the list may be empty."""
    arguments: list[PolicyArgument] = []
    cursor.read("(")
    while not cursor.take(")"):
        if arguments:
            cursor.read(",")
        arguments.append(_read_argument(cursor))
    return tuple(arguments)


def _read_argument(cursor: Cursor) -> PolicyArgument:
    text = cursor.take_string()
    if text is not None:
        return PolicyArgument(literal=_quote(text))
    if word := cursor.take_any(*_WORDS):
        return PolicyArgument(literal=word)
    interval = _take_interval(cursor)
    if interval is not None:
        return PolicyArgument(literal=interval)
    sign = "-" if cursor.take("-") else ""
    number = cursor.take_number_text()
    if number is not None:
        return PolicyArgument(literal=f"{sign}{number}")
    if sign:
        raise cursor.fail("a number is expected")
    names = cursor.read_names()
    if len(names) > 1:
        raise UnsupportedClause(f"A policy over {'.'.join(names)}", "Columns as a whole decide, and no fields of them.")
    return PolicyArgument(column=names[0])


def _take_interval(cursor: Cursor) -> str | None:
    """Takes `INTERVAL 2 DAYS` or `INTERVAL '1-2' YEAR TO MONTH`; None if a column is named interval."""
    ahead = cursor.copy()
    if not ahead.take("INTERVAL"):
        return None
    sign = "-" if ahead.take("-") else ""
    text = ahead.take_string()
    value = ahead.take_number_text() if text is None else _quote(text)
    if value is None:
        return None
    units = [_read_unit(ahead)]
    if ahead.take("TO"):
        units.append(_read_unit(ahead))
    cursor.skip_to(ahead.offset)
    return f"INTERVAL {sign}{value} {' TO '.join(units)}"


def _read_unit(cursor: Cursor) -> str:
    unit = cursor.take_any(*_UNITS)
    if unit is None:
        raise cursor.fail("a unit of the interval, for example DAY, is expected")
    return unit


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
