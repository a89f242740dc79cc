"""Values of bound Arrow columns as parameters of a statement."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import pyarrow as pa

from catalog.conditions import FlightFeatureNotSupported
from engine.runtime.parameters import Parameter

_Text = Callable[[Any], str]


def row_parameters(
    values: pa.Table, names: Sequence[str | None], limits: Collection[int] = ()
) -> Iterator[tuple[Parameter, ...]]:
    """Yields the parameters of each row; `limits` are the numbers of those of LIMIT, which are numbers of type INT.

    Raises `FlightFeatureNotSupported` for a type without an equivalent.
    """
    kinds = [_kind(column.type) for column in values.columns]
    for number in limits:
        if number <= len(kinds) and kinds[number - 1] is not None:
            kinds[number - 1] = ("int", str)
    for batch in values.to_batches(1024):
        for row in zip(*(column.to_pylist() for column in map(_plain, batch.columns)), strict=True):
            yield tuple(_parameter(value, kind, name) for value, kind, name in zip(row, kinds, names, strict=True))


def _plain(column: pa.Array) -> pa.Array:
    """Returns the column with values that Python has: no nanoseconds, no dictionary."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if pa.types.is_union(column.type):
        return pa.array([value.as_py() for value in column])
    if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
        return column.cast(pa.timestamp("us", column.type.tz), safe=False)
    if pa.types.is_time64(column.type) and column.type.unit == "ns":
        return column.cast(pa.time64("us"), safe=False)
    return column


def _parameter(value: Any, kind: tuple[str, _Text] | None, name: str | None) -> Parameter:
    if isinstance(value, list):
        members = tuple(_parameter(one, None, None) for one in value)
        return Parameter(value=None, sql_type="ARRAY", name=name, members=members)
    if kind is None:  # of a union or a list: by its value
        kind = _KINDS_OF_VALUES.get(type(value), ("void", str))
    sql_type, text = kind
    return Parameter(value=None if value is None else text(value), sql_type=sql_type, name=name)


def _kind(arrow: pa.DataType) -> tuple[str, _Text] | None:
    """Returns the SQL type of a column, and the text of a value that is not null."""
    if pa.types.is_dictionary(arrow):
        return _kind(arrow.value_type)
    if pa.types.is_union(arrow) or pa.types.is_list(arrow) or pa.types.is_large_list(arrow):
        return None
    if pa.types.is_decimal(arrow):
        scale = max(0, arrow.scale)
        return f"decimal({min(38, max(arrow.precision, scale))},{scale})", str
    if pa.types.is_timestamp(arrow):
        return ("timestamp_ntz" if arrow.tz is None else "timestamp"), _timestamp
    for is_kind, found in _KINDS:
        if is_kind(arrow):
            return found
    raise FlightFeatureNotSupported(f"A parameter with the Arrow type {str(arrow)[:100]}", "Send it as text.")


def _boolean(value: Any) -> str:
    return str(value).lower()


def _float(value: float) -> str:
    return {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}.get(repr(value), repr(value))


def _timestamp(value: Any) -> str:
    return str(value.isoformat(" "))


def _binary(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise FlightFeatureNotSupported("A binary parameter that is not UTF-8", "Use unhex() with a text.") from None


_KINDS: tuple[tuple[Callable[[pa.DataType], bool], tuple[str, _Text]], ...] = (
    (pa.types.is_null, ("void", str)),
    (pa.types.is_boolean, ("boolean", _boolean)),
    (pa.types.is_int8, ("tinyint", str)),
    (pa.types.is_int16, ("smallint", str)),
    (pa.types.is_int32, ("int", str)),
    (pa.types.is_int64, ("bigint", str)),
    (pa.types.is_uint8, ("smallint", str)),
    (pa.types.is_uint16, ("int", str)),
    (pa.types.is_uint32, ("bigint", str)),
    (pa.types.is_uint64, ("decimal(20,0)", str)),
    (pa.types.is_float16, ("float", _float)),
    (pa.types.is_float32, ("float", _float)),
    (pa.types.is_float64, ("double", _float)),
    (pa.types.is_string, ("string", str)),
    (pa.types.is_large_string, ("string", str)),
    (pa.types.is_string_view, ("string", str)),
    (pa.types.is_binary, ("binary", _binary)),
    (pa.types.is_large_binary, ("binary", _binary)),
    (pa.types.is_date, ("date", str)),
    (pa.types.is_time, ("time(6)", str)),
)
_KINDS_OF_VALUES: dict[type, tuple[str, _Text]] = {
    bool: ("boolean", _boolean),
    int: ("bigint", str),
    float: ("double", _float),
    str: ("string", str),
    bytes: ("binary", _binary),
}
