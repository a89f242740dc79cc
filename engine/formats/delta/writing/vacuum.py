"""VACUUM: files that nobody needs any more are removed, between two commits that only say so.

Needed is what the table retains, what statements of this server that run now use, and what tables of the catalog that
refer to these files retain by their own logs (shallow clones). Two facts make that complete while others go on:

- a statement is known before it loads a version. What is not known here began after the time from which the retention
  is counted back: it reads a version that was current after that time, and writes files that are younger, by the clock
  of the storage nearly so (`find_unused`);
- VACUUM waits in this server for statements that bring back what an older version had (RESTORE, and a shallow CLONE of
  such a version), and they for it, so that no file goes after it was seen.

That time is therefore taken first, then the uses are asked for, then the newest version is loaded. Cancelling stops the
removal between two batches; the second commit then says that it failed. If the server is killed, that commit is
missing, and nothing else.
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
from engine.errors.table_errors import naming
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

_FEW = 1_000
"""Files that are removed at once, so that the second commit follows shortly on the first."""

_JUST_S = 1.0
"""Seconds for which a look at the log counts as one just before a commit."""


@contextmanager
def vacuum(plan: VacuumPlan, context: ExecutionContext) -> Iterator[StagedWrite]:
    """The commit that ends it; of a dry run, the files alone."""
    table = plan.table
    lock = context.sources.locks.hold(file_lock(table.snapshot.table_root), context.request.cancel)
    with lock as has_waited, naming(table.label):
        now_ms = context.request.now_ms()  # before anything is looked at: what begins later is younger
        pins = context.sources.pins.of(table.entry.location)
        snapshot = delta_snapshot(table.snapshot).advance_once()
        seen_s = time.monotonic()
        root = snapshot.storage.list_folder("")
        _ensure_own_folder(snapshot, root, table.label)
        retained = _retained(now_ms - plan.retention_ms, pins)
        needed = NeededFiles(snapshot.storage)
        needed.add_own(snapshot, retained)
        own = needed.count
        view = (
            context.sources.catalog.view() if has_waited else context.sources.catalog.known_view()
        )  # as it was bound by just now
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
        if done is not None and needed.count == own:  # a file that only others need has to be found again
            note_vacuum(snapshot.storage, done, snapshot.list_log())
        end = with_metrics(plan.end, numDeletedFiles=count, numVacuumedDirectories=unused.num_folders)
        end = replace(end, parameters={"status": "COMPLETED"})
        yield StagedWrite(
            outcome=_answer([table.entry.location if plan.tells_place else table.label]),
            transaction=Transaction.on(snapshot, end, table=table.label).after(begun).only_telling(),
            label=table.label,
        )


def _ensure_own_folder(snapshot: Snapshot, root: FolderListing, label: str) -> None:
    """Raises `FolderOfTwoTables` for a converted table, whose folder is that of the table that it was made of too."""
    formats = (snapshot.metadata.configuration.get(_UNIFORM) or "").split(",")
    is_its_own = any(name.strip().lower() == "iceberg" for name in formats)  # which follows its versions
    may_have = snapshot.storage.LISTS_WHOLE_FOLDERS or any(each.name == METADATA_FOLDER for each in root.folders)
    if not is_its_own and may_have and any(map(is_metadata, snapshot.storage.list_names(METADATA_FOLDER))):
        raise FolderOfTwoTables(label, "VACUUM", f"iceberg.`{snapshot.table_root}`", f"its folder {METADATA_FOLDER}")


def _begin(
    plan: VacuumPlan, snapshot: Snapshot, unused: UnusedFiles, context: ExecutionContext, seen_s: float
) -> Committed | None:
    """Commits that files will be removed; None on a full disk, so that VACUUM can make the room that commits need.

    Whether the table is still there is left to the second commit, where the log was seen just now (`seen_s`, on the
    monotonic clock) and few files are removed in between.
    """
    num_files = len(unused.files) + len(unused.empty_folders)
    begin = with_metrics(plan.begin, numFilesToDelete=num_files, sizeOfDataToDelete=unused.num_bytes)
    transaction = Transaction.on(snapshot, begin, table=plan.table.label)
    if num_files <= _FEW and time.monotonic() - seen_s < _JUST_S:
        transaction = transaction.only_telling(is_told_again=True)
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
    """Return the retry policy of commits that are made although the statement is cancelled."""
    return RetryPolicy(turns=context.sources.turns)


def _retained(since_ms: int, pins: Iterable[Pin]) -> Retained:
    since = [pin.since_ms - CLOCK_MARGIN_MS for pin in pins if pin.version is None]
    return Retained(
        since_ms=min([since_ms, *since]),
        versions=frozenset(pin.version for pin in pins if pin.version is not None),
    )


def _add_others(
    needed: NeededFiles, snapshot: Snapshot, now_ms: int, context: ExecutionContext, view: CatalogView
) -> None:
    """What other tables retain of this one's files: the clones that the catalog has recorded, and tables that others
    made so, which are known by their live files. A table that cannot be read retains nothing.

    Recorded clones are always loaded. Of the other tables those are that this server has not looked at before, or that
    have new files outside of their folder since; of the rest the log is listed from where it was looked at.
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
                needed.add_other(other, _retained(since_ms, pins))
        except DeltaError as error:
            logger.warning("VACUUM takes no account of the table at %s, which cannot be read: %s", location, error)


def _add_foreign(needed: NeededFiles, location: str, sources: Sources) -> bool:
    """What all versions of a table of another format retain; False where there is none."""
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
