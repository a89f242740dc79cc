"""Human-readable partition values, and a snapshot's partitions for SHOW PARTITIONS, one column per field.

All specs' fields are included under their newest names; files whose spec lacks a field have null.

Source: Iceberg table specification, "Partition Transforms".
"""

from __future__ import annotations

from typing import Any, assert_never

import numpy as np
import pyarrow as pa

from engine.iceberg.manifests.manifest import PARTITION_PREFIX
from engine.iceberg.partitions.partition_struct import partition_fields
from engine.iceberg.partitions.partition_values import json_value
from engine.iceberg.spec.metadata import TableMetadata
from engine.iceberg.spec.partitions import PartitionField, TransformKind
from engine.iceberg.spec.types import SimpleType

_FIRST_YEAR = 1970


def shown_partitions(data: pa.Table, metadata: TableMetadata) -> pa.Table:
    """Returns the data files' distinct partitions."""
    fields = partition_fields(metadata)
    names = [f"{PARTITION_PREFIX}{id}" for id in fields]
    there = [name for name in names if name in data.column_names]
    distinct = data.select(there).group_by(there).aggregate([]) if there else data.select([]).slice(0, 0)
    columns = {
        field.name: _texts(distinct, name, field, kind)
        for name, (field, kind) in zip(names, fields.values(), strict=True)
    }
    return pa.table(columns)


def _texts(distinct: pa.Table, name: str, field: PartitionField, kind: SimpleType) -> pa.Array:
    if name not in distinct.column_names:
        return pa.nulls(distinct.num_rows, pa.string())
    return pa.array([shown_partition(value, field, kind) for value in distinct[name].to_pylist()], pa.string())


def shown_partition(value: Any, field: PartitionField, kind: SimpleType) -> str | None:
    """Returns a partition value as users write it; null if invalid for its type."""
    if value is None:
        return None
    try:
        match field.transform.kind:
            case TransformKind.YEAR:
                return str(_FIRST_YEAR + value)
            case TransformKind.MONTH:
                return str(np.datetime64(value, "M"))
            case TransformKind.HOUR:
                return str(np.datetime64(value, "h")).replace("T", "-")
            case TransformKind.IDENTITY | TransformKind.BUCKET | TransformKind.TRUNCATE | TransformKind.DAY:
                return _shown_value(value, kind)
            case TransformKind.VOID | TransformKind.UNKNOWN:
                return _shown_value(value, kind)
            case _:
                assert_never(field.transform.kind)
    except (TypeError, ValueError, OverflowError):
        return None


def _shown_value(value: Any, kind: SimpleType) -> str:
    shown = json_value(value, kind)
    return str(shown).lower() if isinstance(shown, bool) else str(shown)
