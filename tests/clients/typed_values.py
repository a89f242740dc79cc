"""Cells from clients and Parquet files as Python values, converted by type, so that they compare exactly.

Text is parsed by its column's type, never the other way around: a client that shows `1.0` for an int, or a timestamp in
the wrong time zone, differs. Lists become tuples, structs tuples with their fields in order, maps frozen sets with
pairs, timestamps instants; NaN becomes a word, since it equals nothing.
"""

from __future__ import annotations

import datetime as dt
import json
import math
import re
from collections.abc import Callable
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa

SQL_NAMES = (
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_int8, "tinyint"),
    (pa.types.is_int16, "smallint"),
    (pa.types.is_int32, "int"),
    (pa.types.is_int64, "bigint"),
    (pa.types.is_float32, "float"),
    (pa.types.is_float64, "double"),
    (pa.types.is_string, "string"),
    (pa.types.is_binary, "binary"),
    (pa.types.is_date, "date"),
)

# A whole string, or what comes before a key without quotes, and the key.
_BARE_KEYS = re.compile(r'"(?:[^"\\]|\\.)*"|([{,])([^"{}\[\],:]+):')


def sql_type(kind: pa.DataType) -> str:
    """Returns a Parquet column's SQL type."""
    match kind:
        case pa.ListType():
            return f"array<{sql_type(kind.value_type)}>"
        case pa.MapType():
            return f"map<{sql_type(kind.key_type)},{sql_type(kind.item_type)}>"
        case pa.StructType():
            return f"struct<{','.join(f'{field.name}:{sql_type(field.type)}' for field in kind)}>"
        case _:
            pass
    if pa.types.is_decimal(kind):
        return f"decimal({kind.precision},{kind.scale})"
    if pa.types.is_timestamp(kind):
        return "timestamp" if kind.tz else "timestamp_ntz"
    return next(name for matches, name in SQL_NAMES if matches(kind))


def typed(value: object, kind: pa.DataType, zone: str) -> Any:
    """Returns a cell's value: Python's own, or text in the server's spelling with timestamps in `zone`."""
    if value is None:
        return None
    match kind:
        case pa.ListType():
            return tuple(typed(item, kind.value_type, zone) for item in _opened(value))
        case pa.StructType():
            members = _opened(value)
            return tuple(typed(members[field.name], field.type, zone) for field in kind)
        case pa.MapType():
            opened = _opened(value)
            pairs = opened.items() if isinstance(opened, dict) else opened
            return frozenset((typed(k, kind.key_type, zone), typed(v, kind.item_type, zone)) for k, v in pairs)
        case _:
            pass
    if pa.types.is_timestamp(kind):
        return _instant(value, zone) if kind.tz else _parsed(value, dt.datetime.fromisoformat)
    for matches, read in _READERS:
        if matches(kind):
            return read(value)
    raise TypeError(f"no reading of {kind}")


def _opened(value: object) -> Any:
    """Returns a nested value, parsed from JSON if it is text; numbers keep their exact spelling.

    Hive's clients receive map keys that are not strings without quotes, as from Spark's Thrift server.
    """
    if not isinstance(value, str):
        return value
    quoted = _BARE_KEYS.sub(lambda match: match[0] if match[1] is None else f'{match[1]}"{match[2]}":', value)
    return json.loads(quoted, parse_float=str, parse_int=str)


def _parsed(value: Any, parse: Callable[[str], Any]) -> Any:
    return parse(value) if isinstance(value, str) else value


def _instant(value: Any, zone: str) -> dt.datetime:
    moment: dt.datetime = _parsed(value, dt.datetime.fromisoformat)
    return (moment if moment.tzinfo else moment.replace(tzinfo=ZoneInfo(zone))).astimezone(dt.UTC)


def _boolean(value: Any) -> bool:
    return value if isinstance(value, bool) else {"true": True, "false": False}[value]


def _whole(value: Any) -> int:
    if isinstance(value, float):
        raise TypeError(f"{value!r} is no whole number")
    return int(value)


def _float(value: Any) -> float | str:
    number = float(value)
    return "NaN" if math.isnan(number) else number


def _single(value: Any) -> float | str:
    return _float(np.float32(value))


def _text(value: Any) -> str:
    assert isinstance(value, str)
    return value


_READERS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[Any], Any]], ...] = (
    (pa.types.is_boolean, _boolean),
    (pa.types.is_integer, _whole),
    (pa.types.is_float32, _single),
    (pa.types.is_float64, _float),
    (pa.types.is_decimal, lambda value: Decimal(value)),
    (pa.types.is_string, _text),
    (pa.types.is_binary, lambda value: _parsed(value, bytes.fromhex)),
    (pa.types.is_date, lambda value: _parsed(value, dt.date.fromisoformat)),
)
