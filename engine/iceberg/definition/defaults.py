"""Converts column defaults between SQL literals and the schema's JSON.

Iceberg stores a default's value; Delta stores its expression. So a default must be a literal: other expressions are
rejected with an error that names them.

Source: Iceberg table specification, "Default values", "Appendix C: JSON single-value serialization".
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time
from decimal import Context, Decimal, InvalidOperation
from typing import Any, assert_never
from uuid import UUID

from catalog.conditions import IcebergDefaultRefused
from engine.iceberg.spec.types import Kind, SimpleType, type_name

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d+)?(BD|[LSYFD])?", re.IGNORECASE)
_TYPED = re.compile(r"(DATE|TIMESTAMP|TIMESTAMP_NTZ|TIMESTAMP_LTZ|X)?\s*'((?:[^'\\]|'')*)'", re.IGNORECASE)
# Stricter than Python, which accepts other spellings and truncates digits.
_TIME = re.compile(r"\d\d:\d\d(:\d\d(\.\d{1,6})?)?")
_RANGES = {Kind.INT: 31, Kind.LONG: 63}
_EXACT = Context(prec=76)


def default_json(column: str, type_: object, text: str) -> Any:
    """Returns a literal's value for a column with `type_`; None for NULL. Raises `IcebergDefaultRefused`."""
    literal = text.strip()
    while literal.startswith("(") and literal.endswith(")"):
        literal = literal[1:-1].strip()
    if literal.upper() == "NULL":
        return None
    if not isinstance(type_, SimpleType):
        raise IcebergDefaultRefused(column, text, "columns of nested types have no default but NULL")
    try:
        return _value(type_, literal)
    except (ValueError, InvalidOperation, OverflowError) as error:
        raise IcebergDefaultRefused(column, text, f"it is no literal of the type {type_name(type_)}") from error


def _value(type_: SimpleType, literal: str) -> Any:
    match type_.kind:
        case Kind.BOOLEAN:
            return literal.lower() == "true" if literal.lower() in ("true", "false") else _no()
        case Kind.INT | Kind.LONG:
            number = _number(literal)
            bits = _RANGES[type_.kind]
            return int(number) if number == int(number) and -(1 << bits) <= number < 1 << bits else _no()
        case Kind.FLOAT | Kind.DOUBLE:
            return float(_number(literal))
        case Kind.DECIMAL:
            number = _number(literal).quantize(Decimal(1).scaleb(-type_.scale), context=_EXACT)
            return f"{number:f}" if number == _number(literal) and _digits(number) <= type_.precision else _no()
        case Kind.STRING:
            return _unquote(literal, "")
        case Kind.BINARY:
            return bytes.fromhex(_unquote(literal, "X")).hex()
        case Kind.FIXED:
            value = bytes.fromhex(_unquote(literal, "X"))
            return value.hex() if len(value) == type_.length else _no()
        case Kind.UUID:
            text = _unquote(literal, "")
            return str(UUID(text)) if str(UUID(text)) == text.lower() else _no()
        case Kind.TIME:
            text = _unquote(literal, "")
            return time.fromisoformat(text).isoformat(timespec="microseconds") if _TIME.fullmatch(text) else _no()
        case Kind.DATE:
            return date.fromisoformat(_unquote(literal, "DATE")).isoformat()
        case Kind.TIMESTAMP:
            moment = datetime.fromisoformat(_unquote(literal, "TIMESTAMP_NTZ", "TIMESTAMP"))
            return moment.isoformat(timespec="microseconds") if moment.tzinfo is None else _no()
        case Kind.TIMESTAMPTZ:
            moment = datetime.fromisoformat(_unquote(literal, "TIMESTAMP", "TIMESTAMP_LTZ"))
            return moment.astimezone(UTC).isoformat(timespec="microseconds") if moment.tzinfo is not None else _no()
        case Kind.UNKNOWN | Kind.VARIANT | Kind.TIMESTAMP_NS | Kind.TIMESTAMPTZ_NS | Kind.GEOMETRY | Kind.GEOGRAPHY:
            return _no()
        case _:
            assert_never(type_.kind)


def _no() -> Any:
    raise ValueError


def _number(literal: str) -> Decimal:
    match = _NUMBER.fullmatch(literal)
    if match is None:
        raise ValueError(literal)
    return Decimal(literal[: len(literal) - len(match[4] or "")])


def _digits(number: Decimal) -> int:
    return len(number.as_tuple().digits)


def _unquote(literal: str, *prefixes: str) -> str:
    match = _TYPED.fullmatch(literal)
    if match is None or (match[1] or "").upper() not in prefixes:
        raise ValueError(literal)
    return match[2].replace("''", "'")
