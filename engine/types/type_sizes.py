"""The sizes of SQL types, as catalogs of columns show them (SQL standard, `COLUMNS`)."""

from __future__ import annotations

import re
from dataclasses import dataclass

_PRECISIONS = {"tinyint": 3, "smallint": 5, "int": 10, "bigint": 19, "float": 24, "double": 53}
_BINARY = frozenset({"float", "double"})
_LENGTHS = re.compile(r"(?:var)?char\((\d+)\)")
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_DATETIME_PRECISIONS = {"date": 0, "timestamp": 6, "timestamp_ntz": 6}


@dataclass(frozen=True, slots=True, kw_only=True)
class TypeSizes:
    """`length` in characters; `precision` in digits of the base `radix`, `scale` of them behind the point;
    `datetime_precision` in digits of seconds. None where the type has none.
    """

    name: str
    """The type without its parameters, in lower case."""
    length: int | None
    precision: int | None
    radix: int | None
    scale: int | None
    datetime_precision: int | None


def type_sizes(sql_type: str) -> TypeSizes:
    """The sizes of a type in SQL's spelling."""
    name = re.split(r"[(<]", sql_type, maxsplit=1)[0]
    length, number = _LENGTHS.fullmatch(sql_type), _DECIMAL.fullmatch(sql_type)
    precision = int(number[1]) if number else _PRECISIONS.get(name)
    return TypeSizes(
        name=name,
        length=int(length[1]) if length else None,
        precision=precision,
        radix=None if precision is None else 2 if name in _BINARY else 10,
        scale=int(number[2]) if number else 0 if precision is not None and name not in _BINARY else None,
        datetime_precision=_DATETIME_PRECISIONS.get(name),
    )
