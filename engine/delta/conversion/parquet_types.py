"""Derives the Spark schema from a Parquet footer, and merges the schemas in a directory.

Types follow Spark's own reader with default settings: INT96 and timestamps adjusted to UTC are `timestamp`, other
timestamps are `timestamp_ntz`; unsigned integers become the next wider signed type; text, enums and JSON are strings. A
writer's own annotations (Arrow's schema, such as durations) are used only if other readers see them too. A type without
a Delta equivalent is rejected. All columns are nullable, since one footer does not constrain other files.

Files in a directory may lack columns, at any depth, and may have narrower integers with the same Parquet storage. In
all other respects columns with the same name must agree, including the name's case, since some readers find columns by
exact name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import pyarrow as pa

from catalog.conditions import ConvertedColumnsRepeated, ConvertedSchemasDiffer, ConvertedTypeNotSupported
from engine.types.schema import (
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    format_data_type,
)

_DECIMAL_DIGITS_MAX = 38
_PRIMITIVES: Mapping[Any, PrimitiveType] = MappingProxyType(
    {
        pa.bool_(): PrimitiveType.BOOLEAN,
        pa.int8(): PrimitiveType.BYTE,
        pa.int16(): PrimitiveType.SHORT,
        pa.int32(): PrimitiveType.INTEGER,
        pa.int64(): PrimitiveType.LONG,
        pa.uint8(): PrimitiveType.SHORT,
        pa.uint16(): PrimitiveType.INTEGER,
        pa.uint32(): PrimitiveType.LONG,
        pa.float32(): PrimitiveType.FLOAT,
        pa.float64(): PrimitiveType.DOUBLE,
        pa.string(): PrimitiveType.STRING,
        pa.large_string(): PrimitiveType.STRING,
        pa.string_view(): PrimitiveType.STRING,
        pa.binary(): PrimitiveType.BINARY,
        pa.large_binary(): PrimitiveType.BINARY,
        pa.binary_view(): PrimitiveType.BINARY,
        pa.date32(): PrimitiveType.DATE,
        pa.date64(): PrimitiveType.DATE,
    }
)
# Narrowest first; all three are 32 bits in a file.
_WHOLE_NUMBERS = (PrimitiveType.BYTE, PrimitiveType.SHORT, PrimitiveType.INTEGER)
_TEXTS = frozenset({"ENUM", "JSON"})
_INT96, _NANOSECONDS = "INT96", "ns"


def schema_of_footer(footer: Any, path: str) -> StructType:
    """Returns the columns in the file at `path`. Raises `ConvertedTypeNotSupported`, `ConvertedColumnsRepeated`."""
    leaves = iter([footer.schema.column(position) for position in range(footer.num_columns)])
    return _struct(footer.schema.to_arrow_schema(), leaves, path, "")


def _struct(fields: Any, leaves: Iterator[Any], path: str, parent: str) -> StructType:
    converted = [StructField(field.name, _type(field.type, leaves, path, parent + field.name)) for field in fields]
    names = [field.name for field in converted]
    if len({name.casefold() for name in names}) < len(names):
        raise ConvertedColumnsRepeated(path, ", ".join(names))
    return StructType(tuple(converted))


def _type(data_type: Any, leaves: Iterator[Any], path: str, name: str) -> DataType:
    """Returns a column's type and consumes its leaves, which are in column order."""
    if pa.types.is_struct(data_type):
        return _struct(list(data_type), leaves, path, f"{name}.")
    if pa.types.is_map(data_type):
        key = _type(data_type.key_type, leaves, path, f"{name}.key")
        return MapType(key, _type(data_type.item_type, leaves, path, f"{name}.value"))
    if pa.types.is_list(data_type) or pa.types.is_large_list(data_type) or pa.types.is_fixed_size_list(data_type):
        return ArrayType(_type(data_type.value_type, leaves, path, f"{name}.element"))
    leaf = next(leaves, None)
    if pa.types.is_dictionary(data_type):
        data_type = data_type.value_type
    found = leaf_type(data_type, leaf) if leaf is not None else None
    if found is None:
        stored = f" (stored as {leaf.physical_type})" if leaf is not None else ""
        raise ConvertedTypeNotSupported(path, name, f"{data_type}{stored}")
    return found


def leaf_type(data_type: Any, leaf: Any) -> DataType | None:
    """Returns the type for a column stored as `leaf`, or None if no column type matches."""
    if pa.types.is_timestamp(data_type):
        if leaf.physical_type == _INT96:
            return PrimitiveType.TIMESTAMP
        # Spark has no type for nanoseconds, and reading them as microseconds would lose
        # digits.
        if data_type.unit == _NANOSECONDS:
            return None
        return PrimitiveType.TIMESTAMP_NTZ if data_type.tz is None else PrimitiveType.TIMESTAMP
    if pa.types.is_duration(data_type):
        return PrimitiveType.LONG
    if pa.types.is_decimal(data_type):
        fits = data_type.precision <= _DECIMAL_DIGITS_MAX and data_type.scale >= 0
        return DecimalType(data_type.precision, data_type.scale) if fits else None
    if pa.types.is_binary(data_type) and leaf.logical_type.type in _TEXTS:
        return PrimitiveType.STRING
    if pa.types.is_fixed_size_binary(data_type):
        return PrimitiveType.BINARY
    return _PRIMITIVES.get(data_type)


# --- Merged schema ----------------------------------------------------------------------------------------------------


def merged_schema(known: StructType, found: StructType, path: str) -> StructType:
    """Returns the union of the columns, those in `known` first. `path` is the file with `found`, for messages.

    Raises `ConvertedSchemasDiffer`.
    """
    if known == found:
        return known
    others = {field.name.casefold(): field for field in found.fields}
    merged = []
    for field in known.fields:
        other = others.pop(field.name.casefold(), None)
        if other is None:
            merged.append(field)
            continue
        if other.name != field.name:
            raise ConvertedSchemasDiffer(path, field.name, f"a column {field.name}", f"a column {other.name}")
        merged.append(StructField(field.name, _merged_type(field.data_type, other.data_type, path, field.name)))
    return StructType((*merged, *(field for field in found.fields if field.name.casefold() in others)))


def _merged_type(known: DataType, found: DataType, path: str, name: str) -> DataType:
    match known, found:
        case StructType(), StructType():
            return merged_schema(known, found, path)
        case ArrayType(), ArrayType():
            return ArrayType(_merged_type(known.element_type, found.element_type, path, name))
        case MapType(), MapType():
            key = _merged_type(known.key_type, found.key_type, path, name)
            return MapType(key, _merged_type(known.value_type, found.value_type, path, name))
        case _:  # any other pair of types
            pass
    if known == found:
        return known
    if known in _WHOLE_NUMBERS and found in _WHOLE_NUMBERS:
        # All three are INT32 in the file: reading one as a wider one is no conversion.
        return max(known, found, key=_WHOLE_NUMBERS.index)
    raise ConvertedSchemasDiffer(path, name, str(format_data_type(known)), str(format_data_type(found)))
