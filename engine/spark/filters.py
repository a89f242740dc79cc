"""Converts Spark's filters, in the form of `FilterJson.java`, to predicates over a table's columns.

A tree is a JSON array with its kind and its parts, or null. An unsupported filter is `Unknown`, which prunes nothing;
so is a comparison between two columns, or with a value whose type the log does not have.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from catalog.conditions import DeltaError
from engine.pruning.predicates import (
    Cast,
    Column,
    Compare,
    Constant,
    In,
    IsNotNull,
    IsNull,
    Literal,
    Not,
    Operand,
    Operator,
    Predicate,
    StartsWith,
    Unknown,
    Value,
    all_of,
    any_of,
    conjunction,
)
from engine.types.schema import DataType, DecimalType, PrimitiveType, parse_data_type

_OPERATORS = {
    operator.value: operator
    for operator in (
        Operator.EQUAL,
        Operator.NULL_SAFE_EQUAL,
        Operator.LESS,
        Operator.LESS_OR_EQUAL,
        Operator.GREATER,
        Operator.GREATER_OR_EQUAL,
    )
}
_TURNED = {
    Operator.EQUAL: Operator.EQUAL,
    Operator.NULL_SAFE_EQUAL: Operator.NULL_SAFE_EQUAL,
    Operator.LESS: Operator.GREATER,
    Operator.LESS_OR_EQUAL: Operator.GREATER_OR_EQUAL,
    Operator.GREATER: Operator.LESS,
    Operator.GREATER_OR_EQUAL: Operator.LESS_OR_EQUAL,
}
_VALUES: Mapping[DataType, Callable[[Any], Value]] = {
    PrimitiveType.FLOAT: float,
    PrimitiveType.DOUBLE: float,
    PrimitiveType.BINARY: base64.b64decode,
}
_UNKNOWN = Unknown()


def read_filters(trees: list[Any]) -> Predicate:
    """Returns the conjunction of all filters."""
    return conjunction(tuple(map(_predicate, trees)))


def _predicate(tree: Any) -> Predicate:
    match tree:
        case ["and", left, right]:
            return all_of(_predicate(left), _predicate(right))
        case ["or", left, right]:
            return any_of(_predicate(left), _predicate(right))
        case ["not", child]:
            return Not(_predicate(child))
        case ["is null", ["column", *path]]:
            return IsNull(Column(tuple(path)))
        case ["is not null", ["column", *path]]:
            return IsNotNull(Column(tuple(path)))
        case ["column", *path]:
            return Compare(Operator.EQUAL, Column(tuple(path)), Literal(True, PrimitiveType.BOOLEAN))
        case ["literal", "boolean", value]:
            return Constant(value)
        case ["in", value, *items]:
            return _in(value, items)
        case ["starts with", value, prefix]:
            return _starts_with(value, prefix)
        case [str(kind), left, right] if kind in _OPERATORS:
            return _compare(_OPERATORS[kind], left, right)
        case _:  # JSON from Spark
            return _UNKNOWN


def _compare(operator: Operator, left: Any, right: Any) -> Predicate:
    operand = _operand(left)
    literal = _literal(right)
    if operand is None:
        # Spark's optimizer usually moves the literal to the right, but not inside casts and
        # not for all operators.
        operator, operand, literal = _TURNED[operator], _operand(right), _literal(left)
    return _UNKNOWN if operand is None or literal is None else Compare(operator, operand, literal)


def _in(value: Any, items: list[Any]) -> Predicate:
    operand = _operand(value)
    literals = [literal for literal in map(_literal, items) if literal is not None]
    # Leaving out one unsupported literal would prune files that contain it.
    return _UNKNOWN if operand is None or len(literals) < len(items) else In(operand, tuple(literals))


def _starts_with(value: Any, prefix: Any) -> Predicate:
    operand = _operand(value)
    literal = _literal(prefix)
    if operand is None or literal is None or literal.type is not PrimitiveType.STRING:
        return _UNKNOWN
    return StartsWith(operand, literal.value if isinstance(literal.value, str) else None)


def _operand(tree: Any) -> Operand | None:
    match tree:
        case ["column", *path]:
            return Column(tuple(path))
        case ["cast", ["column", *path], str(name)]:
            data_type = _type(name)
            return None if data_type is None else Cast(Column(tuple(path)), data_type)
        case _:  # JSON from Spark
            return None


def _literal(tree: Any) -> Literal | None:
    match tree:
        case ["literal", str(name), value]:
            data_type = _type(name)
            return None if data_type is None else Literal(_value(value, data_type), data_type)
        case _:  # JSON from Spark
            return None


def _value(value: Any, data_type: DataType) -> Value:
    if value is None:
        return None
    if isinstance(data_type, DecimalType):
        return Decimal(value)
    convert = _VALUES.get(data_type)
    return value if convert is None else convert(value)


def _type(name: str) -> DataType | None:
    """Returns a type for columns in the log; None for a type that only Spark has, or a string with a collation."""
    try:
        return parse_data_type(name)
    except DeltaError:
        return None
