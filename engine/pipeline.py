"""The road of one statement: the one function that calls the stages, in their order.

    text ──parse──► Statement ──bind──► BoundStatement ──authorize──► AuthorizedStatement ──analyze──► AnalyzedStatement
         ──plan──► Plan ──enforce──► Plan ──execute──► StagedWrite ──commit──► Outcome, whose rows are streamed

No stage calls another, and the type of each stage's input is the proof that the former one ran. Cancelling is looked
for between the stages; inside of execution it reaches the Spark job (`engine/spark`). What loses a race to another
writer follows the retry policy (`engine.concurrency.retry`): it is run again from binding on, where that is what its
user would do.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import assert_never

from catalog.errors import CatalogBusy, SqlError, TableAlreadyExists
from catalog.remote import look_again, one_look
from engine.authorization.accesses import access_of
from engine.authorization.authorize import authorize
from engine.authorization.policies import hides_texts, hides_work
from engine.binding.bind import bind
from engine.binding.binder import Binder
from engine.binding.bound import AuthorizedStatement, BoundStatement, BoundTable, FreeName, Outcome, TakenName
from engine.binding.sources import Sources
from engine.binding.time_travel import Unevaluated
from engine.concurrency.retry import RetryPolicy
from engine.enforcement.rules import enforce
from engine.errors.conflict_errors import ConcurrentDrop, ConcurrentModification, MetadataChanged
from engine.errors.disk_errors import storage_error
from engine.errors.statement_errors import StatementEnded
from engine.execution.execute import execute
from engine.execution.writes.commit import commit, follow_up
from engine.execution.writes.dml.unmarked_rows import with_marks
from engine.execution.writes.inserts_in_turn import ensure_no_positions, one_by_one
from engine.formats.planning import FormatPlanners, follow_up_of
from engine.formats.writing import FormatWriters
from engine.planning.analyzed import AnalyzedStatement
from engine.planning.analyzer import Analyzer
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
from engine.runtime.accesses import Commit
from engine.runtime.context import StatementContext
from engine.runtime.parameters import Parameter, named_by_position
from engine.runtime.profile import Stage
from engine.runtime.results import empty_result
from engine.runtime.session_state import SessionState
from engine.runtime.settings import RESULT_CACHE
from engine.runtime.statement_class import StatementClass, class_of
from engine.spark.run import Run
from engine.spark.session import ExecSession
from engine.sql.parameters import with_condition_values
from engine.statements.base import Statement
from engine.statements.create_table.statement import ConvertTable, CreateTable
from engine.statements.explain.statement import ExplainWrite
from engine.statements.insert.statement import Insert, MultiInsert
from engine.statements.maintenance.statement import Vacuum
from engine.statements.merge.statement import Merge
from engine.statements.parse import parse
from engine.statements.registry import spec_of
from engine.statements.row_changes.statement import Delete, Update
from engine.statements.scripting.statement import Executable, RunnableStatement
from engine.statements.select.statement import Query
from engine.statements.spec import Retry
from engine.statements.views.statement import CreateView
from engine.tables.rearrangement import Rearrangement
from engine.tables.watched_formats import watched

logger = logging.getLogger(__name__)

_REMEMBERED_TEXT_MAX, _REMEMBERED_MAX = 8_000, 500
"""Characters of a text, and texts, of which it is remembered what they say."""

_REMEMBERED_WRITES, _REMEMBERED_WRITES_MAX = frozenset({"MERGE ", "INSERT", "UPDATE", "DELETE"}), 100

_BINDINGS_MAX = 50
"""Each of which another change of the catalog came into."""


def parse_statement(text: str) -> Executable:
    """The first stage, for those who have text. What queries say is remembered: a dashboard asks the same. So is
    what writes say, which a job repeats; those with values in them, each of which is another, push out no query.
    """
    if len(text) <= _REMEMBERED_TEXT_MAX:
        if class_of(text) is StatementClass.READ:
            return _remembered(text)
        if text.lstrip()[:6].upper() in _REMEMBERED_WRITES:
            return _remembered_write(text)
    return parse(text)


_remembered = lru_cache(_REMEMBERED_MAX)(parse)
_remembered_write = lru_cache(_REMEMBERED_WRITES_MAX)(parse)
"""Statements are values, which depend on nothing but the text."""


def bind_statement(statement: Statement, binder: Binder) -> BoundStatement | Unevaluated:
    """Resolve the names of `statement`, or return the expressions whose values `binder` has to know first."""
    return bind(statement, spec_of(statement).bind, binder)


def authorize_statement(bound: BoundStatement) -> AuthorizedStatement:
    """Check the privileges that the statement requires, and what it would do to protected tables."""
    statement, spec = bound.statement, spec_of(bound.statement)
    required = partial(spec.required_privileges, bound, statement)
    return authorize(bound, required, spec.policy_effects(bound, statement), is_read_only=spec.is_read_only)


def analyze_statement(authorized: AuthorizedStatement, analyzer: Analyzer) -> AnalyzedStatement:
    """Find the columns of the statement's query if its plan depends on them; no job runs."""
    bound = authorized.bound
    return spec_of(bound.statement).analyze(bound, bound.statement, analyzer)


def plan_statement(analyzed: AnalyzedStatement, planners: FormatPlanners) -> Plan:
    """Decide what to read and to write, on the pinned snapshots alone.

    Raises for what the table, or this release, cannot do.
    """
    statement = analyzed.bound.statement
    return spec_of(statement).plan(analyzed, statement, planners)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSources(Sources):
    """With what formats of tables plan and write by themselves."""

    planners: FormatPlanners
    writers: FormatWriters


def run_statement(
    statement: RunnableStatement,
    state: SessionState,
    sources: EngineSources,
    executor: ExecSession,
    context: StatementContext,
    parameters: Sequence[Parameter] = (),
) -> Outcome:
    """Take `statement` down the road. Raises `SqlError`; nothing else that is not a bug."""
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
    way = _Way(state=state, sources=sources, run=run, subject=_Subject())
    try:
        if isinstance(statement, Vacuum):  # reads no rows, and asks who does
            return _told(statement, _carried(statement, _planned(statement, way), way), context)
        with sources.pins.statement(run.context.now_ms) as uses:
            watching = replace(sources, formats=watched(sources.formats, uses))
            return _told(statement, _run_pinned(statement, replace(way, sources=watching), parameters), context)
    except SqlError as error:
        format_ = sources.formats.by_name.get(way.subject.format or "")
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Way:
    """What all stages of one statement share."""

    state: SessionState
    sources: EngineSources
    run: Run
    subject: _Subject


@dataclass(slots=True)
class _Subject:
    """The format of what the statement is about, as far as it is known; errors are called as that calls them."""

    format: str | None = None


def _run_pinned(statement: RunnableStatement, way: _Way, parameters: Sequence[Parameter]) -> Outcome:
    """The statement, whose tables are known to those who remove files until it has its rows or its commit."""
    if not isinstance(statement, MultiInsert):
        return _completed(statement, _planned(statement, way), way)
    ensure_no_positions(parameters)
    inserts = [with_condition_values(each, way.run.parameters)[0] for each in statement.inserts]
    pinned = replace(way, sources=replace(way.sources, formats=way.sources.formats.pinned()))
    plans = [_planned(each, pinned) for each in inserts]
    finish = [partial(_completed, each, plan, way, is_part=True) for each, plan in zip(inserts, plans, strict=True)]
    return one_by_one(statement.inserts, finish)


def _completed(statement: Statement, plan: Plan, way: _Way, *, is_part: bool = False) -> Outcome:
    """The outcome of `plan`, with the compaction that its table asks for.

    It may fail, and be cancelled, without changing the outcome of what is committed.
    """
    outcome = _carried(statement, plan, way, is_part=is_part)
    compaction = follow_up_of(way.sources.planners, plan)
    if compaction is not None:
        context = replace(way.run.context, cancel=way.run.context.cancel.follower())
        unmarked = replace(way, run=replace(way.run, parameters=(), context=context))
        try:
            _carried(compaction, _planned(compaction, unmarked), unmarked)
        except StatementEnded as ended:
            logger.info("automatic compaction of %s: %s", ".".join(compaction.table_parts), ended)
        except Exception:  # the statement is committed: whatever goes wrong now must not say otherwise
            logger.warning("automatic compaction of %s failed", ".".join(compaction.table_parts), exc_info=True)
    return outcome


def _carried(statement: Statement, first: Plan, way: _Way, *, is_part: bool = False) -> Outcome:
    """The outcome of `first`, or of a plan on newer versions where the retry policy asks for it. `is_part`: of several
    INSERTs that read one version of their source.
    """
    way.run.context.cancel.reopen()  # behind the commit of another INSERT: a lock that is waited for can be cancelled
    policy = way.run.retries
    if isinstance(first, FormatPlan) and first.in_steps:
        return _step_by_step(statement, first, way)
    tried: Plan = first
    is_fresh = True

    def once() -> Outcome:
        nonlocal tried, is_fresh
        repeats = 0
        while True:
            tried = tried if is_fresh else _planned(statement, way)
            is_fresh = False
            outcome = _finished(tried, way, policy)
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
    with way.sources.locks.hold(locked, way.run.context.cancel):
        is_fresh = False  # who held the lock may have committed since
        return policy.run_again(once, may_run_again)


def _step_by_step(statement: Statement, first: FormatPlan, way: _Way) -> Outcome:
    """The outcome of the last step. Each is planned on the newest version, with what the one before left to do."""
    policy = way.run.retries
    fresh: Plan | None = first
    left: Rearrangement | None = None

    def once() -> Outcome:
        nonlocal fresh
        plan, fresh = fresh or _planned(statement, way), None
        assert isinstance(plan, FormatPlan)
        return _finished(replace(plan, left=left), way, policy)

    while True:
        outcome = policy.run_again(once, _is_lost_race)
        left = outcome.left
        if left is None:
            return outcome


def _bound(statement: Statement, way: _Way) -> BoundStatement:
    """The statement with what it names, none of it newer than the rights and policies that it is judged by.

    What this server knows of the catalog is used, and compared with the store when the tables have been looked at:
    where there is a newer generation, all is looked up again, also what seemed to be wrong. Raises `CatalogBusy`.
    """
    names_nothing = isinstance(statement, Query) and not statement.relations and not statement.calls
    binder = Binder(way.state, way.sources, is_known=True)
    for _ in range(_BINDINGS_MAX):
        try:
            while isinstance(bound := bind_statement(statement, binder), Unevaluated):
                binder.values[bound.expressions] = way.run.values_of(bound.expressions)
        except SqlError:
            way.subject.format = _format_of(statement, binder, None)
            if names_nothing or binder.is_current:
                raise
        else:
            way.subject.format = _format_of(statement, binder, bound)
            way.run.context.cancel.ensure_live()
            if names_nothing or binder.is_current:
                return bound
        look_again()
        values, binder = binder.values, Binder(way.state, way.sources, is_known=True)
        binder.values.update(values)
    raise CatalogBusy(_BINDINGS_MAX)


def _format_of(statement: Statement, binder: Binder, bound: BoundStatement | None) -> str | None:
    """The format of the table that the statement writes or makes, or of all tables that it reads; None for several.

    CONVERT TO DELTA is about Delta, whatever the table is.
    """
    if isinstance(statement, ConvertTable):
        return None
    target = None if bound is None else bound.target
    match target:
        case BoundTable(entry=entry):
            return entry.format
        case FreeName(own=own):
            return own.name
        case TakenName() | None:
            made = statement.provider if isinstance(statement, CreateTable) else None
            formats = {made.lower()} if made is not None else binder.formats_met
            return next(iter(formats)) if len(formats) == 1 else None
        case _:
            assert_never(target)


def _planned(statement: Statement, way: _Way) -> Plan:
    """From binding to the rules: what will be done, on the versions that are pinned now."""
    run, cancel, began_ms = way.run, way.run.context.cancel, way.run.context.now_ms()
    cancel.reopen()  # behind the commit of another statement or step, or an attempt that was lost
    look_again()
    enter = run.context.profile.enter
    enter(Stage.BIND)
    bound = _bound(statement, way)
    cancel.ensure_live()
    enter(Stage.AUTHORIZE)
    authorized = authorize_statement(bound)
    run.context.on_authorized(access_of(authorized, spec_of(statement).use))
    if hides_work(authorized.bound):
        run.context.profile.hide_work(texts=hides_texts(authorized.bound))
    enter(Stage.ANALYZE)
    analyzed = analyze_statement(authorized, run)
    analyzed = replace(analyzed, bound=with_marks(analyzed.bound, run))
    cancel.ensure_live()
    enter(Stage.PLAN)
    plan = plan_statement(analyzed, way.sources.planners)
    enter(Stage.ENFORCE)
    enforced = enforce(plan)
    cancel.ensure_live()
    run.context.profile.log(f"planned in {(run.context.now_ms() - began_ms) / 1000:.3f} s")
    return enforced


def _finished(plan: Plan, way: _Way, policy: RetryPolicy) -> Outcome:
    """What `plan` does, committed, and named where it made a table."""
    sources, enter = way.sources, way.run.context.profile.enter
    way.run.context.cancel.reopen()  # behind the commit of another INSERT that was planned with this one
    enter(Stage.EXECUTE)
    try:
        with execute(plan, sources, sources.writers, way.run) as staged:
            enter(Stage.COMMIT)
            committed = commit(staged, policy, sources.catalog)
            if committed is not None:
                way.run.context.on_commit(Commit(staged.label, committed.version))
        return follow_up(staged, committed, sources.after_commit)
    except _tolerated(plan):
        return Outcome(result=empty_result())


def _tolerated(plan: Plan) -> tuple[type[SqlError], ...]:
    """IF NOT EXISTS, where somebody else made the table at the same time."""
    return plan.tolerated if isinstance(plan, CreateTablePlan | CreateTableAsPlan | FormatPlan) else ()


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
