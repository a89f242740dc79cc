"""Rows of VALUES whose every value is a plain literal, read without Spark.

Plain is what has one meaning under every setting: NULL, TRUE, FALSE, numbers without a suffix, texts in single quotes
without quotes or backslashes inside, and DATE 'yyyy-mm-dd'. A list with anything else in it (a call, a parameter, a
comment, an alias) is no such list, and Spark reads it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import TypeAlias

PlainValue: TypeAlias = bool | int | Decimal | float | str | date | None
"""A `Decimal` is a number with a point, a `float` one with an exponent, which Spark takes for a DOUBLE."""

_TEXT_MAX = 100_000
_START = re.compile(r"(?i)\s*VALUES\s*")
_VALUE = re.compile(
    r"""(?ix)\s*(?:
    (?P<word> NULL | TRUE | FALSE )
    | '(?P<text> [^'\\]* )'
    | DATE\s*'(?P<date> [0-9]{4}-[0-9]{2}-[0-9]{2} )'
    | (?P<minus> -?)\s*(?: (?P<double> (?: [0-9]+\.?[0-9]* | \.[0-9]+ ) E [+-]?[0-9]+ )
                         | (?P<decimal> [0-9]+\.[0-9]* | \.[0-9]+ )
                         | (?P<int> [0-9]+ ) )
    )\s*(?P<next> [,)])"""
)
_OPENING = re.compile(r"\s*\(")
_WORDS = {"NULL": None, "TRUE": True, "FALSE": False}


def plain_rows(query: str) -> tuple[tuple[PlainValue, ...], ...] | None:
    """The rows of `query`; None where it is anything but `VALUES (literal, …), …`, or long."""
    start = _START.match(query) if len(query) <= _TEXT_MAX else None
    if start is None:
        return None
    try:
        rows = tuple(_rows(query, start.end()))
    except ValueError:
        return None
    return rows if len({len(row) for row in rows}) == 1 else None


def _rows(query: str, place: int) -> Iterator[tuple[PlainValue, ...]]:
    """Raises `ValueError` for what is not plain."""
    while True:
        opening = _OPENING.match(query, place)
        if opening is None:
            raise ValueError("a row is expected")
        place, row, end = opening.end(), [], ","
        while end == ",":
            found = _VALUE.match(query, place)
            if found is None:
                raise ValueError("no plain value")
            row.append(_value(found))
            place, end = found.end(), found["next"]
        yield tuple(row)
        rest = query[place:].lstrip(" \t\r\n")
        if not rest:
            return
        if rest[0] != ",":
            raise ValueError("something follows")
        place = len(query) - len(rest) + 1


def _value(found: re.Match[str]) -> PlainValue:
    if found["word"] is not None:
        return _WORDS[found["word"].upper()]
    if found["text"] is not None:
        return found["text"]
    if found["date"] is not None:
        return date.fromisoformat(found["date"])
    if found["int"] is not None:
        return int(found["minus"] + found["int"])
    if found["decimal"] is not None:
        return Decimal(found["minus"] + found["decimal"])
    return float(found["minus"] + found["double"])
