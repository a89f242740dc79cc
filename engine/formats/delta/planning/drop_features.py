"""DROP FEATURE: the checks and changes needed before a feature can be removed from the protocol.

A feature is dropped in one commit, which keeps older versions readable by protecting their checkpoints. That suffices
if the newest version contains no trace of the feature. Deletion vectors, files with types from before a type widening,
and physical column names are in files, which are rewritten (`engine.formats.delta.writing.rewrite`). Other traces must
be removed by the user first; the error names them.

With TRUNCATE HISTORY, older versions are removed instead of being protected. First the newest version is made
independent of the feature, while its protocol still lists it. The feature is dropped when every version that needs it
is old enough to be removed too (`engine.delta.maintenance.feature_history`), which requires running the statement a
second time.

Protocol: "Table Features"; the feature `checkpointProtection` as in delta-spark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

import pyarrow as pa

from catalog.conditions import HistoryTruncationNotAllowed, ProtectionRequiresTruncation, StatementNotSupported
from engine.delta.definition.metadata_changes import MetadataChange
from engine.delta.definition.property_changes import DropFeature as DropFeatureChange
from engine.delta.definition.property_changes import RemoveMapping
from engine.delta.maintenance.feature_history import requires_feature
from engine.delta.maintenance.stale_files import STALE_FILES
from engine.delta.schema.type_widening import TYPE_CHANGES
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.features import Removal, find_feature
from engine.delta.spec.properties import CHECKPOINT_POLICY, DELETION_VECTORS, TYPE_WIDENING
from engine.statements.alter_table.statement import DropFeature
from engine.tables.definition_changes import SetColumnMetadata, set_properties
from engine.types.schema import walk_fields


def drop_feature(snapshot: Snapshot, change: DropFeature) -> tuple[MetadataChange, ...]:
    """Returns the metadata changes for a table whose files do not need the feature.

    Raises if the newest version needs it otherwise. Applying the change checks that the table has the feature.
    """
    feature = find_feature(change.feature)
    if feature is not None and snapshot.config.is_supported(feature.canonical_name):
        # The feature protects the history that dropping other features left behind; it may
        # only go together with that history.
        if feature.name == "checkpointProtection" and not change.truncate_history:
            raise ProtectionRequiresTruncation()
        if change.truncate_history and feature.removal is Removal.YES:
            raise HistoryTruncationNotAllowed(feature.name)
        trace = None if change.truncate_history else _TRACES.get(feature.canonical_name)
        what = trace(snapshot) if trace is not None else None
        if what is not None:
            raise StatementNotSupported(f"DROP FEATURE {feature.name} of a table with {what}")
    # If another commit takes this version first, the statement is planned again, with the
    # next number.
    protect_before = None if change.truncate_history else snapshot.version + 1
    dropped = DropFeatureChange(name=change.feature, protect_before=protect_before)
    match feature.canonical_name if feature is not None else None:
        case "typeWidening":
            return (*_forgotten_types(snapshot), dropped)
        case "columnMapping":
            return (RemoveMapping(), dropped)
        case _:  # any other feature name
            return (dropped,)


def do_without(snapshot: Snapshot, feature: str) -> tuple[MetadataChange, ...]:
    """Returns the metadata changes after which the next version does not use a feature (its final name) in the
    protocol.
    """
    if not requires_feature(snapshot.metadata, feature):
        return ()
    match feature:
        case "columnMapping":
            return (RemoveMapping(),)
        case "deletionVectors":
            return set_properties({DELETION_VECTORS.key: "false"})
        case "typeWidening":
            return (*set_properties({TYPE_WIDENING.key: "false"}), *_forgotten_types(snapshot))
        case "v2Checkpoint":
            return set_properties({CHECKPOINT_POLICY.key: "classic"})
        case _:  # any other feature name
            return ()


def stale_files(change: DropFeature) -> Callable[[Snapshot], pa.Table] | None:
    """Returns a function that finds the files that need the feature, as `FILES_SCHEMA`; None if no file can need it."""
    feature = find_feature(change.feature)
    finder = STALE_FILES.get(feature.canonical_name) if feature is not None else None
    return finder() if finder is not None else None


def goes_with_files(change: DropFeature) -> bool:
    """Returns True if files are readable only with or only without the feature, so that they change with the
    protocol.
    """
    feature = find_feature(change.feature)
    return feature is not None and feature.canonical_name == "columnMapping"


def _forgotten_types(snapshot: Snapshot) -> Iterator[MetadataChange]:
    for path, field in walk_fields(snapshot.schema):
        if TYPE_CHANGES in field.metadata:
            yield SetColumnMetadata(path=path, key=TYPE_CHANGES, value=None)


def _row_ids(snapshot: Snapshot) -> str | None:
    ids = snapshot.files.column("base_row_id")
    return "rows that have ids" if ids.null_count < len(ids) else None


def _domains(snapshot: Snapshot) -> str | None:
    if any(snapshot.config.is_supported(name) for name in ("clustering", "rowTracking")):
        return None  # these depend on it, and are rejected
    return f"metadata domains ({', '.join(sorted(snapshot.domain_metadata))})" if snapshot.domain_metadata else None


def _checkpoints(snapshot: Snapshot) -> str | None:
    """Readers that start from the newest checkpoint need a classic one."""
    return "a checkpoint" if snapshot.log_segment.checkpoint is not None else None


# Describes remaining traces of the feature; None if there are none.
_TRACES: Mapping[str, Callable[[Snapshot], str | None]] = MappingProxyType(
    {
        "domainMetadata": _domains,
        "rowTracking": _row_ids,
        "v2Checkpoint": _checkpoints,
    }
)
