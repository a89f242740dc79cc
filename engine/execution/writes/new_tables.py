"""Creates tables, with or without a query's rows, and replaces existing ones.

As with every write, files are written first and one commit adds them to a table; an earlier failure changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from engine.binding.bound import Outcome, counted
from engine.errors.table_errors import name_table_in_errors
from engine.execution.writes.commit import report_removal
from engine.execution.writes.file_metrics import with_file_metrics
from engine.execution.writes.staged_files import new_files, report_drops, written_files
from engine.execution.writes.staged_write import StagedWrite
from engine.planning.plans.ddl import CreateTableAsPlan, CreateTablePlan, ReplaceTableAsPlan, ReplaceTablePlan
from engine.planning.semantics.idempotence import is_already_written, stage_number
from engine.runtime.results import empty_result
from engine.spark.execution_context import ExecutionContext
from engine.tables.formats import TableFormats
from engine.tables.operations import CommitDescription, with_metrics
from engine.tables.transaction import TableTransaction


def create_table(plan: CreateTablePlan, formats: TableFormats, now_ms: int) -> StagedWrite:
    """Creates the first version, then the name."""
    outcome = Outcome(result=empty_result())
    if plan.entry is None:
        return StagedWrite(outcome=outcome)
    label = str(plan.entry.name)
    entry = replace(plan.entry, created_ms=now_ms)
    if plan.definition is None:
        return StagedWrite(outcome=outcome, creates=entry)
    assert plan.description is not None
    with name_table_in_errors(label):
        transaction = formats[entry.format].create(entry.location, plan.definition, plan.description, now_ms)
    return StagedWrite(
        outcome=outcome, transaction=transaction, label=label, creates=entry, has_files=False, is_path=plan.is_path
    )


@contextmanager
def create_table_as(plan: CreateTableAsPlan, formats: TableFormats, context: ExecutionContext) -> Iterator[StagedWrite]:
    """Writes files, then the first version, then the name."""
    entry = plan.entry
    label = str(plan.entry.name)
    now_ms = context.request.now_ms()
    own = formats[entry.format]
    with name_table_in_errors(label):
        # A REST catalog assigns the location when the creation is staged; data files must
        # be written there.
        location = own.prepare_location(entry.location, plan.definition)
    written = written_files(own, own.folder(location), plan.source, plan.rows, context)
    with report_removal(entry), written as new, name_table_in_errors(label):
        transaction = own.create(location, plan.definition, with_file_metrics(plan.description, new), now_ms)
        transaction.add_files(new)
        stage_number(transaction, plan.idempotent_write, now_ms)
        yield StagedWrite(
            outcome=counted(new.num_rows, defines_table=True),
            transaction=transaction,
            label=label,
            creates=replace(entry, created_ms=now_ms),
            is_path=plan.is_path,
        )


def replace_table(plan: ReplaceTablePlan) -> StagedWrite:
    """Replaces the definition and removes all files, as one version."""
    return StagedWrite(
        outcome=Outcome(result=empty_result()),
        transaction=_begin_replacement(plan, plan.description),
        label=plan.table.label,
        policies=plan.policies,
    )


@contextmanager
def replace_table_as(plan: ReplaceTableAsPlan, context: ExecutionContext) -> Iterator[StagedWrite]:
    """Writes files, then replaces the definition and all other files, as one version."""
    table = plan.table
    if is_already_written(plan.idempotent_write, table.snapshot):
        yield StagedWrite(outcome=counted(0, defines_table=True))
        return
    with (
        report_drops(table),
        new_files(table, plan.source, plan.rows, context) as new,
        name_table_in_errors(table.label),
    ):
        transaction = _begin_replacement(plan, with_file_metrics(plan.description, new))
        transaction.add_files(new)
        stage_number(transaction, plan.idempotent_write, context.request.now_ms())
        yield StagedWrite(
            outcome=counted(new.num_rows, defines_table=True),
            transaction=transaction,
            label=table.label,
            policies=plan.policies,
        )


def _begin_replacement(plan: ReplaceTablePlan | ReplaceTableAsPlan, description: CommitDescription) -> TableTransaction:
    """Returns the transaction; it depends on the whole table, so that no concurrent change is silently overwritten."""
    with name_table_in_errors(plan.table.label):
        snapshot = plan.table.snapshot
        gone = {"numRemovedFiles": str(snapshot.num_files), "numRemovedBytes": str(snapshot.size_bytes)}
        transaction = plan.table.own.begin(snapshot, with_metrics(description, **gone), plan.table.label)
        # The replaced version's files stay for time travel until VACUUM removes them.
        transaction.remove_all_files()
        transaction.define(plan.definition)
    return transaction
