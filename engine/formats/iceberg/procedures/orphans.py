"""remove_orphan_files: files of the table's folder go that nothing names and that are too old for a running write."""

from __future__ import annotations

from catalog.conditions import IcebergFilesNotRemoved, IcebergPathPrefixesDiffer, WrongArgument
from engine.formats.iceberg.planning.plans import CallPlan
from engine.formats.iceberg.procedures.commits import begin, load
from engine.iceberg.maintenance.orphan_files import Prefixes, PrefixMismatch, find_orphans
from engine.iceberg.maintenance.reachable_files import TableFiles
from engine.iceberg.maintenance.removal import remove_files
from engine.runtime.results import ResultStream, string_rows
from engine.spark.execution_context import ExecutionContext
from engine.statements.procedures.statement import RemoveOrphanFiles

_DAY_MS = 24 * 3_600_000
AGE_MS = 3 * _DAY_MS
AGE_MIN_MS = _DAY_MS


def remove_orphans(plan: CallPlan, procedure: RemoveOrphanFiles, context: ExecutionContext) -> ResultStream:
    """The paths of files that went, or would go. Raises `WrongArgument`, `IcebergPathPrefixesDiffer`,
    `IcebergFilesNotRemoved`.
    """
    label, storage = plan.table.label, plan.snapshot.storage
    now_ms = context.request.now_ms()  # before anything is looked at: what is put there later is younger
    older_than_ms = now_ms - AGE_MS if plan.time_ms is None else plan.time_ms
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
        removed = remove_files(storage, names, check)
        if removed.failed:
            raise IcebergFilesNotRemoved(label, len(removed.failed), removed.failed[0], removed.reason)
    return string_rows(("orphan_file_location",), [(f"{loaded.metadata.location}/{name}",) for name in names])


def _folder(plan: CallPlan, procedure: RemoveOrphanFiles, files: TableFiles) -> str:
    """The name of the folder that is looked through."""
    if procedure.location is None or files.snapshot.places.path(procedure.location.rstrip("/")) == "":
        return ""
    name = files.name_of(procedure.location.rstrip("/"))
    if name is None or not procedure.location.strip("/"):
        reason = f"{procedure.location} is not in the folder of the table, {plan.snapshot.table_root}"
        raise WrongArgument(plan.name, "location", reason)
    return name
