"""Literals of Spark Connect as parameters of a statement."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from typing import Any

from catalog.conditions import ConnectFeatureNotSupported, ConnectPlanInvalid
from engine.runtime.parameters import Parameter
from gateway.connect.proto import pb2
from gateway.connect.types import ddl_type

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DEPTH_MAX = 32
_FUNCTIONS = {"array": "ARRAY", "map": "MAP"}
_SPECIALIZED = {"bools": "boolean", "ints": "int", "longs": "bigint", "floats": "float", "doubles": "double"}


def parameters_of(
    named: Mapping[str, pb2.Expression | pb2.Expression.Literal],
    positional: Sequence[pb2.Expression | pb2.Expression.Literal],
) -> tuple[Parameter, ...]:
    """Returns the values for a statement's markers. Raises `ConnectFeatureNotSupported` for other expressions than
    literals, arrays and maps.
    """
    return (
        *(replace(parameter_of(value), name=name) for name, value in sorted(named.items())),
        *(parameter_of(value) for value in positional),
    )


def parameter_of(value: pb2.Expression | pb2.Expression.Literal, depth: int = 0) -> Parameter:
    """Returns a parameter's value; `depth` is its nesting.

    Raises `ConnectPlanInvalid` for too many levels, `ConnectFeatureNotSupported` for other expressions.
    """
    if depth > _DEPTH_MAX:
        raise ConnectPlanInvalid("a parameter has too many levels")
    if isinstance(value, pb2.Expression.Literal):
        return _literal(value, depth)
    kind = value.WhichOneof("expr_type")
    if kind == "literal":
        return _literal(value.literal, depth)
    if kind == "unresolved_function" and (name := _FUNCTIONS.get(value.unresolved_function.function_name)):
        return _members(name, value.unresolved_function.arguments, depth)
    raise ConnectFeatureNotSupported(
        f"A parameter of a SQL text that is an expression of the kind {kind or 'of a newer client'}",
        "Use literals, arrays and maps.",
    )


def _members(name: str, values: Iterable[Any], depth: int) -> Parameter:
    return Parameter(value=None, sql_type=name, members=tuple(parameter_of(value, depth + 1) for value in values))


def _literal(literal: pb2.Expression.Literal, depth: int) -> Parameter:
    kind = literal.WhichOneof("literal_type")
    value: Any = getattr(literal, kind) if kind else None
    if (found := _PLAIN.get(kind or "")) is not None:
        sql_type, text = found
        return Parameter(value=text(value), sql_type=sql_type)
    match kind:
        case "null":
            return Parameter(value=None, sql_type=ddl_type(value))
        case "decimal":
            precision, scale = value.precision or 38, value.scale
            return Parameter(value=value.value, sql_type=f"decimal({precision},{scale})")
        case "time":
            return Parameter(value=_time_text(value.nano), sql_type=f"time({value.precision or 6})")
        case "array":
            return _members("ARRAY", value.elements, depth)
        case "specialized_array":
            return _specialized(value)
        case "map":
            pairs = zip(value.keys, value.values, strict=False)
            return _members("MAP", [part for pair in pairs for part in pair], depth)
        case _:  # a member of a protobuf oneof, or none
            raise ConnectFeatureNotSupported(f"A parameter of a SQL text with the type {kind or 'of a newer client'}")


def _specialized(value: Any) -> Parameter:
    kind = value.WhichOneof("value_type")
    sql_type = _SPECIALIZED.get(kind, "string")
    values = getattr(value, kind).values if kind else ()
    members = tuple(Parameter(value=_text(one), sql_type=sql_type) for one in values)
    return Parameter(value=None, sql_type="ARRAY", members=members)


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _float_text(value: float) -> str:
    return {"inf": "Infinity", "-inf": "-Infinity", "nan": "NaN"}.get(repr(value), repr(value))


def _timestamp_text(micros: int) -> str:
    return f"{(_EPOCH + timedelta(microseconds=micros)).replace(tzinfo=None).isoformat(' ')}"


def _time_text(nanos: int) -> str:
    seconds, rest = divmod(nanos, 1_000_000_000)
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest:09}"[:15]


def _months_text(months: int) -> str:
    sign = "-" if months < 0 else ""
    return f"{sign}{abs(months) // 12}-{abs(months) % 12}"


def _micros_text(micros: int) -> str:
    sign, micros = "-" if micros < 0 else "", abs(micros)
    seconds, rest = divmod(micros, 1_000_000)
    hours, minutes = seconds // 3600 % 24, seconds // 60 % 60
    return f"{sign}{seconds // 86_400} {hours:02}:{minutes:02}:{seconds % 60:02}.{rest:06}"


_PLAIN: Mapping[str, tuple[str, Callable[[Any], str]]] = {
    "boolean": ("boolean", _text),
    "byte": ("tinyint", _text),
    "short": ("smallint", _text),
    "integer": ("int", _text),
    "long": ("bigint", _text),
    "float": ("float", _float_text),
    "double": ("double", _float_text),
    "string": ("string", str),
    "date": ("date", lambda days: (date(1970, 1, 1) + timedelta(days=days)).isoformat()),
    "timestamp": ("timestamp", lambda micros: f"{_timestamp_text(micros)}Z"),
    "timestamp_ntz": ("timestamp_ntz", _timestamp_text),
    "year_month_interval": ("interval year to month", _months_text),
    "day_time_interval": ("interval day to second", _micros_text),
}
