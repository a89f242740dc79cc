"""Making and dropping tables, carried out: the log and the catalog, in the order that a crash may cut anywhere."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import replace

from catalog.catalog import Catalog
from catalog.changes import CreateTable, DropTable
from catalog.entries import TableEntry
from catalog.errors import TableAlreadyExists
from engine.bind.bound import Outcome
from engine.delta.commit.conflict_errors import ConcurrentModification
from engine.delta.commit.transaction import Committed, Transaction
from engine.delta.definition.table_draft import Definition
from engine.delta.log.storage import open_storage
from engine.errors.table_errors import naming
from engine.plans.ddl import CreateTablePlan, DropSchemaPlan, DropTablePlan
from engine.runtime.results import empty_result

logger = logging.getLogger(__name__)


def create_table(plan: CreateTablePlan, catalog: Catalog, now_ms: int) -> Outcome:
    """The log, then the name."""
    if plan.entry is None:
        return Outcome(result=empty_result())
    try:
        if plan.definition is not None:
            assert plan.description is not None
            with naming(str(plan.entry.name)):
                transaction = Transaction.create(open_storage(plan.entry.location), plan.description)
                stage_definition(transaction, plan.definition, now_ms)
                commit_creation(transaction, plan.entry)
        catalog.change(CreateTable(replace(plan.entry, created_ms=now_ms)))
    except plan.tolerated:
        pass
    return Outcome(result=empty_result())


def stage_definition(transaction: Transaction, definition: Definition, now_ms: int) -> None:
    """The definition of a table that is made now."""
    transaction.define(replace(definition, metadata=replace(definition.metadata, created_time=now_ms)))


def commit_creation(transaction: Transaction, entry: TableEntry) -> Committed:
    """Version 0. Raises `TableAlreadyExists` if another writer made it meanwhile."""
    try:
        return transaction.commit()
    except ConcurrentModification as error:
        raise TableAlreadyExists(str(entry.name)) from error


def drop_table(plan: DropTablePlan, catalog: Catalog, before_removal: Callable[[str], None]) -> Outcome:
    """The name, then the files."""
    if plan.entry is not None:
        catalog.change(DropTable(plan.entry.name))
        _remove_files(plan.entry, before_removal)
    return Outcome(result=empty_result())


def drop_schema(plan: DropSchemaPlan, catalog: Catalog, before_removal: Callable[[str], None]) -> Outcome:
    """The names, then the files."""
    try:
        dropped = catalog.drop_schema(plan.name, plan.cascade)
    except plan.tolerated:
        dropped = ()
    for entry in dropped:
        if isinstance(entry, TableEntry):
            _remove_files(entry, before_removal)
    return Outcome(result=empty_result())


def _remove_files(entry: TableEntry, before_removal: Callable[[str], None]) -> None:
    """Of a managed table without a name; files that cannot be removed are in nobody's way, so that is no failure."""
    if entry.managed:
        before_removal(entry.location)
        try:
            open_storage(entry.location).delete_tree()
        except OSError:
            logger.warning("the files of the dropped table %s stay at %s", entry.name, entry.location)
