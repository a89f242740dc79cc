"""The schema of a Parquet file as Spark reads it, from the footer; and one schema for the files of a folder.

The types are those of Spark's own reader without special settings: INT96 and times adjusted to UTC are `timestamp`,
times that are not are `timestamp_ntz`; unsigned integers are the next wider signed ones; text, enums and JSON are
strings. What a writer noted for itself (Arrow's schema, such as durations) counts only as far as other readers see it.
A type that Delta has none for is refused. All columns may be null, for a footer promises nothing of other files.

Files of a folder may lack columns of others, at any depth, and may have narrower whole numbers, which Parquet stores
alike; in everything else columns of one name must agree, also in the case of the name, since some readers find columns
by their exact names only.
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
_WHOLE_NUMBERS = (PrimitiveType.BYTE, PrimitiveType.SHORT, PrimitiveType.INTEGER)
"""Narrowest first; all three are 32 bits in a file."""
_TEXTS = frozenset({"ENUM", "JSON"})
_INT96, _NANOSECONDS = "INT96", "ns"


def schema_of_footer(footer: Any, path: str) -> StructType:
    """The columns of the file at `path`. Raises `ConvertedTypeNotSupported`, `ConvertedColumnsRepeated`."""
    leaves = iter([footer.schema.column(position) for position in range(footer.num_columns)])
    return _struct(footer.schema.to_arrow_schema(), leaves, path, "")


def _struct(fields: Any, leaves: Iterator[Any], path: str, parent: str) -> StructType:
    converted = [StructField(field.name, _type(field.type, leaves, path, parent + field.name)) for field in fields]
    names = [field.name for field in converted]
    if len({name.casefold() for name in names}) < len(names):
        raise ConvertedColumnsRepeated(path, ", ".join(names))
    return StructType(tuple(converted))


def _type(data_type: Any, leaves: Iterator[Any], path: str, name: str) -> DataType:
    """The type of a column; takes its leaves, which come in the order of the columns."""
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
    """Of a column that is stored as `leaf`; None for one that no column can have."""
    if pa.types.is_timestamp(data_type):
        if leaf.physical_type == _INT96:
            return PrimitiveType.TIMESTAMP
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


# --- One schema of many -----------------------------------------------------------------------------------------------


def merged_schema(known: StructType, found: StructType, path: str) -> StructType:
    """The columns of both: those of `known` first. `path` is the file of `found`, for messages.

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
        return max(known, found, key=_WHOLE_NUMBERS.index)
    raise ConvertedSchemasDiffer(path, name, str(format_data_type(known)), str(format_data_type(found)))
