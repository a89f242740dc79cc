"""Which types are wider than others: files with values of the one are read as the other.

Protocol: "Type Widening".
"""

from __future__ import annotations

from engine.types.schema import DataType, DecimalType, PrimitiveType

_P = PrimitiveType
_WIDER: dict[PrimitiveType, frozenset[PrimitiveType]] = {
    _P.BYTE: frozenset({_P.SHORT, _P.INTEGER, _P.LONG, _P.DOUBLE}),
    _P.SHORT: frozenset({_P.INTEGER, _P.LONG, _P.DOUBLE}),
    _P.INTEGER: frozenset({_P.LONG, _P.DOUBLE}),
    _P.FLOAT: frozenset({_P.DOUBLE}),
    _P.DATE: frozenset({_P.TIMESTAMP_NTZ}),
}
_INTEGER_DIGITS = {_P.BYTE: 10, _P.SHORT: 10, _P.INTEGER: 10, _P.LONG: 20}
"""The digits before the point that a decimal needs to take an integer type."""


def is_widening(old: DataType, new: DataType) -> bool:
    """May a column of the simple type `old` become `new` without a change to its files?"""
    if old is PrimitiveType.VOID:
        return True
    match old, new:
        case PrimitiveType(), PrimitiveType():
            return new in _WIDER.get(old, frozenset())
        case PrimitiveType(), DecimalType(precision, scale):
            return old in _INTEGER_DIGITS and precision - scale >= _INTEGER_DIGITS[old]
        case DecimalType(old_precision, old_scale), DecimalType(precision, scale):
            return old != new and scale >= old_scale and precision - scale >= old_precision - old_scale
        case _:  # any other pair of types
            return False
