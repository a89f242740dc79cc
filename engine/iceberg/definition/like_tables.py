"""Definitions for CREATE TABLE LIKE, from a table in this or another format."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import assert_never

from catalog.conditions import IcebergChangeNotSupported
from engine.iceberg.definition.changes import change_definition, define_table
from engine.iceberg.definition.definition import IcebergDefinition
from engine.iceberg.definition.properties import GC_ENABLED, NAME_MAPPING
from engine.iceberg.spec.partitions import TransformKind
from engine.iceberg.spec.sort_orders import UNSORTED
from engine.iceberg.spec.types import IcebergField, IcebergType, ListType, MapOfType, SimpleType, StructOfType
from engine.tables.config import Constraint
from engine.tables.definition import TableDetails
from engine.tables.definition_changes import DefinitionChange, SetDescription, set_properties
from engine.types.schema import StructField, StructType, map_fields

# Properties that refer to the other table's files.
_OF_FILES = frozenset({NAME_MAPPING, GC_ENABLED, "snapshot"})
_FIRST = 0
_IDS_OF_FORMATS = ("delta.columnMapping.", "delta.typeChanges")
_OWN_PROPERTIES = "delta."


def define_like(label: str, other: IcebergDefinition, written: Mapping[str, str]) -> IcebergDefinition:
    """Returns a definition like an Iceberg table's: columns, partitions, order and properties. Raises like
    `change_definition`.
    """
    spec = replace(
        other.spec,
        spec_id=_FIRST,
        fields=tuple(each for each in other.spec.fields if each.transform.kind is not TransformKind.VOID),
    )
    schema = replace(other.iceberg_schema, schema_id=_FIRST, struct=_without_past(other.iceberg_schema.struct))
    order = other.order if other.order.order_id == UNSORTED else replace(other.order, order_id=1)
    properties = {key: value for key, value in other.properties.items() if key not in _OF_FILES}
    new = replace(other, name=label, before=None, spec=spec, order=order, iceberg_schema=schema, properties=properties)
    return change_definition(new, set_properties(written))


def _without_past(struct: StructOfType) -> StructOfType:
    """Removes the initial defaults, which apply to older files' rows."""
    return StructOfType(tuple(_new(field) for field in struct.fields))


def _new(field: IcebergField) -> IcebergField:
    return replace(field, type=_new_type(field.type), initial_default=None)


def _new_type(type_: IcebergType) -> IcebergType:
    match type_:
        case StructOfType():
            return _without_past(type_)
        case ListType(element):
            return ListType(_new(element))
        case MapOfType(key, value):
            return MapOfType(_new(key), _new(value))
        case SimpleType():
            return type_
        case _:
            assert_never(type_)


def define_like_other(
    label: str,
    schema: StructType,
    partition_columns: tuple[str, ...],
    details: TableDetails,
    checks: tuple[Constraint, ...],
    written: Mapping[str, str],
) -> IcebergDefinition:
    """Returns a definition like that in another format: columns, partitions, comment, and format-neutral properties.

    Raises like `define_table`, and `IcebergChangeNotSupported` for constraints that Iceberg does not have.
    """
    if checks:
        raise IcebergChangeNotSupported(label, f"the CHECK constraint {checks[0].name} of the other table")
    if details.clustering_columns:
        raise IcebergChangeNotSupported(label, "the clustering of the other table; partition it, or set an order")
    copied = {
        key: value
        for key, value in details.properties.items()
        if value is not None and not key.startswith(_OWN_PROPERTIES)
    }
    changes: list[DefinitionChange] = [*set_properties({**copied, **written}), SetDescription(text=details.description)]
    return define_table(label, map_fields(schema, _without_ids), partition_columns, changes)


def _without_ids(field: StructField) -> StructField:
    metadata = {key: value for key, value in field.metadata.items() if not key.startswith(_IDS_OF_FORMATS)}
    return replace(field, metadata=metadata)
