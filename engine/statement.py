"""The road of one statement: the one function that calls the stages, in their order.

    text ──parse──► Statement ──bind──► BoundStatement ──authorize──► AuthorizedStatement ──plan──► Plan ──► Outcome

No stage calls another, and the type of each stage's input is the proof that the former one ran. Cancelling is looked
for between the stages; inside of execution it reaches the Spark job (`engine/exec`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeGuard, assert_never

import pyarrow as pa

from engine.answers.answers import run_command
from engine.answers.catalog_changes import change_catalog, create_view, drop_temporary_view
from engine.authorize.authorize import authorize
from engine.bind.binder import Sources, bind
from engine.bind.bound import ColumnInfo, Outcome
from engine.delta.definition.identity import has_identity_columns
from engine.exec.session import ExecSession
from engine.plan.planner import plan_statement
from engine.plan.rules.probes import ensure_probed
from engine.plan.rules.row_checks import ensure_kept
from engine.plans.ddl import (
    AlterPlan,
    CatalogPlan,
    CreateTableAsPlan,
    CreateTablePlan,
    CreateViewPlan,
    DropFeaturePlan,
    DropSchemaPlan,
    DropTablePlan,
    DropTemporaryViewPlan,
    ReplaceTableAsPlan,
    ReplaceTablePlan,
    SyncIdentityPlan,
)
from engine.plans.plan import Plan
from engine.plans.probes import ProbePlan
from engine.plans.reads import AnswerPlan, CommandPlan, ExplainPlan, ReadPlan, SchemaPlan
from engine.plans.writes import InsertPlan, TruncatePlan
from engine.runtime.context import StatementContext
from engine.runtime.parameters import Parameter
from engine.runtime.results import ResultStream, small_result
from engine.runtime.retry import until_it_commits
from engine.runtime.session_state import SessionState
from engine.sql.parser import parse_any
from engine.statements.catalog import CreateView
from engine.statements.statement import AnyStatement
from engine.write.alter_table import alter_table
from engine.write.dropped_features import drop_feature
from engine.write.insert import insert, truncate
from engine.write.new_tables import create_table_as, replace_table, replace_table_as
from engine.write.probing import SparkProber
from engine.write.staged_files import Writing
from engine.write.sync_identity import sync_identity
from engine.write.table_ddl import create_table, drop_schema, drop_table


def parse_statement(text: str) -> AnyStatement:
    """The first stage, for those who have text."""
    return parse_any(text)


def run_statement(
    statement: AnyStatement,
    state: SessionState,
    sources: Sources,
    executor: ExecSession,
    context: StatementContext,
    parameters: Sequence[Parameter] = (),
) -> Outcome:
    """Take `statement` down the road. Raises `SqlError`; nothing else that is not a bug."""

    def planned() -> Plan:
        return _planned(statement, state, sources, executor, context, parameters)

    def execute(plan: Plan) -> Outcome:
        return _execute(plan, sources, executor, context, parameters)

    plan = planned()
    if _moves_marks(plan):
        with sources.turns.take(plan.table.snapshot.table_root, context.cancel):
            return until_it_commits(lambda: execute(planned()), context.cancel)
    return execute(plan)


def _moves_marks(plan: Plan) -> TypeGuard[InsertPlan | SyncIdentityPlan | ReplaceTablePlan | ReplaceTableAsPlan]:
    """Whether it changes marks of identity columns, so that two of its kind cannot commit at once."""
    match plan:
        case SyncIdentityPlan():
            return True
        case InsertPlan(rows=rows):
            return has_identity_columns(rows.schema)
        case ReplaceTablePlan(table=table) | ReplaceTableAsPlan(table=table):
            return has_identity_columns(table.snapshot.schema)
        case _:
            return False


def _planned(
    statement: AnyStatement,
    state: SessionState,
    sources: Sources,
    executor: ExecSession,
    context: StatementContext,
    parameters: Sequence[Parameter],
) -> Plan:
    named = () if isinstance(statement, CreateView) else tuple(item for item in parameters if item.name is not None)
    bound = bind(statement, state, sources, lambda texts: _values(texts, executor, context, named))
    context.cancel.ensure_live()
    plan = plan_statement(authorize(bound))
    context.cancel.ensure_live()
    return plan


def _columns(described: ResultStream) -> list[ColumnInfo]:
    rows = [row for batch in described.batches() for row in batch.to_pylist()]
    return [ColumnInfo(name=row["col_name"], type=row["data_type"], comment=row["comment"]) for row in rows]


def _writing(
    sources: Sources, executor: ExecSession, context: StatementContext, parameters: Sequence[Parameter]
) -> Writing:
    return Writing(executor=executor, context=context, parameters=parameters, after_commit=sources.after_commit)


def _ensure_probed(probes: ProbePlan | None, executor: ExecSession, context: StatementContext) -> None:
    if probes is not None:
        ensure_probed(probes, SparkProber(executor, context))


def _values(
    expressions: str, executor: ExecSession, context: StatementContext, parameters: Sequence[Parameter]
) -> tuple[Any, ...]:
    """The values of a list of expressions without columns: Spark's, in the session's zone and under its guard."""
    return _only_row(executor.run_query(ReadPlan(text=f"SELECT {expressions}", scans=()), context, parameters))


def _only_row(result: ResultStream) -> tuple[Any, ...]:
    try:
        table = pa.Table.from_batches(result.batches(), result.schema)
    finally:
        result.close()
    (row,) = zip(*(column.to_pylist() for column in table.columns), strict=True)
    return row


def _execute(
    plan: Plan, sources: Sources, executor: ExecSession, context: StatementContext, parameters: Sequence[Parameter]
) -> Outcome:
    match plan:
        case ReadPlan():
            return Outcome(result=executor.run_query(plan, context, parameters))
        case AnswerPlan(table=table, columns=columns, rows=rows):
            context.profile.add_note(f"{table.label}: version {table.snapshot.version}, answered from the log")
            return Outcome(result=small_result(columns, rows))
        case ExplainPlan(mode=mode, read=read, note=note):
            return Outcome(result=executor.explain(read, mode, note, context, parameters))
        case SchemaPlan(read=read):
            return Outcome(result=executor.describe(read, context, parameters))
        case CommandPlan(bound=bound):
            return run_command(bound)
        case CatalogPlan():
            return change_catalog(plan, sources.catalog)
        case CreateViewPlan(read=read):
            return create_view(plan, _columns(executor.describe(read, context)), sources.catalog, context.now_ms())
        case DropTemporaryViewPlan():
            return drop_temporary_view(plan)
        case CreateTablePlan(probes=probes):
            _ensure_probed(probes, executor, context)
            return create_table(plan, sources.catalog, context.now_ms())
        case AlterPlan(probes=probes, checks=checks):
            _ensure_probed(probes, executor, context)
            if checks is not None:
                ensure_kept(checks, _only_row(executor.run_query(checks.read, context)))
            return alter_table(plan, sources.after_commit)
        case DropFeaturePlan():
            return drop_feature(plan, _writing(sources, executor, context, parameters))
        case SyncIdentityPlan(read=read):
            return sync_identity(plan, _only_row(executor.run_query(read, context)), sources.after_commit)
        case ReplaceTablePlan(probes=probes):
            _ensure_probed(probes, executor, context)
            return replace_table(plan, sources.after_commit)
        case ReplaceTableAsPlan():
            return replace_table_as(plan, _writing(sources, executor, context, parameters))
        case InsertPlan(probes=probes):
            _ensure_probed(probes, executor, context)
            return insert(plan, _writing(sources, executor, context, parameters))
        case TruncatePlan():
            return truncate(plan, _writing(sources, executor, context, parameters))
        case CreateTableAsPlan():
            return create_table_as(plan, sources.catalog, _writing(sources, executor, context, parameters))
        case DropSchemaPlan():
            return drop_schema(plan, sources.catalog, sources.before_removal)
        case DropTablePlan():
            return drop_table(plan, sources.catalog, sources.before_removal)
        case _:
            assert_never(plan)
