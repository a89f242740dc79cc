"""The road of one statement: the one function that calls the stages, in their order.

    text ──parse──► Statement ──bind──► BoundStatement ──authorize──► AuthorizedStatement ──analyze──► AnalyzedStatement
         ──plan──► Plan ──enforce──► Plan ──execute──► StagedWrite ──commit──► Outcome, whose rows are streamed

No stage calls another, and the type of each stage's input is the proof that the former one ran. Cancelling is looked
for between the stages; inside of execution it reaches the Spark job (`engine/exec`). What loses a race to another
writer follows the retry policy (`engine.concurrency.retry`): it is run again from binding on, where that is what its
user would do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import assert_never

from catalog.errors import SqlError
from engine.analyze.analyze import analyze
from engine.authorize.authorize import authorize
from engine.bind.bind import bind
from engine.bind.binder import Binder
from engine.bind.bound import Outcome
from engine.bind.sources import Sources
from engine.bind.time_travel import Unevaluated
from engine.concurrency.retry import RetryPolicy
from engine.delta.commit.conflict_errors import ConcurrentModification, FeatureDropConflict, MetadataChanged
from engine.delta.definition.identity import has_identity_columns
from engine.enforce.rules import enforce
from engine.exec.run import Run
from engine.exec.session import ExecSession
from engine.execute.execute import execute
from engine.plan.planner import plan_statement
from engine.plans.ddl import (
    AlterPlan,
    CreateTableAsPlan,
    CreateTablePlan,
    ReplaceTableAsPlan,
    ReplaceTablePlan,
    RewritePlan,
    SyncIdentityPlan,
)
from engine.plans.plan import AnsweringPlan, Plan
from engine.plans.writes import DeletePlan, InsertPlan, TruncatePlan
from engine.runtime.context import StatementContext
from engine.runtime.parameters import Parameter
from engine.runtime.results import empty_result
from engine.runtime.session_state import SessionState
from engine.sql.script.programs import parse_program
from engine.statements.catalog import CreateView
from engine.statements.variables import Executable, RoadStatement, SingleStatement
from engine.statements.writes import MultiInsert
from engine.write.commit import commit, follow_up
from engine.write.inserts_in_turn import ensure_no_positions, one_by_one


def parse_statement(text: str) -> Executable:
    """The first stage, for those who have text."""
    return parse_program(text)


def run_statement(
    statement: RoadStatement,
    state: SessionState,
    sources: Sources,
    executor: ExecSession,
    context: StatementContext,
    parameters: Sequence[Parameter] = (),
) -> Outcome:
    """Take `statement` down the road. Raises `SqlError`; nothing else that is not a bug."""
    own = () if isinstance(statement, CreateView) else parameters  # a view is kept as text, where no marker has a value
    run = Run(executor=executor, context=replace(context, variables=state.visible), parameters=own)
    if not isinstance(statement, MultiInsert):
        return _carried(statement, _planned(statement, state, sources, run), state, sources, run)
    ensure_no_positions(parameters)
    pinned = replace(sources, formats=sources.formats.pinned())
    plans = [_planned(each, state, pinned, run) for each in statement.inserts]
    finish = [
        partial(_carried, each, plan, state, sources, run) for each, plan in zip(statement.inserts, plans, strict=True)
    ]
    return one_by_one(statement.inserts, finish)


def _carried(statement: SingleStatement, first: Plan, state: SessionState, sources: Sources, run: Run) -> Outcome:
    """The outcome of `first`, or of a plan on newer versions where the retry policy asks for it."""
    policy = RetryPolicy(wait=run.context.cancel.pause)
    tried, is_fresh = first, True

    def once() -> Outcome:
        nonlocal tried, is_fresh
        for _ in range(policy.runs_max):
            tried = tried if is_fresh else _planned(statement, state, sources, run)
            is_fresh = False
            outcome = _finished(tried, sources, run, policy)
            if not isinstance(tried, RewritePlan) or tried.is_last:
                return outcome
            rewritten = tried.table
        # others went on writing files that have to be rewritten
        raise FeatureDropConflict(rewritten.label, rewritten.snapshot.version, "write")

    locked = _table_to_lock(first)
    if locked is None:
        return policy.run_again(once, lambda error: _may_run_again(tried, error))
    with sources.locks.hold(locked, run.context.cancel):
        is_fresh = False  # who held the lock may have committed since
        return policy.run_again(once, lambda error: _may_run_again(tried, error))


def _planned(statement: SingleStatement, state: SessionState, sources: Sources, run: Run) -> Plan:
    """From binding to the rules: what will be done, on the versions that are pinned now."""
    cancel = run.context.cancel
    binder = Binder(state, sources)
    while isinstance(bound := bind(statement, binder), Unevaluated):
        binder.values[bound.expressions] = run.values_of(bound.expressions)
    cancel.ensure_live()
    authorized = authorize(bound)
    analyzed = analyze(authorized, run)
    cancel.ensure_live()
    plan = plan_statement(analyzed)
    enforced = enforce(plan)
    cancel.ensure_live()
    return enforced


def _finished(plan: Plan, sources: Sources, run: Run, policy: RetryPolicy) -> Outcome:
    """What `plan` does, committed, and named where it made a table."""
    try:
        with execute(plan, sources, run) as staged:
            committed = commit(staged, policy, sources.catalog)
        return follow_up(staged, committed, sources.after_commit)
    except _tolerated(plan):
        return Outcome(result=empty_result())


def _tolerated(plan: Plan) -> tuple[type[SqlError], ...]:
    """IF NOT EXISTS, where somebody else made the table at the same time."""
    return plan.tolerated if isinstance(plan, CreateTablePlan | CreateTableAsPlan) else ()


def _table_to_lock(plan: Plan) -> str | None:
    """The table whose high-water marks of identity columns `plan` moves: two such plans cannot both commit."""
    if isinstance(plan, AnsweringPlan):
        return None
    match plan:
        case SyncIdentityPlan(table=table):
            return table.snapshot.table_root
        case InsertPlan(table=table, rows=rows):
            return table.snapshot.table_root if has_identity_columns(rows.schema) else None
        case ReplaceTablePlan(table=table) | ReplaceTableAsPlan(table=table):
            return table.snapshot.table_root if has_identity_columns(table.snapshot.schema) else None
        case CreateTablePlan() | CreateTableAsPlan() | AlterPlan() | RewritePlan() | DeletePlan() | TruncatePlan():
            return None
        case _:
            assert_never(plan)


def _may_run_again(plan: Plan, error: SqlError) -> bool:
    """Whether what stopped `plan` is a reason to plan the statement again, on the newest versions."""
    if isinstance(plan, RewritePlan) and not plan.is_last:
        return isinstance(error, ConcurrentModification)
    if isinstance(plan, AlterPlan) and plan.description.exclusive:  # DROP FEATURE
        return isinstance(error, ConcurrentModification)
    return isinstance(error, MetadataChanged) and _table_to_lock(plan) is not None
