"""Per-file statistics as in `Add.stats`: JSON text, parsed value, and truncated minimum and maximum values.

`min_values`, `max_values` and `null_count` have the table schema's structure, by physical name. A minimum may be lower
and a maximum higher than the column's values. Therefore long strings are truncated and times are rounded outwards to
milliseconds. A value that cannot be bounded is omitted, which means unknown. `engine.delta.snapshot.file_stats` parses
statistics in bulk, for a million files.

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
# By physical name; a nested struct is a nested mapping.
Values: TypeAlias = Mapping[str, Any]

STRING_CHARACTERS_MAX = 32
_ASCII_MAX = "\x7f"
_UNICODE_MAX = "\U0010ffff"
_MILLISECOND_US = 1000


_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStats:
    # The file's physical rows, including rows that a deletion vector hides.
    num_records: int | None = None
    min_values: Values = field(default_factory=dict)
    max_values: Values = field(default_factory=dict)
    null_count: Values = field(default_factory=dict)
    # False: the bounds may include rows that a deletion vector hides. None means True.
    tight_bounds: bool | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def to_json(self) -> str:
        """Returns the text for `Add.stats`."""
        value = {
            "numRecords": self.num_records,
            "minValues": self.min_values or None,
            "maxValues": self.max_values or None,
            "nullCount": self.null_count or None,
            "tightBounds": self.tight_bounds,
            **self.extra,
        }
        value = {name: item for name, item in value.items() if item is not None}
        try:
            return _ENCODER.encode(value)
        except TypeError:  # a decimal, which `json` cannot write as a number
            return _encode(value)


def parse_file_stats(text: str) -> FileStats:
    """Parses the text; numbers with a fraction become `Decimal`, to round-trip. Raises `MalformedLogEntry`."""
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
    """Returns a JSON value at or below `value`, or None if there is no bound."""
    if isinstance(value, str):
        return value[:STRING_CHARACTERS_MAX]
    if isinstance(value, datetime):
        return _format_time(value - timedelta(microseconds=value.microsecond % _MILLISECOND_US))
    return _format_scalar(value)


def upper_bound(value: BoundValue) -> Any:
    """Returns a JSON value at or above `value`, or None if there is no bound."""
    if isinstance(value, str):
        return _cut_above(value)
    if isinstance(value, datetime):
        # "Per-file Statistics": timestamps are stored with milliseconds, so that a maximum
        # must be rounded up to remain a bound.
        missing = -value.microsecond % _MILLISECOND_US
        try:
            return _format_time(value + timedelta(microseconds=missing))
        except OverflowError:  # the last millisecond in the year 9999
            return None
    return _format_scalar(value)


def _cut_above(text: str) -> str:
    """Truncates the text and appends a character greater than the first omitted one.

    Short texts are returned unchanged.
    """
    for end in range(STRING_CHARACTERS_MAX, len(text)):
        # The character appended must be greater than the first one left out, not than any
        # character: U+10FFFF itself has no successor, and the cut then moves on to the next
        # position.
        if text[end] < _ASCII_MAX:
            return text[:end] + _ASCII_MAX
        if text[end] < _UNICODE_MAX:
            return text[:end] + _UNICODE_MAX
    return text


def _format_scalar(value: BoundValue) -> Any:
    if isinstance(value, date):
        return value.isoformat()
    # JSON has no NaN or Infinity, and a reader that fails on the text loses the file's
    # other statistics too.
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _format_time(value: datetime) -> str:
    """Formats with milliseconds; an instant ends with `Z`, a local time has no suffix."""
    text = value.replace(tzinfo=None).isoformat("T", "milliseconds")
    if value.tzinfo is None:
        return text
    offset = value.utcoffset()
    assert offset is not None
    return (value - offset).replace(tzinfo=None).isoformat("T", "milliseconds") + "Z"


def _encode(value: Any) -> str:
    """Formats compact JSON. Decimals are written as numbers, with all digits."""
    if isinstance(value, Mapping):
        members = (f"{json.dumps(name, ensure_ascii=False)}:{_encode(item)}" for name, item in value.items())
        return "{" + ",".join(members) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(_encode, value)) + "]"
    if isinstance(value, Decimal):
        return f"{value:f}"
    return json.dumps(value, ensure_ascii=False)
