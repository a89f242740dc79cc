"""VACUUM: removes unneeded files, between two commits that only record the operation.

A file is needed if the table retains it, if a running statement on this server uses it, or if a catalog table that
references it (a shallow clone) retains it by its own log. Two rules make the check complete while others run:

- A statement is registered before it loads a version. An unregistered one therefore began after the time from which the
  retention is counted: it reads a version that was current after that time, and writes younger files, by the storage's
  clock approximately so (`find_unused`).
- On this server, VACUUM and statements that reactivate an older version's files (RESTORE, and a shallow CLONE of such a
  version) exclude each other, so that no file is removed after it was found to exist.

Therefore the time is taken first, then the uses are collected, then the newest version is loaded. Cancellation stops
the removal between two batches; the second commit then records the failure. If the server is killed, only that commit
is missing.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from catalog.conditions import DeltaError, FilesNotRemoved, FolderOfTwoTables, LogWriteFailed
from catalog.entries import TableEntry
from catalog.names import matches_all
from catalog.store.files import METADATA_FOLDER, is_metadata
from catalog.view import CatalogView
from engine.binding.bound import Outcome
from engine.binding.sources import Sources
from engine.concurrency.retry import RetryPolicy
from engine.concurrency.table_locks import file_lock
from engine.concurrency.table_pins import Pin
from engine.delta.commit.transaction import Committed, Transaction
from engine.delta.maintenance.needed_files import NeededFiles, Retained, file_paths, refers_to
from engine.delta.maintenance.own_files import OwnFiles
from engine.delta.maintenance.unused_files import (
    CLOCK_MARGIN_MS,
    UnusedFiles,
    find_removed,
    find_unused,
    last_expired,
    note_vacuum,
    remove_files,
)
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.properties import DELETED_FILE_RETENTION
from engine.errors.disk_errors import is_disk_full
from engine.errors.table_errors import name_table_in_errors
from engine.execution.writes.staged_write import StagedWrite
from engine.formats.delta.delta_format import delta_snapshot
from engine.formats.delta.planning.maintenance_plans import VacuumPlan
from engine.runtime.results import string_rows
from engine.spark.execution_context import ExecutionContext
from engine.storage.storage import FolderListing
from engine.tables.formats import DEFAULT_FORMAT
from engine.tables.operations import with_metrics

logger = logging.getLogger(__name__)

_UNIFORM = "delta.universalFormat.enabledFormats"

# Files removed without a check in between, so that the second commit follows shortly after the first.
_FEW = 1_000

# Seconds for which a log listing counts as current for a commit.
_JUST_S = 1.0


@contextmanager
def vacuum(plan: VacuumPlan, context: ExecutionContext) -> Iterator[StagedWrite]:
    """Stages the final commit; a dry run only lists the files."""
    table = plan.table
    lock = context.sources.locks.hold(file_lock(table.snapshot.table_root), context.request.cancel)
    with lock as has_waited, name_table_in_errors(table.label):
        now_ms = context.request.now_ms()  # before anything is listed: later files are younger
        # The order is essential: a statement that registers after this line loads a version
        # that is at least as new as the one loaded below.
        pins = context.sources.pins.of(table.entry.location)
        snapshot = delta_snapshot(table.snapshot).advance_once()
        seen_s = time.monotonic()
        root = snapshot.storage.list_folder("")
        _ensure_own_folder(snapshot, root, table.label)
        retained = _retained_versions(now_ms - plan.retention_ms, pins)
        needed = NeededFiles(snapshot.storage)
        needed.add_own(snapshot, retained)
        own = needed.count
        view = (
            context.sources.catalog.view() if has_waited else context.sources.catalog.known_view()
        )  # as it was bound just now
        _add_others(needed, snapshot, now_ms, context, view)
        check = context.request.cancel.ensure_live
        if plan.lite:
            unused = find_removed(snapshot, needed, retained.since_ms, check)
        else:
            unused = find_unused(snapshot, needed, retained.since_ms, check, root)
        if plan.dry_run:
            names = (*unused.files, *unused.empty_folders)
            yield StagedWrite(
                outcome=_answer(sorted(map(snapshot.storage.path_of, names) if plan.tells_place else names))
            )
            return
        begun = _begin(plan, snapshot, unused, context, seen_s)
        count = _remove(plan, snapshot, unused, context, begun)
        done = last_expired(snapshot, retained)
        # A lite search begins after the recorded version. Files that a clone still needs
        # today would never be looked at again.
        if done is not None and needed.count == own:  # files needed only by other tables must be found again
            note_vacuum(snapshot.storage, done, snapshot.list_log())
        end = with_metrics(plan.end, numDeletedFiles=count, numVacuumedDirectories=unused.num_folders)
        end = replace(end, parameters={"status": "COMPLETED"})
        yield StagedWrite(
            outcome=_answer([table.entry.location if plan.tells_place else table.label]),
            transaction=Transaction.on(snapshot, end, table=table.label).after(begun).only_telling(),
            label=table.label,
        )


def _ensure_own_folder(snapshot: Snapshot, root: FolderListing, label: str) -> None:
    """Raises `FolderOfTwoTables` for a converted table, which shares its folder with the source table."""
    formats = (snapshot.metadata.configuration.get(_UNIFORM) or "").split(",")
    is_its_own = any(name.strip().lower() == "iceberg" for name in formats)  # which is generated from its versions
    may_have = snapshot.storage.LISTS_WHOLE_FOLDERS or any(each.name == METADATA_FOLDER for each in root.folders)
    if not is_its_own and may_have and any(map(is_metadata, snapshot.storage.list_names(METADATA_FOLDER))):
        raise FolderOfTwoTables(label, "VACUUM", f"iceberg.`{snapshot.table_root}`", f"its folder {METADATA_FOLDER}")


def _begin(
    plan: VacuumPlan, snapshot: Snapshot, unused: UnusedFiles, context: ExecutionContext, seen_s: float
) -> Committed | None:
    """Commits that files will be removed; returns None on a full disk, so that VACUUM can free the space that commits
    need.

    Checking that the table still exists is left to the second commit if the log was listed recently (`seen_s`, on the
    monotonic clock) and few files are removed in between.
    """
    num_files = len(unused.files) + len(unused.empty_folders)
    begin = with_metrics(plan.begin, numFilesToDelete=num_files, sizeOfDataToDelete=unused.num_bytes)
    transaction = Transaction.on(snapshot, begin, table=plan.table.label)
    if num_files <= _FEW and time.monotonic() - seen_s < _JUST_S:
        transaction = transaction.only_telling(is_reported_again=True)
    try:
        return transaction.commit(_policy(context))
    except LogWriteFailed as error:
        if not is_disk_full(error):
            raise
        logger.warning("VACUUM of %s makes room on a full disk: it is not announced in the log", plan.table.label)
        return None


def _remove(
    plan: VacuumPlan, snapshot: Snapshot, unused: UnusedFiles, context: ExecutionContext, begun: Committed | None
) -> int:
    """Returns how many files and folders were removed."""
    try:
        removed = remove_files(snapshot.storage, unused, context.request.cancel.ensure_live)
        if removed.failed:
            raise FilesNotRemoved(plan.table.label, len(removed.failed), removed.failed[0], removed.reason)
    except Exception:
        failed = Transaction.on(snapshot, replace(plan.end, parameters={"status": "FAILED"}), table=plan.table.label)
        context.sources.after_commit(failed.after(begun).only_telling().commit(_policy(context)))
        raise
    return removed.count


def _policy(context: ExecutionContext) -> RetryPolicy:
    """Returns the retry policy for commits that are made although the statement is cancelled."""
    return RetryPolicy(write_queue=context.sources.write_queue)


def _retained_versions(since_ms: int, pins: Iterable[Pin]) -> Retained:
    # A statement that has not loaded its version yet may read any that was current since it
    # registered.
    since = [pin.since_ms - CLOCK_MARGIN_MS for pin in pins if pin.version is None]
    return Retained(
        since_ms=min([since_ms, *since]),
        versions=frozenset(pin.version for pin in pins if pin.version is not None),
    )


def _add_others(
    needed: NeededFiles, snapshot: Snapshot, now_ms: int, context: ExecutionContext, view: CatalogView
) -> None:
    """Adds the files of this table that other tables retain: recorded clones in the catalog, and unrecorded clones,
    which are detected by their live files. A table that cannot be read retains nothing.

    Recorded clones are always loaded. Other tables are loaded if this server has not read them before, or if they have
    new files outside their folder since; for the rest, the log is listed from the last read version.
    """
    own_files = OwnFiles(context.sources.own_files)
    recorded = view.clones_of(snapshot.table_root)
    delta = context.sources.formats[DEFAULT_FORMAT]
    tables = view.find_relations(None, matches_all, matches_all)
    locations = (entry.location for entry in tables if isinstance(entry, TableEntry) and entry.format == DEFAULT_FORMAT)
    for location in dict.fromkeys((*recorded, *locations)):
        context.request.cancel.ensure_live()
        if location == snapshot.table_root:
            continue
        try:
            if location not in recorded and own_files.are_all(delta.folder(location)):
                continue
            if location in recorded and _add_foreign(needed, location, context.sources):
                continue
            pins = context.sources.pins.of(location)
            other = delta_snapshot(delta.load(location))
            if other.table_root == snapshot.table_root:
                continue
            own_files.look(other)
            if location in recorded or refers_to(other, snapshot.storage):
                since_ms = now_ms - other.config.get(DELETED_FILE_RETENTION)
                needed.add_other(other, _retained_versions(since_ms, pins))
        # A broken table elsewhere must not block VACUUM everywhere; its files are outside
        # of this table unless it is a recorded clone.
        except DeltaError as error:
            logger.warning("VACUUM takes no account of the table at %s, which cannot be read: %s", location, error)


def _add_foreign(needed: NeededFiles, location: str, sources: Sources) -> bool:
    """Adds the files that all versions of a table in another format retain; returns False if it does not exist."""
    formats = [each for each in sources.formats if each.name != DEFAULT_FORMAT]
    found = [(each, snapshot) for each in formats if (snapshot := each.find(location)) is not None]
    for own, snapshot in found:
        versions = [number for number in snapshot.history()["version"].to_pylist() if number is not None]
        for version in dict.fromkeys((snapshot.version, *versions)):
            for paths in file_paths(own.load(location, version).files.to_batches()):
                needed.add_paths(paths, snapshot.table_root)
    return bool(found)


def _answer(paths: Iterable[str]) -> Outcome:
    return Outcome(result=string_rows(("path",), [(path,) for path in paths]))
