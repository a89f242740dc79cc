"""Partition values from all specs as one struct, for metadata tables and the column `_partition`.

Source: Iceberg table specification, "Partition Specs", "Reserved Field IDs".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeAlias, assert_never

from engine.iceberg.definition.column_types import table_type
from engine.iceberg.manifests.manifest import PARTITION_PREFIX
from engine.iceberg.partitions.partition_values import json_value
from engine.iceberg.spec.metadata import TableMetadata
from engine.iceberg.spec.partitions import PartitionField, TransformKind
from engine.iceberg.spec.types import IcebergSchema, Kind, SimpleType, StructOfType, walk
from engine.types.schema import StructField, StructType

# Values by column.
Row: TypeAlias = Mapping[str, Any]


def result_type(schema: IcebergSchema, field: PartitionField) -> SimpleType | None:
    """Returns the type for a field's partition values; None if unknown."""
    found = next((each.type for _, each in walk(StructOfType(schema.fields)) if each.id == field.source_id), None)
    match field.transform.kind:
        case TransformKind.BUCKET | TransformKind.YEAR | TransformKind.MONTH | TransformKind.HOUR:
            return SimpleType(Kind.INT)
        case TransformKind.DAY:
            return SimpleType(Kind.DATE)
        case TransformKind.IDENTITY | TransformKind.TRUNCATE:
            return found if isinstance(found, SimpleType) else None
        case TransformKind.VOID | TransformKind.UNKNOWN:
            return None
        case _:
            assert_never(field.transform.kind)


def partition_fields(metadata: TableMetadata) -> Mapping[int, tuple[PartitionField, SimpleType]]:
    """Returns all specs' partition fields by id, under their newest names, with their value types.

    If a name was later given to another field, the older field gets its id as a suffix.
    """
    found: dict[int, tuple[PartitionField, SimpleType]] = {}
    for spec in sorted(metadata.specs.values(), key=lambda spec: spec.spec_id):
        for field in spec.fields:
            kind = result_type(metadata.schema, field)
            if kind is not None:
                found[field.field_id] = (field, kind)
    owners = {field.name.casefold(): id for id, (field, _) in sorted(found.items())}
    return {
        id: (field if owners[field.name.casefold()] == id else replace(field, name=_other_name(field, owners)), kind)
        for id, (field, kind) in found.items()
    }


def _other_name(field: PartitionField, taken: Mapping[str, int]) -> str:
    name = f"{field.name}_{field.field_id}"
    while name.casefold() in taken:
        name += "_"
    return name


class PartitionStruct:
    """Partition values from all specs as one struct."""

    def __init__(self, metadata: TableMetadata) -> None:
        self._fields = partition_fields(metadata)

    @property
    def schema(self) -> StructType | None:
        """Returns the struct's fields over all specs; None if no partition field can be shown."""
        fields = tuple(
            StructField(field.name, table_type(kind)) for field, kind in self._fields.values() if _is_shown(kind)
        )
        return StructType(fields) if fields else None

    def has(self, name: str) -> bool:
        """Returns True if a files column holds one partition value."""
        return name.startswith(PARTITION_PREFIX) and name[1:].isdecimal() and int(name[1:]) in self._fields

    def of(self, row: Row) -> Row:
        """Returns a row's partition values by field name; fields of other specs are None."""
        return {
            field.name: _shown_value(row.get(f"{PARTITION_PREFIX}{id}"), kind)
            for id, (field, kind) in self._fields.items()
            if _is_shown(kind)
        }


def _is_shown(kind: SimpleType) -> bool:
    return kind.kind not in (Kind.VARIANT, Kind.GEOMETRY, Kind.GEOGRAPHY, Kind.UNKNOWN)


def _shown_value(value: Any, kind: SimpleType) -> Any:
    try:
        return None if value is None else json_value(value, kind)
    except (TypeError, ValueError, OverflowError):
        return None
