"""Partition values as file constants.

They are passed to Spark as text, which it casts to the column's type (`constant_texts`). Types without a castable text
use another text form, which SQL converts back (`partition_texts`, `partition_sql`). The texts do not depend on a
session's time zone, and an empty text is not null.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from decimal import Context, Decimal
from typing import Any, TypeAlias, assert_never
from uuid import UUID

import numpy as np
import pyarrow as pa

from catalog.conditions import MalformedIcebergFile
from engine.iceberg.definition.value_sql import shown_value_sql
from engine.iceberg.manifests.manifest import PARTITION_PREFIX
from engine.iceberg.spec.partitions import PartitionField
from engine.iceberg.spec.types import Kind, SimpleType, type_name

_EXACT = Context(prec=100)
_MICRO_NS = 1000


def is_constant(type_: SimpleType) -> bool:
    """Returns True if Spark can cast a text to the column's type."""
    return type_.kind in _CONSTANTS or type_.kind is Kind.DECIMAL


def constant_texts(data: pa.Table, field: PartitionField, type_: SimpleType) -> pa.Array:
    """Returns the text for the field's value in each file, for Spark's cast. Raises `MalformedIcebergFile`."""
    return _texts(data, field, type_, _CONSTANTS.get(type_.kind, _text))


def partition_texts(data: pa.Table, field: PartitionField, type_: SimpleType) -> pa.Array:
    """Returns the text for the field's value in each file, for `partition_sql`. Raises `MalformedIcebergFile`."""
    return _texts(data, field, type_, _text)


def _texts(data: pa.Table, field: PartitionField, type_: SimpleType, text: TextOf) -> pa.Array:
    name = f"{PARTITION_PREFIX}{field.field_id}"
    if name not in data.column_names:
        return pa.nulls(data.num_rows, pa.string())
    if pa.types.is_null(data.schema.field(name).type):
        return pa.nulls(data.num_rows, pa.string())
    try:
        # Not a Python dict, in which -0.0 and 0.0 are one key.
        encoded = pa.chunked_array(data[name]).combine_chunks().dictionary_encode()
        texts = (None if value is None else text(value, type_) for value in encoded.dictionary.to_pylist())
        return pa.array(texts, pa.string()).take(encoded.indices)
    except (TypeError, ValueError, OverflowError) as error:
        what = f"the partition value of {field.name} is no {type_name(type_)}"
        raise MalformedIcebergFile("A manifest", what) from error


def _text(value: Any, type_: SimpleType) -> str:
    if isinstance(value, bytes):
        if type_.kind is Kind.DECIMAL:
            unscaled = Decimal(int.from_bytes(value, "big", signed=True))
            return f"{unscaled.scaleb(-type_.scale, _EXACT):f}"
        return f"x{value.hex()}"
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, int | float):
        raise TypeError(value)
    return str(value)


def _plain(value: Any, type_: SimpleType) -> str:
    if isinstance(value, bytes):
        raise TypeError(value)
    return _text(value, type_)


def _string(value: Any, type_: SimpleType) -> str:
    if not isinstance(value, bytes):
        raise TypeError(value)
    return value.decode()


def _date(value: Any, type_: SimpleType) -> str:
    return str(np.datetime64(_whole(value), "D"))


def _timestamp(value: Any, type_: SimpleType) -> str:
    return str(np.datetime64(_whole(value), "us"))


def _instant(value: Any, type_: SimpleType) -> str:
    return f"{_timestamp(value, type_)}Z"


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(value)
    return value


TextOf: TypeAlias = Callable[[Any, SimpleType], str]
_CONSTANTS: Mapping[Kind, TextOf] = {
    Kind.BOOLEAN: _plain,
    Kind.INT: _plain,
    Kind.LONG: _plain,
    Kind.FLOAT: _plain,
    Kind.DOUBLE: _plain,
    Kind.DATE: _date,
    Kind.TIMESTAMP: _timestamp,
    Kind.TIMESTAMPTZ: _instant,
    Kind.STRING: _string,
}


def json_value(value: Any, type_: SimpleType) -> Any:
    """Returns a partition value as JSON, for `MetadataTable`. Raises `TypeError`, `ValueError`, `OverflowError`."""
    match type_.kind:
        case Kind.BOOLEAN | Kind.INT | Kind.LONG:
            return value
        case Kind.FLOAT | Kind.DOUBLE:
            return value if math.isfinite(value) else str(value).replace("inf", "Infinity").replace("nan", "NaN")
        case Kind.BINARY | Kind.FIXED:
            return base64.b64encode(value).decode()
        case Kind.UUID:
            return str(UUID(bytes=value))
        case Kind.TIME:
            return _time(_whole(value))
        case Kind.TIMESTAMP_NS:
            return _timestamp(_whole(value) // _MICRO_NS, type_)
        case Kind.TIMESTAMPTZ_NS:
            return _instant(_whole(value) // _MICRO_NS, type_)
        case Kind.DECIMAL | Kind.DATE | Kind.TIMESTAMP | Kind.TIMESTAMPTZ | Kind.STRING:
            return _CONSTANTS.get(type_.kind, _text)(value, type_)
        case Kind.UNKNOWN | Kind.VARIANT | Kind.GEOMETRY | Kind.GEOGRAPHY:
            return _CONSTANTS.get(type_.kind, _text)(value, type_)
        case _:
            assert_never(type_.kind)


def _time(micros: int) -> str:
    """Returns a time as the table prints it: without trailing zeros. Raises `OverflowError`."""
    return f"{datetime.min + timedelta(microseconds=micros):%H:%M:%S.%f}".rstrip("0").removesuffix(".")


def partition_sql(name: str, type_: SimpleType) -> str:
    """Returns the SQL that converts a text under this name to the exposed value."""
    match type_.kind:
        case Kind.BINARY | Kind.FIXED:
            return f"unhex(substring({name}, 2))"
        case Kind.UUID:
            return shown_value_sql(f"unhex(substring({name}, 2))", type_.kind) or "NULL"
        case Kind.TIME | Kind.TIMESTAMP_NS | Kind.TIMESTAMPTZ_NS:
            return shown_value_sql(f"CAST({name} AS BIGINT)", type_.kind) or "NULL"
        case Kind.BOOLEAN | Kind.INT | Kind.LONG | Kind.FLOAT | Kind.DOUBLE | Kind.DECIMAL | Kind.STRING:
            return "NULL"
        case Kind.DATE | Kind.TIMESTAMP | Kind.TIMESTAMPTZ | Kind.UNKNOWN | Kind.VARIANT:
            return "NULL"
        case Kind.GEOMETRY | Kind.GEOGRAPHY:
            return "NULL"
        case _:
            assert_never(type_.kind)
