"""The `StatementSpec`: all information that the pipeline needs about a statement type, in one value.

The stages look a statement up in `engine.statements.registry` and call the functions in its :class:`StatementSpec`. No
field has a default: a statement without a declared effect on a table with a row filter, for instance, cannot be
registered, so privilege and policy checks never pass for a statement that was not considered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum, auto
from typing import Generic, Protocol, TypeVar

from catalog.grants.conditions import Requirement
from catalog.grants.privileges import Privilege
from engine.authorization.policies import Effect, PolicyEffect
from engine.authorization.required_privileges import on_target
from engine.binding.binder import Binder
from engine.binding.bound import BoundNames, BoundStatement, Outcome
from engine.planning.analyzed import AnalyzedStatement, Analyzer
from engine.planning.plans.plan import Plan
from engine.planning.plans.reads import CommandPlan
from engine.runtime.accesses import Use
from engine.runtime.statement import Statement
from engine.statements.format_planning import FormatPlanners, FormatStatement, plan_by_format, statement_not_supported

S = TypeVar("S", bound=Statement)


class Retry(Enum):
    """The failures after which a statement is planned again on the newest versions."""

    # Never: the statement's commit cannot conflict with other writers.
    NEVER = auto()
    # Another writer committed first.
    LOST_RACE = auto()
    # Another writer committed first, or took the name, which this statement replaces.
    LOST_RACE_OR_NAME = auto()


class Repetition(Enum):
    """How a statement is repeated that another process had begun, and may have executed."""

    # It is executed again: it changes nothing, or leaves the same state as one execution.
    AGAIN = auto()
    # It is looked up among the commits of its table, and adds or removes rows.
    ROWS = auto()
    # It is looked up likewise, and may change the definition only.
    DEFINITION = auto()
    # It is executed again: if the name exists, the outcome is unknown.
    CREATION = auto()
    # It is executed again, unless the object is younger: if the name does not exist, the outcome is unknown.
    REMOVAL = auto()
    # It is looked up among the changes of the catalog, and makes at most one.
    CATALOG = auto()
    # It is not executed again.
    UNKNOWN = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementSpec(Generic[S]):
    """Everything about one statement type.

    `title` is its name in errors and the reference; `syntax` and `example` are for the reference, and a test parses the
    example. `answer` answers it from the catalog and logs alone, if possible.
    """

    statement: type[S]
    title: str
    syntax: str
    example: str
    bind: Callable[[S, Binder], BoundNames]
    required_privileges: Callable[[BoundStatement, S], Iterable[Requirement]]
    policy_effects: Callable[[BoundStatement, S], Iterable[Effect]]
    analyze: Callable[[BoundStatement, S, Analyzer], AnalyzedStatement]
    plan: Callable[[AnalyzedStatement, S, FormatPlanners], Plan]
    answer: Callable[[BoundStatement, S], Outcome] | None
    # The use of the named object, as recorded in the audit log.
    use: Use
    retry: Callable[[S], Retry]
    repetition: Callable[[S], Repetition]
    caches_result: bool
    # True if its rows report work on files, which is hidden for a protected table.
    reports_work: bool
    # The type of the lineage edges from the relations that it reads to the table that it commits; None if they are not
    # sources of the table's content.
    lineage_type: Callable[[S], str | None]
    # True if a read-only token may run it: it changes at most the session.
    is_read_only: bool
    # True if it may have a result set; drivers ask before it runs.
    answers_rows: bool


def names_nothing(_: Statement, __: Binder) -> BoundNames:
    """Binds a statement that names no table, view or other object that binding resolves."""
    return BoundNames()


def requires_nothing(_: BoundStatement, __: Statement) -> Iterable[Requirement]:
    """Requires no privilege: the statement is about the session, or its result contains only visible objects."""
    return ()


def no_query(bound: BoundStatement, _: Statement, __: Analyzer) -> AnalyzedStatement:
    """Analyzes a statement whose plan depends on no query."""
    return AnalyzedStatement(bound=bound)


def effect(kind: PolicyEffect, what: str) -> Callable[[BoundStatement, Statement], Iterable[Effect]]:
    """Returns a function with a constant effect."""
    effects = (Effect(kind, what),)
    return lambda _, __: effects


def no_lineage(_: Statement) -> None:
    """Returns None: the statement adds no lineage edges."""
    return None


def never(_: Statement) -> Retry:
    """Returns `Retry.NEVER` for any statement."""
    return Retry.NEVER


def lost_race(_: Statement) -> Retry:
    """Returns `Retry.LOST_RACE` for any statement."""
    return Retry.LOST_RACE


def repeats(repetition: Repetition) -> Callable[[Statement], Repetition]:
    """Returns a function with a constant repetition."""
    return lambda _: repetition


def plan_command(analyzed: AnalyzedStatement, statement: Statement, _: FormatPlanners) -> CommandPlan:
    """Plans a statement that is answered from the catalog, the logs and the session's state."""
    return CommandPlan(statement=statement, bound=analyzed.bound)


def answer_spec(
    statement: type[S],
    title: str,
    *,
    syntax: str,
    example: str,
    bind: Callable[[S, Binder], BoundNames],
    required_privileges: Callable[[BoundStatement, S], Iterable[Requirement]],
    policy_effects: Callable[[BoundStatement, S], Iterable[Effect]],
    answer: Callable[[BoundStatement, S], Outcome],
    answers_rows: bool = True,
) -> StatementSpec[S]:
    """Returns the spec for a statement without Spark: SHOW, DESCRIBE, USE, SET and drivers' metadata calls."""
    return StatementSpec(
        statement=statement,
        title=title,
        syntax=syntax,
        example=example,
        bind=bind,
        required_privileges=required_privileges,
        policy_effects=policy_effects,
        analyze=no_query,
        plan=plan_command,
        answer=answer,
        use=Use.DESCRIBE,
        retry=never,
        repetition=repeats(Repetition.AGAIN),
        caches_result=False,
        reports_work=False,
        lineage_type=no_lineage,
        is_read_only=True,
        answers_rows=answers_rows,
    )


def unrestricted(
    statement: type[S],
    title: str,
    *,
    syntax: str,
    example: str,
    answer: Callable[[BoundStatement, S], Outcome],
    bind: Callable[[S, Binder], BoundNames] = names_nothing,
    answers_rows: bool = True,
) -> StatementSpec[S]:
    """Returns the spec for an answer about visible objects or the session, which needs no privilege and has no rows of
    tables.
    """
    return answer_spec(
        statement,
        title,
        syntax=syntax,
        example=example,
        bind=bind,
        required_privileges=requires_nothing,
        policy_effects=effect(PolicyEffect.NONE, title),
        answer=answer,
        answers_rows=answers_rows,
    )


def change_spec(
    statement: type[S],
    title: str,
    *,
    syntax: str,
    example: str,
    bind: Callable[[S, Binder], BoundNames],
    required_privileges: Callable[[BoundStatement, S], Iterable[Requirement]],
    policy_effects: Callable[[BoundStatement, S], Iterable[Effect]],
    plan: Callable[[AnalyzedStatement, S, FormatPlanners], Plan],
    answers_rows: bool,
    reports_work: bool,
    analyze: Callable[[BoundStatement, S, Analyzer], AnalyzedStatement] = no_query,
    use: Use = Use.WRITE,
    retry: Callable[[S], Retry] = lost_race,
    repetition: Callable[[S], Repetition] | Repetition = Repetition.UNKNOWN,
    lineage_type: Callable[[S], str | None] = no_lineage,
    is_read_only: bool = False,
) -> StatementSpec[S]:
    """Returns the spec for a statement that commits: to a table's log, the catalog, or the volume or token store."""
    return StatementSpec(
        statement=statement,
        title=title,
        syntax=syntax,
        example=example,
        bind=bind,
        required_privileges=required_privileges,
        policy_effects=policy_effects,
        analyze=analyze,
        plan=plan,
        answer=None,
        use=use,
        retry=retry,
        repetition=repeats(repetition) if isinstance(repetition, Repetition) else repetition,
        caches_result=False,
        reports_work=reports_work,
        lineage_type=lineage_type,
        is_read_only=is_read_only,
        answers_rows=answers_rows,
    )


def bind_table(statement: TableStatement, binder: Binder) -> BoundNames:
    """Binds a statement about one table that reads no other relation."""
    return BoundNames(target=binder.table(statement.table_parts))


class TableStatement(Protocol):
    """A statement about one table."""

    @property
    def table_parts(self) -> tuple[str, ...]:
        """Returns the parts of the table's name as written; a missing catalog and schema are the session's."""
        ...


def require_on_target(*privileges: Privilege) -> Callable[[BoundStatement, Statement], Iterable[Requirement]]:
    """Requires privileges on the table that a statement changes."""
    return lambda bound, _: (requirement for privilege in privileges for requirement in on_target(bound, privilege))


def plan_from_bound(
    plan: Callable[[BoundStatement, S], Plan],
) -> Callable[[AnalyzedStatement, S, FormatPlanners], Plan]:
    """Adapts a planner that uses no analyzed query."""
    return lambda analyzed, statement, _: plan(analyzed.bound, statement)


def plan_from_analyzed(
    plan: Callable[[AnalyzedStatement, S], Plan],
) -> Callable[[AnalyzedStatement, S, FormatPlanners], Plan]:
    """Adapts a planner that uses no format."""
    return lambda analyzed, statement, _: plan(analyzed, statement)


def planned_by_format(analyzed: AnalyzedStatement, statement: FormatStatement, planners: FormatPlanners) -> Plan:
    """Plans a format-specific statement. Raises if the table's format does not support it."""
    own = plan_by_format(planners, analyzed.bound, statement)
    if own is None:
        raise statement_not_supported(analyzed.bound, statement)
    return own
