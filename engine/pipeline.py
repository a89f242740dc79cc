"""Runs one statement through the stages. No other module calls them.

| stage | in → out | may touch |
|---|---|---|
| parse | text → statement | nothing |
| bind | names → catalog entries → one pinned snapshot per table | catalog once, one log listing per table |
| authorize | required privileges checked; effects that would reveal hidden rows rejected | nothing new |
| analyze | query → columns and types | Spark's analyzer, no job |
| plan | → read, write, metadata or answer plan; files pruned | pinned snapshots only |
| enforce | write plan → write plan with constraints, generated columns, identity, defaults, append-only | nothing |
| execute | → result stream, or staged files | Spark jobs |
| commit | staged actions → version | one put-if-absent per attempt |

Each stage's input type proves that the previous one ran. Cancellation is checked between the stages; during execution
it reaches the Spark job (`engine/spark`). Retries and post-commit tasks are in `engine/attempts.py`. Each statement's
declarations for the stages are in `engine/statements/registry.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import lru_cache, partial

from catalog.conditions import CatalogBusy, TableNotFound
from catalog.errors import SqlError
from catalog.store.remote import look_again
from engine.authorization.accesses import access_of
from engine.authorization.authorize import authorize
from engine.authorization.policies import hides_metrics, hides_texts
from engine.binding.binder import Binder, bind
from engine.binding.bound import AuthorizedStatement, BoundStatement, BoundTable, FreeName, Outcome
from engine.binding.time_travel import Constants
from engine.concurrency.retry import RetryPolicy
from engine.enforcement.enforce import enforce
from engine.execution.execute import committed_outcome, execute
from engine.execution.writes.commit import commit, follow_up
from engine.execution.writes.staged_write import StagedWrite
from engine.formats.registry import PLANNERS, WRITERS
from engine.planning.analyzed import AnalyzedStatement, Analyzer
from engine.planning.plans.ddl import CreateTableAsPlan, CreateTablePlan
from engine.planning.plans.format_plan import FormatPlan
from engine.planning.plans.plan import Plan
from engine.planning.plans.reads import EqualityDeletesPlan
from engine.repeated_statements import find_commit
from engine.runtime.accesses import Commit
from engine.runtime.profile import Stage
from engine.runtime.request import SqlDialect, StatementRequest
from engine.runtime.results import empty_result
from engine.runtime.statement import Statement, StatementClass, class_of
from engine.spark.execution_context import ExecutionContext
from engine.sql.query.source_text import SourceText
from engine.sql.query.values import Query
from engine.statements.create_table.statement import ConvertTable, CreateTable
from engine.statements.parse import parse
from engine.statements.registry import spec_of
from engine.statements.row_changes.planning_equality_deletes import with_resolved_deletes
from engine.statements.scripting.statement import Executable
from engine.tables.snapshot import TableSnapshot
from engine.tables.transaction import AlreadyCommitted

# Limits for the parse caches: maximum text length in characters, and the number of statements.
_CACHED_TEXT_MAX = 8_000
_CACHED_READS_MAX = 500
_CACHED_WRITES_MAX = 100
_CACHED_WRITES = frozenset({"MERGE ", "INSERT", "UPDATE", "DELETE"})

# Each binding after the first follows a catalog change that was made during the previous one.
_BINDINGS_MAX = 50


def parse_statement(text: str, dialect: SqlDialect = SqlDialect.SPARK) -> Executable:
    """Parses a text, or returns the cached statement for the same text: dashboards and jobs repeat themselves.

    A statement depends only on its text and its dialect. Writes have a separate cache, so that INSERTs with ever new
    values do not evict queries. Raises `SqlError`.
    """
    if len(text) <= _CACHED_TEXT_MAX and not isinstance(text, SourceText):
        if class_of(text) is StatementClass.READ:
            return _cached_read(text, dialect)
        if text.lstrip()[:6].upper() in _CACHED_WRITES:
            return _cached_write(text, dialect)
    return parse(text, dialect)


# Equal texts of different types have different positions in errors.
_cached_read = lru_cache(_CACHED_READS_MAX, typed=True)(parse)
_cached_write = lru_cache(_CACHED_WRITES_MAX, typed=True)(parse)


def bind_statement(statement: Statement, binder: Binder) -> BoundStatement:
    """Resolves the names in `statement`, and folds its time travel expressions to constants."""
    return bind(statement, spec_of(statement).bind, binder)


def authorize_statement(bound: BoundStatement) -> AuthorizedStatement:
    """Checks the statement's required privileges and policy effects."""
    statement, spec = bound.statement, spec_of(bound.statement)
    required = partial(spec.required_privileges, bound, statement)
    return authorize(bound, required, spec.policy_effects(bound, statement), is_read_only=spec.is_read_only)


def analyze_statement(authorized: AuthorizedStatement, analyzer: Analyzer) -> AnalyzedStatement:
    """Finds the query's columns if the statement's plan depends on them; no job runs."""
    bound = authorized.bound
    return spec_of(bound.statement).analyze(bound, bound.statement, analyzer)


def plan_statement(analyzed: AnalyzedStatement, resolved: TableSnapshot | None = None) -> Plan:
    """Decides which files to read or write, using only the pinned snapshots.

    `resolved` is the outcome for an `EqualityDeletesPlan` that this function returned before. Raises if the table, or
    this release, does not support the operation.
    """
    bound = with_resolved_deletes(analyzed.bound, resolved)
    if isinstance(bound, EqualityDeletesPlan):
        return bound
    analyzed = analyzed if bound is analyzed.bound else replace(analyzed, bound=bound)
    return spec_of(bound.statement).plan(analyzed, bound.statement, PLANNERS)


def _bind(statement: Statement, context: ExecutionContext) -> BoundStatement:
    """Binds the statement to a catalog generation that is not older than its tables' snapshots.

    This server's known generation is compared with the store's after the tables were read: if the store has a newer
    one, everything is looked up again, also after an error. Raises `CatalogBusy`.
    """
    request, is_read = context.request, spec_of(statement).is_read_only
    names_nothing = isinstance(statement, Query) and not statement.relations and not statement.calls
    constants = Constants(context.values_of)
    for _ in range(_BINDINGS_MAX):
        # The cached generation is used without asking the store, whose check comes
        # afterwards: in the usual case one request is enough for both.
        versions = _versions(request) if is_read else {}
        binder = Binder(
            context.state,
            context.sources,
            constants,
            is_known=True,
            versions=versions,
            spooled_rows=request.spooled_rows,
        )
        binder.inserted_version = request.inserted_version
        try:
            bound = bind_statement(statement, binder)
        except SqlError as error:
            if request.block is not None and isinstance(error, TableNotFound):
                request.block.ensure_exists(error)
            # Errors name the format's own conditions, so it is needed even if binding
            # fails.
            context.subject.format = _format_of(statement, binder, None)
            if names_nothing or binder.is_current:
                raise
        else:
            context.subject.format = _format_of(statement, binder, bound)
            request.cancel.ensure_live()
            if names_nothing or binder.is_current:
                if is_read and request.on_versions is not None:
                    request.on_versions(binder.versions)
                if is_read and request.block is not None:
                    request.block.note_versions(binder.versions)
                return bound
        look_again()
    raise CatalogBusy(_BINDINGS_MAX)


def _versions(request: StatementRequest) -> Mapping[str, str]:
    """Returns the versions of tables that a query reads again; the block's first read of a table decides."""
    return request.versions if request.block is None else {**request.versions, **request.block.versions}


def _format_of(statement: Statement, binder: Binder, bound: BoundStatement | None) -> str | None:
    """Returns the format of the table that the statement writes or creates, or of all tables that it reads; None for
    several.

    CONVERT TO DELTA always has the format Delta.
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


def plan_on_newest(statement: Statement, context: ExecutionContext) -> Plan:
    """Takes the statement from bind to enforce, on its tables' newest versions.

    A statement that is already committed is only bound and authorized (`engine/repeated_statements.py`).

    A plan that finds rows deleted by value is executed here, and the statement is planned again on the same snapshots:
    another binding might find a newer version each time if another writer never pauses.
    """
    request, began_ms = context.request, context.request.now_ms()
    cancel, enter = request.cancel, request.profile.enter
    cancel.reopen()  # after another statement's or step's commit, or a failed attempt
    look_again()
    enter(Stage.BIND)
    bound = _bind(statement, context)
    cancel.ensure_live()
    enter(Stage.AUTHORIZE)
    authorized = authorize_statement(bound)
    access = access_of(authorized, spec_of(statement).use)
    request.on_authorized(access)
    if request.block is not None:
        request.block.note_access(request.statement_id, access)
    context.subject.lineage.note(authorized.bound, spec_of(statement).lineage_type(statement))
    # Before analysis: Spark's plan and its progress would already reveal how many files a
    # protected table has.
    if hides_metrics(authorized.bound):
        request.profile.hide_metrics(texts=hides_texts(authorized.bound))
    repetition = spec_of(statement).repetition(statement)
    if (committed := find_commit(authorized.bound, repetition, context)) is not None:
        return committed
    enter(Stage.ANALYZE)
    analyzed = analyze_statement(authorized, context)
    cancel.ensure_live()
    enter(Stage.PLAN)
    resolved: TableSnapshot | None = None
    while isinstance(plan := plan_statement(analyzed, resolved), EqualityDeletesPlan):
        resolved = execute_and_commit(plan, context, context.retries).resolved
        enter(Stage.PLAN)
    enter(Stage.ENFORCE)
    enforced = enforce(plan)
    cancel.ensure_live()
    request.profile.log(f"planned in {(request.now_ms() - began_ms) / 1000:.3f} s")
    return enforced


def execute_and_commit(plan: Plan, context: ExecutionContext, policy: RetryPolicy) -> Outcome:
    """Executes `plan`, commits its staged actions, and records a new table in the catalog.

    If another process has committed the plan under the same transaction id, the outcome is that of its commit.
    """
    sources, enter = context.sources, context.request.profile.enter
    context.request.cancel.reopen()  # after the commit of another INSERT that was planned together
    enter(Stage.EXECUTE)
    label = ""
    try:
        with execute(plan, context, WRITERS) as staged:
            enter(Stage.COMMIT)
            label = staged.label
            if _has_joined(staged, context.request):
                return staged.outcome
            if staged.transaction is not None and context.request.transaction_id is not None:
                staged.transaction.identify(context.request.transaction_id)
            with _at_the_end_of_block(staged, context.request):
                committed = commit(staged, policy, sources.catalog)
            if committed is not None:
                context.request.on_commit(Commit(staged.label, committed.version))
        return follow_up(staged, committed, sources.after_commit)
    except AlreadyCommitted as found:
        context.request.on_commit(Commit(label, found.record.version))
        return committed_outcome(found.record)
    except _tolerated_errors(plan):
        return Outcome(result=empty_result())


def _has_joined(staged: StagedWrite, request: StatementRequest) -> bool:
    """Returns True for a further INSERT of a block, whose files the first one commits."""
    if request.block is None or (staged.transaction is None and staged.creates is None):
        return False
    return request.block.join(request.statement_id, staged.appended)


def _at_the_end_of_block(staged: StagedWrite, request: StatementRequest) -> AbstractContextManager[None]:
    """Returns a context that is entered at once, or when the block of a staged change commits."""
    if request.block is None or (staged.transaction is None and staged.creates is None):
        return nullcontext()
    on_wait = partial(request.on_staged, staged.outcome.result)
    return request.block.commit_at_end(request.statement_id, staged.transaction, request.cancel, on_wait)


def _tolerated_errors(plan: Plan) -> tuple[type[SqlError], ...]:
    """Returns the tolerated errors for IF NOT EXISTS, if a concurrent statement created the table."""
    return plan.tolerated if isinstance(plan, CreateTablePlan | CreateTableAsPlan | FormatPlan) else ()
