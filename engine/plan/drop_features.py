"""DROP FEATURE: what of a table must be gone before the protocol can do without a feature.

A feature is dropped in one commit, which keeps older versions readable by protecting their checkpoints. That is enough
where the newest version has nothing that only the feature explains; where files would have to be written anew first,
the drop is refused by name.

Protocol: "Table Features"; the feature `checkpointProtection` as delta-spark has it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from engine.alter_errors import HistoryTruncationNotAllowed, ProtectionNeedsTruncation
from engine.delta.metadata_changes import DropFeature as DropFeatureChange
from engine.delta.snapshot import Snapshot
from engine.delta.spec.features import Removal, find_feature
from engine.delta.spec.schema import walk_fields
from engine.delta.type_widening import TYPE_CHANGES
from engine.errors import StatementNotSupported
from engine.write_statements import DropFeature


def drop_feature(snapshot: Snapshot, change: DropFeature) -> DropFeatureChange:
    """Raises where the newest version still needs the feature; whether the table has it is asked when it is applied."""
    feature = find_feature(change.feature)
    if feature is not None and snapshot.config.is_supported(feature.canonical_name):
        if feature.name == "checkpointProtection" and not change.truncate_history:
            raise ProtectionNeedsTruncation()
        if change.truncate_history and feature.removal is Removal.YES:
            raise HistoryTruncationNotAllowed(feature.name)
        if change.truncate_history and feature.removal is Removal.WITH_HISTORY:
            raise StatementNotSupported("DROP FEATURE … TRUNCATE HISTORY")
        trace = _TRACES.get(feature.canonical_name)
        what = trace(snapshot) if trace is not None else None
        if what is not None:
            raise StatementNotSupported(f"DROP FEATURE {feature.name} of a table with {what}")
    return DropFeatureChange(name=change.feature, protect_before=snapshot.version + 1)


def _deletion_vectors(snapshot: Snapshot) -> str | None:
    vectors = snapshot.files.column("deletion_vector")
    count = len(vectors) - vectors.null_count
    return f"deletion vectors (of {count} files)" if count else None


def _mapping(snapshot: Snapshot) -> str | None:
    mode = snapshot.config.column_mapping_mode
    return f"column mapping by {mode}, whose files would be written anew" if mode != "none" else None


def _widened_columns(snapshot: Snapshot) -> str | None:
    widened = [".".join(path) for path, field in walk_fields(snapshot.schema) if TYPE_CHANGES in field.metadata]
    return f"widened columns ({', '.join(widened)})" if widened else None


def _row_ids(snapshot: Snapshot) -> str | None:
    ids = snapshot.files.column("base_row_id")
    return "rows that have ids" if ids.null_count < len(ids) else None


def _domains(snapshot: Snapshot) -> str | None:
    if any(snapshot.config.is_supported(name) for name in ("clustering", "rowTracking")):
        return None  # refused for these, which stand on it
    return f"metadata domains ({', '.join(sorted(snapshot.domain_metadata))})" if snapshot.domain_metadata else None


def _checkpoints(snapshot: Snapshot) -> str | None:
    """A classic checkpoint would have to be there for those who start from the newest one."""
    return "a checkpoint" if snapshot.log_segment.checkpoint is not None else None


_TRACES: Mapping[str, Callable[[Snapshot], str | None]] = MappingProxyType(
    {
        "columnMapping": _mapping,
        "deletionVectors": _deletion_vectors,
        "domainMetadata": _domains,
        "rowTracking": _row_ids,
        "typeWidening": _widened_columns,
        "v2Checkpoint": _checkpoints,
    }
)
"""What only the feature explains, in words; None: nothing of it is there."""
