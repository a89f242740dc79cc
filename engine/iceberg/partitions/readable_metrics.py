"""Human-readable file metrics: a struct for each leaf column, by its full name.

Field names in structs, lists and maps are joined by dots (`s.a`, `l.element`, `m.key`), and the structs are sorted by
name, as in Iceberg's own engines. Bounds have the exposed type; an invalid bound is null, since other writers' metrics
may contain anything.

Source: Iceberg documentation, "Inspecting tables", "Files"; table specification, "Manifests".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.iceberg.definition.column_types import table_type
from engine.iceberg.manifests.metrics import BOUNDS, COUNTS
from engine.iceberg.partitions.partition_values import json_value
from engine.iceberg.spec.single_values import from_bytes
from engine.iceberg.spec.types import IcebergSchema, Kind, SimpleType, walk
from engine.types.schema import PrimitiveType, StructField, StructType

READABLE_METRICS = "readable_metrics"
_NAMES = {
    "column_sizes": "column_size",
    "value_counts": "value_count",
    "null_value_counts": "null_value_count",
    "nan_value_counts": "nan_value_count",
    "lower_bounds": "lower_bound",
    "upper_bounds": "upper_bound",
}
# Types whose bounds are not column values.
_UNSHOWN = frozenset([Kind.VARIANT, Kind.UNKNOWN, Kind.GEOMETRY, Kind.GEOGRAPHY])


class ReadableMetrics:
    """Readable metrics for files in a table with this schema."""

    def __init__(self, schema: IcebergSchema) -> None:
        leaves = ((".".join(path), field) for path, field in walk(schema.struct))
        found = ((name, field.id, field.type) for name, field in leaves if isinstance(field.type, SimpleType))
        self._columns = sorted(each for each in found if each[2].kind not in _UNSHOWN)

    @property
    def schema(self) -> StructType | None:
        """Returns the struct type; None if no column has metrics."""
        fields = tuple(StructField(name, _struct(kind)) for name, _, kind in self._columns)
        return StructType(fields) if fields else None

    def of(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Returns a row's metrics for `MetadataTable`; its maps are lists with `key` and `value`."""
        maps = {name: {pair["key"]: pair["value"] for pair in row[name] or ()} for name in _NAMES}
        return {
            column: {
                **{_NAMES[name]: maps[name].get(id) for name in COUNTS},
                **{_NAMES[name]: _readable_value(maps[name].get(id), kind) for name in BOUNDS},
            }
            for column, id, kind in self._columns
        }


def _struct(kind: SimpleType) -> StructType:
    counts = (StructField(_NAMES[name], PrimitiveType.LONG) for name in COUNTS)
    return StructType((*counts, *(StructField(_NAMES[name], table_type(kind)) for name in BOUNDS)))


def _readable_value(data: bytes | None, kind: SimpleType) -> Any:
    try:
        return None if data is None else json_value(from_bytes(kind, data), kind)
    except (TypeError, ValueError, OverflowError):
        return None
