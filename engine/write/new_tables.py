"""Tables that are made, with or without the rows of a query, or take the place of one that exists.

As with every write, files come first and one commit makes them part of a table; what fails before leaves all as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from engine.bind.bound import Outcome
from engine.delta.commit.transaction import Transaction
from engine.delta.definition.table_draft import Definition
from engine.delta.delta_format import delta_snapshot
from engine.delta.log.storage import open_storage
from engine.errors.table_errors import naming
from engine.exec.run import Run
from engine.plans.ddl import CreateTableAsPlan, CreateTablePlan, ReplaceTableAsPlan, ReplaceTablePlan
from engine.runtime.results import empty_result
from engine.table.operations import CommitDescription, with_metrics
from engine.write.creation import removal_told
from engine.write.insert import counted, with_file_metrics
from engine.write.numbered_writes import stage_number, was_written
from engine.write.staged_files import drop_told, new_files
from engine.write.staged_write import StagedWrite


def create_table(plan: CreateTablePlan, allowed_roots: Sequence[str], now_ms: int) -> StagedWrite:
    """The log, then the name."""
    outcome = Outcome(result=empty_result())
    if plan.entry is None:
        return StagedWrite(outcome=outcome)
    label, entry = str(plan.entry.name), replace(plan.entry, created_ms=now_ms)
    if plan.definition is None:
        return StagedWrite(outcome=outcome, creates=entry)
    assert plan.description is not None
    with naming(label):
        storage = open_storage(plan.entry.location, allowed_roots=allowed_roots)
        transaction = Transaction.create(storage, plan.description)
        _define(transaction, plan.definition, now_ms)
    return StagedWrite(outcome=outcome, transaction=transaction, label=label, creates=entry, is_path=plan.is_path)


@contextmanager
def create_table_as(plan: CreateTableAsPlan, allowed_roots: Sequence[str], run: Run) -> Iterator[StagedWrite]:
    """Files, then the log, then the name."""
    label, now_ms = str(plan.entry.name), run.context.now_ms()
    storage = open_storage(plan.entry.location, allowed_roots=allowed_roots)
    with removal_told(plan.entry), new_files(plan.source, plan.rows, storage, run) as new, naming(label):
        transaction = Transaction.create(storage, with_file_metrics(plan.description, new), table=label)
        _define(transaction, plan.definition, now_ms)
        transaction.stage(*new.adds)
        stage_number(transaction, plan.numbered, now_ms)
        yield StagedWrite(
            outcome=counted(new.num_rows),
            transaction=transaction,
            label=label,
            creates=replace(plan.entry, created_ms=now_ms),
            is_path=plan.is_path,
        )


def replace_table(plan: ReplaceTablePlan) -> StagedWrite:
    """Another definition and no files, as one version."""
    return StagedWrite(
        outcome=Outcome(result=empty_result()),
        transaction=_replacing(plan, plan.description),
        label=plan.table.label,
    )


@contextmanager
def replace_table_as(plan: ReplaceTableAsPlan, run: Run) -> Iterator[StagedWrite]:
    """Files, then another definition with them in the place of all others, as one version."""
    table = plan.table
    if was_written(plan.numbered, delta_snapshot(table.snapshot)):
        yield StagedWrite(outcome=counted(0))
        return
    with (
        drop_told(table),
        new_files(plan.source, plan.rows, delta_snapshot(table.snapshot).storage, run) as new,
        naming(table.label),
    ):
        transaction = _replacing(plan, with_file_metrics(plan.description, new))
        transaction.stage(*new.adds)
        stage_number(transaction, plan.numbered, run.context.now_ms())
        yield StagedWrite(outcome=counted(new.num_rows), transaction=transaction, label=table.label)


def _define(transaction: Transaction, definition: Definition, now_ms: int) -> None:
    """The definition of a table that is made now."""
    transaction.define(replace(definition, metadata=replace(definition.metadata, created_time=now_ms)))


def _replacing(plan: ReplaceTablePlan | ReplaceTableAsPlan, description: CommitDescription) -> Transaction:
    """The commit depends on all that the table had, so that nobody's change is overwritten unseen."""
    with naming(plan.table.label):
        snapshot = delta_snapshot(plan.table.snapshot)
        gone = {"numRemovedFiles": str(snapshot.num_files), "numRemovedBytes": str(snapshot.size_bytes)}
        transaction = Transaction.on(snapshot, with_metrics(description, **gone), table=plan.table.label)
        transaction.stage_removes(transaction.read_whole_table())
        transaction.define(plan.definition)
    return transaction
