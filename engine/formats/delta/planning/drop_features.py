"""DROP FEATURE: what of a table must be gone before the protocol can do without a feature.

A feature is dropped in one commit, which keeps older versions readable by protecting their checkpoints. That is enough
where the newest version has nothing that only the feature explains. Deletion vectors, types from before a widening, and
names of column mapping are in files, which are rewritten (`engine.formats.delta.writing.rewrite`); what else would have
to be done first is refused by name.

With TRUNCATE HISTORY older versions are not kept readable but removed. The newest version is then first made one that
does without the feature, though its protocol has it still; the feature goes when every version that needs it is old
enough to go with it (`engine.delta.maintenance.feature_history`), which takes a second run of the statement.

Protocol: "Table Features"; the feature `checkpointProtection` as delta-spark has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

import pyarrow as pa

from catalog.conditions import HistoryTruncationNotAllowed, ProtectionNeedsTruncation, StatementNotSupported
from engine.delta.definition.metadata_changes import DropFeature as DropFeatureChange
from engine.delta.definition.metadata_changes import MetadataChange, RemoveMapping
from engine.delta.maintenance.feature_history import needs_feature
from engine.delta.maintenance.stale_files import STALE_FILES
from engine.delta.schema.type_widening import TYPE_CHANGES
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.features import Removal, find_feature
from engine.delta.spec.properties import CHECKPOINT_POLICY, DELETION_VECTORS, TYPE_WIDENING
from engine.statements.alter_table.statement import DropFeature
from engine.tables.definition_changes import SetColumnMetadata, set_properties
from engine.types.schema import walk_fields


def drop_feature(snapshot: Snapshot, change: DropFeature) -> tuple[MetadataChange, ...]:
    """Of a table whose files do not need the feature.

    Raises where the newest version needs it otherwise; whether the table has it is asked when the change is applied.
    """
    feature = find_feature(change.feature)
    if feature is not None and snapshot.config.is_supported(feature.canonical_name):
        if feature.name == "checkpointProtection" and not change.truncate_history:
            raise ProtectionNeedsTruncation()
        if change.truncate_history and feature.removal is Removal.YES:
            raise HistoryTruncationNotAllowed(feature.name)
        trace = None if change.truncate_history else _TRACES.get(feature.canonical_name)
        what = trace(snapshot) if trace is not None else None
        if what is not None:
            raise StatementNotSupported(f"DROP FEATURE {feature.name} of a table with {what}")
    protect_before = None if change.truncate_history else snapshot.version + 1
    dropped = DropFeatureChange(name=change.feature, protect_before=protect_before)
    match feature.canonical_name if feature is not None else None:
        case "typeWidening":
            return (*_forgotten_types(snapshot), dropped)
        case "columnMapping":
            return (RemoveMapping(), dropped)
        case _:  # the name of any other feature
            return (dropped,)


def do_without(snapshot: Snapshot, feature: str) -> tuple[MetadataChange, ...]:
    """What makes the metadata of the next version do without a feature (its final name) that the protocol has."""
    if not needs_feature(snapshot.metadata, feature):
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
        case _:  # the name of any other feature
            return ()


def stale_files(change: DropFeature) -> Callable[[Snapshot], pa.Table] | None:
    """Finds the files that need the feature, of `FILES_SCHEMA`; None where no file can."""
    feature = find_feature(change.feature)
    finder = STALE_FILES.get(feature.canonical_name) if feature is not None else None
    return finder() if finder is not None else None


def goes_with_files(change: DropFeature) -> bool:
    """Whether files are readable either with the feature or without it, so that they change with the protocol."""
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
        return None  # refused for these, which depend on it
    return f"metadata domains ({', '.join(sorted(snapshot.domain_metadata))})" if snapshot.domain_metadata else None


def _checkpoints(snapshot: Snapshot) -> str | None:
    """A classic checkpoint would have to be there for those who start from the newest one."""
    return "a checkpoint" if snapshot.log_segment.checkpoint is not None else None


_TRACES: Mapping[str, Callable[[Snapshot], str | None]] = MappingProxyType(
    {
        "domainMetadata": _domains,
        "rowTracking": _row_ids,
        "v2Checkpoint": _checkpoints,
    }
)
"""What only the feature explains, in words; None: nothing of it is there."""
