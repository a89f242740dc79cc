"""Dropping tables and schemas: the name first, then the files, so that a crash leaves no name that leads nowhere."""

from __future__ import annotations

import logging
from collections.abc import Callable

from catalog.catalog import Catalog
from catalog.changes import CreateTable, ForgetClone
from catalog.entries import TableEntry
from catalog.errors import SqlError
from engine.bind.bound import Outcome
from engine.delta.log.storage import open_storage
from engine.delta.spec.log_errors import LogPathNotAllowed
from engine.delta.spec.paths import LOG_DIR
from engine.errors.definition_errors import TableNotRemovable
from engine.plans.ddl import DropSchemaPlan, DropTablePlan
from engine.runtime.results import empty_result

logger = logging.getLogger(__name__)


def drop_table(plan: DropTablePlan, catalog: Catalog, before_removal: Callable[[str], None]) -> Outcome:
    """The name, then the files of what had it when it went: another than when the statement was bound, perhaps."""
    if plan.name is None:
        return Outcome(result=empty_result())
    try:
        dropped = catalog.drop_table(plan.name)
    except plan.tolerated:
        return Outcome(result=empty_result())
    if isinstance(dropped, TableEntry):
        try:
            _remove_files(dropped, catalog, before_removal)
        except OSError as failure:
            # In the served folder it would be found again, as a table that nobody can drop.
            catalog.change(CreateTable(dropped))
            raise TableNotRemovable(str(dropped.name), dropped.location, failure.strerror or str(failure)) from failure
    return Outcome(result=empty_result())


def drop_schema(plan: DropSchemaPlan, catalog: Catalog, before_removal: Callable[[str], None]) -> Outcome:
    """The names, then the files."""
    try:
        dropped = catalog.drop_schema(plan.name, plan.cascade)
    except plan.tolerated:
        dropped = ()
    for entry in dropped:
        if isinstance(entry, TableEntry):
            try:
                _remove_files(entry, catalog, before_removal)
            except OSError:
                logger.warning("the files of the dropped table %s stay at %s", entry.name, entry.location)
    return Outcome(result=empty_result())


def _remove_files(entry: TableEntry, catalog: Catalog, before_removal: Callable[[str], None]) -> None:
    """Of a managed table without a name. Raises OSError if it can still be read; what else stays is in nobody's way.

    What links lead to outside of the table's folder is not removed.
    """
    if not entry.managed:
        return
    before_removal(entry.location)
    storage = open_storage(entry.location, allowed_roots=catalog.allowed_roots)
    try:
        storage.delete_tree()
        _forget_clone(entry.location, catalog)
    except LogPathNotAllowed:
        logger.warning("the files of the dropped table %s stay at %s", entry.name, entry.location)
    except OSError:
        if storage.list_names(LOG_DIR):
            raise
        logger.warning("files of the dropped table %s stay at %s", entry.name, entry.location)


def _forget_clone(location: str, catalog: Catalog) -> None:
    """A record that stays is in nobody's way: VACUUM finds no table there."""
    if location in catalog.view().state.clones:
        try:
            catalog.change(ForgetClone(location))
        except SqlError:
            logger.warning("the record of the removed clone at %s stays", location, exc_info=True)
