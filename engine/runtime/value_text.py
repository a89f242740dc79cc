"""Values as text, the same in each front end: Arrow arrays in, string arrays out, one column at a time.

The spelling is Spark's: `true`, `1.0E10`, `NaN`, plain decimals, `2024-05-01 10:00:00[.ffffff]` in the session's time
zone without trailing zeros, intervals in Hive's format (`1 02:03:04.000000000`), bytes as upper-case hexadecimal
digits. Arrays, maps and structs are JSON text without spaces, `[1,null]` and `{"a":1}`. Hive's own text for these is
not always JSON; this is: strings are escaped, map keys are strings, and dates, timestamps, intervals, bytes and NaN are
quoted, so a client may parse every complex cell. For clients of Hive map keys may be as in Spark's Thrift server.

All functions are pure, and null stays null.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.runtime.time_zones import find_zone, fixed_offset, offset_s
from engine.types.partition_values import java_float

_LAST_MICROS_OF_9999 = 253_402_300_799_999_999
_LAST_MICROS_OF_2037 = 2_145_916_799_999_999
_LAST_DAY_OF_9999 = 2_932_896
_YEAR_WITHOUT_SIGN_MAX = 9999
_SECOND_MICROS = 1_000_000
_DAY_MICROS = 86_400_000_000
# The number of days in 400 years.
_CYCLE_DAYS = 146_097
# Up to this scale, Arrow writes all decimals without an exponent.
_PLAIN_SCALE_MAX = 6
_INT64_DIGITS = 18
# By the last field of a day interval; seconds keep their full precision.
_FIELD_MICROS = {"day": _DAY_MICROS, "hour": 3_600_000_000, "minute": 60_000_000}
_HEX = np.frombuffer("".join(f"{byte:02X}" for byte in range(256)).encode(), np.uint8).reshape(256, 2)
_ESCAPES = {char: json.dumps(char)[1:-1] for char in map(chr, range(32))}


def to_text(
    values: pa.Array | pa.ChunkedArray, sql_type: str, time_zone: str, *, has_bare_keys: bool = False
) -> pa.StringArray:
    """Returns `values` of the SQL type `sql_type` as text; `time_zone` is Spark's name of the session's time zone.

    `has_bare_keys`: only map keys that are strings are quoted, as in Spark's Thrift server: `{1:null}`.
    """
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if sql_type == "void":
        return pa.nulls(len(values), pa.string())
    if pa.types.is_duration(values.type):
        return _durations(_cut(values, sql_type))
    if _is_nested(values.type):
        return _mask_as(_Json(time_zone, has_bare_keys).text(values), values)
    return _scalar_text(values, time_zone)


def _scalar_text(values: pa.Array, time_zone: str) -> pa.StringArray:
    for matches, render in _SCALARS:
        if matches(values.type):
            return render(values)
    if pa.types.is_timestamp(values.type):
        return _timestamps(values, time_zone)
    raise TypeError(f"no text for values of Arrow type {values.type}")


def _plain(values: pa.Array) -> pa.StringArray:
    return values.cast(pa.string())


def _floats(values: pa.Array) -> pa.StringArray:
    """Formats floats as Java does since Java 19, with the fewest digits that identify the number: plain from 0.001 to
    under ten million, otherwise one digit, a point and an exponent.
    """
    text = values.cast(pa.string())
    numbers = np.abs(pc.fill_null(values, 0).to_numpy(zero_copy_only=False))
    plain = ((numbers >= 1e-3) & (numbers < 1e7)) | (numbers == 0)
    whole = pc.and_(pa.array(plain), pc.invert(pc.match_substring(text, ".")))
    text = pc.if_else(whole, pc.binary_join_element_wise(text, "0", "."), text)
    if plain.all():
        return text
    others = pc.and_(pa.array(~plain), values.is_valid())
    return pc.replace_with_mask(text, others, pa.array(map(java_float, text.filter(others).to_pylist()), pa.string()))


def _decimals(values: pa.Array) -> pa.StringArray:
    if (quick := _small_decimals(values)) is not None:
        return quick
    text = values.cast(pa.string())
    if 0 <= values.type.scale <= _PLAIN_SCALE_MAX:
        return text
    exponents = pc.fill_null(pc.match_substring(text, "E"), False)  # below a millionth, Arrow writes 1E-7
    if not pc.any(exponents).as_py():
        return text
    plain = [format(number, "f") for number in values.filter(exponents).to_pylist()]
    return pc.replace_with_mask(text, exponents, pa.array(plain, pa.string()))


def _small_decimals(values: pa.Array) -> pa.StringArray | None:
    """Formats decimals whose digits fit in 64 bits: the digits of the integer, with a point before the last `scale`
    digits.

    Takes half the time of Arrow's cast. Returns None for other decimals, and if a negative value is between -1 and 0.
    """
    kind = values.type
    if not pa.types.is_decimal128(kind) or not 0 <= kind.scale < min(kind.precision, _INT64_DIGITS) or not len(values):
        return None
    filled = pc.fill_null(values, Decimal(1)) if values.null_count else values
    words = np.frombuffer(filled.buffers()[1], "<i8").reshape(-1, 2)[filled.offset : filled.offset + len(filled)]
    low, one = words[:, 0], 10**kind.scale
    if not np.array_equal(words[:, 1], low >> 63):
        return None
    text = pa.array(low).cast(pa.string())
    if kind.scale:
        if np.any((low > -one) & (low < one)):
            if low.min() < 0:
                return None
            text = pc.utf8_lpad(text, kind.scale + 1, "0")
        text = pc.binary_replace_slice(text, -kind.scale, -kind.scale, ".")
    return _mask_as(text, values)


def _dates(values: pa.Array) -> pa.StringArray:
    days = values.cast(pa.date32()).cast(pa.int32()).cast(pa.int64())
    near, cycles = _without_cycles(days, _LAST_DAY_OF_9999, _CYCLE_DAYS)
    return _with_cycles(near.cast(pa.int32()).cast(pa.date32()).cast(pa.string()), cycles)


def _timestamps(values: pa.Array, time_zone: str) -> pa.StringArray:
    has_zone = values.type.tz is not None
    micros = values.cast(pa.timestamp("us", "UTC" if has_zone else None)).cast(pa.int64())
    near, cycles = _without_cycles(micros, _LAST_MICROS_OF_9999 - _DAY_MICROS, _CYCLE_DAYS * _DAY_MICROS)
    local = wall_clock(near.cast(pa.timestamp("us", "UTC")), time_zone) if has_zone else near.cast(pa.timestamp("us"))
    return _with_cycles(_without_trailing_zeros(local.cast(pa.string())), cycles)


def wall_clock(values: pa.Array, time_zone: str) -> pa.Array:
    """Converts instants to the zone's wall clock, without a zone."""
    offset = fixed_offset(time_zone)
    if offset is not None:
        return pc.add(values.cast(pa.timestamp("us")), pa.scalar(offset, pa.duration("us")))
    local = pc.local_timestamp(values.cast(pa.timestamp("us", time_zone)))
    micros = pc.fill_null(values.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
    late, zone = micros > _LAST_MICROS_OF_2037, find_zone(time_zone)
    if zone is None or not late.any():
        return local
    # Arrow ends daylight saving time with the last entry of the tz database's tables; the zone's rules continue.
    instants, places = np.unique(micros[late] // _SECOND_MICROS, return_inverse=True)
    offsets = np.array([offset_s(int(instant), zone) for instant in instants]) * _SECOND_MICROS
    moved = pa.array(micros[late] + offsets[places]).cast(local.type)
    return pc.replace_with_mask(local, pa.array(late), moved)


def _without_cycles(values: pa.Array, last: int, cycle: int) -> tuple[pa.Array, np.ndarray]:
    """Returns `values` between -`last` and `last`, and the number of `cycle`s that were subtracted from each.

    Arrow writes, and has zones for, years of 16 bits; Spark's years go to 294247, and in dates to 5881580. The calendar
    and the rules of time zones repeat after 400 years.
    """
    numbers = pc.fill_null(values, 0).to_numpy(zero_copy_only=False)
    cycles = np.where(numbers > last, (numbers - last - 1) // cycle + 1, 0)
    cycles = np.where(numbers < -last, (numbers + last) // cycle, cycles)
    return pc.subtract(values, pa.array(cycles * cycle)), cycles


def _with_cycles(text: pa.StringArray, cycles: np.ndarray) -> pa.StringArray:
    """Adds the subtracted years to dates in text form. Years with five digits have a sign, as in Java and ISO 8601."""
    far = pa.array(cycles != 0)
    if not cycles.any():
        return text
    texts = [
        shown and _later(shown, 400 * int(count))
        for shown, count in zip(text.filter(far).to_pylist(), cycles[cycles != 0], strict=True)
    ]
    return pc.replace_with_mask(text, far, pa.array(texts, pa.string()))


def _later(text: str, years: int) -> str:
    year, rest = text[: text.index("-", 1)], text[text.index("-", 1) :]
    later = int(year) + years
    return f"{'+' if later > _YEAR_WITHOUT_SIGN_MAX else '-' * (later < 0)}{abs(later):04}{rest}"


def _durations(values: pa.Array) -> pa.StringArray:
    micros = values.cast(pa.duration("us")).cast(pa.int64())
    numbers = pc.fill_null(micros, 0).to_numpy(zero_copy_only=False)
    sign = pa.array(np.where(numbers < 0, "-", "").astype(object), pa.string())
    # the minimum has no positive counterpart
    seconds, fraction = np.divmod(np.abs(numbers).astype(np.uint64), 1_000_000)
    parts = [(seconds // 86400, 1), (seconds // 3600 % 24, 2), (seconds // 60 % 60, 2), (seconds % 60, 2)]
    days, *clock = [pc.utf8_lpad(pa.array(part).cast(pa.string()), width, "0") for part, width in parts]
    nanos = pc.utf8_lpad(pa.array(fraction * 1000).cast(pa.string()), 9, "0")
    text = pc.binary_join_element_wise(
        pc.binary_join_element_wise(sign, days, ""), pc.binary_join_element_wise(*clock, ":"), " "
    )
    return _mask_as(pc.binary_join_element_wise(text, nanos, "."), values)


def _cut(values: pa.Array, sql_type: str) -> pa.Array:
    """Truncates values to the last field of the interval type, because a cast may leave a remainder, which Hive
    drops.
    """
    unit = _FIELD_MICROS.get(sql_type.rpartition(" ")[2])
    if unit is None:
        return values
    micros = values.cast(pa.duration("us")).cast(pa.int64())
    whole = pc.multiply(pc.divide(micros, unit), unit)  # towards zero, as Spark's text
    return whole.cast(pa.duration("us"))


def _times(values: pa.Array) -> pa.StringArray:
    return _without_trailing_zeros(values.cast(pa.time64("us")).cast(pa.string()))


def _calendar_intervals(values: pa.Array) -> pa.StringArray:
    """Formats months, days and microseconds, which are independent units: `1 years 2 months 3 days 4.5 seconds`."""
    return pa.array([value and _calendar_interval(value) for value in values.to_pylist()], pa.string())


def _calendar_interval(value: pa.MonthDayNano) -> str:
    micros = value.nanoseconds // 1000
    minutes, micros = _divide(micros, 60_000_000)
    hours, minutes = _divide(minutes, 60)
    years, months = _divide(value.months, 12)
    seconds = format(Decimal(micros).scaleb(-6).normalize(), "f")
    parts = {"years": years, "months": months, "days": value.days, "hours": hours, "minutes": minutes}
    written = [f"{count} {unit}" for unit, count in parts.items() if count]
    return " ".join([*written, f"{seconds} seconds"] if micros or not written else written)


def _divide(number: int, by: int) -> tuple[int, int]:
    """Returns quotient and remainder, both with the sign of `number`."""
    quotient, rest = divmod(abs(number), by)
    return (quotient, rest) if number >= 0 else (-quotient, -rest)


def _without_trailing_zeros(text: pa.StringArray) -> pa.StringArray:
    """Removes trailing zeros of a fraction of a second, and the fraction if it is zero."""
    return pc.replace_substring_regex(text, r"\.?0+$", "")


def _hexadecimal(values: pa.Array) -> pa.StringArray:
    filled = pc.fill_null(values.cast(pa.binary()), b"")
    _, offsets, data = filled.buffers()
    starts = np.frombuffer(offsets, np.int32)[filled.offset : filled.offset + len(filled) + 1]
    content = np.frombuffer(data, np.uint8)[starts[0] : starts[-1]] if data else np.empty(0, np.uint8)
    digits = np.ascontiguousarray(_HEX[content])
    moved = np.ascontiguousarray((starts - starts[0]) * 2)
    return _mask_as(pa.StringArray.from_buffers(len(filled), pa.py_buffer(moved), pa.py_buffer(digits)), values)


@dataclass(frozen=True, slots=True)
class _Json:
    """Formats nested values."""

    time_zone: str
    has_bare_keys: bool

    def text(self, values: pa.Array) -> pa.StringArray:
        """Returns the JSON text of each value; `null` for a null."""
        kind = values.type
        if pa.types.is_map(kind):
            keys, items = _window(values, values.keys), _window(values, values.items)
            pairs = pc.binary_join_element_wise(self._keys(keys), self.text(items), ":")
            text = _wrap("{", _join(values, pairs), "}")
        elif pa.types.is_struct(kind):
            text = self._struct(values)
        elif _is_nested(kind):
            text = _wrap("[", _join(values, self.text(_window(values, values.values))), "]")
        elif pa.types.is_floating(kind):
            text = _scalar_text(values, self.time_zone)
            text = pc.if_else(pc.is_finite(values), text, _quote(text))
        elif any(matches(kind) for matches in _JSON_BARE):
            text = _scalar_text(values, self.time_zone)
        else:
            text = _quote(_scalar_text(values, self.time_zone))
        return pc.fill_null(_mask_as(text, values), "null")

    def _keys(self, keys: pa.Array) -> pa.StringArray:
        if self.has_bare_keys:
            is_string = pa.types.is_string(keys.type) or pa.types.is_large_string(keys.type)
            return self.text(keys) if is_string or _is_nested(keys.type) else _scalar_text(keys, self.time_zone)
        names = self.text(keys) if _is_nested(keys.type) else _scalar_text(keys, self.time_zone)
        return _quote(names)

    def _struct(self, values: pa.StructArray) -> pa.StringArray:
        if values.type.num_fields == 0:
            return pa.array(["{}"] * len(values), pa.string())
        members = [
            pc.binary_join_element_wise(json.dumps(field.name, ensure_ascii=False), self.text(values.field(i)), ":")
            for i, field in enumerate(values.type)
        ]
        return _wrap("{", pc.binary_join_element_wise(*members, ","), "}")


def _window(values: pa.Array, children: pa.Array) -> pa.Array:
    """Returns the child values that a slice of a list or map array covers."""
    if not len(values):
        return children.slice(0, 0)  # Java writes no offset in this case
    first, last = values.offsets[0].as_py(), values.offsets[-1].as_py()
    return children.slice(first, last - first)


def _join(values: pa.Array, children: pa.StringArray) -> pa.StringArray:
    """Joins the children's texts of each list with commas."""
    if not len(values):
        return pa.array([], pa.string())
    offsets = pc.subtract(values.offsets, values.offsets[0])
    wide = pa.types.is_large_list(values.type)
    lists = (pa.LargeListArray if wide else pa.ListArray).from_arrays(offsets, children)
    return pc.binary_join(lists, ",")


def _wrap(opening: str, text: pa.StringArray, closing: str) -> pa.StringArray:
    return pc.binary_join_element_wise(opening, text, closing, "")


def _quote(text: pa.StringArray) -> pa.StringArray:
    text = pc.replace_substring(pc.replace_substring(text, "\\", "\\\\"), '"', '\\"')
    if pc.any(pc.match_substring_regex(text, "[\\x00-\\x1f]")).as_py():
        for char, escape in _ESCAPES.items():
            text = pc.replace_substring(text, char, escape)
    return _wrap('"', text, '"')


def _mask_as(text: pa.StringArray, values: pa.Array) -> pa.StringArray:
    """Returns `text` with null where `values` has null."""
    return pc.if_else(values.is_valid(), text, pa.scalar(None, pa.string())) if values.null_count else text


def _is_nested(kind: pa.DataType) -> bool:
    return any(matches(kind) for matches in _NESTED)


_SCALARS: tuple[tuple[Callable[[pa.DataType], bool], Callable[[pa.Array], pa.StringArray]], ...] = (
    (pa.types.is_string, lambda values: values),
    (pa.types.is_large_string, _plain),
    (pa.types.is_integer, _plain),
    (pa.types.is_boolean, _plain),
    (pa.types.is_null, _plain),
    (pa.types.is_floating, _floats),
    (pa.types.is_decimal, _decimals),
    (pa.types.is_date, _dates),
    (pa.types.is_duration, _durations),
    (pa.types.is_interval, _calendar_intervals),
    (pa.types.is_time, _times),
    (pa.types.is_binary, _hexadecimal),
    (pa.types.is_large_binary, _hexadecimal),
)
_NESTED = (pa.types.is_list, pa.types.is_large_list, pa.types.is_map, pa.types.is_struct)
_JSON_BARE = (pa.types.is_integer, pa.types.is_boolean, pa.types.is_null, pa.types.is_decimal)
