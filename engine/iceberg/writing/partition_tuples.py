"""Parses written files' partition values from the row writer's texts.

The text form is that in `engine.iceberg.partitions.partition_values.partition_texts`: numbers unchanged, dates and
times as the stored number, decimals as plain text, `true` and `false`, and `x` with hexadecimal digits for texts,
uuids, binaries; so an empty text is `x`, and null has no text.

Source: Iceberg table specification, "Partition Transforms".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from engine.iceberg.manifests.manifest import PARTITION_PREFIX
from engine.iceberg.spec.partitions import PartitionField, PartitionSpec, TransformKind
from engine.iceberg.spec.transforms import unscaled_bytes
from engine.iceberg.spec.types import IcebergSchema, Kind, SimpleType, walk
from engine.iceberg.writing.written_table import result_type

_EXACT = Context(prec=100)
_FLOATS = frozenset([Kind.FLOAT, Kind.DOUBLE])
_BYTES = frozenset([Kind.STRING, Kind.UUID, Kind.BINARY, Kind.FIXED, Kind.DECIMAL])


def partition_key(field: PartitionField) -> str:
    """Returns the value's name: in `DataFile.partition_values`, and as a column in addition to the manifest columns."""
    return f"{PARTITION_PREFIX}{field.field_id}"


def partition_type(field: PartitionField, schema: IcebergSchema) -> SimpleType:
    """Returns the values' type. Raises `ValueError` for an unknown transform or column; a void field, which has no
    values, may refer to a dropped column.
    """
    source = next((each.type for _, each in walk(schema.struct) if each.id == field.source_id), None)
    found = result_type(field.transform, source) if isinstance(source, SimpleType) else None
    if found is None and field.transform.kind is TransformKind.VOID:
        return SimpleType(Kind.INT)
    if found is None:
        raise ValueError(f"the partition field {field.name} has no known values")
    return found


def partition_columns(
    values: Sequence[Mapping[str, str | None]], spec: PartitionSpec, schema: IcebergSchema
) -> dict[str, pa.Array]:
    """Returns columns with each file's values, in addition to the manifest columns. Raises `ValueError` for invalid
    values.
    """
    columns = {}
    for field in spec.fields:
        key = partition_key(field)
        type_ = partition_type(field, schema)
        known = {text: _value(text, type_) for text in {each.get(key) for each in values}}
        columns[key] = pa.array([known[each.get(key)] for each in values], _arrow(type_))
    return columns


def _value(text: str | None, type_: SimpleType) -> Any:
    if text is None:
        return None
    if type_.kind is Kind.BOOLEAN:
        return {"true": True, "false": False}[text]
    if type_.kind is Kind.FLOAT:  # as stored and decoded: 0.1 is a different double
        return float(np.float32(text))
    if type_.kind is Kind.DOUBLE:
        return float(text)
    if type_.kind is Kind.DECIMAL:
        return unscaled_bytes(int(Decimal(text).scaleb(type_.scale, _EXACT)))
    if type_.kind in _BYTES:
        if not text.startswith("x"):
            raise ValueError(f"{text!r} is no partition value of the type {type_.kind.value}")
        return bytes.fromhex(text[1:])
    return int(text)


def _arrow(type_: SimpleType) -> pa.DataType:
    """Returns the Arrow type in decoded manifests."""
    if type_.kind is Kind.BOOLEAN:
        return pa.bool_()
    if type_.kind in _BYTES:
        return pa.binary()
    return pa.float64() if type_.kind in _FLOATS else pa.int64()
