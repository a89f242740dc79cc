"""expire_snapshots: removes snapshots from the metadata, then deletes the files that only they needed.

The commit comes first, so that no new reader starts on a snapshot whose files are deleted. Running statements on this
server keep their files (`engine.concurrency.table_pins`): a snapshot that would expire by age is retained with its
files; a snapshot that was named leaves its files for `remove_orphan_files`. For statements on other servers, choose a
sufficient age.

A server that is killed in between, or a failed deletion, leaves orphan files.

remove_orphan_files deletes the files in the table's folder that nothing references and that are too old for a running
write.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from catalog.conditions import IcebergFilesNotRemoved, IcebergPathPrefixesDiffer, IcebergProcedureRefused, WrongArgument
from engine.concurrency.table_pins import Pin
from engine.formats.iceberg.planning.plans import CallPlan
from engine.formats.iceberg.procedures.commits import Committed, begin, commit, load
from engine.formats.iceberg.procedures.references import same_table_requirements
from engine.iceberg.commit.metadata_store import LoadedMetadata
from engine.iceberg.commit.updates import (
    AssertRefSnapshotId,
    RemovePartitionSpecs,
    RemovePartitionStatistics,
    RemoveSchemas,
    RemoveSnapshotRef,
    RemoveSnapshots,
    RemoveStatistics,
    Requirement,
    Update,
)
from engine.iceberg.maintenance.orphan_files import Prefixes, PrefixMismatch, find_orphans, remove_files
from engine.iceberg.maintenance.reachable_files import FileKind, TableFiles, unneeded_files
from engine.iceberg.maintenance.retention import Expired, Retention, find_expired
from engine.iceberg.snapshot.snapshot import NO_VERSION
from engine.iceberg.spec.metadata import TableMetadata
from engine.runtime.results import BIGINT, ResultStream, small_result, string_rows
from engine.spark.execution_context import ExecutionContext
from engine.statements.procedures.statement import ExpireSnapshots, RemoveOrphanFiles

_ANSWER = {
    "deleted_data_files_count": FileKind.DATA,
    "deleted_position_delete_files_count": FileKind.POSITION_DELETES,
    "deleted_equality_delete_files_count": FileKind.EQUALITY_DELETES,
    "deleted_manifest_files_count": FileKind.MANIFEST,
    "deleted_manifest_lists_count": FileKind.MANIFEST_LIST,
    "deleted_statistics_files_count": FileKind.STATISTICS,
}
_STATISTICS = ("statistics", "partition-statistics")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Expiry:
    requirements: tuple[Requirement, ...]
    updates: tuple[Update, ...]


def expire(plan: CallPlan, procedure: ExpireSnapshots, context: ExecutionContext) -> ResultStream:
    """Runs expire_snapshots. Raises `IcebergProcedureRefused`, `IcebergFilesNotRemoved`."""
    location = plan.table.entry.location
    files = TableFiles(plan.snapshot)
    retention = Retention(
        now_ms=context.request.now_ms(),
        older_than_ms=plan.time_ms,
        keep=procedure.retain_last,
        named=frozenset(procedure.snapshot_ids),
    )

    def decide(loaded: LoadedMetadata) -> _Expiry:
        found = find_expired(
            loaded.metadata, retention, used_snapshots(context.sources.pins.of(location), loaded.metadata)
        )
        # A branch or tag would point to nothing ("Snapshot References"), and the metadata
        # could not be read by others.
        for snapshot_id, names in found.referenced.items():
            reason = f"{snapshot_id} is the snapshot of {', '.join(names)}"
            raise IcebergProcedureRefused(plan.table.label, plan.name, reason)
        clean = _unused_definitions(loaded.metadata, found, files) if procedure.clean_expired_metadata else ()
        return _expiry(loaded, found, clean)

    change, committed = commit(plan, context, decide)
    if not change.updates:
        return _answer(Counter())
    pins = context.sources.pins.of(location)  # after the commit: new statements do not find expired snapshots
    before = committed.before.metadata
    is_choosing = any(pin.version == NO_VERSION for pin in pins)
    used = before.snapshots.keys() if is_choosing else used_snapshots(pins, before)
    return _answer(_remove(plan, files, committed, used, context))


def used_snapshots(pins: Iterable[Pin], metadata: TableMetadata) -> set[int]:
    """Returns the snapshots that statements on this server read: selected ones, and all that were current since the
    oldest statement began that reads the newest.
    """
    used = {pin.version for pin in pins if pin.version is not None}
    since_ms = min((pin.since_ms for pin in pins if pin.version is None), default=None)
    if since_ms is None:
        return used
    before = [id for time_ms, id in metadata.snapshot_log if time_ms < since_ms]
    # The last entry before that time was current when the oldest statement began.
    return used | {id for time_ms, id in metadata.snapshot_log if time_ms >= since_ms} | set(before[-1:])


def _expiry(loaded: LoadedMetadata, found: Expired, clean: tuple[Update, ...]) -> _Expiry:
    """Returns the expiry; it requires that no branch or tag moves."""
    metadata = loaded.metadata
    updates: list[Update] = [RemoveSnapshotRef(name) for name in found.references]
    if found.snapshots:
        updates.append(RemoveSnapshots(tuple(sorted(found.snapshots))))
    noted = {key: {each.get("snapshot-id") for each in loaded.json.get(key) or ()} for key in _STATISTICS}
    updates += (RemoveStatistics(id) for id in sorted(found.snapshots & noted["statistics"]))
    updates += (RemovePartitionStatistics(id) for id in sorted(found.snapshots & noted["partition-statistics"]))
    # A branch that another writer creates or moves meanwhile may need a snapshot that would
    # be removed here.
    same = tuple(AssertRefSnapshotId(each.name, each.snapshot_id) for each in metadata.refs.values())
    return _Expiry(requirements=(*same_table_requirements(metadata), *same), updates=(*updates, *clean))


def _unused_definitions(metadata: TableMetadata, found: Expired, files: TableFiles) -> tuple[Update, ...]:
    """Returns updates that remove partition specs without manifests, and schemas without snapshots. Old schemas are
    kept if deletes exist: an equality delete's column may have been dropped since.
    """
    remaining = [each for id, each in metadata.snapshots.items() if id not in found.snapshots]
    manifests = files.manifests(remaining).values()
    specs = {metadata.default_spec_id, *(each.spec_id for each in manifests)}
    schemas = {metadata.current_schema_id, *(each.schema_id for each in remaining)}
    unused_specs = tuple(sorted(metadata.specs.keys() - specs))
    unused_schemas = tuple(sorted(metadata.schemas.keys() - schemas))
    if any(each.has_deletes for each in manifests) or None in schemas:
        unused_schemas = ()
    return (
        *((RemovePartitionSpecs(unused_specs),) if unused_specs else ()),
        *((RemoveSchemas(unused_schemas),) if unused_schemas else ()),
    )


def _remove(
    plan: CallPlan, files: TableFiles, committed: Committed, used: Collection[int], context: ExecutionContext
) -> Counter[FileKind]:
    before, after = committed.before.metadata.snapshots, committed.after.metadata.snapshots
    gone = [each for id, each in before.items() if id not in after and id not in used]
    retained_snapshots = [*after.values(), *(each for id, each in before.items() if id not in after and id in used)]
    found = unneeded_files(files, gone, retained_snapshots)
    found |= dict.fromkeys(_statistics(files, committed), FileKind.STATISTICS)
    # Manifests last: after an interruption a later run can still find the data files
    # through them.
    manifests = sorted(name for name in found if found[name] in (FileKind.MANIFEST, FileKind.MANIFEST_LIST))
    groups = (sorted(found.keys() - set(manifests)), manifests)
    removed = remove_files(plan.snapshot.storage, groups, context.request.cancel.ensure_live)
    if removed.failed:
        raise IcebergFilesNotRemoved(plan.table.label, len(removed.failed), removed.failed[0], removed.reason)
    return Counter(found[name] for name in removed.names)


def _statistics(files: TableFiles, committed: Committed) -> set[str]:
    """Returns statistics files that the metadata no longer references."""
    before, after = (
        {
            files.name_of(each["statistics-path"])
            for key in _STATISTICS
            for each in loaded.json.get(key) or ()
            if "statistics-path" in each
        }
        for loaded in (committed.before, committed.after)
    )
    return {name for name in before - after if name is not None}


def _answer(counts: Counter[FileKind]) -> ResultStream:
    return small_result(dict.fromkeys(_ANSWER, BIGINT), [[counts[kind] for kind in _ANSWER.values()]])


_DAY_MS = 24 * 3_600_000
AGE_MS = 3 * _DAY_MS
AGE_MIN_MS = _DAY_MS


def remove_orphans(plan: CallPlan, procedure: RemoveOrphanFiles, context: ExecutionContext) -> ResultStream:
    """Returns the paths of removed files, or of those to remove.

    Raises `WrongArgument`, `IcebergPathPrefixesDiffer`, `IcebergFilesNotRemoved`.
    """
    label, storage = plan.table.label, plan.snapshot.storage
    now_ms = context.request.now_ms()  # before anything is listed: later files are younger
    older_than_ms = now_ms - AGE_MS if plan.time_ms is None else plan.time_ms
    # Writers create files before the commit that references them; a day is Java's lower
    # limit too.
    if older_than_ms > now_ms - AGE_MIN_MS:
        reason = "files of the last 24 hours may be those of statements that have not committed yet"
        raise WrongArgument(plan.name, "older_than", reason)
    files = TableFiles(plan.snapshot)
    below = _folder(plan, procedure, files)
    prefixes = Prefixes(
        mode=PrefixMismatch(procedure.prefix_mismatch_mode.upper()),
        schemes=procedure.equal_schemes,
        authorities=procedure.equal_authorities,
    )
    loaded = load(plan, begin(plan).store)
    check = context.request.cancel.ensure_live
    found = find_orphans(files, loaded, below, older_than_ms, prefixes, check)
    if found.doubtful is not None:
        raise IcebergPathPrefixesDiffer(label, *found.doubtful)
    names = found.names
    if not procedure.dry_run:
        removed = remove_files(storage, [names], check)
        if removed.failed:
            raise IcebergFilesNotRemoved(label, len(removed.failed), removed.failed[0], removed.reason)
    return string_rows(("orphan_file_location",), [(f"{loaded.metadata.location}/{name}",) for name in names])


def _folder(plan: CallPlan, procedure: RemoveOrphanFiles, files: TableFiles) -> str:
    """Returns the name of the folder to search."""
    if procedure.location is None or files.snapshot.places.path(procedure.location.rstrip("/")) == "":
        return ""
    name = files.name_of(procedure.location.rstrip("/"))
    if name is None or not procedure.location.strip("/"):
        reason = f"{procedure.location} is not in the folder of the table, {plan.snapshot.table_root}"
        raise WrongArgument(plan.name, "location", reason)
    return name
