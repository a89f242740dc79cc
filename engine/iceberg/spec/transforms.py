"""Partition transforms: applies them to values, and derives source value bounds from partition values.

Values are in serialization form: numbers, dates as days since 1970, times and timestamps as microseconds (all
integers), decimals as unscaled integers, texts (UTF-8), uuids and binaries as bytes.

A partition value is converted into bounds for the source column, so that conditions need no logic per transform. A
bucket implies no order; equality with a value is evaluated by that value's bucket.

Writers before Iceberg 0.11 assigned times before 1970 to the following unit: these partitions' bounds are one unit
wider.

Source: Iceberg table specification, "Partition Transforms", "Appendix B: 32-bit Hash Requirements".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from typing import TypeAlias, assert_never

from engine.iceberg.spec.partitions import Transform, TransformKind
from engine.iceberg.spec.types import Kind, SimpleType

Value: TypeAlias = int | float | bytes | bool

_EPOCH = date(1970, 1, 1)
_HOUR_US = 3_600_000_000
_DAY_US = 24 * _HOUR_US
_NANOS = frozenset([Kind.TIMESTAMP_NS, Kind.TIMESTAMPTZ_NS])
_HASHED_AS_LONG = frozenset(
    [
        Kind.INT,
        Kind.LONG,
        Kind.DATE,
        Kind.TIME,
        Kind.TIMESTAMP,
        Kind.TIMESTAMPTZ,
        Kind.TIMESTAMP_NS,
        Kind.TIMESTAMPTZ_NS,
    ]
)
_MASK = 0xFFFFFFFF
_LAST_CODE_POINT = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)


def apply(transform: Transform, type_: SimpleType, value: Value) -> Value | None:
    """Returns a non-null value's partition value; None for an unknown transform, or one not defined for the type."""
    match transform.kind:
        case TransformKind.IDENTITY:
            return value
        case TransformKind.BUCKET:
            hashed = hash_of(type_, value)
            return None if hashed is None else (hashed & 0x7FFFFFFF) % transform.width
        case TransformKind.TRUNCATE:
            return _truncate(transform.width, type_, value)
        case TransformKind.YEAR | TransformKind.MONTH | TransformKind.DAY | TransformKind.HOUR:
            return _unit(transform.kind, type_, value)
        case TransformKind.VOID | TransformKind.UNKNOWN:
            return None
        case _:
            assert_never(transform.kind)


def hash_of(type_: SimpleType, value: Value) -> int | None:
    """Returns a value's signed 32-bit hash; None for types without one."""
    if type_.kind in _HASHED_AS_LONG and isinstance(value, int):
        number = value // 1000 if type_.kind in _NANOS else value
        return murmur3(number.to_bytes(8, "little", signed=True))
    if type_.kind is Kind.DECIMAL and isinstance(value, int):
        return murmur3(unscaled_bytes(value))
    return murmur3(value) if isinstance(value, bytes) else None


def unscaled_bytes(unscaled: int) -> bytes:
    """Returns a decimal's unscaled value, big-endian, in the fewest bytes with sign."""
    return unscaled.to_bytes(((unscaled if unscaled >= 0 else ~unscaled).bit_length() + 8) // 8, "big", signed=True)


def murmur3(data: bytes) -> int:
    """Returns MurmurHash3 (x86, 32 bits, seed 0), signed."""
    state, whole = 0, len(data) // 4 * 4
    for start in range(0, whole, 4):
        state ^= _mix(int.from_bytes(data[start : start + 4], "little"))
        state = (_rotate(state, 13) * 5 + 0xE6546B64) & _MASK
    if whole < len(data):
        state ^= _mix(int.from_bytes(data[whole:], "little"))
    state ^= len(data)
    state = ((state ^ state >> 16) * 0x85EBCA6B) & _MASK
    state = ((state ^ state >> 13) * 0xC2B2AE35) & _MASK
    state ^= state >> 16
    return state - (1 << 32) if state >> 31 else state


def _mix(word: int) -> int:
    return (_rotate((word * 0xCC9E2D51) & _MASK, 15) * 0x1B873593) & _MASK


def _rotate(word: int, bits: int) -> int:
    return (word << bits | word >> (32 - bits)) & _MASK


# The minimum integers have no multiple below them: the result wraps around to a maximum, as in Java.
_LAST = {Kind.INT: (1 << 31) - 1, Kind.LONG: (1 << 63) - 1}


def _truncate(width: int, type_: SimpleType, value: Value) -> Value | None:
    if type_.kind is Kind.STRING and isinstance(value, bytes):
        return value.decode("utf-8", "surrogatepass")[:width].encode("utf-8", "surrogatepass")
    if type_.kind is Kind.BINARY and isinstance(value, bytes):
        return value[:width]
    if type_.kind not in (Kind.INT, Kind.LONG, Kind.DECIMAL) or not isinstance(value, int):
        return None
    made = value - value % width
    last = _LAST.get(type_.kind)
    return made if last is None or made >= -last - 1 else made + 2 * (last + 1)


def _unit(kind: TransformKind, type_: SimpleType, value: Value) -> int | None:
    if not isinstance(value, int):
        return None
    if type_.kind is Kind.DATE:
        days = value
        if kind is TransformKind.HOUR:
            return None
    elif type_.kind in _UNIT_NANOS:
        if kind is TransformKind.HOUR:
            return value // (_HOUR_US * _UNIT_NANOS[type_.kind])
        days = value // (_DAY_US * _UNIT_NANOS[type_.kind])
    else:
        return None
    if kind is TransformKind.DAY:
        return days
    moment = date.fromordinal(_EPOCH.toordinal() + days)
    return moment.year - 1970 if kind is TransformKind.YEAR else (moment.year - 1970) * 12 + moment.month - 1


# Units per microsecond, by type.
_UNIT_NANOS: Mapping[Kind, int] = {
    Kind.TIMESTAMP: 1,
    Kind.TIMESTAMPTZ: 1,
    Kind.TIMESTAMP_NS: 1000,
    Kind.TIMESTAMPTZ_NS: 1000,
}


def bounds_of(transform: Transform, type_: SimpleType, value: Value) -> tuple[Value | None, Value | None]:
    """Returns the minimum and maximum source value for a partition value; None: unbounded."""
    match transform.kind:
        case TransformKind.IDENTITY:
            return value, value
        case TransformKind.TRUNCATE:
            return _truncated_from(transform.width, type_, value)
        case TransformKind.YEAR | TransformKind.MONTH | TransformKind.DAY | TransformKind.HOUR:
            return _unit_bounds(transform.kind, type_, value)
        case TransformKind.BUCKET | TransformKind.VOID | TransformKind.UNKNOWN:
            return None, None
        case _:
            assert_never(transform.kind)


def _truncated_from(width: int, type_: SimpleType, value: Value) -> tuple[Value | None, Value | None]:
    if isinstance(value, bytes):
        if type_.kind is Kind.STRING:
            text = value.decode("utf-8", "replace")
            return value, value if len(text) < width else after_text(text)
        return value, value if len(value) < width else None
    if isinstance(value, bool) or not isinstance(value, int):
        return None, None
    if type_.kind in _LAST and any(last - width + 1 < value <= last for last in _LAST.values()):
        return None, None  # may be a wrapped minimum; the column may have been an INT then
    return value, value + width - 1


def after_text(text: str) -> bytes | None:
    """Returns a text greater than all with this prefix."""
    while text:
        point = ord(text[-1]) + 1
        point = _SURROGATES.stop if point in _SURROGATES else point
        if point <= _LAST_CODE_POINT:
            return (text[:-1] + chr(point)).encode()
        text = text[:-1]
    return None


def _unit_bounds(kind: TransformKind, type_: SimpleType, value: Value) -> tuple[Value | None, Value | None]:
    if isinstance(value, bool) or not isinstance(value, int):
        return None, None
    first, after = value if value > 0 else value - 1, value + 1
    try:
        low, end = _UNIT_STARTS[kind](first), _UNIT_STARTS[kind](after)
    except (ValueError, OverflowError):  # a year outside the calendar
        return None, None
    if type_.kind is Kind.DATE:
        return low // _DAY_US, end // _DAY_US - 1
    scale = _UNIT_NANOS.get(type_.kind)
    return (None, None) if scale is None else (low * scale, end * scale - 1)


def _month_start(months: int) -> int:
    """Returns the month's start in microseconds."""
    return (date(1970 + months // 12, months % 12 + 1, 1).toordinal() - _EPOCH.toordinal()) * _DAY_US


_UNIT_STARTS: Mapping[TransformKind, Callable[[int], int]] = {
    TransformKind.YEAR: lambda years: _month_start(years * 12),
    TransformKind.MONTH: _month_start,
    TransformKind.DAY: lambda days: days * _DAY_US,
    TransformKind.HOUR: lambda hours: hours * _HOUR_US,
}
