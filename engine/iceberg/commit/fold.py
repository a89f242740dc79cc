"""Applies updates to a table's metadata JSON, and checks a commit's requirements.

The fold works on JSON, so that unknown keys are preserved. It maintains everything that follows from an update: the
snapshot log, the highest ids, sequence numbers and row ids, and in v1 the fields that later versions drop. The metadata
log is maintained by the store, which has the file names.

Source: Iceberg table specification, "Table Metadata Fields", "Snapshot Retention Policy", "Appendix E: Format version
changes".
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import assert_never
from uuid import uuid4

from catalog.conditions import IcebergUpdateRefused
from engine.iceberg.commit.updates import (
    LAST_ADDED,
    AddSchema,
    AddSnapshot,
    AddSortOrder,
    AddSpec,
    AssertCreate,
    AssertCurrentSchemaId,
    AssertDefaultSortOrderId,
    AssertDefaultSpecId,
    AssertLastAssignedFieldId,
    AssertLastAssignedPartitionId,
    AssertRefSnapshotId,
    AssertTableUuid,
    AssignUuid,
    Json,
    RemovePartitionSpecs,
    RemovePartitionStatistics,
    RemoveProperties,
    RemoveSchemas,
    RemoveSnapshotRef,
    RemoveSnapshots,
    RemoveStatistics,
    Requirement,
    SetCurrentSchema,
    SetDefaultSortOrder,
    SetDefaultSpec,
    SetLocation,
    SetPartitionStatistics,
    SetProperties,
    SetSnapshotRef,
    SetStatistics,
    Update,
    UpgradeFormatVersion,
    reference_json,
)
from engine.iceberg.spec.metadata import FORMAT_VERSION_MAX, MAIN, NO_SNAPSHOT
from engine.iceberg.spec.partitions import FIRST_PARTITION_ID


def new_metadata(uuid: str, location: str, now_ms: int) -> Json:
    """Returns a new table's empty metadata, to which updates are applied."""
    return {
        "format-version": 1,
        "table-uuid": uuid,
        "location": location,
        "last-updated-ms": now_ms,
        "last-column-id": 0,
        "schemas": [],
        "current-schema-id": -1,
        "partition-specs": [],
        "default-spec-id": -1,
        "last-partition-id": FIRST_PARTITION_ID - 1,
        "sort-orders": [],
        "default-sort-order-id": -1,
        "properties": {},
        "current-snapshot-id": NO_SNAPSHOT,
        "refs": {},
        "snapshots": [],
        "snapshot-log": [],
        "metadata-log": [],
        "statistics": [],
        "partition-statistics": [],
    }


def unmet(requirements: Iterable[Requirement], metadata: Json | None) -> Requirement | None:
    """Returns the first requirement that the metadata does not meet; `metadata` None means that no table exists."""
    return next((each for each in requirements if not _holds(each, metadata)), None)


def _holds(requirement: Requirement, metadata: Json | None) -> bool:
    if metadata is None or isinstance(requirement, AssertCreate):
        return metadata is None and isinstance(requirement, AssertCreate)
    match requirement:
        case AssertTableUuid(uuid):
            return str(metadata.get("table-uuid", "")).lower() == uuid.lower()
        case AssertRefSnapshotId(name, snapshot_id):
            return ref_snapshot_id(metadata, name) == snapshot_id
        case AssertLastAssignedFieldId(field_id):
            return bool(metadata.get("last-column-id") == field_id)
        case AssertCurrentSchemaId(schema_id):
            # v1 metadata may have one schema without an id; readers assign it id 0.
            return bool(metadata.get("current-schema-id", 0) == schema_id)
        case AssertLastAssignedPartitionId(field_id):
            return bool(_last_partition_id(metadata) == field_id)
        case AssertDefaultSpecId(spec_id):
            return bool(metadata.get("default-spec-id", 0) == spec_id)
        case AssertDefaultSortOrderId(order_id):
            return bool(metadata.get("default-sort-order-id", 0) == order_id)
        case _:
            assert_never(requirement)


def ref_snapshot_id(metadata: Json, name: str) -> int | None:
    """Returns the snapshot id for a branch or tag; metadata without references has the branch main."""
    found = (metadata.get("refs") or {}).get(name)
    if found is not None:
        return int(found["snapshot-id"])
    # Java writes -1 for a table without snapshots, although the specification omits the
    # field.
    current = metadata.get("current-snapshot-id") if name == MAIN else None
    return None if current in (None, NO_SNAPSHOT) else int(current)


def apply(metadata: Json, updates: Sequence[Update], now_ms: int) -> Json:
    """Returns the metadata after `updates`, applied in order. Unchanged parts are shared with `metadata`, which is not
    modified.

    Raises `IcebergUpdateRefused` if an update is invalid for the metadata.
    """
    after = _modern({**metadata, "refs": dict(metadata.get("refs") or {})})
    fold = _Fold(after, now_ms)
    for update in updates:
        fold.apply(update)
    # Never earlier than before: some readers reject a metadata log whose times go
    # backwards.
    after["last-updated-ms"] = max(now_ms, after["last-updated-ms"])
    return _as_its_version_says(after)


def _modern(metadata: Json) -> Json:
    """Returns v1 metadata in the later form: v1 may have a single schema and spec, and no sort orders."""
    if "schemas" not in metadata:
        schema = {"schema-id": 0, **metadata["schema"]}
        metadata |= {"schemas": [schema], "current-schema-id": schema["schema-id"]}
    if "partition-specs" not in metadata:
        fields = [
            # v1 specs may lack field ids; "Partition Specs" assigns them in order from
            # 1000.
            {"field-id": FIRST_PARTITION_ID + position, **field}
            for position, field in enumerate(metadata.get("partition-spec") or [])
        ]
        metadata |= {"partition-specs": [{"spec-id": 0, "fields": fields}], "default-spec-id": 0}
    if metadata.get("last-partition-id") is None:
        metadata["last-partition-id"] = _last_partition_id(metadata)
    if "sort-orders" not in metadata:
        metadata |= {"sort-orders": [{"order-id": 0, "fields": []}], "default-sort-order-id": 0}
    for key in ("snapshots", "snapshot-log", "metadata-log"):
        metadata[key] = metadata.get(key) or []
    metadata["properties"] = metadata.get("properties") or {}
    refs = metadata["refs"] = metadata.get("refs") or {}
    current = metadata.get("current-snapshot-id")
    if MAIN not in refs and current not in (None, NO_SNAPSHOT):
        # Before references existed the current snapshot was the only branch.
        refs[MAIN] = {"snapshot-id": current, "type": "branch"}
    return metadata


def _last_partition_id(metadata: Json) -> int:
    found = metadata.get("last-partition-id")
    if found is not None:
        return int(found)
    ids = [int(field["field-id"]) for spec in metadata["partition-specs"] for field in spec["fields"]]
    return max([FIRST_PARTITION_ID - 1, *ids])


def _as_its_version_says(metadata: Json) -> Json:
    """Adds or removes the fields that v1 readers take the schema and the partition spec from; v2 must not have them."""
    if metadata["format-version"] == 1:
        metadata["schema"] = _by_id(metadata["schemas"], "schema-id", metadata["current-schema-id"])
        spec = _by_id(metadata["partition-specs"], "spec-id", metadata["default-spec-id"])
        metadata["partition-spec"] = spec["fields"]
    else:
        metadata.pop("schema", None)
        metadata.pop("partition-spec", None)
    # Version 3 forbids -1 for "no snapshot"; older readers accept it.
    if metadata["format-version"] >= FORMAT_VERSION_MAX and metadata.get("current-snapshot-id") == NO_SNAPSHOT:
        metadata.pop("current-snapshot-id")
    return metadata


class _Fold:
    """Applies updates one by one to its own copy of the metadata."""

    def __init__(self, metadata: Json, now_ms: int) -> None:
        self._metadata = metadata
        self._now_ms = now_ms
        self._added: set[int] = set()

    def apply(self, update: Update) -> None:
        metadata = self._metadata
        match update:
            case AssignUuid(uuid):
                metadata["table-uuid"] = uuid
            case UpgradeFormatVersion(version):
                self._upgrade(version)
            case AddSchema(schema, last_column_id):
                metadata["schemas"] = _with(metadata["schemas"], schema, "schema-id")
                # Ids are never reused, even after the column was dropped: old files still
                # have values under them ("Schema Evolution").
                metadata["last-column-id"] = max(metadata["last-column-id"], last_column_id)
            case SetCurrentSchema(schema_id):
                metadata["current-schema-id"] = self._latest_id("schemas", "schema-id", schema_id)
            case AddSpec(spec):
                metadata["partition-specs"] = _with(metadata["partition-specs"], spec, "spec-id")
                ids = [field["field-id"] for field in spec["fields"]]
                # Likewise for partition fields: manifests identify partition values by
                # these ids.
                metadata["last-partition-id"] = max([metadata["last-partition-id"], *ids])
            case SetDefaultSpec(spec_id):
                metadata["default-spec-id"] = self._latest_id("partition-specs", "spec-id", spec_id)
            case AddSortOrder(order):
                metadata["sort-orders"] = _with(metadata["sort-orders"], order, "order-id")
            case SetDefaultSortOrder(order_id):
                metadata["default-sort-order-id"] = self._latest_id("sort-orders", "order-id", order_id)
            case SetLocation(location):
                metadata["location"] = location
            case SetProperties(updates):
                metadata["properties"] = {**metadata["properties"], **updates}
            case RemoveProperties(removals):
                left = {key: value for key, value in metadata["properties"].items() if key not in removals}
                metadata["properties"] = left
            case RemovePartitionSpecs(ids):
                self._remove("partition-specs", "spec-id", ids, metadata["default-spec-id"])
            case RemoveSchemas(ids):
                self._remove("schemas", "schema-id", ids, metadata["current-schema-id"])
            case AddSnapshot(snapshot):
                self._add_snapshot(snapshot)
            case SetSnapshotRef(reference):
                self._set_reference(reference.name, reference_json(reference))
            case RemoveSnapshotRef(name):
                metadata["refs"].pop(name, None)
                if name == MAIN:
                    # Without the main branch the table has no current state, so its log
                    # would describe a history that can no longer be read.
                    metadata |= {"current-snapshot-id": NO_SNAPSHOT, "snapshot-log": []}
            case RemoveSnapshots(ids):
                self._remove_snapshots(frozenset(ids))
            case SetStatistics(statistics):
                self._set_statistics("statistics", statistics["snapshot-id"], [statistics])
            case RemoveStatistics(snapshot_id):
                self._set_statistics("statistics", snapshot_id, [])
            case SetPartitionStatistics(statistics):
                self._set_statistics("partition-statistics", statistics["snapshot-id"], [statistics])
            case RemovePartitionStatistics(snapshot_id):
                self._set_statistics("partition-statistics", snapshot_id, [])
            case _:
                assert_never(update)

    def _latest_id(self, key: str, id_key: str, id: int) -> int:
        """Returns the id if an object has it; for `LAST_ADDED`, the id that was added last."""
        # The REST specification uses -1 for "added by this request", because the catalog
        # may assign another id.
        found = self._metadata[key][-1][id_key] if id == LAST_ADDED and self._metadata[key] else id
        if all(each[id_key] != found for each in self._metadata[key]):
            raise IcebergUpdateRefused(self._metadata["location"], f"there is no {id_key} {found}")
        return int(found)

    def _remove(self, key: str, id_key: str, ids: Sequence[int], used: int) -> None:
        # The default spec or current schema must exist, or the metadata cannot be read at
        # all.
        if used in ids:
            raise IcebergUpdateRefused(self._metadata["location"], f"the {id_key} {used} is in use")
        self._metadata[key] = [each for each in self._metadata[key] if each[id_key] not in ids]

    def _upgrade(self, version: int) -> None:
        metadata = self._metadata
        before = metadata["format-version"]
        if version < before or version > FORMAT_VERSION_MAX:
            raise IcebergUpdateRefused(metadata["location"], f"version {before} cannot become version {version}")
        metadata["format-version"] = version
        if before < 2 <= version:
            metadata["table-uuid"] = metadata.get("table-uuid") or str(uuid4())  # optional in v1
            # "Format version changes": all files of a v1 table have sequence number 0, so
            # that no later delete applies to files that it should not.
            metadata.setdefault("last-sequence-number", 0)
            metadata["snapshots"] = [
                {**each, "sequence-number": each.get("sequence-number", 0)} for each in metadata["snapshots"]
            ]
        if before < 3 <= version:
            # Row lineage begins with the upgrade: rows in existing files have no id until a
            # later commit gives their manifest a first row id.
            metadata.setdefault("next-row-id", 0)

    def _add_snapshot(self, snapshot: Json) -> None:
        metadata = self._metadata
        number = snapshot.get("sequence-number", 0)
        if any(each["snapshot-id"] == snapshot["snapshot-id"] for each in metadata["snapshots"]):
            raise IcebergUpdateRefused(metadata["location"], f"the snapshot {snapshot['snapshot-id']} is there")
        if metadata["format-version"] > 1:
            # A reused number would make new deletes apply to files with the same number, or
            # not apply to older ones ("Sequence Numbers").
            if number <= metadata["last-sequence-number"] and snapshot.get("parent-snapshot-id") is not None:
                raise IcebergUpdateRefused(metadata["location"], f"the sequence number {number} was given before")
            metadata["last-sequence-number"] = max(number, metadata["last-sequence-number"])
        if metadata["format-version"] >= 3:
            first = snapshot["first-row-id"]
            # Two rows with one id would be indistinguishable for readers of the lineage.
            if first < metadata["next-row-id"]:
                raise IcebergUpdateRefused(metadata["location"], f"row ids from {first} on were given before")
            metadata["next-row-id"] = first + snapshot["added-rows"]
        metadata["snapshots"] = [*metadata["snapshots"], snapshot]
        metadata["last-updated-ms"] = max(snapshot["timestamp-ms"], metadata["last-updated-ms"])
        self._added.add(snapshot["snapshot-id"])

    def _set_reference(self, name: str, reference: Json) -> None:
        metadata = self._metadata
        snapshot_id = reference["snapshot-id"]
        snapshot = next((each for each in metadata["snapshots"] if each["snapshot-id"] == snapshot_id), None)
        if snapshot is None:
            raise IcebergUpdateRefused(metadata["location"], f"there is no snapshot {snapshot_id}")
        metadata["refs"][name] = reference
        if name == MAIN and metadata.get("current-snapshot-id") != snapshot_id:
            metadata["current-snapshot-id"] = snapshot_id
            # A rollback makes an old snapshot current now. Time travel by timestamp reads
            # this log, so the entry needs the time of the rollback.
            time = snapshot["timestamp-ms"] if snapshot_id in self._added else self._now_ms
            metadata["snapshot-log"] = [*metadata["snapshot-log"], {"timestamp-ms": time, "snapshot-id": snapshot_id}]

    def _remove_snapshots(self, ids: frozenset[int]) -> None:
        """Removes snapshots, and the snapshot log up to a removed one, since its history is no longer complete."""
        metadata = self._metadata
        if metadata.get("current-snapshot-id") in ids:
            raise IcebergUpdateRefused(metadata["location"], "the current snapshot cannot be removed")
        metadata["snapshots"] = [each for each in metadata["snapshots"] if each["snapshot-id"] not in ids]
        metadata["refs"] = {name: each for name, each in metadata["refs"].items() if each["snapshot-id"] not in ids}
        log = metadata["snapshot-log"]
        untrue = max((at for at, entry in enumerate(log) if entry["snapshot-id"] in ids), default=-1)
        metadata["snapshot-log"] = log[untrue + 1 :]
        for key in ("statistics", "partition-statistics"):
            if metadata.get(key):
                metadata[key] = [each for each in metadata[key] if each["snapshot-id"] not in ids]

    def _set_statistics(self, key: str, snapshot_id: int, new: list[Json]) -> None:
        others = [each for each in self._metadata.get(key) or [] if each["snapshot-id"] != snapshot_id]
        self._metadata[key] = [*others, *new]


def _with(values: list[Json], new: Json, id_key: str) -> list[Json]:
    """Returns the list with `new` appended; an object with the same id is replaced."""
    # The new object comes last, so that `LAST_ADDED` finds it even if it replaced an object
    # with the same id.
    return [*(each for each in values if each[id_key] != new[id_key]), new]


def _by_id(values: list[Json], id_key: str, id: int) -> Json:
    return next(each for each in values if each[id_key] == id)
