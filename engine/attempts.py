"""Run a statement until it has its outcome: again on newer versions if it lost a race, step by step, and with the
compaction that follows it.

What may be run again is up to the retry policy (`engine.concurrency.retry`) and the statement's `Retry`. Two plans
that move the same high-water marks of identity columns, or the same record of loads, hold a lock one after the
other.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import assert_never

from catalog.conditions import (
    ConcurrentDrop,
    ConcurrentModification,
    MetadataChanged,
    StatementEnded,
    TableAlreadyExists,
)
from catalog.errors import SqlError
from catalog.store.remote import one_look
from engine.binding.bound import Outcome
from engine.errors.disk_errors import storage_error
from engine.execution.writes.inserts_in_turn import ensure_no_positions, one_by_one
from engine.formats.planning import follow_up_of
from engine.pipeline import EngineSources, Execution, Subject, execute_and_commit, plan_on_newest
from engine.planning.plans.ddl import (
    AlterPlan,
    CreateTableAsPlan,
    CreateTablePlan,
    ReplaceTableAsPlan,
    ReplaceTablePlan,
    SyncIdentityPlan,
)
from engine.planning.plans.format_plan import FormatPlan
from engine.planning.plans.plan import AnsweringPlan, Plan
from engine.planning.plans.writes import CopyPlan, DeletePlan, InsertPlan, MergePlan, TruncatePlan, UpdatePlan
from engine.runtime.context import StatementContext
from engine.runtime.parameters import Parameter, named_by_position
from engine.runtime.session_state import SessionState
from engine.runtime.settings import RESULT_CACHE
from engine.runtime.statement import Statement
from engine.spark.run import Run
from engine.spark.session import ExecSession
from engine.statements.explain.statement import ExplainWrite
from engine.statements.insert.grammar_parameters import with_condition_values
from engine.statements.insert.statement import Insert, MultiInsert
from engine.statements.maintenance.statement import Vacuum
from engine.statements.merge.statement import Merge
from engine.statements.registry import spec_of
from engine.statements.row_changes.statement import Delete, Update
from engine.statements.scripting.statement import RunnableStatement
from engine.statements.spec import Retry
from engine.statements.views.statement import CreateView
from engine.tables.rearrangement import Rearrangement
from engine.tables.watched_formats import watched

logger = logging.getLogger(__name__)


def run_statement(
    statement: RunnableStatement,
    state: SessionState,
    sources: EngineSources,
    executor: ExecSession,
    context: StatementContext,
    parameters: Sequence[Parameter] = (),
) -> Outcome:
    """Run `statement` through the pipeline, as often as it takes. Raises `SqlError`; anything else is a bug."""
    try:
        with one_look():
            return _run(statement, state, sources, executor, context, parameters)
    except OSError as error:  # of files that Python writes, such as deletion vectors and copies
        if named := storage_error(error):
            raise named from error
        raise


def _run(
    statement: RunnableStatement,
    state: SessionState,
    sources: EngineSources,
    executor: ExecSession,
    context: StatementContext,
    parameters: Sequence[Parameter],
) -> Outcome:
    context.profile.forget_cached()
    own = () if isinstance(statement, CreateView) else parameters  # a view is kept as text, where no marker has a value
    written = statement.inner if isinstance(statement, ExplainWrite) else statement
    if isinstance(written, Insert):
        written, own = with_condition_values(written, own)
        statement = replace(statement, inner=written) if isinstance(statement, ExplainWrite) else written
    own = named_by_position(own) if isinstance(written, Delete | Update | Merge) else own
    run = Run(
        executor=executor,
        context=replace(context, variables=state.visible, caches_results=_caches(state, statement)),
        parameters=own,
        turns=sources.turns,
    )
    execution = Execution(state=state, sources=sources, run=run, subject=Subject())
    try:
        if isinstance(statement, Vacuum):  # reads no rows, and asks who does
            return _told(statement, _carried(statement, plan_on_newest(statement, execution), execution), context)
        with sources.pins.statement(run.context.now_ms) as uses:
            watching = replace(sources, formats=watched(sources.formats, uses))
            return _told(statement, _run_pinned(statement, replace(execution, sources=watching), parameters), context)
    except SqlError as error:
        format_ = sources.formats.by_name.get(execution.subject.format or "")
        if format_ is not None:
            error.condition, error.sqlstate = format_.own_condition(error.condition, error.sqlstate)
        raise


def _told(statement: RunnableStatement, outcome: Outcome, context: StatementContext) -> Outcome:
    """Without rows about work that is not to be told."""
    if isinstance(statement, MultiInsert) or not (context.profile.hides_work and spec_of(statement).reports_work):
        return outcome
    return replace(outcome, result=outcome.result.limited(0))


def _caches(state: SessionState, statement: RunnableStatement) -> bool:
    if isinstance(statement, MultiInsert) or not spec_of(statement).caches_result:
        return False
    return state.value(RESULT_CACHE) != "false"


def _run_pinned(statement: RunnableStatement, execution: Execution, parameters: Sequence[Parameter]) -> Outcome:
    """The statement, whose tables are known to those who remove files until it has its rows or its commit."""
    if not isinstance(statement, MultiInsert):
        return _completed(statement, plan_on_newest(statement, execution), execution)
    ensure_no_positions(parameters)
    inserts = [with_condition_values(each, execution.run.parameters)[0] for each in statement.inserts]
    pinned = replace(execution, sources=replace(execution.sources, formats=execution.sources.formats.pinned()))
    plans = [plan_on_newest(each, pinned) for each in inserts]
    finish = [
        partial(_completed, each, plan, execution, is_part=True) for each, plan in zip(inserts, plans, strict=True)
    ]
    return one_by_one(statement.inserts, finish)


def _completed(statement: Statement, plan: Plan, execution: Execution, *, is_part: bool = False) -> Outcome:
    """The outcome of `plan`, with the compaction that its table asks for.

    It may fail, and be cancelled, without changing the outcome of what is committed.
    """
    outcome = _carried(statement, plan, execution, is_part=is_part)
    compaction = follow_up_of(execution.sources.planners, plan)
    if compaction is not None:
        context = replace(execution.run.context, cancel=execution.run.context.cancel.follower())
        unmarked = replace(execution, run=replace(execution.run, parameters=(), context=context))
        try:
            _carried(compaction, plan_on_newest(compaction, unmarked), unmarked)
        except StatementEnded as ended:
            logger.info("automatic compaction of %s: %s", ".".join(compaction.table_parts), ended)
        except Exception:  # the statement is committed: whatever goes wrong now must not say otherwise
            logger.warning("automatic compaction of %s failed", ".".join(compaction.table_parts), exc_info=True)
    return outcome


def _carried(statement: Statement, first: Plan, execution: Execution, *, is_part: bool = False) -> Outcome:
    """The outcome of `first`, or of a plan on newer versions where the retry policy asks for it. `is_part`: of several
    INSERTs that read one version of their source.
    """
    execution.run.context.cancel.reopen()  # after the commit of another INSERT: waiting for a lock can be cancelled
    policy = execution.run.retries
    if isinstance(first, FormatPlan) and first.in_steps:
        return _step_by_step(statement, first, execution)
    tried: Plan = first
    is_fresh = True

    def once() -> Outcome:
        nonlocal tried, is_fresh
        repeats = 0
        while True:
            tried = tried if is_fresh else plan_on_newest(statement, execution)
            is_fresh = False
            outcome = execute_and_commit(tried, execution, policy)
            if not _is_step(tried):
                return outcome
            if isinstance(tried, FormatPlan) and tried.repeats_error is not None:
                repeats += 1
                if repeats == policy.runs_max:
                    raise tried.repeats_error

    def may_run_again(error: SqlError) -> bool:
        retry = spec_of(statement).retry(statement)
        if isinstance(error, TableAlreadyExists):
            return retry is Retry.LOST_RACE_OR_NAME  # another one made it since
        return retry is not Retry.NEVER and _may_run_again(tried, error, is_part=is_part)

    locked = _table_to_lock(first)
    if locked is None:
        return policy.run_again(once, may_run_again)
    with execution.sources.locks.hold(locked, execution.run.context.cancel):
        is_fresh = False  # who held the lock may have committed since
        return policy.run_again(once, may_run_again)


def _step_by_step(statement: Statement, first: FormatPlan, execution: Execution) -> Outcome:
    """The outcome of the last step. Each is planned on the newest version, with what the one before left to do."""
    policy = execution.run.retries
    fresh: Plan | None = first
    left: Rearrangement | None = None

    def once() -> Outcome:
        nonlocal fresh
        plan, fresh = fresh or plan_on_newest(statement, execution), None
        assert isinstance(plan, FormatPlan)
        return execute_and_commit(replace(plan, left=left), execution, policy)

    while True:
        outcome = policy.run_again(once, _is_lost_race)
        left = outcome.left
        if left is None:
            return outcome


def _table_to_lock(plan: Plan) -> str | None:
    """The table whose high-water marks of identity columns, or record of loads, `plan` moves.

    Two such plans cannot both commit.
    """
    if isinstance(plan, AnsweringPlan):
        return None
    match plan:
        case SyncIdentityPlan(table=table):
            return table.snapshot.table_root
        case InsertPlan(table=table, rows=rows):
            return table.snapshot.table_root if rows.config.identities else None
        case MergePlan(table=table, inserts=inserts):
            fills = any(insert.rows.identities for insert in inserts)
            return table.snapshot.table_root if fills else None
        case CopyPlan(table=table):  # another one would load the same files
            return table.snapshot.table_root
        case ReplaceTablePlan(table=table) | ReplaceTableAsPlan(table=table):
            return table.snapshot.table_root if table.snapshot.rules.identities else None
        case CreateTablePlan() | CreateTableAsPlan() | AlterPlan():
            return None
        case DeletePlan() | UpdatePlan() | TruncatePlan() | FormatPlan():
            return None
        case _:
            assert_never(plan)


def _is_step(plan: Plan) -> bool:
    """Whether the statement is planned again after `plan`, on the version that it has made.

    There is an end: a step makes what the next plan asks for, and one that may have to be repeated says so.
    """
    return isinstance(plan, AlterPlan | FormatPlan) and not plan.is_last


def _may_run_again(plan: Plan, error: SqlError, *, is_part: bool) -> bool:
    """Whether what stopped `plan` is a reason to plan the statement again, on the newest versions."""
    if isinstance(plan, FormatPlan) and not plan.is_repeated:
        return False
    if is_part:  # the source would be read at another version than by the other INSERTs
        return isinstance(error, MetadataChanged) and _table_to_lock(plan) is not None
    return _is_lost_race(error)


def _is_lost_race(error: SqlError) -> bool:
    """A table of the same name that was made since may be meant for something else."""
    return isinstance(error, ConcurrentModification) and not isinstance(error, ConcurrentDrop)
