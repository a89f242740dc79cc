"""Columns that match columns of a query or a source, if Spark compares their values without a cast.

If the types differ, Spark casts both sides to a common type; such a pair does not match, except for whole numbers,
whose order does not depend on the width. Excluded too are floating-point numbers, which nobody joins on, collated
texts, and CHAR, which is compared with trailing blanks up to the longer length.
"""

from __future__ import annotations

from engine.pruning.predicates import Path
from engine.pruning.table_columns import CHAR_VARCHAR_TYPE
from engine.pruning.value_ranges import INTEGRAL_DIGITS
from engine.types.schema import DataType, DecimalType, PrimitiveType, StructField, StructType
from engine.types.sql_types import COLLATIONS

_COMPARED = frozenset(
    [
        *INTEGRAL_DIGITS,
        PrimitiveType.DATE,
        PrimitiveType.TIMESTAMP,
        PrimitiveType.TIMESTAMP_NTZ,
        PrimitiveType.STRING,
    ]
)


def fields_down(schema: StructType, path: Path) -> list[StructField]:
    """Returns the fields along a path; empty if it does not exist."""
    found: list[StructField] = []
    level: DataType = schema
    for name in path:
        field = level.field(name) if isinstance(level, StructType) else None
        if field is None:
            return []
        found.append(field)
        level = field.data_type
    return found


def is_compared(own: StructField, other: StructField) -> bool:
    """Returns whether values are compared without a cast."""
    if any(field.metadata.get(COLLATIONS) or _is_char(field) for field in (own, other)):
        return False
    if isinstance(own.data_type, DecimalType):
        return own.data_type == other.data_type
    if not isinstance(own.data_type, PrimitiveType) or not isinstance(other.data_type, PrimitiveType):
        return False
    if own.data_type in INTEGRAL_DIGITS:
        return other.data_type in INTEGRAL_DIGITS
    return own.data_type in _COMPARED and own.data_type == other.data_type


def _is_char(field: StructField) -> bool:
    return str(field.metadata.get(CHAR_VARCHAR_TYPE, "")).casefold().startswith("char")
