"""INSERT in all its forms, and TRUNCATE: rows become files, files become a version.

Any failure before the commit leaves the table unchanged (`engine.execution.writes.staged_files`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import assert_never

from engine.binding.bound import Outcome, counted
from engine.enforcement.identity import continue_identity_values, moved_high_water_marks
from engine.errors.table_errors import name_table_in_errors
from engine.execution.writes.change_files import DELETED, INSERTED, Change, change_files
from engine.execution.writes.dml.related_rows import SourceRows, related_rows
from engine.execution.writes.dml.replaced_partitions import matching_partitions, partitions_of, without_partitions
from engine.execution.writes.file_metrics import with_file_metrics
from engine.execution.writes.matched_rows import find_rows
from engine.execution.writes.replaced_rows import RemainingRows, counting_rows, equal_to, removal_tells, without_rows
from engine.execution.writes.staged_files import new_files, report_drops
from engine.execution.writes.staged_write import StagedWrite
from engine.planning.plans.reads import TargetRead
from engine.planning.plans.writes import (
    InsertPlan,
    KeepAll,
    ReplaceAll,
    ReplaceEqual,
    ReplaceMatching,
    ReplaceRelated,
    ReplaceRows,
    ReplaceTouched,
    TruncatePlan,
)
from engine.planning.semantics.idempotence import is_already_written, stage_number
from engine.runtime.results import empty_result
from engine.runtime.transaction_block import AppendedFiles
from engine.spark.execution_context import ExecutionContext
from engine.tables.operations import with_metrics
from engine.tables.transaction import NewFiles, TableTransaction


@contextmanager
def insert(plan: InsertPlan, context: ExecutionContext) -> Iterator[StagedWrite]:
    """Inserts rows, as one version; no version if no row is added or removed."""
    table = plan.table
    if is_already_written(plan.idempotent_write, table.snapshot):
        yield StagedWrite(outcome=counted(0))
        return
    if plan.only_if_absent and _is_there(plan, context):
        yield StagedWrite(outcome=counted(0))
        return
    with (
        report_drops(table),
        _source_rows(plan, context) as source,
        _write_parts(plan, source, context) as new,
        _remaining_rows(plan, new, source, context) as remaining,
        name_table_in_errors(table.label),
    ):
        transaction = _transaction(plan, new, remaining)
        stage_number(transaction, plan.idempotent_write, context.request.now_ms())
        yield StagedWrite(
            outcome=counted(new.num_rows),
            transaction=None if transaction.is_empty else transaction,
            label=table.label,
            appended=_appended(plan, new, remaining),
        )


def _appended(plan: InsertPlan, new: NewFiles, remaining: RemainingRows | None) -> AppendedFiles | None:
    """Returns the files if they are all that the statement changes."""
    identities = any(part.identities for part in (plan.rows, *(more.rows for more in plan.more)))
    others = (remaining, plan.definition, plan.idempotent_write)
    if identities or plan.reads_table or any(each is not None for each in others):
        return None
    return AppendedFiles(storage=plan.table.snapshot.storage, new=new)


def _transaction(plan: InsertPlan, new: NewFiles, remaining: RemainingRows | None) -> TableTransaction:
    """Returns the transaction with all actions and dependencies."""
    table, rows = plan.table, plan.rows
    identities = {each.name: each for part in (rows, *(more.rows for more in plan.more)) for each in part.identities}
    high_water_marks = moved_high_water_marks(tuple(identities.values()), new.min_max_values)
    description = with_file_metrics(plan.description, new, remaining)
    if high_water_marks and plan.definition is None:
        description = replace(description, only_moves_high_water_marks=True)
    if remaining is not None and remaining.keeps_rows:
        description = replace(description, keeps_row_ids=True)
    transaction = table.own.begin(table.snapshot, description, table.label)
    if high_water_marks or plan.definition is not None:
        transaction.define(plan.definition or table.snapshot.definition, high_water_marks)
    if plan.reads_table:
        transaction.read_whole_table()
    if remaining is not None:
        remaining.stage_in(transaction, rows_alone=not plan.reads_table)
    transaction.add_files(new)
    return transaction


@contextmanager
def _write_parts(plan: InsertPlan, source: SourceRows, context: ExecutionContext) -> Iterator[NewFiles]:
    """Writes the files for all parts; identity values continue from one part to the next."""
    table, context = plan.table, replace(context, parameters=source.parameters)
    with ExitStack() as staged:
        new = staged.enter_context(new_files(table, source.read, plan.rows, context))
        for part in plan.more:
            rows = continue_identity_values(part.rows, new.min_max_values)
            new = new.with_others(staged.enter_context(new_files(table, part.source, rows, context)))
        yield new


@contextmanager
def truncate(plan: TruncatePlan) -> Iterator[StagedWrite]:
    """Removes all files. The row count comes from the statistics, None if a file has none."""
    snapshot = plan.table.snapshot
    with name_table_in_errors(plan.table.label):
        metrics = {"numRemovedFiles": str(snapshot.num_files), "numRemovedBytes": str(snapshot.size_bytes)}
        transaction = plan.table.own.begin(snapshot, with_metrics(plan.description, **metrics), plan.table.label)
        transaction.stage_removes(transaction.read_whole_table())
        yield StagedWrite(outcome=Outcome(result=empty_result()), transaction=transaction, label=plan.table.label)


# --- Removed files ---------------------------------------------------------------------------------------------------


@contextmanager
def _source_rows(plan: InsertPlan, context: ExecutionContext) -> Iterator[SourceRows]:
    """Yields the query, and the rows that its rows replace, if these determine them."""
    table = plan.table
    match plan.replacement:
        case ReplaceRelated() as related:
            with related_rows(plan, related, context) as source:
                yield source
        case ReplaceEqual(columns=columns):
            yield SourceRows(
                read=plan.source, parameters=context.parameters, deleted=lambda new: equal_to(table, columns, new)
            )
        case KeepAll() | ReplaceAll() | ReplaceMatching() | ReplaceTouched() | ReplaceRows():
            yield SourceRows(read=plan.source, parameters=context.parameters)
        case _:
            assert_never(plan.replacement)


@contextmanager
def _remaining_rows(
    plan: InsertPlan, new: NewFiles, source: SourceRows, context: ExecutionContext
) -> Iterator[RemainingRows | None]:
    """Yields the files and rows that the new files replace; None for an append."""
    match plan.replacement:
        case KeepAll():
            yield None
        case ReplaceAll():
            yield RemainingRows(removed=plan.table.snapshot.files)
        case ReplaceTouched():
            yield without_partitions(plan.table, partitions_of(plan.table, new, context), context)
        case ReplaceMatching(condition=condition):
            yield counting_rows(
                plan.table, without_partitions(plan.table, matching_partitions(plan.table, condition, context), context)
            )
        case ReplaceRows(places=places):
            with _without_places(plan, places, new, replace(context, parameters=())) as remaining:
                yield remaining
        case ReplaceEqual() | ReplaceRelated():
            if not new.num_files or source.deleted is None:
                yield None
                return
            with _without_places(plan, source.deleted(new), new, replace(context, parameters=())) as remaining:
                yield remaining
        case _:
            assert_never(plan.replacement)


@contextmanager
def _without_places(
    plan: InsertPlan, places: TargetRead, new: NewFiles, context: ExecutionContext
) -> Iterator[RemainingRows]:
    table = plan.table
    found = find_rows(table, places, context)
    with without_rows(table, found, context) as remaining:
        if removal_tells(remaining):
            yield remaining
            return
        row_changes = (Change(kind=DELETED, rows=found.all), Change(kind=INSERTED, rows=new))
        with change_files(table, plan.rows.config, row_changes, context) as changes:
            yield replace(remaining, changes=changes)


def _is_there(plan: InsertPlan, context: ExecutionContext) -> bool:
    """Returns whether the partitions to replace have files."""
    assert isinstance(plan.replacement, ReplaceMatching)
    wanted = matching_partitions(plan.table, plan.replacement.condition, context)
    return len(without_partitions(plan.table, wanted, context).removed) > 0
