"""Conflict detection: checks if a winning commit conflicts with ours. The rules form a table.

Each winning commit, oldest first, is checked by `CONFLICT_DETECTORS` in order; the first rule that returns an error
ends the transaction. If no rule matches, our commit is *rebased* on the winning commit: `BaseVersion.after` returns the
state on which ours is then built (its protocol, a tolerated metadata change, assigned row ids, its timestamp), and the
commit is retried.

    =====================  ============================================================================================
    rule                   the winning commit …
    =====================  ============================================================================================
    exclusive              … exists, and ours replaces the table as a whole
    protocol               … changes the protocol, as ours does too; or drops a feature; or adds one that ours ignored;
                           unless ours only records an operation
    feature drop           … exists, and ours drops a feature that the winning commit may have used
    metadata               … changes the metadata, unless the change leaves every other commit valid, or ours only
                           records an operation; or the clustering columns, if ours changes the metadata
    domain metadata        … writes a domain that ours writes too (row tracking's own is merged)
    transactions           … commits for an application that ours read or wrote
    appended files         … adds a file that our reads would have seen. WriteSerializable permits blind appends unless
                           ours changes metadata; SnapshotIsolation permits all appends
    read files removed     … removes a file that we read
    both remove            … removes a file that ours removes
    =====================  ============================================================================================

Files are compared by path, not by path and deletion vector: if two commits each changed one file's deletion vector, one
change would be lost.

The protocol leaves concurrency control to writers. The rules are those in delta-spark's conflict checker, so that
commits from mixed writers are serializable together.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, assert_never

import pyarrow.compute as pc

from catalog.conditions import (
    ConcurrentAppend,
    ConcurrentDeleteDelete,
    ConcurrentDeleteRead,
    ConcurrentModification,
    ConcurrentTransaction,
    ConcurrentWrite,
    FeatureDropConflict,
    MetadataChanged,
    ProtocolChanged,
)
from engine.delta.commit.staged_commit import ROW_TRACKING_DOMAIN, IsolationLevel, StagedCommit
from engine.delta.definition.clustering import CLUSTERING_DOMAIN, with_clustering
from engine.delta.definition.table_config import DeltaConfig
from engine.delta.log.commit_reader import LogActions
from engine.delta.spec import properties
from engine.delta.spec.actions import DomainMetadata, Metadata
from engine.delta.spec.features import FEATURES
from engine.delta.spec.protocols import protocol_features
from engine.types.arrow_types import RecordBatch


@dataclass(frozen=True, slots=True, kw_only=True)
class WinningCommit:
    """A concurrent commit that took a version which we tried to write."""

    version: int
    actions: LogActions
    # The file's modification time; it is the commit time if in-commit timestamps are off.
    modified_ms: int

    @property
    def operation(self) -> str:
        """Returns the operation in `commitInfo`, for messages; "write" if the commit does not name one."""
        info = self.actions.commit_info
        # `commitInfo` is optional for other writers ("Commit Provenance Information").
        return (info.operation if info else None) or "write"

    @property
    def is_blind_append(self) -> bool:
        """Returns `isBlindAppend` from `commitInfo`; False if it is missing."""
        info = self.actions.commit_info
        # A missing flag counts as false: then the commit may have read the table, which is
        # the stricter assumption.
        return bool(info and info.is_blind_append)

    @property
    def timestamp_ms(self) -> int:
        """Returns the in-commit timestamp, or the file's modification time without one.

        In milliseconds since the epoch.
        """
        info = self.actions.commit_info
        # If the feature is on, `inCommitTimestamp` is authoritative; the file's
        # modification time may be later or, on a copied table, earlier ("In-Commit
        # Timestamps").
        stamp = info.in_commit_timestamp if info else None
        return self.modified_ms if stamp is None else stamp


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseVersion:
    """The version that a commit is built upon, with the state that the commit needs."""

    table: str
    # -1 if the table does not exist.
    version: int
    config: DeltaConfig | None
    # The version's commit time; 0 if the table does not exist.
    timestamp_ms: int
    # The highest assigned row id; -1 if none was assigned.
    row_id_high_water_mark: int

    def after(self, winner: WinningCommit) -> BaseVersion:
        """Returns the head rebased on a winning commit. Raises the errors of `DeltaConfig.of`."""
        actions, config = winner.actions, self.config
        protocol = actions.protocol or (config.protocol if config else None)
        metadata = actions.metadata or (config.metadata if config else None)
        if protocol is not None and metadata is not None and (actions.protocol or actions.metadata):
            config = DeltaConfig.of(self.table, protocol, metadata, config.clustering if config else None)
        if config is not None:
            config = with_clustering(config, actions.domain_metadata.values())
        # The winning commit may have assigned row ids. Ours are assigned again above its
        # high-water mark, because two files must never share a row id ("Row Tracking").
        domain = actions.domain_metadata.get(ROW_TRACKING_DOMAIN)
        return replace(
            self,
            version=winner.version,
            config=config,
            timestamp_ms=winner.timestamp_ms,
            row_id_high_water_mark=max(self.row_id_high_water_mark, row_id_high_water_mark(domain)),
        )


def row_id_high_water_mark(domain: DomainMetadata | None) -> int:
    """Returns the high-water mark in row tracking's domain, or -1 if it has none."""
    if domain is None or domain.removed:
        return -1
    try:
        # The domain's configuration is JSON text by convention, not by the protocol: a
        # domain that another writer damaged must not make the table unreadable.
        high_water_mark = json.loads(domain.configuration).get("rowIdHighWaterMark")
    except (ValueError, AttributeError):
        return -1
    return high_water_mark if isinstance(high_water_mark, int) else -1


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictCheck:
    """Our commit and one winning commit."""

    staged: StagedCommit
    level: IsolationLevel
    # The head before the winning commit.
    base: BaseVersion
    winner: WinningCommit

    @property
    def facts(self) -> tuple[str, int, str]:
        """Returns the arguments that all conflict errors share: table, version, operation."""
        return self.base.table, self.winner.version, self.winner.operation


ConflictDetector: TypeAlias = Callable[[ConflictCheck], ConcurrentModification | None]


def find_conflict(check: ConflictCheck) -> ConcurrentModification | None:
    """Returns the first rule's error, or None if there is no conflict."""
    return next((error for detector in CONFLICT_DETECTORS if (error := detector(check)) is not None), None)


def _exclusive(check: ConflictCheck) -> ConcurrentModification | None:
    # RESTORE, CLONE and CONVERT computed the complete file list of one version. No later
    # commit can be merged into it; delta-spark's `commitLarge` behaves alike.
    return ConcurrentWrite(*check.facts) if check.staged.description.exclusive else None


def _protocol(check: ConflictCheck) -> ConcurrentModification | None:
    protocol = check.winner.actions.protocol
    # An empty commit (VACUUM END, for example) contains nothing that a new protocol could
    # make invalid.
    if protocol is None or check.staged.is_empty:
        return None
    # Two protocol changes cannot be merged.
    if check.staged.protocol is not None or check.base.config is None:
        return ProtocolChanged(*check.facts)
    # The client supports the new protocol, or `BaseVersion.after` raises below.
    before = check.base.config.features
    after = protocol_features(protocol)
    base = check.base.after(check.winner)
    facts = base.config.facts if base.config else check.base.config.facts
    added = [FEATURES[name] for name in after - before if name in FEATURES]
    # Our actions may use a dropped feature. Of the added features, only those in use that other commits must have
    # obeyed conflict, as in delta-spark.
    if before - after or any(feature.aborts_concurrents and feature.is_in_use(facts) for feature in added):
        return ProtocolChanged(*check.facts)
    return None


def _feature_drop(check: ConflictCheck) -> ConcurrentModification | None:
    protocol, config = check.staged.protocol, check.base.config
    # DROP FEATURE has checked that no trace of the feature is left in the version that it
    # read. Each concurrent commit may have added one, so it is not rebased.
    if protocol is None or config is None or config.features <= protocol_features(protocol):
        return None
    return FeatureDropConflict(*check.facts)


def _metadata(check: ConflictCheck) -> ConcurrentModification | None:
    after, config = check.winner.actions.metadata, check.base.config
    if after is None:
        # A definition made under other clustering columns may lack the statistics that the new ones need.
        reclustered = CLUSTERING_DOMAIN in check.winner.actions.domain_metadata
        return MetadataChanged(*check.facts) if reclustered and check.staged.metadata is not None else None
    if check.staged.is_empty:  # for example VACUUM END
        return None
    # Two metadata changes are never merged, even if they concern different properties:
    # `metaData` is one action with the complete definition, so the later commit would undo
    # the earlier one.
    if check.staged.metadata is None and config is not None and is_tolerable_change(config.metadata, after):
        return None
    return MetadataChanged(*check.facts)


def _domain_metadata(check: ConflictCheck) -> ConcurrentModification | None:
    # Row tracking's domain is merged: row ids are assigned again in each attempt.
    ours = {domain.domain for domain in check.staged.domain_metadata} - {ROW_TRACKING_DOMAIN}
    # A domain's configuration is opaque, and the newest action replaces it as a whole
    # ("Domain Metadata").
    shared = sorted(ours & check.winner.actions.domain_metadata.keys())
    return ConcurrentTransaction(*check.facts, f"the metadata domain {shared[0]}") if shared else None


def _transactions(check: ConflictCheck) -> ConcurrentModification | None:
    # An application that retries a batch after a lost answer finds its own `txn` here: the
    # conflict prevents writing the batch twice ("Transaction Identifiers").
    ours = {txn.app_id for txn in check.staged.set_transactions} | check.staged.read_set.app_ids
    shared = sorted(ours & check.winner.actions.set_transactions.keys())
    return ConcurrentTransaction(*check.facts, f"the application id {shared[0]}") if shared else None


def _appended_files(check: ConflictCheck) -> ConcurrentModification | None:
    match check.level:
        # OPTIMIZE and similar commits do not change data, so their order relative to an
        # append is irrelevant.
        case IsolationLevel.SNAPSHOT_ISOLATION:
            return None
        case IsolationLevel.WRITE_SERIALIZABLE:
            # A blind append read nothing, so it can be ordered after our commit, although its version is lower.
            if check.winner.is_blind_append and check.staged.metadata is None:
                return None
        case IsolationLevel.SERIALIZABLE:
            pass
        case _:
            assert_never(check.level)
    # Added files conflict even with `dataChange` false: OPTIMIZE moves rows that our commit
    # may have to see in their old file, as delta-spark assumes.
    for batch in check.winner.actions.adds.batches:
        row = check.staged.read_set.first_match(batch)
        if row is not None:
            return ConcurrentAppend(*check.facts, _place(batch, row))
    return None


def _check_removed_read_files(check: ConflictCheck) -> ConcurrentModification | None:
    for batch in check.winner.actions.removes.batches:
        # Covers a file that got another deletion vector too, because that is logged as a
        # remove and an add with one path ("Add File and Remove File").
        row = check.staged.read_set.first_read(batch)
        if row is not None:
            return ConcurrentDeleteRead(*check.facts, batch.column("path")[row].as_py())
    return None


def _check_removed_twice(check: ConflictCheck) -> ConcurrentModification | None:
    ours = check.staged.removes.column("path")
    for batch in check.winner.actions.removes.batches if len(ours) else ():
        row = pc.index(pc.is_in(batch.column("path"), value_set=ours), True).as_py()
        if row >= 0:
            return ConcurrentDeleteDelete(*check.facts, batch.column("path")[row].as_py())
    return None


CONFLICT_DETECTORS: tuple[ConflictDetector, ...] = (
    _exclusive,
    _protocol,
    _feature_drop,
    _metadata,
    _domain_metadata,
    _transactions,
    _appended_files,
    _check_removed_read_files,
    _check_removed_twice,
)


# --- Metadata changes that leave other commits valid ------------------------------------------------------------------

# Properties that a winning commit may set, with the permitted values (None: any).
# The same list as in delta-spark's conflict checker, so that the outcome does not depend on
# which client loses the race.
_TOLERATED_SETTINGS: Mapping[str, tuple[str | None, ...] | None] = {
    properties.ROW_TRACKING.key: ("true",),
    properties.ROW_ID_COLUMN.key: None,
    properties.ROW_COMMIT_VERSION_COLUMN.key: None,
    properties.DELETION_VECTORS.key: ("true",),
    properties.CHECKPOINT_POLICY.key: ("v2",),
    properties.COLUMN_MAPPING_MODE.key: ("name",),
    properties.COLUMN_MAPPING_MAX_ID.key: None,
    properties.IN_COMMIT_TIMESTAMPS.key: ("true",),
    properties.ICT_ENABLEMENT_VERSION.key: None,
    properties.ICT_ENABLEMENT_TIMESTAMP.key: None,
}

# Identity columns keep their high-water mark in the schema, so that an INSERT that
# generates values looks like a schema change ("Identity Columns").
_HIGH_WATER_MARK = "delta.identity.highWaterMark"
_MAPPING_KEYS = ("delta.columnMapping.id", "delta.columnMapping.physicalName")


def is_tolerable_change(before: Metadata, after: Metadata) -> bool:
    """Returns whether a commit that was prepared under `before` is equally valid under `after`.

    This holds if the change enables features that only add requirements which we meet at commit time, or moves an
    identity column's high-water mark. Enabling column mapping by name keeps all physical names, so files written
    without it stay readable. Nothing may be disabled.
    """
    old, new = before.configuration, after.configuration
    changed = {key for key in {*old, *new} if old.get(key) != new.get(key)}
    for key in changed:
        # A removed key is never tolerated: files of ours may rely on the feature that was
        # switched off.
        if key not in _TOLERATED_SETTINGS or new.get(key) is None:
            return False
        allowed = _TOLERATED_SETTINGS[key]
        if allowed is not None and new[key] not in allowed:
            return False
    mapping_begins = properties.COLUMN_MAPPING_MODE.key in changed
    # Only the step from `none` to `name` keeps the physical names equal to the logical
    # names, under which our files were written.
    if mapping_begins and properties.COLUMN_MAPPING_MODE.read(old) != "none":
        return False
    ignored = (_HIGH_WATER_MARK, *(_MAPPING_KEYS if mapping_begins else ()))
    if _without_keys(before.schema_string, ignored) != _without_keys(after.schema_string, ignored):
        return False
    # The remaining fields, for example the partition columns, must be equal; the table id
    # too, since another id means another table.
    return replace(before, configuration={}, schema_string="") == replace(after, configuration={}, schema_string="")


def _without_keys(schema_string: str, keys: tuple[str, ...]) -> Any:
    """Returns the schema's JSON without some column metadata keys."""

    def drop(value: dict[str, Any]) -> dict[str, Any]:
        return {key: item for key, item in value.items() if key not in keys}

    return json.loads(schema_string, object_hook=drop)


def _place(batch: RecordBatch, row: int) -> str:
    values = batch.column("partition_values")[row].as_py()
    if not values:
        return "the root"
    return "the partition [" + ", ".join(f"{key}={value}" for key, value in values) + "]"
