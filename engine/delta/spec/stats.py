"""The statistics of one file, as they are in `Add.stats`: JSON text and value, and how a bound is made fit for it.

`min_values`, `max_values` and `null_count` mirror the table's schema by physical name, nested as it is. A lower bound
may be lower and an upper bound higher than the column's values, so long strings are cut and times are rounded outwards
to milliseconds; what cannot be bounded is left out, which means unknown. A million of these texts are read by
`engine.delta.snapshot.file_stats` instead.

Protocol: "Per-file Statistics".
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, TypeAlias

from catalog.conditions import MalformedLogEntry

BoundValue: TypeAlias = str | int | float | bool | date | datetime | Decimal
Values: TypeAlias = Mapping[str, Any]
"""By physical name; a nested struct is a nested mapping."""

STRING_CHARACTERS_MAX = 32
_ASCII_MAX = "\x7f"
_UNICODE_MAX = "\U0010ffff"
_MILLISECOND_US = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStats:
    num_records: int | None = None
    """Rows in the file, those that a deletion vector hides included."""
    min_values: Values = field(default_factory=dict)
    max_values: Values = field(default_factory=dict)
    null_count: Values = field(default_factory=dict)
    tight_bounds: bool | None = None
    """False: the bounds may be of rows that a deletion vector hides. None means True."""
    extra: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> str:
        """The text for `Add.stats`."""
        value = {
            "numRecords": self.num_records,
            "minValues": self.min_values or None,
            "maxValues": self.max_values or None,
            "nullCount": self.null_count or None,
            "tightBounds": self.tight_bounds,
            **self.extra,
        }
        return _encode({name: item for name, item in value.items() if item is not None})


def parse_file_stats(text: str) -> FileStats:
    """The value of a text; numbers with a fraction become `Decimal`, so that they round trip. Raises
    `MalformedLogEntry`.
    """
    try:
        value = json.loads(text, parse_float=Decimal)
    except (ValueError, RecursionError) as error:
        raise MalformedLogEntry("stats", f"no JSON ({error})") from error
    if not isinstance(value, dict):
        raise MalformedLogEntry("stats", "no object")
    records, tight = value.pop("numRecords", None), value.pop("tightBounds", None)
    if not isinstance(records, int | None) or not isinstance(tight, bool | None):
        raise MalformedLogEntry("stats", "numRecords is no integer, or tightBounds no boolean")
    columns = [value.pop(name, None) or {} for name in ("minValues", "maxValues", "nullCount")]
    if not all(isinstance(column, dict) for column in columns):
        raise MalformedLogEntry("stats", "minValues, maxValues and nullCount are objects")
    return FileStats(
        num_records=records,
        min_values=columns[0],
        max_values=columns[1],
        null_count=columns[2],
        tight_bounds=tight,
        extra=value,
    )


def lower_bound(value: BoundValue) -> Any:
    """A JSON value at or below `value`; None where there is none to give."""
    if isinstance(value, str):
        return value[:STRING_CHARACTERS_MAX]
    if isinstance(value, datetime):
        return _format_time(value - timedelta(microseconds=value.microsecond % _MILLISECOND_US))
    return _format_scalar(value)


def upper_bound(value: BoundValue) -> Any:
    """A JSON value at or above `value`; None where there is none to give."""
    if isinstance(value, str):
        return _cut_above(value)
    if isinstance(value, datetime):
        missing = -value.microsecond % _MILLISECOND_US
        try:
            return _format_time(value + timedelta(microseconds=missing))
        except OverflowError:  # the last millisecond of the year 9999
            return None
    return _format_scalar(value)


def _cut_above(text: str) -> str:
    """The text, or a beginning of it with one character that is greater than the first one left out."""
    for end in range(STRING_CHARACTERS_MAX, len(text)):
        if text[end] < _ASCII_MAX:
            return text[:end] + _ASCII_MAX
        if text[end] < _UNICODE_MAX:
            return text[:end] + _UNICODE_MAX
    return text


def _format_scalar(value: BoundValue) -> Any:
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _format_time(value: datetime) -> str:
    """Milliseconds; `Z` for an instant, nothing for a local time."""
    text = value.replace(tzinfo=None).isoformat("T", "milliseconds")
    if value.tzinfo is None:
        return text
    offset = value.utcoffset()
    assert offset is not None
    return (value - offset).replace(tzinfo=None).isoformat("T", "milliseconds") + "Z"


def _encode(value: Any) -> str:
    """Compact JSON in which decimals are numbers, digit for digit."""
    if isinstance(value, Mapping):
        members = (f"{json.dumps(name, ensure_ascii=False)}:{_encode(item)}" for name, item in value.items())
        return "{" + ",".join(members) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(_encode, value)) + "]"
    if isinstance(value, Decimal):
        return f"{value:f}"
    return json.dumps(value, ensure_ascii=False)
