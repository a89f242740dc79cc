"""SQL types as HiveServer2 names and encodes them.

A result's schema has each column's SQL type in Spark's DDL spelling; :func:`column_type` maps its head to a TTypeId, to
the TColumn member for its values (`slot`), and to qualifiers. Types without a mapping (variant, time, calendar
intervals, future types) are sent as strings, complex types as text with their own type id, as Spark's own server sends
them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Any

import pyarrow as pa
from thrift.Thrift import TType

from engine.runtime.results import sql_type_of
from gateway.hs2.gen import constants
from gateway.hs2.gen.ttypes import (
    TBinaryColumn,
    TBoolColumn,
    TBoolValue,
    TByteColumn,
    TByteValue,
    TColumnDesc,
    TDoubleColumn,
    TDoubleValue,
    TI16Column,
    TI16Value,
    TI32Column,
    TI32Value,
    TI64Column,
    TI64Value,
    TPrimitiveTypeEntry,
    TStringColumn,
    TStringValue,
    TTableSchema,
    TTypeDesc,
    TTypeEntry,
    TTypeId,
    TTypeQualifiers,
    TTypeQualifierValue,
)


@dataclass(frozen=True, slots=True)
class SlotSpec:
    """A member of TColumn and TColumnValue: name, field id, element type, a number's big-endian numpy type."""

    member: str
    field_id: int
    element: int
    column: type[Any]
    value: type[Any]
    dtype: str = ""
    zero: Any = 0


class Slot(Enum):
    """Members of the TColumn union. `BINARY` has no counterpart in rows, which send bytes in `stringVal`."""

    BOOL = SlotSpec("boolVal", 1, TType.BOOL, TBoolColumn, TBoolValue, ">u1", False)
    BYTE = SlotSpec("byteVal", 2, TType.BYTE, TByteColumn, TByteValue, ">i1")
    I16 = SlotSpec("i16Val", 3, TType.I16, TI16Column, TI16Value, ">i2")
    I32 = SlotSpec("i32Val", 4, TType.I32, TI32Column, TI32Value, ">i4")
    I64 = SlotSpec("i64Val", 5, TType.I64, TI64Column, TI64Value, ">i8")
    DOUBLE = SlotSpec("doubleVal", 6, TType.DOUBLE, TDoubleColumn, TDoubleValue, ">f8", 0.0)
    STRING = SlotSpec("stringVal", 7, TType.STRING, TStringColumn, TStringValue, zero="")
    BINARY = SlotSpec("binaryVal", 8, TType.STRING, TBinaryColumn, TStringValue, zero=b"")


@dataclass(frozen=True, slots=True)
class ColumnType:
    type_id: TTypeId
    slot: Slot
    qualifiers: tuple[tuple[str, int], ...] = ()


_STRING = ColumnType(TTypeId.STRING_TYPE, Slot.STRING)
_TYPES: dict[str, ColumnType] = {
    "boolean": ColumnType(TTypeId.BOOLEAN_TYPE, Slot.BOOL),
    "tinyint": ColumnType(TTypeId.TINYINT_TYPE, Slot.BYTE),
    "smallint": ColumnType(TTypeId.SMALLINT_TYPE, Slot.I16),
    "int": ColumnType(TTypeId.INT_TYPE, Slot.I32),
    "bigint": ColumnType(TTypeId.BIGINT_TYPE, Slot.I64),
    "float": ColumnType(TTypeId.FLOAT_TYPE, Slot.DOUBLE),
    "double": ColumnType(TTypeId.DOUBLE_TYPE, Slot.DOUBLE),
    "string": _STRING,
    "binary": ColumnType(TTypeId.BINARY_TYPE, Slot.BINARY),
    "date": ColumnType(TTypeId.DATE_TYPE, Slot.STRING),
    "timestamp": ColumnType(TTypeId.TIMESTAMP_TYPE, Slot.STRING),
    "timestamp_ntz": ColumnType(TTypeId.TIMESTAMP_TYPE, Slot.STRING),
    "timestamp_ltz": ColumnType(TTypeId.TIMESTAMP_TYPE, Slot.STRING),
    "void": ColumnType(TTypeId.NULL_TYPE, Slot.STRING),
    "interval year": ColumnType(TTypeId.INTERVAL_YEAR_MONTH_TYPE, Slot.STRING),
    "interval month": ColumnType(TTypeId.INTERVAL_YEAR_MONTH_TYPE, Slot.STRING),
    "interval day": ColumnType(TTypeId.INTERVAL_DAY_TIME_TYPE, Slot.STRING),
    "interval hour": ColumnType(TTypeId.INTERVAL_DAY_TIME_TYPE, Slot.STRING),
    "interval minute": ColumnType(TTypeId.INTERVAL_DAY_TIME_TYPE, Slot.STRING),
    "interval second": ColumnType(TTypeId.INTERVAL_DAY_TIME_TYPE, Slot.STRING),
    "array": ColumnType(TTypeId.ARRAY_TYPE, Slot.STRING),
    "map": ColumnType(TTypeId.MAP_TYPE, Slot.STRING),
    "struct": ColumnType(TTypeId.STRUCT_TYPE, Slot.STRING),
}
_QUALIFIERS: dict[str, tuple[TTypeId, tuple[str, ...]]] = {
    "decimal": (TTypeId.DECIMAL_TYPE, (constants.PRECISION, constants.SCALE)),
    "varchar": (TTypeId.VARCHAR_TYPE, (constants.CHARACTER_MAXIMUM_LENGTH,)),
    "char": (TTypeId.CHAR_TYPE, (constants.CHARACTER_MAXIMUM_LENGTH,)),
}
_INTERVALS = frozenset({TTypeId.INTERVAL_YEAR_MONTH_TYPE, TTypeId.INTERVAL_DAY_TIME_TYPE})
_HEAD = re.compile(r"(interval [a-z]+|[a-z_]+)(?:\(([\d, ]+)\))?")


def column_type(sql_type: str) -> ColumnType:
    """Returns the wire type for Spark's DDL spelling, such as `decimal(10,2)` or `array<int>`."""
    head = _HEAD.match(sql_type)
    if head is None:
        return _STRING
    name, numbers = head.groups()
    if numbers and name in _QUALIFIERS:
        type_id, keys = _QUALIFIERS[name]
        values = map(int, numbers.split(","))
        return ColumnType(type_id, Slot.STRING, tuple(zip(keys, values, strict=False)))
    return _TYPES.get(name, _STRING)


def table_schema(schema: pa.Schema, *, has_intervals: bool = True, has_void: bool = True) -> TTableSchema:
    """Returns a result's schema for GetResultSetMetadata; positions count from 1.

    Without `has_intervals` intervals are strings, as their values are sent anyway; without `has_void` null columns are,
    too.
    """
    kinds = [column_type(sql_type_of(field_)) for field_ in schema]
    if not has_intervals:
        kinds = [_STRING if kind.type_id in _INTERVALS else kind for kind in kinds]
    if not has_void:
        kinds = [_STRING if kind.type_id == TTypeId.NULL_TYPE else kind for kind in kinds]
    return TTableSchema(
        [
            TColumnDesc(field_.name, _describe(kind), position, "")
            for position, (field_, kind) in enumerate(zip(schema, kinds, strict=True), 1)
        ]
    )


def _describe(kind: ColumnType) -> TTypeDesc:
    qualifiers = {name: TTypeQualifierValue(i32Value=value) for name, value in kind.qualifiers}
    entry = TPrimitiveTypeEntry(kind.type_id, TTypeQualifiers(qualifiers) if qualifiers else None)
    return TTypeDesc([TTypeEntry(primitiveEntry=entry)])
