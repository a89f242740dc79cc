"""Dispatches each plan to the function that executes it.

A plan's writes are staged when the block of :func:`execute` is entered, and stay if the block commits them; if the
block fails, the written files are removed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import assert_never

from catalog.changes import CreateTable
from catalog.conditions import IdentityExhausted
from engine.binding.bound import BoundStatement, Outcome, counted
from engine.errors.table_errors import name_table_in_errors
from engine.execution.cached_reads import cached_query, explain_cache
from engine.execution.catalog_changes import (
    change_catalog,
    create_temporary_function,
    create_temporary_view,
    drop_temporary_function,
    drop_temporary_view,
    rename_temporary_view,
)
from engine.execution.writes.dml.delete import delete
from engine.execution.writes.dml.equality_deletes import resolve_equality_deletes
from engine.execution.writes.dml.insert import insert, truncate
from engine.execution.writes.dml.load import copy_into
from engine.execution.writes.dml.merge import merge
from engine.execution.writes.dml.update import update
from engine.execution.writes.new_tables import create_table, create_table_as, replace_table, replace_table_as
from engine.execution.writes.staged_write import FormatWriters, StagedWrite
from engine.planning.plans.ddl import (
    AlterPlan,
    CatalogPlan,
    CreateTableAsPlan,
    CreateTablePlan,
    CreateTemporaryFunctionPlan,
    CreateTemporaryViewPlan,
    DropSchemaPlan,
    DropTablePlan,
    DropTemporaryFunctionPlan,
    DropTemporaryViewPlan,
    DropVolumePlan,
    FilePlan,
    RenameTemporaryViewPlan,
    ReplaceTableAsPlan,
    ReplaceTablePlan,
    SyncIdentityPlan,
    TokenPlan,
)
from engine.planning.plans.expression_checks import ExpressionCheckPlan
from engine.planning.plans.format_plan import FormatPlan
from engine.planning.plans.plan import AnsweringPlan, Plan, TablePlan, WritingPlan
from engine.planning.plans.reads import (
    AnswerPlan,
    AssignPlan,
    CommandPlan,
    CommittedPlan,
    DeclarePlan,
    DropVariablePlan,
    EqualityDeletesPlan,
    EvaluatePlan,
    ExplainPlan,
    ReadPlan,
    SchemaPlan,
)
from engine.planning.plans.writes import CopyPlan, DeletePlan, InsertPlan, MergePlan, TruncatePlan, UpdatePlan
from engine.planning.semantics.expression_checks import ensure_checked, ensure_examined, ensure_satisfied
from engine.runtime.accesses import Commit
from engine.runtime.profile import LogAnswer
from engine.runtime.request import with_changes
from engine.runtime.results import RowCounts, empty_result, small_result
from engine.runtime.statement import Statement
from engine.runtime.variables import VisibleVariables
from engine.spark.execution_context import ExecutionContext
from engine.statements.containers.execution import drop_schema, drop_table
from engine.statements.registry import spec_of
from engine.statements.tokens.spec import answer_tokens
from engine.statements.variables.spec import assign_variables, declare_variables, drop_variable
from engine.statements.volumes.execution import answer_file, drop_volume
from engine.tables.column_metadata import LONG_MAX, LONG_MIN
from engine.tables.definition_changes import set_high_water_mark
from engine.tables.operations import CommitRecord


@contextmanager
def execute(plan: Plan, context: ExecutionContext, writers: FormatWriters) -> Iterator[StagedWrite]:
    """Executes a plan and yields its outcome; a write's data files are staged and not yet committed.

    An exception in the block deletes the staged files. Raises Spark's errors, violations of constraints, and the
    catalog's errors.
    """
    if isinstance(plan, FormatPlan):
        if plan.expression_checks is not None:
            ensure_checked(plan.expression_checks, context)
        with writers[plan.format].write(plan, context) as staged:
            yield staged
    elif isinstance(plan, WritingPlan):
        with _stage(plan, context) as staged:
            yield staged
    else:
        yield StagedWrite(outcome=_answer(plan, context))


def _answer(plan: AnsweringPlan, context: ExecutionContext) -> Outcome:
    match plan:
        case ReadPlan():
            return Outcome(result=cached_query(plan, context))
        case EqualityDeletesPlan(table=table):
            return Outcome(result=empty_result(), resolved=resolve_equality_deletes(table, context))
        case AnswerPlan(table=table, files=files, statistics=statistics, columns=columns, rows=rows):
            version = table.snapshot.version
            context.request.profile.note_log_answer(
                LogAnswer(table=table.label, version=version, files=files, statistics=statistics)
            )
            return Outcome(result=small_result(columns, rows))
        case ExplainPlan(mode=mode, read=read, note=note):
            notes = f"{note}\n{explain_cache(read, context)}"
            return Outcome(result=context.executor.explain(read, mode, notes, context.request, context.parameters))
        case SchemaPlan(read=read, as_json=as_json):
            return Outcome(result=context.executor.describe(read, context.request, context.parameters, as_json=as_json))
        case CommandPlan(statement=statement, bound=bound):
            return answer_command(statement, bound)
        case CommittedPlan(label=label, record=record, names=names):
            if names is not None:
                context.request.cancel.seal()
                context.sources.catalog.change(CreateTable(replace(names, created_ms=context.request.now_ms())))
            context.request.on_commit(Commit(label, record.version))
            return committed_outcome(record)
        case TokenPlan():
            return answer_tokens(plan, context.sources.tokens)
        case CatalogPlan():
            context.request.cancel.seal()
            return change_catalog(plan, context.sources.catalog, context.request)
        case DeclarePlan(read=read, or_replace=or_replace):
            return declare_variables(
                context.executor.values(read, context.request, context.parameters), or_replace=or_replace
            )
        case AssignPlan(read=read):
            return assign_variables(context.executor.values(read, context.request, context.parameters))
        case DropVariablePlan():
            return drop_variable(plan)
        case EvaluatePlan(read=read):
            values = context.executor.values(read, context.request, context.parameters).values
            return Outcome(result=empty_result(), values=values)
        case CreateTemporaryViewPlan():
            return create_temporary_view(plan, context.sources.global_views, context.request)
        case DropTemporaryViewPlan():
            return drop_temporary_view(plan, context.sources.global_views, context.request)
        case RenameTemporaryViewPlan():
            return rename_temporary_view(plan, context.sources.global_views, context.request)
        case CreateTemporaryFunctionPlan():
            return create_temporary_function(plan, context.request.now_ms())
        case DropTemporaryFunctionPlan():
            return drop_temporary_function(plan)
        case DropSchemaPlan():
            context.request.cancel.seal()
            before_removal = context.sources.before_removal
            return drop_schema(plan, context.sources.catalog, before_removal, context.request.transaction_id)
        case DropTablePlan():
            context.request.cancel.seal()
            before_removal = context.sources.before_removal
            return drop_table(plan, context.sources.catalog, before_removal, context.request.transaction_id)
        case DropVolumePlan():
            context.request.cancel.seal()
            return drop_volume(plan, context.sources.catalog, context.request)
        case FilePlan():
            return answer_file(plan, context.sources.catalog, context.request)
        case _:
            assert_never(plan)


def answer_command(statement: Statement, bound: BoundStatement) -> Outcome:
    """Returns the answer of a statement that runs without Spark, by its specification's `answer`."""
    answer = spec_of(statement).answer
    assert answer is not None, "only statements that Spark has no part in have a CommandPlan"
    return answer(bound, statement)


@contextmanager
def _stage(plan: TablePlan, context: ExecutionContext) -> Iterator[StagedWrite]:
    formats = context.sources.formats
    match plan:
        case CreateTablePlan(expression_checks=expression_checks):
            _ensure_checked(expression_checks, context)
            yield create_table(plan, formats, context.request.now_ms())
        case ReplaceTablePlan(expression_checks=expression_checks):
            _ensure_checked(expression_checks, context)
            yield replace_table(plan)
        case AlterPlan(expression_checks=expression_checks, checks=checks):
            _ensure_checked(expression_checks, context)
            if checks is not None:
                ensure_satisfied(checks, context.evaluate(checks.read))
            yield alter_table(plan)
        case SyncIdentityPlan(read=read):
            yield sync_identity(plan, context.evaluate(read))
        case CreateTableAsPlan():
            with create_table_as(plan, formats, context) as staged:
                yield staged
        case ReplaceTableAsPlan():
            with replace_table_as(plan, context) as staged:
                yield staged
        case InsertPlan(expression_checks=expression_checks):
            _ensure_checked(expression_checks, context)
            with insert(plan, context) as staged:
                yield staged
        case CopyPlan():
            with copy_into(plan, context) as staged:
                yield staged
        case DeletePlan(expression_checks=expression_checks):
            if expression_checks is not None:
                ensure_checked(expression_checks, context)
            with delete(plan, context) as staged:
                yield staged
        case UpdatePlan(expression_checks=expression_checks, checks=checks):
            if expression_checks is not None:
                ensure_checked(expression_checks, context)
            ensure_examined(checks, context)
            with update(plan, context) as staged:
                yield staged
        case MergePlan(checks=query_checks):
            for check in query_checks:
                ensure_examined(check, context)
            with merge(plan, context) as staged:
                yield staged
        case TruncatePlan():
            with truncate(plan) as staged:
                yield staged
        case _:
            assert_never(plan)


def _ensure_checked(expression_checks: ExpressionCheckPlan | None, context: ExecutionContext) -> None:
    if expression_checks is not None:  # a table's rule has the same meaning in all sessions, so it sees no variables
        ensure_checked(
            expression_checks,
            replace(context, request=with_changes(context.request, variables=VisibleVariables()), parameters=()),
        )


def alter_table(plan: AlterPlan) -> StagedWrite:
    """Stages one version with the new definition; none if nothing changes.

    The new rule must hold for the table's rows, so the commit depends on the checked rows.
    """
    table, outcome = plan.table, Outcome(result=empty_result())
    if plan.definition == table.snapshot.definition:
        return StagedWrite(outcome=outcome)
    with name_table_in_errors(table.label):
        transaction = table.own.begin(table.snapshot, plan.description, table.label)
        if plan.checks is not None:
            transaction.read_whole_table()
        transaction.define(plan.definition)
    return StagedWrite(outcome=outcome, transaction=transaction, label=table.label)


def sync_identity(plan: SyncIdentityPlan, min_max_values: Sequence[int | None]) -> StagedWrite:
    """Stages the new high-water mark; nothing if it is unchanged. `min_max_values` is the result row of the plan's
    query.

    The high-water mark must be past the rows that were read, so rows added concurrently conflict. Raises
    `IdentityExhausted` if the next value past the rows does not fit into 64 bits: no writer could use a table with this
    high-water mark.
    """
    low, high = min_max_values
    outcome = Outcome(result=empty_result())
    high_water_mark = (
        plan.column.high_water_mark if low is None or high is None else plan.column.high_water_mark_after(low, high)
    )
    if high_water_mark is None or high_water_mark == plan.column.high_water_mark:
        return StagedWrite(outcome=outcome)
    if not LONG_MIN <= high_water_mark <= LONG_MAX:
        raise IdentityExhausted(plan.column.name)
    snapshot, label = plan.table.snapshot, plan.table.label
    with name_table_in_errors(label):
        transaction = plan.table.own.begin(snapshot, plan.description, label)
        transaction.read_whole_table()
        transaction.define(snapshot.definition, (set_high_water_mark(plan.column, high_water_mark),))
    return StagedWrite(outcome=outcome, transaction=transaction, label=label)


def committed_outcome(record: CommitRecord) -> Outcome:
    """Returns the row counts by the commit's metrics.

    The rows that RESTORE, CLONE and CONVERT TO DELTA answer are not in the history; the outcome has none.
    """

    def count(name: str) -> int:
        text = record.metrics.get(name, "")
        return int(text) if text.isdecimal() else 0

    counts: RowCounts
    match record.operation:
        case "WRITE":
            num_rows = count("numOutputRows") - count("numCopiedRows")
            if "numSkippedCorruptFiles" not in record.metrics:
                return counted(num_rows)
            skipped = count("numSkippedCorruptFiles")
            counts = RowCounts(affected=num_rows, inserted=num_rows, skipped_corrupt_files=skipped)
        case "DELETE":
            counts = RowCounts(affected=count("numDeletedRows"))
        case "UPDATE":
            counts = RowCounts(affected=count("numUpdatedRows"))
        case "MERGE":
            inserted, updated = count("numTargetRowsInserted"), count("numTargetRowsUpdated")
            deleted = count("numTargetRowsDeleted")
            affected = inserted + updated + deleted
            counts = RowCounts(affected=affected, inserted=inserted, updated=updated, deleted=deleted)
        case "CREATE TABLE AS SELECT" | "REPLACE TABLE AS SELECT" | "CREATE OR REPLACE TABLE AS SELECT":
            return counted(count("numOutputRows"), defines_table=True)
        case _:  # DDL, whose names are Delta's, and those of a newer release
            return Outcome(result=empty_result())
    return Outcome(result=replace(empty_result(), row_counts=counts))
