"""History truncation for DROP FEATURE … TRUNCATE HISTORY: versions that need a feature, and their removal from the log.

A version needs a feature if its metadata does, or if its commit names a deletion vector, even in a `remove`: readers
without the feature would misread that commit. Versions up to the last such version must be removed, by a log cleanup
with a shorter retention (`delta.dropFeatureTruncateHistory.retentionDuration`). This needs a checkpoint at a version
that no longer needs the feature and is older than that retention; it is written as soon as such a version exists.

Checkpoints in a form that only the feature explains count as well. Checkpoint protection remains until no protected
version is left.

Source: the two-step procedure in delta-spark's documentation on dropping table features.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from catalog.conditions import HistoricalVersionsExist, WaitForRetention
from engine.delta.log.commit_reader import LogActions
from engine.delta.maintenance.checkpoint_writer import write_checkpoint
from engine.delta.maintenance.log_cleanup import LogListing, truncate_log
from engine.delta.maintenance.needed_files import load_commits
from engine.delta.schema.type_widening import TYPE_CHANGES
from engine.delta.snapshot.commit_times import load_commit_times
from engine.delta.snapshot.replay import read_commits
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec import properties
from engine.delta.spec.actions import Metadata
from engine.delta.spec.features import MetadataFacts, metadata_facts
from engine.delta.spec.paths import LogFileKind
from engine.storage.storage import Storage

# By final feature name: tests if a version's metadata needs the feature.
_METADATA: Mapping[str, Callable[[MetadataFacts], bool]] = MappingProxyType(
    {
        "columnMapping": lambda facts: properties.COLUMN_MAPPING_MODE.read(facts.configuration) != "none",
        "deletionVectors": lambda facts: properties.DELETION_VECTORS.read(facts.configuration),
        "typeWidening": lambda facts: (
            properties.TYPE_WIDENING.read(facts.configuration) or TYPE_CHANGES in facts.column_keys
        ),
        "v2Checkpoint": lambda facts: properties.CHECKPOINT_POLICY.read(facts.configuration) == "v2",
    }
)

PROTECTION = "checkpointProtection"


def requires_feature(metadata: Metadata, feature: str) -> bool:
    """Returns whether a version with this metadata needs `feature` (its final name)."""
    test = _METADATA.get(feature)
    return test is not None and test(metadata_facts(metadata.configuration, metadata.schema_string))


def last_version_with(snapshot: Snapshot, feature: str) -> int | None:
    """Returns the last version in the log that needs `feature`, or None."""
    commits = [path for path, _ in load_commits(snapshot)]
    if feature == PROTECTION:
        protected = snapshot.config.get(properties.CHECKPOINT_PROTECTION_VERSION)
        return protected - 1 if commits and commits[0].version < protected else None
    last = _last_checkpoint_of(snapshot.storage, feature)
    first = load_commit_times(snapshot).earliest_version
    # The first readable version's metadata may be in a checkpoint, with no commit that
    # names it.
    required = requires_feature(Snapshot.load(snapshot.storage, first).metadata, feature)
    for path in commits:
        actions = read_commits(snapshot.storage, [path])
        if actions.metadata is not None:
            required = requires_feature(actions.metadata, feature)
        # The property may be off while files still have vectors, or while a remove names
        # one.
        if required or (feature == "deletionVectors" and _names_vector(actions)):
            last = path.version if last is None else max(last, path.version)
    return last


def truncate_history(snapshot: Snapshot, feature: str, now_ms: int) -> None:
    """Removes all versions that need `feature` from the log; `snapshot` is the newest version.

    Raises `WaitForRetention`, `HistoricalVersionsExist`, and the errors of `clean_log` and `write_checkpoint`.
    """
    last = last_version_with(snapshot, feature)
    if last is None:
        return
    config = snapshot.config
    retention_ms = config.get(properties.DROP_FEATURE_RETENTION)
    since = [(path.version, status.modified_ms) for path, status in load_commits(snapshot) if path.version > last]
    expired = [version for version, modified_ms in since if modified_ms <= now_ms - retention_ms]
    _ensure_checkpoint(snapshot, last, expired[-1] if expired else snapshot.version, now_ms)
    if not expired:
        raise WaitForRetention(config.table, feature, f"{retention_ms / properties.HOUR_MS:g}")
    truncate_log(snapshot.storage, config, now_ms, now_ms - retention_ms)
    # The cleanup's checks may have kept more than the retention says, for example if no
    # checkpoint could be read.
    if last_version_with(snapshot, feature) is not None:
        raise HistoricalVersionsExist(config.table, feature, f"{retention_ms / properties.HOUR_MS:g}")


def _ensure_checkpoint(snapshot: Snapshot, after: int, until: int, now_ms: int) -> None:
    """Ensures that a version from `after` + 1 to `until` has a checkpoint."""
    storage = snapshot.storage
    if not any(after < checkpoint.version <= until for checkpoint in LogListing.load(storage).checkpoints()):
        of_version = snapshot if until == snapshot.version else Snapshot.load(storage, until)
        write_checkpoint(of_version, now_ms)


def _names_vector(actions: LogActions) -> bool:
    return any(
        batch.column("deletion_vector").null_count < len(batch)
        for batch in (*actions.adds.batches, *actions.removes.batches)
    )


def _last_checkpoint_of(storage: Storage, feature: str) -> int | None:
    if feature != "v2Checkpoint":
        return None
    listing = LogListing.load(storage)
    return max((path.version for path, _ in listing.files if path.kind is LogFileKind.CHECKPOINT_V2), default=None)
