"""Values of partitions as constants of files: texts on the way to Spark, which SQL turns into values again.

The texts do not depend on a session's zone, and tell an empty string from null.
"""

from __future__ import annotations

from decimal import Context, Decimal
from typing import Any

import pyarrow as pa

from engine.iceberg.manifests.manifest import PARTITION_PREFIX
from engine.iceberg.spec.errors import MalformedIcebergFile
from engine.iceberg.spec.partitions import PartitionField
from engine.iceberg.spec.types import Kind, SimpleType, type_name

_EXACT = Context(prec=100)
_NUMBERS = {Kind.INT: "INT", Kind.LONG: "BIGINT", Kind.FLOAT: "FLOAT", Kind.DOUBLE: "DOUBLE", Kind.BOOLEAN: "BOOLEAN"}


def partition_texts(data: pa.Table, field: PartitionField, type_: SimpleType) -> pa.Array:
    """The text of the field's value in each file, for `partition_sql`. Raises `MalformedIcebergFile`."""
    name = f"{PARTITION_PREFIX}{field.field_id}"
    if name not in data.column_names:
        return pa.nulls(data.num_rows, pa.string())
    try:
        return pa.array([_text(value, type_) for value in data[name].to_pylist()], pa.string())
    except (TypeError, ValueError, OverflowError) as error:
        what = f"the partition value of {field.name} is no {type_name(type_)}"
        raise MalformedIcebergFile("A manifest", what) from error


def _text(value: Any, type_: SimpleType) -> str | None:
    if value is None:
        return None
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


def partition_sql(name: str, type_: SimpleType) -> str:
    """The value of a constant of this name, as the table shows it."""
    binary = f"unhex(substring({name}, 2))"
    match type_.kind:
        case Kind.STRING:
            return f"CAST({binary} AS STRING)"
        case Kind.BINARY | Kind.FIXED:
            return binary
        case Kind.UUID:
            return (
                f"regexp_replace(substring({name}, 2), '(.{{8}})(.{{4}})(.{{4}})(.{{4}})(.{{12}})', '$1-$2-$3-$4-$5')"
            )
        case Kind.DATE:
            return f"date_from_unix_date(CAST({name} AS INT))"
        case Kind.TIMESTAMPTZ:
            return f"timestamp_micros(CAST({name} AS BIGINT))"
        case Kind.TIMESTAMP:
            return f"timestampadd(MICROSECOND, CAST({name} AS BIGINT), TIMESTAMP_NTZ'1970-01-01 00:00:00')"
        case Kind.TIME:
            moment = f"timestampadd(MICROSECOND, CAST({name} AS BIGINT), TIMESTAMP_NTZ'1970-01-01 00:00:00')"
            return f"substring(CAST({moment} AS STRING), 12)"
        case Kind.DECIMAL:
            return f"CAST({name} AS DECIMAL({type_.precision},{type_.scale}))"
        case _:
            return f"CAST({name} AS {_NUMBERS.get(type_.kind, 'STRING')})"
