"""Converts table data types to Arrow types and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, assert_never

import pyarrow as pa

from engine.types.schema import ArrayType, DataType, DecimalType, MapType, PrimitiveType, StructField, StructType

RecordBatch: TypeAlias = Any
# pyarrow has no type annotations that a checker understands.
Array: TypeAlias = Any

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
    """Returns the `pyarrow.DataType` for a type in the log."""
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
    """Returns the `pyarrow.Schema` for a table's rows."""
    return pa.schema([pa.field(item.name, arrow_type(item.data_type), item.nullable) for item in schema.fields])


_BY_ARROW_TYPE: Mapping[Any, PrimitiveType] = {
    arrow: data_type for data_type, arrow in _PRIMITIVES.items() if data_type is not PrimitiveType.VARIANT
}


def table_type(arrow: Any) -> DataType:
    """Returns the log's type for which `arrow_type` returns `arrow`. Raises `KeyError` for any other Arrow type."""
    if pa.types.is_struct(arrow):
        return table_schema(arrow)
    if pa.types.is_map(arrow):
        return MapType(table_type(arrow.key_type), table_type(arrow.item_type), arrow.item_field.nullable)
    if pa.types.is_list(arrow):
        return ArrayType(table_type(arrow.value_type), arrow.value_field.nullable)
    if pa.types.is_decimal128(arrow):
        return DecimalType(arrow.precision, arrow.scale)
    return _BY_ARROW_TYPE[arrow]


def table_schema(fields: Any) -> StructType:
    """Returns the log's schema for an Arrow schema or struct; inverse of `arrow_schema`. Raises like `table_type`."""
    return StructType(tuple(StructField(item.name, table_type(item.type), item.nullable) for item in fields))
