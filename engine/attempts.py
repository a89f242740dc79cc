"""Runs a statement until it has its outcome: retries it on newer versions after a conflict, runs it in steps, and runs
its post-commit tasks.

The retry policy (`engine.concurrency.retry`) and the statement's `Retry` decide when it is retried. Plans that move the
same identity columns' high-water marks, or the same load record, hold a lock in turn. Automatic compaction is a
post-commit task: a separate statement, with its own execution context, after the statement that caused it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import assert_never

from catalog.conditions import (
    BlockForbidsStatement,
    ConcurrentDrop,
    ConcurrentModification,
    MetadataChanged,
    StatementEnded,
    StatementOutcomeUnknown,
    TableAlreadyExists,
)
from catalog.errors import SqlError
from catalog.store.remote import look_once
from engine.binding.bound import Outcome
from engine.errors.disk_errors import storage_error
from engine.formats.registry import PLANNERS
from engine.pipeline import execute_and_commit, plan_on_newest
from engine.planning.plans.ddl import (
    AlterPlan,
    CreateTableAsPlan,
    CreateTablePlan,
    ReplaceTableAsPlan,
    ReplaceTablePlan,
    SyncIdentityPlan,
)
from engine.planning.plans.format_plan import FormatPlan
from engine.planning.plans.plan import AnsweringPlan, CatalogChangePlan, Plan, WritingPlan
from engine.planning.plans.reads import (
    CommittedPlan,
)
from engine.planning.plans.writes import CopyPlan, DeletePlan, InsertPlan, MergePlan, TruncatePlan, UpdatePlan
from engine.repeated_statements import has_changed_catalog, unknown_outcome
from engine.runtime.parameters import Parameter, named_by_position
from engine.runtime.request import StatementRequest, derived_id, with_changes
from engine.runtime.results import empty_result
from engine.runtime.session_state import SessionState
from engine.runtime.settings import RESULT_CACHE
from engine.runtime.statement import Statement
from engine.runtime.transaction_block import TransactionBlock
from engine.spark.execution_context import ExecutionContext, Subject
from engine.statements.explain.statement import ExplainWrite
from engine.statements.format_planning import follow_up_of
from engine.statements.insert.execution import ensure_no_positions, run_in_order
from engine.statements.insert.grammar import with_condition_values
from engine.statements.insert.statement import Insert, MultiInsert
from engine.statements.maintenance.statement import Optimize, Vacuum
from engine.statements.merge.statement import Merge
from engine.statements.registry import spec_of
from engine.statements.row_changes.statement import Delete, Update
from engine.statements.scripting.statement import RunnableStatement
from engine.statements.spec import Retry
from engine.statements.views.statement import CreateView
from engine.tables.compaction import Compaction
from engine.tables.formats import watch_loads

logger = logging.getLogger(__name__)


def run_statement(statement: RunnableStatement, context: ExecutionContext) -> Outcome:
    """Runs `statement` through the pipeline, again after a conflict, and then its post-commit tasks.

    `context` has the parameters as the client sent them. Raises `SqlError`; anything else is a bug. A post-commit task
    may fail, or be canceled, without changing the committed outcome.
    """
    tasks: list[Optimize] = []
    context.request.profile.forget_cached()
    outcome = _run(statement, context, tasks)
    for task in tasks:
        request = with_changes(
            context.request, cancel=context.request.cancel.follower(), transaction_id=None, block=None
        )
        table = ".".join(task.table_parts)
        try:
            _run(task, replace(context, request=request, parameters=()), [])
        except StatementEnded as ended:
            logger.info("automatic compaction of %s: %s", table, ended)
        except Exception:  # the statement is committed: a task's failure must not change this
            logger.warning("automatic compaction of %s failed", table, exc_info=True)
    return outcome


def _run(statement: RunnableStatement, sent: ExecutionContext, tasks: list[Optimize]) -> Outcome:
    statement, own = _with_own_parameters(statement, sent.parameters)
    subject = Subject()
    caches = _caches(sent.state, statement)
    request = subject.lineage.observe(with_changes(sent.request, variables=sent.state.visible, caches_results=caches))
    sources = sent.sources
    try:
        with look_once():
            if isinstance(statement, Vacuum):  # it reads no rows, and waits for statements that do
                context = replace(sent, request=request, parameters=own, subject=subject)
                return _redact(statement, _attempt(statement, plan_on_newest(statement, context), context), request)
            with sources.pins.statement(request.now_ms) as uses:
                watched = replace(sources, formats=watch_loads(sources.formats, uses))
                context = replace(sent, request=request, parameters=own, subject=subject, sources=watched)
                return _redact(statement, _run_pinned(statement, context, sent.parameters, tasks), request)
    except OSError as error:  # from files that Python writes, for example deletion vectors and copies
        if named := storage_error(error):
            raise named from error
        raise
    except SqlError as error:
        format_ = sources.formats.by_name.get(subject.format or "")
        if format_ is not None:
            error.condition, error.sqlstate = format_.condition_for_format(error.condition, error.sqlstate)
        raise
    finally:
        subject.lineage.record(sources.lineage, request)


def _with_own_parameters(
    statement: RunnableStatement, parameters: Sequence[Parameter]
) -> tuple[RunnableStatement, Sequence[Parameter]]:
    """Returns the statement, and the values for the markers that remain in its plan."""
    # A view is stored as text, in which markers have no values.
    own = () if isinstance(statement, CreateView) else parameters
    written = statement.inner if isinstance(statement, ExplainWrite) else statement
    if isinstance(written, Insert):
        written, own = with_condition_values(written, own)
        statement = replace(statement, inner=written) if isinstance(statement, ExplainWrite) else written
    return statement, named_by_position(own) if isinstance(written, Delete | Update | Merge) else own


def _redact(statement: RunnableStatement, outcome: Outcome, request: StatementRequest) -> Outcome:
    """Hides result rows that would reveal data protected by a row filter or column mask."""
    if isinstance(statement, MultiInsert) or not (request.profile.hides_metrics and spec_of(statement).reports_work):
        return outcome
    return replace(outcome, result=outcome.result.limit(0))


def _caches(state: SessionState, statement: RunnableStatement) -> bool:
    if isinstance(statement, MultiInsert) or not spec_of(statement).caches_result:
        return False
    return state.value(RESULT_CACHE) != "false"


def _run_pinned(
    statement: RunnableStatement, context: ExecutionContext, parameters: Sequence[Parameter], tasks: list[Optimize]
) -> Outcome:
    """Runs the statement; until it has its rows or its commit, its tables' files are not removed."""
    if not isinstance(statement, MultiInsert):
        try:
            return _run_with_follow_up(statement, plan_on_newest(statement, context), context, tasks)
        except SqlError as error:
            repetition = spec_of(statement).repetition(statement)
            if not context.request.is_repeated:
                raise
            if has_changed_catalog(repetition, context):
                return Outcome(result=empty_result())
            if (unknown := unknown_outcome(error, repetition, context)) is None:
                raise
            raise unknown from error
    if context.request.block is not None:
        raise BlockForbidsStatement("An INSERT into several tables")
    ensure_no_positions(parameters)
    inserts = [with_condition_values(each, context.parameters)[0] for each in statement.inserts]
    parts = [_part_of(context, "insert", ordinal) for ordinal in range(len(inserts))]
    formats = context.sources.formats.pin_versions()
    plans = [
        plan_on_newest(each, replace(part, sources=replace(part.sources, formats=formats)))
        for each, part in zip(inserts, parts, strict=True)
    ]
    if len({isinstance(plan, CommittedPlan) for plan in plans}) > 1:
        raise StatementOutcomeUnknown("only some of its INSERTs are committed, and their source may have changed since")
    finish = [
        partial(_run_with_follow_up, each, plan, part, tasks, is_part=True)
        for each, plan, part in zip(inserts, plans, parts, strict=True)
    ]
    return run_in_order(statement.inserts, finish)


def _part_of(context: ExecutionContext, kind: str, ordinal: int) -> ExecutionContext:
    """Returns the context for one of several commits."""
    own = derived_id(context.request.transaction_id, kind, ordinal)
    return replace(context, request=with_changes(context.request, transaction_id=own))


def _run_with_follow_up(
    statement: Statement, plan: Plan, context: ExecutionContext, tasks: list[Optimize], *, is_part: bool = False
) -> Outcome:
    """Returns the outcome for `plan`, and adds the compaction that its table requests to `tasks`."""
    outcome = _attempt(statement, plan, context, is_part=is_part)
    compaction = follow_up_of(PLANNERS, plan)
    if compaction is not None:
        tasks.append(compaction)
    return outcome


def _attempt(statement: Statement, first: Plan, context: ExecutionContext, *, is_part: bool = False) -> Outcome:
    """Executes `first`, or a plan on newer versions if the retry policy allows it.

    `is_part`: it is one of several INSERTs that read the same source version.
    """
    context.request.cancel.reopen()  # after another INSERT's commit: waiting for a lock can be canceled
    policy = context.retries
    block = context.request.block
    if block is not None and isinstance(first, CatalogChangePlan | WritingPlan):
        title = spec_of(statement).title
        if isinstance(first, FormatPlan) or _is_step(first):
            raise BlockForbidsStatement(title)
        block.begin_change(context.request.statement_id, title, is_insert=isinstance(first, InsertPlan))
        if not isinstance(first, WritingPlan):
            return _at_the_end_of_block(first, context, block)
    if isinstance(first, FormatPlan) and first.in_steps:
        return _step_by_step(statement, first, context)
    tried: Plan = first
    is_fresh = True
    steps = 0

    def once() -> Outcome:
        nonlocal tried, is_fresh, steps
        repeats = 0
        while True:
            # A plan belongs to the snapshots that it was made on; only the first run may
            # use the given one.
            tried = tried if is_fresh else plan_on_newest(statement, context)
            is_fresh = False
            if not _is_step(tried):
                return execute_and_commit(tried, context, policy)
            execute_and_commit(tried, _part_of(context, "step", steps), policy)
            steps += 1
            if isinstance(tried, FormatPlan) and tried.repeats_error is not None:
                repeats += 1
                if repeats == policy.runs_max:
                    raise tried.repeats_error

    def may_run_again(error: SqlError) -> bool:
        retry = spec_of(statement).retry(statement)
        if block is not None:  # its client knows the rows of the first run
            return False
        if isinstance(error, TableAlreadyExists):
            return retry is Retry.LOST_RACE_OR_NAME  # another statement created it since
        return retry is not Retry.NEVER and _may_run_again(tried, error, is_part=is_part)

    locked = _table_to_lock(first)
    if locked is None:
        return policy.run_again(once, may_run_again)
    with context.sources.locks.hold(locked, context.request.cancel):
        is_fresh = False  # another lock holder may have committed since
        return policy.run_again(once, may_run_again)


def _at_the_end_of_block(plan: Plan, context: ExecutionContext, block: TransactionBlock) -> Outcome:
    """Executes a change of the catalog, which cannot be staged, when its block commits."""
    request = context.request
    on_wait = partial(request.on_staged, empty_result())
    with block.commit_at_end(request.statement_id, None, request.cancel, on_wait):
        own = replace(context, request=with_changes(request, block=None))
        return execute_and_commit(plan, own, context.retries)


def _step_by_step(statement: Statement, first: FormatPlan, context: ExecutionContext) -> Outcome:
    """Returns the last step's outcome. Each step is planned on the newest version, with the remaining work."""
    policy = context.retries
    fresh: Plan | None = first
    left: Compaction | None = None
    step = 0

    def once() -> Outcome:
        nonlocal fresh
        plan, fresh = fresh or plan_on_newest(statement, context), None
        assert isinstance(plan, FormatPlan)
        return execute_and_commit(replace(plan, left=left), _part_of(context, "step", step), policy)

    while True:
        outcome = policy.run_again(once, _is_lost_race)
        left, step = outcome.left, step + 1
        if left is None:
            return outcome


def _table_to_lock(plan: Plan) -> str | None:
    """Returns the table whose identity columns' high-water marks, or load record, `plan` moves.

    Two plans of this kind cannot both commit.
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
        case CopyPlan(table=table):  # a concurrent one would load the same files
            return table.snapshot.table_root
        case ReplaceTablePlan(table=table) | ReplaceTableAsPlan(table=table):
            return table.snapshot.table_root if table.snapshot.table_config.identities else None
        # Rebasing, or another run, settles these races; serializing them would gain
        # nothing.
        case CreateTablePlan() | CreateTableAsPlan() | AlterPlan():
            return None
        case DeletePlan() | UpdatePlan() | TruncatePlan() | FormatPlan():
            return None
        case _:
            assert_never(plan)


def _is_step(plan: Plan) -> bool:
    """Returns whether the statement is planned again after `plan`, on the version that it committed.

    The repetition is bounded: a step produces the state that the next plan needs, and a repeatable one declares it.
    """
    return isinstance(plan, AlterPlan | FormatPlan) and not plan.is_last


def _may_run_again(plan: Plan, error: SqlError, *, is_part: bool) -> bool:
    """Returns whether `error` is a reason to plan the statement again, on the newest versions."""
    if isinstance(plan, FormatPlan) and not plan.is_repeated:
        return False
    if is_part:  # the source version would differ from the other INSERTs'
        return isinstance(error, MetadataChanged) and _table_to_lock(plan) is not None
    return _is_lost_race(error)


def _is_lost_race(error: SqlError) -> bool:
    """Returns whether the error is a conflict. A table recreated with the same name may have another purpose."""
    return isinstance(error, ConcurrentModification) and not isinstance(error, ConcurrentDrop)
