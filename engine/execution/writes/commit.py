"""Commits staged writes: a table version, or a new table's first version and its name; then the follow-up work.

Concurrent statements may take a new table's name, or drop it, between the two steps, and another server may be removing
a table with the same name from the same directory. So the log's writer checks before and after the name is recorded: a
table that was removed in between is reported as dropped, and a log whose name could not be recorded is removed, so that
no table remains that is readable but cannot be dropped. If the removal may have failed, the outcome is unknown, and
data files stay. A table that is converted from another format is checked once more after the log was written, because
writers of that format look for the log after their commits. For killed servers there is a marker file
(`unlisted_folders.py`).

On an object store each check is a request, and a DROP does not touch objects that are put into the directory after the
marker (`Storage.delete_tree`). So with a new marker the checks are skipped, except for data files, which precede it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace

from catalog.catalog import Catalog
from catalog.changes import CreateTable, DropTable, RecordClone, SetFormat
from catalog.conditions import (
    CatalogOutcomeUnknown,
    CommitOutcomeUnknown,
    ConcurrentDrop,
    ConcurrentModification,
    ConvertedTableChanged,
    TableAlreadyExists,
    TableNotFound,
)
from catalog.entries import TableEntry
from catalog.errors import SqlError
from catalog.rest.names import is_rest, without_place
from catalog.roots import is_local
from catalog.store.commit_guard import ensure_may_commit
from catalog.store.files import LOG_FOLDER, is_version
from engine.binding.bound import BoundTable, Outcome
from engine.concurrency.retry import RetryPolicy
from engine.errors.table_errors import name_table_in_errors
from engine.execution.writes.staged_write import StagedWrite
from engine.storage.storage import VERSION_FOLDERS, open_storage
from engine.storage.unlisted_folders import mark_new, unmark
from engine.tables.transaction import AlreadyCommitted, TableCommit, TableTransaction


def commit(staged: StagedWrite, policy: RetryPolicy, catalog: Catalog) -> TableCommit | None:
    """Returns the new version, with its name if it created a table; None if there is no log to write.

    Raises the errors of `TableTransaction.commit` and `engine.execution.writes.commit`.
    """
    ensure_may_commit()  # also for a catalog that commits on request
    if staged.clone is not None:
        # Recorded before the commit: VACUUM of the source looks for clones, so a shallow
        # clone's files must be protected from the moment that its log names them.
        catalog.change(RecordClone(staged.clone))
    if staged.creates is not None:
        return commit_creation(staged, staged.creates, policy, catalog)
    if staged.transaction is None:
        return None
    with name_table_in_errors(staged.label):
        return _commit_with_policies(staged, staged.transaction, policy, catalog)


def _commit_with_policies(
    staged: StagedWrite, transaction: TableTransaction, policy: RetryPolicy, catalog: Catalog
) -> TableCommit:
    policies = staged.policies
    if policies.additions or policies.replacements:
        policy.cancel.seal()
    for change in policies.additions:
        catalog.change(change, policies.condition)
    committed = transaction.commit(policy)
    for change in policies.replacements:
        catalog.change(change, policies.condition)
    return committed


def follow_up(
    staged: StagedWrite, committed: TableCommit | None, after_commit: Callable[[TableCommit], None]
) -> Outcome:
    """Passes the version to log maintenance; returns the statement's result."""
    if committed is not None:
        after_commit(committed)
    return staged.outcome


logger = logging.getLogger(__name__)


def commit_creation(
    staged: StagedWrite, entry: TableEntry, policy: RetryPolicy, catalog: Catalog
) -> TableCommit | None:
    """Raises `TableAlreadyExists` if another writer was faster, `ConcurrentDrop`, and the errors of both steps.

    After any error except an unknown outcome, neither log nor name exists.
    """
    if staged.transaction is None:
        # From here on the catalog decides. A cancelled statement could not tell whether the
        # name was recorded, so it completes instead.
        policy.cancel.seal()
        if staged.converts is None:
            catalog.change(CreateTable(entry))
        else:
            _finish(entry, staged.converts, catalog, has_name=not staged.is_path)
        return None
    if not is_rest(entry.location):
        # Checked again although binding did it: an overlapping table may have been created
        # while the query ran.
        catalog.known_view().ensure_location(entry.location)
    with _mark_new_folder(entry, staged, catalog) as is_safe:
        return _log_and_name(staged.transaction, entry, staged, policy, catalog, is_safe=is_safe)


@contextmanager
def _mark_new_folder(entry: TableEntry, staged: StagedWrite, catalog: Catalog) -> Iterator[bool]:
    """Yields whether no DROP removes objects that are put into the directory from now on, until the table has a name.

    A CREATE that loses the directory to a concurrent one leaves the marker to it.
    """
    if not entry.managed or staged.is_path or staged.converts:  # a directory with a marker may be removed
        yield False
        return
    is_new = mark_new(entry, catalog)
    try:
        # On a local disk DROP renames or removes the whole directory, so a file that is put
        # later is removed with it.
        yield is_new and not is_local(entry.location)
    except CatalogOutcomeUnknown:
        raise
    except BaseException:
        with suppress(SqlError, OSError):
            # The marker hides a log without a name. It stays exactly if such a log may
            # exist.
            if catalog.view().recorded_at(entry.location) or not _has_log(entry, catalog):
                unmark(entry, catalog)
        raise
    unmark(entry, catalog)


def _has_log(entry: TableEntry, catalog: Catalog) -> bool:
    storage = open_storage(entry.location, allowed_roots=catalog.allowed_roots)
    return any(map(storage.list_names, VERSION_FOLDERS))


def _log_and_name(
    transaction: TableTransaction,
    entry: TableEntry,
    staged: StagedWrite,
    policy: RetryPolicy,
    catalog: Catalog,
    *,
    is_safe: bool,
) -> TableCommit:
    try:
        committed = _commit(transaction, entry, policy)
    except AlreadyCommitted:
        # The process that wrote the log may have ended before it recorded the name.
        if not staged.is_path and not _is_named(entry, catalog):
            _name(entry, staged.converts, catalog)
        raise
    try:
        if staged.has_files or not is_safe:
            _ensure_whole(committed, entry, with_files=True)
        if staged.converts is not None:
            _ensure_unchanged(staged.converts)
        if not staged.is_path:
            _ensure_named(entry, staged.converts, catalog)
    except CatalogOutcomeUnknown:
        raise
    except BaseException as error:
        if not _is_taken_back(committed, entry, catalog):
            raise _unknown(entry, error) from error
        raise
    if not staged.is_path and not is_safe:
        try:
            _ensure_whole(committed, entry, with_files=False)
        except ConcurrentDrop:
            _forget(catalog, entry)
            raise
        except (SqlError, OSError) as error:
            raise _unknown(entry, error) from error
    return committed


def _unknown(entry: TableEntry, error: BaseException) -> CommitOutcomeUnknown:
    """Returns the error for an unknown outcome: the table may exist, so its files stay."""
    return CommitOutcomeUnknown(str(entry.name), 0, "none", f"{type(error).__name__}: {error}")


def _commit(transaction: TableTransaction, entry: TableEntry, policy: RetryPolicy) -> TableCommit:
    try:
        with name_table_in_errors(str(entry.name)):
            return transaction.commit(policy)
    except ConcurrentDrop:
        raise
    # Version 0 exists: another statement created the table. The user wrote CREATE, so the
    # error is about the name and not about a conflict in a log.
    except ConcurrentModification as error:
        raise TableAlreadyExists(str(entry.name)) from error


@contextmanager
def report_removal(entry: TableEntry) -> Iterator[None]:
    """Translates errors for files that a concurrent DROP removed with the directory: they are not internal errors."""
    try:
        yield
    except FileNotFoundError as failure:
        raise ConcurrentDrop(str(entry.name)) from failure


def _ensure_whole(committed: TableCommit, entry: TableEntry, *, with_files: bool) -> None:
    if not committed.is_whole(with_files=with_files):
        raise ConcurrentDrop(str(entry.name))


def _name(entry: TableEntry, converted: BoundTable | None, catalog: Catalog) -> None:
    """Records the name. Raises `ConvertedTableChanged` if the converted table's name now refers to another table."""
    if converted is None:
        catalog.change(CreateTable(entry))
        return
    try:
        # Conditional on the former entry, so that a table that was dropped and recreated
        # under the name is not redirected to this log.
        catalog.change(SetFormat(replace(entry, format=converted.entry.format), entry.format))
    except TableNotFound as error:
        raise ConvertedTableChanged(converted.label) from error


def _ensure_named(entry: TableEntry, converted: BoundTable | None, catalog: Catalog) -> None:
    """Records the name like `_name`, unless another process that runs the same statement has recorded it."""
    try:
        _name(entry, converted, catalog)
    except TableAlreadyExists:
        if not _is_named(entry, catalog):
            raise


def _is_named(entry: TableEntry, catalog: Catalog) -> bool:
    """Returns whether the name refers to the table at the location of `entry`."""
    recorded = catalog.view().state.relations.get(entry.name)
    place = (without_place(entry.location), entry.format)
    return isinstance(recorded, TableEntry) and (without_place(recorded.location), recorded.format) == place


def _finish(entry: TableEntry, converted: BoundTable, catalog: Catalog, *, has_name: bool) -> None:
    """Records the name for a log that another statement made, and removes it if the log was removed in between."""
    _ensure_unchanged(converted)
    if not has_name:
        return
    _name(entry, converted, catalog)
    storage = open_storage(entry.location, allowed_roots=catalog.allowed_roots)
    if not any(map(is_version, storage.list_names(LOG_FOLDER))):
        catalog.change(SetFormat(entry, converted.entry.format))
        raise ConvertedTableChanged(converted.label)


def _ensure_unchanged(converted: BoundTable) -> None:
    """Checks that nobody wrote the converted table until the log existed. Raises `ConvertedTableChanged`."""
    # The source's writers do not know about the Delta log. A commit of theirs after our
    # snapshot would be missing from it without an error.
    if converted.own.load(converted.entry.location).stamp != converted.snapshot.stamp:
        raise ConvertedTableChanged(converted.label)


def _is_taken_back(committed: TableCommit, entry: TableEntry, catalog: Catalog) -> bool:
    """Removes the log unless it has been recorded or has further commits; returns whether it is certainly removed, so
    that its data files may be removed with the statement.
    """
    try:
        location = without_place(entry.location)
        recorded = catalog.view().state.relations.values()
        # Another statement may have recorded the same folder after our commit; then the log
        # is in use and stays.
        place = (location, entry.format)
        if not any(isinstance(each, TableEntry) and (each.location, each.format) == place for each in recorded):
            committed.take_back()
        if not committed.is_whole(with_files=False):
            return True
    except (SqlError, OSError):
        pass
    logger.warning("the table without a name stays at %s", entry.location)
    return False


def _forget(catalog: Catalog, entry: TableEntry) -> None:
    """Removes the name for a table that no longer exists."""
    recorded = catalog.view().state.relations.get(entry.name)
    if isinstance(recorded, TableEntry) and recorded.location == entry.location:
        with suppress(SqlError):
            catalog.change(DropTable(entry.name))
