"""Drops tables and schemas: the name first, then the files, so that a crash leaves no dangling name.

`engine.storage.unlisted_folders` describes the state after a crash. If files cannot be removed although the
folder could be marked (a disk that became read-only since), the table's name is restored: a readable table can be
dropped.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from catalog.catalog import Catalog
from catalog.changes import CreateSchema, CreateTable, ForgetClone
from catalog.conditions import LogPathNotAllowed, SchemaAlreadyExists, SchemaNotRemovable, TableNotRemovable
from catalog.entries import Relation, SchemaEntry, TableEntry, VolumeEntry
from catalog.errors import SqlError
from engine.binding.bound import Outcome
from engine.planning.plans.ddl import DropSchemaPlan, DropTablePlan
from engine.runtime.results import empty_result
from engine.statements.volumes.execution import remove_volume_files
from engine.storage.storage import VERSION_FOLDERS, open_storage
from engine.storage.unlisted_folders import mark_dropped, unlisted_folders, unmark

logger = logging.getLogger(__name__)


def drop_table(
    plan: DropTablePlan, catalog: Catalog, before_removal: Callable[[str], None], transaction_id: str | None = None
) -> Outcome:
    """Drops the name, then the files of the table that had it at that time, which may differ from the bound one."""
    if plan.entry is None:
        return Outcome(result=empty_result())
    expected = _managed_tables([plan.entry])
    try:
        with unlisted_folders(expected, catalog):
            dropped = catalog.drop_table(
                plan.entry.name, plan.condition, purge=plan.purge, transaction_id=transaction_id
            )
    except plan.tolerated:
        return Outcome(result=empty_result())
    for entry, failure in _remove([] if dropped is None else [dropped], expected, catalog, before_removal):
        _restore(entry, catalog)
        raise TableNotRemovable(str(entry.name), entry.location, failure.strerror or str(failure)) from failure
    return Outcome(result=empty_result())


def drop_schema(
    plan: DropSchemaPlan, catalog: Catalog, before_removal: Callable[[str], None], transaction_id: str | None = None
) -> Outcome:
    """Drops the names, then the files. Tables whose files cannot be removed keep their names, and the schema then
    remains.
    """
    state = catalog.view().state
    expected = _managed_tables(state.relations_of(plan.name)) if plan.cascade else []
    try:
        with unlisted_folders(expected, catalog):
            dropped = catalog.drop_schema(plan.name, plan.cascade, plan.condition, transaction_id)
    except plan.tolerated:
        return Outcome(result=empty_result())
    for entry in dropped:
        if isinstance(entry, VolumeEntry):
            remove_volume_files(entry, catalog)
    failures = _remove(dropped, expected, catalog, before_removal)
    if failures:
        schema = state.schemas.get(plan.name, SchemaEntry(name=plan.name))
        try:
            catalog.change(CreateSchema(schema))
        except SchemaAlreadyExists:
            pass  # as a folder, which contains these tables, or by another session since
        for entry, _ in failures:
            _restore(entry, catalog)
        tables = ", ".join(f"{entry.name} at {entry.location}" for entry, _ in failures)
        failure = failures[0][1]
        raise SchemaNotRemovable(str(plan.name), tables, failure.strerror or str(failure)) from failure
    return Outcome(result=empty_result())


def _managed_tables(relations: Iterable[Relation | VolumeEntry]) -> list[TableEntry]:
    """Returns the tables whose files are removed with their names."""
    return [entry for entry in relations if isinstance(entry, TableEntry) and entry.managed]


def _remove(
    dropped: Iterable[Relation | VolumeEntry],
    expected: list[TableEntry],
    catalog: Catalog,
    before_removal: Callable[[str], None],
) -> list[tuple[TableEntry, OSError]]:
    """Removes the files of managed tables without a name; returns the still readable ones with the errors."""
    went = _managed_tables(dropped)
    at = {entry.location for entry in went}
    for entry in expected:
        if entry.location not in at:
            unmark(entry, catalog)  # it has another name by now, or was dropped by another statement
    locations = {entry.location for entry in expected}
    failures = []
    for entry in went:
        try:
            if entry.location not in locations:
                mark_dropped(entry, catalog)
            _remove_files(entry, catalog, before_removal)
        except TableNotRemovable as failure:
            failures.append((entry, OSError(failure.reason)))
        except OSError as failure:
            failures.append((entry, failure))
    return failures


def _restore(entry: TableEntry, catalog: Catalog) -> None:
    """Restores the entry for a table whose files could not be removed."""
    catalog.change(CreateTable(entry))
    unmark(entry, catalog)


def _remove_files(entry: TableEntry, catalog: Catalog, before_removal: Callable[[str], None]) -> None:
    """Removes a managed table's files after its name. Raises OSError if the table is still readable; other leftovers
    are harmless.

    Symbolic links' targets outside the table's folder are not removed.
    """
    before_removal(entry.location)
    storage = open_storage(entry.location, allowed_roots=catalog.allowed_roots)
    try:
        storage.delete_tree()
        _forget_clone(entry.location, catalog)
    except LogPathNotAllowed:
        logger.warning("the files of the dropped table %s stay at %s", entry.name, entry.location)
    except OSError:
        if any(map(storage.list_names, VERSION_FOLDERS)):
            raise
        logger.warning("files of the dropped table %s stay at %s", entry.name, entry.location)


def _forget_clone(location: str, catalog: Catalog) -> None:
    """Removes the clone record; a leftover record is harmless, because VACUUM finds no table there."""
    if location in catalog.view().state.clones:
        try:
            catalog.change(ForgetClone(location))
        except SqlError:
            logger.warning("the record of the removed clone at %s stays", location, exc_info=True)
