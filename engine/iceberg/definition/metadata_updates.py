"""A definition's difference to the table's metadata, as updates with requirements.

The requirements equal the reference implementation's: a schema change fails if another one was committed first; an
append in between does not matter.

Source: Iceberg REST catalog, "TableRequirement".
"""

from __future__ import annotations

from engine.iceberg.commit.updates import (
    LAST_ADDED,
    AddSchema,
    AddSortOrder,
    AddSpec,
    AssertCurrentSchemaId,
    AssertDefaultSortOrderId,
    AssertDefaultSpecId,
    AssertLastAssignedFieldId,
    AssertLastAssignedPartitionId,
    RemoveProperties,
    Requirement,
    SetCurrentSchema,
    SetDefaultSortOrder,
    SetDefaultSpec,
    SetProperties,
    Update,
    UpgradeFormatVersion,
)
from engine.iceberg.definition.definition import IcebergDefinition
from engine.iceberg.spec.metadata import TableMetadata
from engine.iceberg.spec.partitions import spec_json
from engine.iceberg.spec.sort_orders import UNSORTED, SortOrder, order_json
from engine.iceberg.spec.types import schema_json


def creating_updates(new: IcebergDefinition) -> tuple[Update, ...]:
    """Returns the updates that create a new table's definition."""
    updates: list[Update] = [
        UpgradeFormatVersion(new.format_version),
        AddSchema(schema_json(new.iceberg_schema), new.last_column_id),
        SetCurrentSchema(LAST_ADDED),
        AddSpec(spec_json(new.spec)),
        SetDefaultSpec(LAST_ADDED),
        AddSortOrder(order_json(SortOrder())),
    ]
    if new.order.order_id != UNSORTED:
        updates.append(AddSortOrder(order_json(new.order)))
    updates.append(SetDefaultSortOrder(new.order.order_id))
    if new.properties:
        updates.append(SetProperties(dict(new.properties)))
    return tuple(updates)


def changing_updates(old: TableMetadata, new: IcebergDefinition) -> tuple[tuple[Requirement, ...], tuple[Update, ...]]:
    """Returns the requirements and updates that change the table's definition; both empty if nothing differs."""
    requirements: list[Requirement] = []
    updates: list[Update] = []
    if new.format_version != old.format_version:
        updates.append(UpgradeFormatVersion(new.format_version))
    schema = new.iceberg_schema
    if schema.schema_id not in old.schemas:
        requirements.append(AssertLastAssignedFieldId(old.last_column_id))
        updates.append(AddSchema(schema_json(schema), new.last_column_id))
    if schema.schema_id != old.current_schema_id:
        requirements.append(AssertCurrentSchemaId(old.current_schema_id))
        updates.append(SetCurrentSchema(schema.schema_id))
    if new.spec.spec_id not in old.specs:
        requirements.append(AssertLastAssignedPartitionId(old.last_partition_id))
        updates.append(AddSpec(spec_json(new.spec)))
    if new.spec.spec_id != old.default_spec_id:
        requirements.append(AssertDefaultSpecId(old.default_spec_id))
        updates.append(SetDefaultSpec(new.spec.spec_id))
    if new.order.order_id not in old.orders:
        updates.append(AddSortOrder(order_json(new.order)))
    if new.order.order_id != old.default_order_id:
        requirements.append(AssertDefaultSortOrderId(old.default_order_id))
        updates.append(SetDefaultSortOrder(new.order.order_id))
    changed = {key: value for key, value in new.properties.items() if old.properties.get(key) != value}
    if changed:
        updates.append(SetProperties(changed))
    removed = tuple(key for key in old.properties if key not in new.properties)
    if removed:
        updates.append(RemoveProperties(removed))
    return tuple(requirements), tuple(updates)
