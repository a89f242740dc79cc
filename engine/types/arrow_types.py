"""The table's data types as Arrow types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, assert_never

import pyarrow as pa

from engine.types.schema import ArrayType, DataType, DecimalType, MapType, PrimitiveType, StructType

RecordBatch: TypeAlias = Any
Array: TypeAlias = Any
"""pyarrow has no types of its own that a checker knows."""

_PRIMITIVES: Mapping[PrimitiveType, Any] = {
    PrimitiveType.STRING: pa.string(),
    PrimitiveType.LONG: pa.int64(),
    PrimitiveType.INTEGER: pa.int32(),
    PrimitiveType.SHORT: pa.int16(),
    PrimitiveType.BYTE: pa.int8(),
    PrimitiveType.FLOAT: pa.float32(),
    PrimitiveType.DOUBLE: pa.float64(),
    PrimitiveType.BOOLEAN: pa.bool_(),
    PrimitiveType.BINARY: pa.binary(),
    PrimitiveType.DATE: pa.date32(),
    PrimitiveType.TIMESTAMP: pa.timestamp("us", tz="UTC"),
    PrimitiveType.TIMESTAMP_NTZ: pa.timestamp("us"),
    PrimitiveType.VARIANT: pa.struct([("metadata", pa.binary()), ("value", pa.binary())]),
    PrimitiveType.VOID: pa.null(),
}


def arrow_type(data_type: DataType) -> Any:
    """The `pyarrow.DataType` that holds values of a type of the log."""
    match data_type:
        case PrimitiveType():
            return _PRIMITIVES[data_type]
        case DecimalType(precision, scale):
            return pa.decimal128(precision, scale)
        case ArrayType(element, contains_null):
            return pa.list_(pa.field("element", arrow_type(element), contains_null))
        case MapType(key, value, contains_null):
            return pa.map_(arrow_type(key), pa.field("value", arrow_type(value), contains_null))
        case StructType(fields):
            return pa.struct([pa.field(item.name, arrow_type(item.data_type), item.nullable) for item in fields])
        case _:
            assert_never(data_type)


def arrow_schema(schema: StructType) -> Any:
    """The `pyarrow.Schema` of a table's rows."""
    return pa.schema([pa.field(item.name, arrow_type(item.data_type), item.nullable) for item in schema.fields])
