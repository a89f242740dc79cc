"""Row-wise evaluation of predicates: the reference for pruning.

Rows are dictionaries from path to a value as literals represent it: days for a date, microseconds for a timestamp.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from typing import Any, assert_never

from engine.pruning.predicates import (
    And,
    Cast,
    Compare,
    Constant,
    In,
    IsNotNull,
    IsNull,
    Not,
    Operand,
    Operator,
    Or,
    Path,
    Predicate,
    StartsWith,
    Unknown,
)
from engine.types.schema import DataType, PrimitiveType

Row = Mapping[Path, Any]
Types = Mapping[Path, DataType]
DAY_US = 86_400_000_000

_HOLDS = {
    Operator.EQUAL: lambda order: order == 0,
    Operator.NOT_EQUAL: lambda order: order != 0,
    Operator.LESS: lambda order: order < 0,
    Operator.LESS_OR_EQUAL: lambda order: order <= 0,
    Operator.GREATER: lambda order: order > 0,
    Operator.GREATER_OR_EQUAL: lambda order: order >= 0,
}


def order(left: Any, right: Any) -> int:
    """Returns -1, 0 or 1, as Spark orders two values with one type."""
    if isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)
        if left != left or right != right:
            return int(left != left) - int(right != right)
    if isinstance(left, str):
        left, right = left.encode(), right.encode()
    return int(left > right) - int(left < right)


def evaluate_row(predicate: Predicate, row: Row, types: Types) -> bool | None:
    """TRUE, FALSE or NULL. An unknown predicate has no meaning here."""
    match predicate:
        case Compare(operator=operator, operand=operand, literal=literal):
            value = value_of(operand, row, types)
            if operator is Operator.NULL_SAFE_EQUAL:
                if value is None or literal.value is None:
                    return value is None and literal.value is None
                return order(value, literal.value) == 0
            if value is None or literal.value is None:
                return None
            return bool(_HOLDS[operator](order(value, literal.value)))
        case In(operand=operand, literals=literals):
            value = value_of(operand, row, types)
            equal = [None if None in (value, item.value) else order(value, item.value) == 0 for item in literals]
            return True if any(equal) else None if None in equal else False
        case StartsWith(operand=operand, prefix=prefix):
            value = value_of(operand, row, types)
            return None if value is None or prefix is None else bool(value.startswith(prefix))
        case IsNull(column=column):
            return row[column.path] is None
        case IsNotNull(column=column):
            return row[column.path] is not None
        case And(children=children):
            return _all(evaluate_row(child, row, types) for child in children)
        case Or(children=children):
            return _not(_all(_not(evaluate_row(child, row, types)) for child in children))
        case Not(child=child):
            return _not(evaluate_row(child, row, types))
        case Constant(value=value):
            return value
        case Unknown():
            raise ValueError("an unknown predicate has no value")
        case _:
            assert_never(predicate)


def value_of(operand: Operand, row: Row, types: Types) -> Any:
    """Returns the operand's value, cast in a session in UTC."""
    if not isinstance(operand, Cast):
        return row[operand.path]
    value = row[operand.column.path]
    if value is None:
        return None
    match types[operand.column.path], operand.type:
        case _, PrimitiveType.DOUBLE:
            return float(value)
        case _, PrimitiveType.FLOAT:
            return round_to_float(float(value))
        case PrimitiveType.TIMESTAMP | PrimitiveType.TIMESTAMP_NTZ, PrimitiveType.DATE:
            return value // DAY_US
        case PrimitiveType.DATE, PrimitiveType.TIMESTAMP | PrimitiveType.TIMESTAMP_NTZ:
            return value * DAY_US
        case _:
            return value


def round_to_float(value: float) -> float:
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _all(truths: Iterable[bool | None]) -> bool | None:
    found = set(truths)
    return False if False in found else None if None in found else True


def _not(value: bool | None) -> bool | None:
    return None if value is None else not value
