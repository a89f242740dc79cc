"""Metadata updates and commit requirements, as values with the REST catalog's names.

A table change is a tuple with updates and a tuple with requirements. A file-system table applies them to its newest
metadata JSON (`engine.iceberg.commit.fold`). A REST catalog receives the same values, encoded by `update_json` and
`requirement_json`, and applies them itself. Schemas, specs, orders, snapshots and statistics are objects in the
metadata's JSON form.

Source: Iceberg REST catalog, "CommitTableRequest", "TableUpdate", "TableRequirement".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, assert_never

from engine.iceberg.spec.metadata import Reference

Json: TypeAlias = dict[str, Any]
# Refers to the schema, spec or order that a preceding update added.
LAST_ADDED = -1


@dataclass(frozen=True, slots=True)
class AssignUuid:
    uuid: str


@dataclass(frozen=True, slots=True)
class UpgradeFormatVersion:
    format_version: int


@dataclass(frozen=True, slots=True)
class AddSchema:
    """Adds `schema`, which has its `schema-id`; `last_column_id` is the highest field id that the table ever had."""

    schema: Json
    last_column_id: int


@dataclass(frozen=True, slots=True)
class SetCurrentSchema:
    """Sets the current schema; `LAST_ADDED` refers to the schema added last."""

    schema_id: int


@dataclass(frozen=True, slots=True)
class AddSpec:
    spec: Json


@dataclass(frozen=True, slots=True)
class SetDefaultSpec:
    spec_id: int


@dataclass(frozen=True, slots=True)
class AddSortOrder:
    order: Json


@dataclass(frozen=True, slots=True)
class SetDefaultSortOrder:
    order_id: int


@dataclass(frozen=True, slots=True)
class AddSnapshot:
    """Adds a snapshot. It becomes current only by `SetSnapshotRef`."""

    snapshot: Json


@dataclass(frozen=True, slots=True)
class SetSnapshotRef:
    """Creates or moves a branch or tag; the branch `main` is the current snapshot."""

    reference: Reference


@dataclass(frozen=True, slots=True)
class RemoveSnapshotRef:
    name: str


@dataclass(frozen=True, slots=True)
class RemoveSnapshots:
    """Removes snapshots and the references to them."""

    snapshot_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class SetLocation:
    """Sets the location; for catalogs only, because a file-system table is located with its metadata."""

    location: str


@dataclass(frozen=True, slots=True)
class SetProperties:
    updates: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RemoveProperties:
    removals: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SetStatistics:
    statistics: Json


@dataclass(frozen=True, slots=True)
class RemoveStatistics:
    snapshot_id: int


@dataclass(frozen=True, slots=True)
class SetPartitionStatistics:
    statistics: Json


@dataclass(frozen=True, slots=True)
class RemovePartitionStatistics:
    snapshot_id: int


@dataclass(frozen=True, slots=True)
class RemovePartitionSpecs:
    spec_ids: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class RemoveSchemas:
    schema_ids: tuple[int, ...]


Update: TypeAlias = (
    AssignUuid
    | UpgradeFormatVersion
    | AddSchema
    | SetCurrentSchema
    | AddSpec
    | SetDefaultSpec
    | AddSortOrder
    | SetDefaultSortOrder
    | AddSnapshot
    | SetSnapshotRef
    | RemoveSnapshotRef
    | RemoveSnapshots
    | SetLocation
    | SetProperties
    | RemoveProperties
    | SetStatistics
    | RemoveStatistics
    | SetPartitionStatistics
    | RemovePartitionStatistics
    | RemovePartitionSpecs
    | RemoveSchemas
)


@dataclass(frozen=True, slots=True)
class AssertCreate:
    """The table must not exist."""


@dataclass(frozen=True, slots=True)
class AssertTableUuid:
    uuid: str


@dataclass(frozen=True, slots=True)
class AssertRefSnapshotId:
    """The branch or tag must refer to this snapshot; None: it must not exist."""

    name: str
    snapshot_id: int | None


@dataclass(frozen=True, slots=True)
class AssertLastAssignedFieldId:
    field_id: int


@dataclass(frozen=True, slots=True)
class AssertCurrentSchemaId:
    schema_id: int


@dataclass(frozen=True, slots=True)
class AssertLastAssignedPartitionId:
    field_id: int


@dataclass(frozen=True, slots=True)
class AssertDefaultSpecId:
    spec_id: int


@dataclass(frozen=True, slots=True)
class AssertDefaultSortOrderId:
    order_id: int


Requirement: TypeAlias = (
    AssertCreate
    | AssertTableUuid
    | AssertRefSnapshotId
    | AssertLastAssignedFieldId
    | AssertCurrentSchemaId
    | AssertLastAssignedPartitionId
    | AssertDefaultSpecId
    | AssertDefaultSortOrderId
)


def reference_json(reference: Reference) -> Json:
    """Returns a branch or tag in the metadata's JSON form, without its name."""
    limits = {
        "min-snapshots-to-keep": reference.min_snapshots_to_keep,
        "max-snapshot-age-ms": reference.max_snapshot_age_ms,
        "max-ref-age-ms": reference.max_ref_age_ms,
    }
    return {
        "snapshot-id": reference.snapshot_id,
        "type": "branch" if reference.is_branch else "tag",
        # Catalogs take null for an invalid limit; an absent one means the table's default.
        **{key: value for key, value in limits.items() if value is not None},
    }


def update_json(update: Update) -> Json:
    """Returns the update in the REST catalog's JSON form."""
    match update:
        case AssignUuid(uuid):
            return {"action": "assign-uuid", "uuid": uuid}
        case UpgradeFormatVersion(version):
            return {"action": "upgrade-format-version", "format-version": version}
        case AddSchema(schema, last_column_id):
            return {"action": "add-schema", "schema": schema, "last-column-id": last_column_id}
        case SetCurrentSchema(schema_id):
            return {"action": "set-current-schema", "schema-id": schema_id}
        case AddSpec(spec):
            return {"action": "add-spec", "spec": spec}
        case SetDefaultSpec(spec_id):
            return {"action": "set-default-spec", "spec-id": spec_id}
        case AddSortOrder(order):
            return {"action": "add-sort-order", "sort-order": order}
        case SetDefaultSortOrder(order_id):
            return {"action": "set-default-sort-order", "sort-order-id": order_id}
        case AddSnapshot(snapshot):
            return {"action": "add-snapshot", "snapshot": snapshot}
        case SetSnapshotRef(reference):
            return {"action": "set-snapshot-ref", "ref-name": reference.name, **reference_json(reference)}
        case RemoveSnapshotRef(name):
            return {"action": "remove-snapshot-ref", "ref-name": name}
        case RemoveSnapshots(ids):
            return {"action": "remove-snapshots", "snapshot-ids": list(ids)}
        case SetLocation(location):
            return {"action": "set-location", "location": location}
        case SetProperties(updates):
            return {"action": "set-properties", "updates": dict(updates)}
        case RemoveProperties(removals):
            return {"action": "remove-properties", "removals": list(removals)}
        case SetStatistics(statistics):
            return {"action": "set-statistics", "snapshot-id": statistics["snapshot-id"], "statistics": statistics}
        case RemoveStatistics(snapshot_id):
            return {"action": "remove-statistics", "snapshot-id": snapshot_id}
        case SetPartitionStatistics(statistics):
            return {"action": "set-partition-statistics", "partition-statistics": statistics}
        case RemovePartitionStatistics(snapshot_id):
            return {"action": "remove-partition-statistics", "snapshot-id": snapshot_id}
        case RemovePartitionSpecs(ids):
            return {"action": "remove-partition-specs", "spec-ids": list(ids)}
        case RemoveSchemas(ids):
            return {"action": "remove-schemas", "schema-ids": list(ids)}
        case _:
            assert_never(update)


def requirement_json(requirement: Requirement) -> Json:
    """Returns the requirement in the REST catalog's JSON form."""
    match requirement:
        case AssertCreate():
            return {"type": "assert-create"}
        case AssertTableUuid(uuid):
            return {"type": "assert-table-uuid", "uuid": uuid}
        case AssertRefSnapshotId(name, snapshot_id):
            return {"type": "assert-ref-snapshot-id", "ref": name, "snapshot-id": snapshot_id}
        case AssertLastAssignedFieldId(field_id):
            return {"type": "assert-last-assigned-field-id", "last-assigned-field-id": field_id}
        case AssertCurrentSchemaId(schema_id):
            return {"type": "assert-current-schema-id", "current-schema-id": schema_id}
        case AssertLastAssignedPartitionId(field_id):
            return {"type": "assert-last-assigned-partition-id", "last-assigned-partition-id": field_id}
        case AssertDefaultSpecId(spec_id):
            return {"type": "assert-default-spec-id", "default-spec-id": spec_id}
        case AssertDefaultSortOrderId(order_id):
            return {"type": "assert-default-sort-order-id", "default-sort-order-id": order_id}
        case _:
            assert_never(requirement)
