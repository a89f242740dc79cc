"""Tables that are made with the rows of a query, or take the place of one that is there, carried out.

As with every write, files come first and one commit makes them part of a table; what fails before leaves all as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from catalog.catalog import Catalog
from catalog.changes import CreateTable
from engine.bind.bound import Outcome
from engine.delta.commit.staged_commit import CommitDescription
from engine.delta.commit.transaction import Committed, Transaction
from engine.delta.log.storage import open_storage
from engine.delta.spec.features import Operation
from engine.enforce.rules import enforce
from engine.errors.table_errors import naming
from engine.plans.ddl import CreateTableAsPlan, ReplaceTableAsPlan, ReplaceTablePlan
from engine.plans.reads import ReadPlan
from engine.plans.write_plan import WritePlan
from engine.runtime.results import empty_result
from engine.types.schema import StructType
from engine.write.insert import counted, with_file_metrics
from engine.write.query_columns import table_fields
from engine.write.staged_files import Writing, drop_told, new_files
from engine.write.table_ddl import commit_creation, stage_definition


def create_table_as(plan: CreateTableAsPlan, catalog: Catalog, writing: Writing) -> Outcome:
    """Files, then the log, then the name."""
    creation = plan.define(_columns_of(plan.source, writing))
    entry, definition, description = creation.entry, creation.definition, creation.description
    assert entry is not None and definition is not None and description is not None
    label, storage, now_ms = str(entry.name), open_storage(entry.location), writing.context.now_ms()
    config = definition.config(label)
    config.ensure_supported(Operation.APPEND)
    rows = enforce(WritePlan(table=label, config=config))
    try:
        with new_files(plan.source, rows, storage, writing) as new, naming(label):
            transaction = Transaction.create(storage, with_file_metrics(description, new), table=label)
            stage_definition(transaction, definition, now_ms)
            transaction.stage(*new.adds)
            committed = commit_creation(transaction, entry)
        catalog.change(CreateTable(replace(entry, created_ms=now_ms)))
    except creation.tolerated:
        return Outcome(result=empty_result())
    writing.after_commit(committed)
    return Outcome(result=counted(new.num_rows))


def replace_table(plan: ReplaceTablePlan, after_commit: Callable[[Committed], None]) -> Outcome:
    """Another definition and no files, as one version."""
    with naming(plan.table.label):
        committed = _replacing(plan, plan.description).commit()
    after_commit(committed)
    return Outcome(result=empty_result())


def replace_table_as(plan: ReplaceTableAsPlan, writing: Writing) -> Outcome:
    """Files, then another definition with them in the place of all others, as one version."""
    label, storage = plan.table.label, plan.table.snapshot.storage
    new_table = plan.define(_columns_of(plan.source, writing))
    config = new_table.definition.config(label)
    config.ensure_supported(Operation.APPEND)
    rows = enforce(WritePlan(table=label, config=config))
    with drop_told(plan.table), new_files(plan.source, rows, storage, writing) as new, naming(label):
        transaction = _replacing(new_table, with_file_metrics(new_table.description, new))
        transaction.stage(*new.adds)
        committed = transaction.commit()
    writing.after_commit(committed)
    return Outcome(result=counted(new.num_rows))


def _replacing(plan: ReplaceTablePlan, description: CommitDescription) -> Transaction:
    """Whoever changed the table meanwhile is not overwritten unseen: the commit depends on all that was there."""
    transaction = Transaction.on(plan.table.snapshot, description, table=plan.table.label)
    transaction.stage_removes(transaction.read_whole_table())
    transaction.define(plan.definition)
    return transaction


def _columns_of(source: ReadPlan, writing: Writing) -> StructType:
    """The columns of a query as those of a table."""
    return StructType(table_fields(writing.executor.columns_of(source, writing.context, writing.parameters)))
