"""Reads VALUES rows that contain only simple literals and markers, without Spark.

A simple literal has one meaning under every setting: NULL, TRUE, FALSE, numbers without a suffix, texts in single
quotes without quotes or backslashes inside, and DATE 'yyyy-mm-dd'. A list with anything else (a call, a comment, an
alias), or with a marker whose value is not a simple one, is left to Spark.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from functools import partial
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from engine.runtime.parameters import Parameter

# A `Decimal` is a number with a point, a `float` one with an exponent, which Spark reads as DOUBLE.
PlainValue: TypeAlias = bool | int | Decimal | float | str | date | None

_TEXT_MAX = 2_000_000
# Other white space, and letters like \u017f, which Python folds to ASCII ones, are errors in Spark.
_START = re.compile(r"(?ia)[ \t\r\n]*VALUES[ \t\r\n]*")
_VALUE = re.compile(
    r"""(?iax)[ \t\r\n]*(?:
    (?P<word> NULL | TRUE | FALSE )
    | '(?P<text> [^'\\]* )'
    | DATE[ \t\r\n]*'(?P<date> [0-9]{4}-[0-9]{2}-[0-9]{2} )'
    | (?P<minus> -?)[ \t\r\n]*(?: (?P<double> (?: [0-9]+\.?[0-9]* | \.[0-9]+ ) E [+-]?[0-9]+ )
                         | (?P<decimal> [0-9]+\.[0-9]* | \.[0-9]+ )
                         | (?P<int> [0-9]+ ) )
    | (?P<marker> \? ) | : (?P<name> [a-z_] \w* )
    )[ \t\r\n]*(?P<next> [,)])"""
)
_OPENING = re.compile(r"[ \t\r\n]*\(")
_FLOAT_MAX = 3e38
_INTEGER = re.compile(r"-?[0-9]{1,19}")
_DOUBLE = re.compile(r"-?[0-9]+(\.[0-9]*)?(e[+-]?[0-9]{1,3})?", re.IGNORECASE | re.ASCII)
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_FOLLOWER = re.compile(r"[ \t\r\n]*(,|\Z)")
_WORDS = {"NULL": None, "TRUE": True, "FALSE": False}


def plain_rows(query: str, parameters: Sequence[Parameter] = ()) -> tuple[tuple[PlainValue, ...], ...] | None:
    """Returns the rows in `query`; None if it is not `VALUES (literal, …), …`, or too long."""
    start = _START.match(query) if len(query) <= _TEXT_MAX else None
    if start is None:
        return None
    try:
        values = _Values(parameters)
        rows = tuple(_rows(query, start.end(), values))
        values.ensure_all_taken()
    except ValueError:
        return None
    return rows if len({len(row) for row in rows}) == 1 else None


class _Values:
    """The values for markers."""

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        self._named = {each.name: each for each in parameters if each.name is not None}
        self._positional = [each for each in parameters if each.name is None]
        self._taken = 0

    def take(self, name: str | None) -> PlainValue:
        """Returns the value for `:name`, or for the next `?`. Raises `ValueError` for a value that is not simple."""
        if name is not None:
            if name not in self._named or self._positional:
                raise ValueError("no value of that name")
            return _value_of(self._named[name])
        if self._taken == len(self._positional) or self._named:
            raise ValueError("no value is left")
        self._taken += 1
        return _value_of(self._positional[self._taken - 1])

    def ensure_all_taken(self) -> None:
        if self._taken < len(self._positional):
            raise ValueError("values are left")


def _value_of(parameter: Parameter) -> PlainValue:
    read = _READERS.get(parameter.sql_type.upper())
    if read is None or parameter.row_value is not None:
        raise ValueError("no plain type")
    return None if parameter.value is None else read(parameter.value)


def _read_integer(bits: int, text: str) -> int:
    if not _INTEGER.fullmatch(text) or not -(1 << bits - 1) <= int(text) < 1 << bits - 1:
        raise ValueError("no plain integer")
    return int(text)


def _read_double(text: str) -> float:
    if not _DOUBLE.fullmatch(text):
        raise ValueError("no plain number")
    return float(text)


def _read_float(text: str) -> float:
    """Returns the nearest FLOAT. Raises `ValueError` if the nearest DOUBLE is equally near to another FLOAT."""
    exact = _read_double(text)
    if abs(exact) > _FLOAT_MAX:
        raise ValueError("no plain number")
    nearest = float(np.float32(exact))
    beyond = float(np.nextafter(np.float32(nearest), np.float32(math.inf if exact > nearest else -math.inf)))
    if (nearest + beyond) / 2 == exact:
        raise ValueError("no plain number")
    return nearest


def _read_boolean(text: str) -> bool:
    if text.lower() not in ("true", "false"):
        raise ValueError("no plain truth")
    return text.lower() == "true"


def read_date(text: str) -> date:
    """Parses `yyyy-mm-dd`. Raises `ValueError` for any other form."""
    if not _DATE.fullmatch(text):
        raise ValueError("no plain date")
    return date.fromisoformat(text)


_READERS: Mapping[str, Callable[[str], PlainValue]] = MappingProxyType(
    {
        "TINYINT": partial(_read_integer, 8),
        "SMALLINT": partial(_read_integer, 16),
        "INT": partial(_read_integer, 32),
        "BIGINT": partial(_read_integer, 64),
        "FLOAT": _read_float,
        "DOUBLE": _read_double,
        "BOOLEAN": _read_boolean,
        "DATE": read_date,
        "STRING": str,
    }
)


def _rows(query: str, place: int, values: _Values) -> Iterator[tuple[PlainValue, ...]]:
    """Yields the rows. Raises `ValueError` for a value that is not simple."""
    while True:
        opening = _OPENING.match(query, place)
        if opening is None:
            raise ValueError("a row is expected")
        place = opening.end()
        row = []
        end = ","
        while end == ",":
            found = _VALUE.match(query, place)
            if found is None:
                raise ValueError("no plain value")
            row.append(_value(found, values))
            place, end = found.end(), found["next"]
        yield tuple(row)
        follower = _FOLLOWER.match(query, place)
        if follower is None:
            raise ValueError("something follows")
        if not follower[1]:
            return
        place = follower.end()


def _value(found: re.Match[str], values: _Values) -> PlainValue:
    if found["marker"] is not None or found["name"] is not None:
        return values.take(found["name"])
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
