"""Values in PostgreSQL's text formats: an Arrow column in, cells out. Pure and vectorized.

Texts are those of `engine/runtime/value_text.py` where both systems agree. PostgreSQL has `t` and `f`, `\\x` before
bytes, the offset after a timestamp with a time zone, braces around arrays, and its own spelling of intervals.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.runtime.value_text import to_text
from gateway.postgres.binary_cells import parse_interval
from gateway.postgres.types import (
    BOOL,
    BYTEA,
    FLOAT4,
    FLOAT8,
    INT2,
    INT4,
    INT8,
    INTERVAL,
    TIMESTAMP,
    TIMESTAMPTZ,
    VECTORS,
    PgType,
)

_DAY_MICROS, _SECOND_MICROS = 86_400_000_000, 1_000_000
_HOUR_S, _MINUTE_S = 3600, 60
_YEAR_1000_MICROS, _YEAR_10000_MICROS = -30_610_224_000_000_000, 253_402_300_800_000_000
_UTC = frozenset({"UTC", "Z", "Etc/UTC", "GMT"})
# A value of an array with one of these is quoted, and so are an empty one and NULL.
_QUOTED = r'(?i)[{},"\\\s]|^$|^null$'


def text_cells(values: pa.Array, kind: PgType, sql_type: str, zone: str) -> pa.Array:
    """Returns the cells of a column with the type `kind` as texts; `sql_type` and `zone` are Spark's."""
    if kind in VECTORS:
        return _joined(values, values.flatten().cast(pa.string()), " ")
    if kind.element is not None:
        return _arrays(values, kind.element, sql_type, zone)
    if pa.types.is_string(values.type) and kind.oid != INTERVAL.oid:
        return values
    match kind.oid:
        case INT2.oid | INT4.oid | INT8.oid:
            return values.cast(pa.string())
        case BOOL.oid:
            return pc.if_else(values, "t", "f")
        case FLOAT4.oid | FLOAT8.oid:
            return _floats(values)
        case BYTEA.oid:
            return _bytes(values)
        case TIMESTAMPTZ.oid:
            return _instants(values, zone)
        case TIMESTAMP.oid if (text := _plain_timestamps(values)) is not None:
            return text
        case INTERVAL.oid:
            return _intervals(values)
        case _:  # the same texts as Spark's
            return to_text(values, sql_type, zone)


def _floats(values: pa.Array) -> pa.Array:
    text = values.cast(pa.string())
    is_whole = pc.ends_with(text, ".0")
    if pc.any(is_whole).as_py():
        text = pc.if_else(is_whole, pc.utf8_slice_codeunits(text, 0, -2), text)
    if pc.all(pc.is_finite(values)).as_py() is not False:
        return text
    text = pc.replace_substring_regex(text, r"^(-?)inf$", r"\1Infinity")
    return pc.replace_substring_regex(text, "^-?nan$", "NaN")


def _bytes(values: pa.Array) -> pa.Array:
    cells = [None if value is None else f"\\x{value.hex()}" for value in values.to_pylist()]
    return pa.array(cells, pa.string())


def _plain_timestamps(values: pa.Array) -> pa.Array | None:
    """Returns timestamps of the years with four digits as Arrow writes them, without zeros at the end of fractions;
    None for others.
    """
    wall = values.cast(pa.timestamp("us"))
    bounds = pc.min_max(wall.view(pa.int64())).as_py()
    if bounds["min"] is not None and not (_YEAR_1000_MICROS <= bounds["min"] and bounds["max"] < _YEAR_10000_MICROS):
        return None
    micros = wall.view(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    if not np.any(micros % _SECOND_MICROS):
        return wall.cast(pa.timestamp("s"), safe=False).cast(pa.string())
    return pc.ascii_rtrim(pc.ascii_rtrim(wall.cast(pa.string()), "0"), ".")


def _instants(values: pa.Array, zone: str) -> pa.Array:
    if zone in _UTC:
        text = _plain_timestamps(values)
        return pc.binary_join_element_wise(to_text(values, "timestamp", zone) if text is None else text, "+00", "")
    text = to_text(values, "timestamp", zone)
    # The difference between the local text and the instant is the offset, whatever form the zone's name has.
    instants = values.cast(pa.timestamp("us", "UTC")).view(pa.int64())
    walls = pc.strptime(pc.utf8_slice_codeunits(text, 0, 19), format="%Y-%m-%d %H:%M:%S", unit="s", error_is_null=True)
    whole = pa.array(instants.fill_null(0).to_numpy(zero_copy_only=False) // 1_000_000)
    seconds = pc.subtract(walls.cast(pa.int64()), whole)
    offsets = pc.dictionary_encode(seconds.fill_null(0))
    names = pa.array([_offset_name(offset) for offset in offsets.dictionary.to_pylist()], pa.string())
    return pc.binary_join_element_wise(text, names.take(offsets.indices), "")


def _offset_name(offset_s: int) -> str:
    sign, rest = ("-" if offset_s < 0 else "+"), abs(offset_s)
    name = f"{sign}{rest // _HOUR_S:02}"
    minutes, seconds = rest // _MINUTE_S % 60, rest % _MINUTE_S
    name += f":{minutes:02}" if minutes or seconds else ""
    return name + (f":{seconds:02}" if seconds else "")


def _intervals(values: pa.Array) -> pa.Array:
    if pa.types.is_duration(values.type):
        micros = values.cast(pa.duration("us")).view(pa.int64()).to_pylist()
        parts = [None if one is None else _split(one) for one in micros]
    else:
        parts = [None if text is None else parse_interval(text) for text in values.to_pylist()]
    return pa.array([None if one is None else _interval_text(*one) for one in parts], pa.string())


def _split(micros: int) -> tuple[int, int, int]:
    days = int(abs(micros) // _DAY_MICROS) * (-1 if micros < 0 else 1)
    return micros - days * _DAY_MICROS, days, 0


def _interval_text(micros: int, days: int, months: int) -> str:
    """Returns an interval in the style `postgres`: `1 year 2 mons 3 days 04:05:06`."""
    years = abs(months) // 12 * (-1 if months < 0 else 1)
    named = ((years, "year"), (months - years * 12, "mon"), (days, "day"))
    pieces = [f"{number} {unit}{'' if number == 1 else 's'}" for number, unit in named if number]
    if micros or not pieces:
        seconds, fraction = divmod(abs(micros), 1_000_000)
        clock = f"{seconds // _HOUR_S:02}:{seconds // _MINUTE_S % 60:02}:{seconds % _MINUTE_S:02}"
        clock += f".{fraction:06}".rstrip("0") if fraction else ""
        pieces.append(f"-{clock}" if micros < 0 else clock)
    return " ".join(pieces)


def _arrays(values: pa.Array, element: PgType, sql_type: str, zone: str) -> pa.Array:
    texts = text_cells(values.flatten(), element, sql_type[len("array<") : -1], zone)
    is_quoted = pc.match_substring_regex(texts, _QUOTED)
    if pc.any(is_quoted).as_py():
        escaped = pc.replace_substring(pc.replace_substring(texts, "\\", "\\\\"), '"', '\\"')
        texts = pc.if_else(is_quoted, pc.binary_join_element_wise('"', escaped, '"', ""), texts)
    return pc.binary_join_element_wise("{", _joined(values, texts.fill_null("NULL"), ","), "}", "")


def _joined(values: pa.Array, texts: pa.Array, separator: str) -> pa.Array:
    """Returns the texts of each list's elements in one text."""
    sizes = pc.list_value_length(values).fill_null(0).to_numpy(zero_copy_only=False)
    offsets = np.zeros(len(values) + 1, np.int32)
    np.cumsum(sizes, out=offsets[1:])
    found = pc.binary_join(pa.ListArray.from_arrays(pa.array(offsets), texts), separator)
    return pc.if_else(pc.is_valid(values), found, pa.scalar(None, pa.string())) if values.null_count else found
