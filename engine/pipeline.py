"""Run one statement through the stages. Nothing else calls them.

| stage | in → out | may touch |
|---|---|---|
| parse | text → statement | nothing |
| bind | names → catalog entries → one pinned snapshot per table | catalog once, one log listing per table |
| authorize | required privileges checked; what would reveal hidden rows rejected | nothing new |
| analyze | query → columns and types | Spark's analyzer, no job |
| plan | → read, write, metadata or answer plan; files pruned | pinned snapshots only |
| enforce | write plan → write plan with constraints, generated columns, identity, defaults, append-only | nothing |
| execute | → result stream, or staged files | Spark jobs |
| commit | staged actions → version | one put-if-absent per attempt |

The type of each stage's input proves that the one before it ran. Cancellation is checked between the stages; during
execution it reaches the Spark job (`engine/spark`). What is run again, and what follows a commit, is in
`engine/attempts.py`. What the stages need to know of a statement is in `engine/statements/registry.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache, partial

from catalog.conditions import CatalogBusy
from catalog.errors import SqlError
from catalog.store.remote import look_again
from engine.authorization.accesses import access_of
from engine.authorization.authorize import authorize
from engine.authorization.policies import hides_texts, hides_work
from engine.binding.bind import bind
from engine.binding.binder import Binder
from engine.binding.bound import AuthorizedStatement, BoundStatement, BoundTable, FreeName, Outcome
from engine.binding.sources import Sources
from engine.binding.time_travel import Unevaluated
from engine.concurrency.retry import RetryPolicy
from engine.enforcement.rules import enforce
from engine.execution.execute import execute
from engine.execution.writes.commit import commit, follow_up
from engine.execution.writes.dml.unmarked_rows import with_marks
from engine.formats.planning import FormatPlanners
from engine.formats.writing import FormatWriters
from engine.planning.analyzed import AnalyzedStatement
from engine.planning.analyzer import Analyzer
from engine.planning.plans.ddl import CreateTableAsPlan, CreateTablePlan
from engine.planning.plans.format_plan import FormatPlan
from engine.planning.plans.plan import Plan
from engine.runtime.accesses import Commit
from engine.runtime.profile import Stage
from engine.runtime.results import empty_result
from engine.runtime.session_state import SessionState
from engine.runtime.statement import Statement
from engine.runtime.statement_class import StatementClass, class_of
from engine.spark.run import Run
from engine.sql.query.values import Query
from engine.statements.create_table.statement import ConvertTable, CreateTable
from engine.statements.parse import parse
from engine.statements.registry import spec_of
from engine.statements.scripting.statement import Executable

_REMEMBERED_TEXT_MAX, _REMEMBERED_MAX = 8_000, 500
"""Characters of a text, and texts, of which it is remembered what they say."""

_REMEMBERED_WRITES, _REMEMBERED_WRITES_MAX = frozenset({"MERGE ", "INSERT", "UPDATE", "DELETE"}), 100

_BINDINGS_MAX = 50
"""Each of which another change of the catalog came into."""


def parse_statement(text: str) -> Executable:
    """Parse a text, or return what it was parsed to before: dashboards and jobs repeat themselves.

    Writes have a cache of their own, so that INSERTs of ever other values push out no query. Raises `SqlError`.
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
    """The sources of names and tables, and what plans and writes the statements that are a format's own."""

    planners: FormatPlanners
    writers: FormatWriters


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """The run of one statement: the session's state, and what its stages share."""

    state: SessionState
    sources: EngineSources
    run: Run
    subject: Subject


@dataclass(slots=True)
class Subject:
    """The format of the tables that the statement is about, as far as it is known: its conditions name errors."""

    format: str | None = None


def _bound(statement: Statement, execution: Execution) -> BoundStatement:
    """The statement with what it names, none of it newer than the rights and policies that it is judged by.

    What this server knows of the catalog is used, and compared with the store when the tables have been looked at:
    where there is a newer generation, all is looked up again, also what seemed to be wrong. Raises `CatalogBusy`.
    """
    names_nothing = isinstance(statement, Query) and not statement.relations and not statement.calls
    binder = Binder(execution.state, execution.sources, is_known=True)
    for _ in range(_BINDINGS_MAX):
        try:
            while isinstance(bound := bind_statement(statement, binder), Unevaluated):
                binder.values[bound.expressions] = execution.run.values_of(bound.expressions)
        except SqlError:
            execution.subject.format = _format_of(statement, binder, None)
            if names_nothing or binder.is_current:
                raise
        else:
            execution.subject.format = _format_of(statement, binder, bound)
            execution.run.context.cancel.ensure_live()
            if names_nothing or binder.is_current:
                return bound
        look_again()
        values, binder = binder.values, Binder(execution.state, execution.sources, is_known=True)
        binder.values.update(values)
    raise CatalogBusy(_BINDINGS_MAX)


def _format_of(statement: Statement, binder: Binder, bound: BoundStatement | None) -> str | None:
    """The format of the table that the statement writes or makes, or of all tables that it reads; None for several.

    CONVERT TO DELTA is about Delta, whatever the table is.
    """
    if isinstance(statement, ConvertTable):
        return None
    target = None if bound is None else bound.target
    if isinstance(target, BoundTable):
        return target.entry.format
    if isinstance(target, FreeName):
        return target.own.name
    made = statement.provider if isinstance(statement, CreateTable) else None
    formats = {made.lower()} if made is not None else binder.formats_met
    return next(iter(formats)) if len(formats) == 1 else None


def plan_on_newest(statement: Statement, execution: Execution) -> Plan:
    """Take the statement from bind to enforce, on the newest versions of its tables."""
    run, cancel, began_ms = execution.run, execution.run.context.cancel, execution.run.context.now_ms()
    cancel.reopen()  # behind the commit of another statement or step, or an attempt that was lost
    look_again()
    enter = run.context.profile.enter
    enter(Stage.BIND)
    bound = _bound(statement, execution)
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
    plan = plan_statement(analyzed, execution.sources.planners)
    enter(Stage.ENFORCE)
    enforced = enforce(plan)
    cancel.ensure_live()
    run.context.profile.log(f"planned in {(run.context.now_ms() - began_ms) / 1000:.3f} s")
    return enforced


def execute_and_commit(plan: Plan, execution: Execution, policy: RetryPolicy) -> Outcome:
    """Execute `plan`, commit what it staged, and record a table that it made in the catalog."""
    sources, enter = execution.sources, execution.run.context.profile.enter
    execution.run.context.cancel.reopen()  # behind the commit of another INSERT that was planned with this one
    enter(Stage.EXECUTE)
    try:
        with execute(plan, sources, sources.writers, execution.run) as staged:
            enter(Stage.COMMIT)
            committed = commit(staged, policy, sources.catalog)
            if committed is not None:
                execution.run.context.on_commit(Commit(staged.label, committed.version))
        return follow_up(staged, committed, sources.after_commit)
    except _tolerated(plan):
        return Outcome(result=empty_result())


def _tolerated(plan: Plan) -> tuple[type[SqlError], ...]:
    """IF NOT EXISTS, where somebody else made the table at the same time."""
    return plan.tolerated if isinstance(plan, CreateTablePlan | CreateTableAsPlan | FormatPlan) else ()
