"""Registers queries: SELECT and its variants, DESCRIBE QUERY, and the queries with one row that scripts evaluate."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from catalog.conditions import StatementNotSupported
from engine.authorization.policies import Effect, PolicyEffect
from engine.authorization.required_privileges import reads
from engine.binding.bound import BoundNames, BoundStatement
from engine.planning.analyzed import AnalyzedStatement
from engine.planning.plans.plan import Plan
from engine.planning.plans.reads import SchemaPlan
from engine.planning.reads.answers import answer_from_log
from engine.planning.reads.read_plan import read_plan
from engine.pruning.metadata_answers import NoAnswer
from engine.runtime.accesses import Use
from engine.runtime.settings import HIVE_SHAPE
from engine.runtime.statement import Statement
from engine.sql.query.values import Query
from engine.statements.describe.statement import DescribeQuery
from engine.statements.format_planning import FormatPlanners
from engine.statements.spec import Repetition, StatementSpec, effect, never, no_lineage, repeats

S = TypeVar("S", bound=Statement)

_THROUGH_POLICIES = effect(PolicyEffect.READS_THROUGH_POLICIES, "SELECT")


def reading_query(
    statement: type[S],
    title: str,
    *,
    syntax: str,
    example: str,
    query: Callable[[S], Query],
    plan: Callable[[AnalyzedStatement, S, FormatPlanners], Plan],
    policy_effects: Callable[[BoundStatement, S], Iterable[Effect]] = _THROUGH_POLICIES,
    caches_result: bool = True,
    repetition: Repetition = Repetition.AGAIN,
    answers_rows: bool = True,
) -> StatementSpec[S]:
    """Returns the spec for a statement about one query, which Spark answers."""
    return StatementSpec(
        statement=statement,
        title=title,
        syntax=syntax,
        example=example,
        bind=lambda each, binder: BoundNames(relations=binder.relations(query(each).relations, binder.state.current)),
        required_privileges=lambda bound, _: reads(bound.relations),
        policy_effects=policy_effects,
        analyze=lambda bound, each, _: AnalyzedStatement(bound=bound, source=read_plan(query(each), bound.relations)),
        plan=plan,
        answer=None,
        use=Use.READ,
        retry=never,
        repetition=repeats(repetition),
        caches_result=caches_result,
        reports_work=False,
        lineage_type=no_lineage,
        is_read_only=True,
        answers_rows=answers_rows,
    )


def _plan(analyzed: AnalyzedStatement, query: Query, _: FormatPlanners) -> Plan:
    answer = answer_from_log(query, analyzed.bound.relations)
    return analyzed.query if isinstance(answer, NoAnswer) else answer


def _plan_schema(analyzed: AnalyzedStatement, statement: DescribeQuery, _: FormatPlanners) -> Plan:
    # pandas treats anything that can be described as a table's name
    if analyzed.bound.state.value(HIVE_SHAPE) == "true":
        raise StatementNotSupported(f"DESCRIBE of a query in a session with {HIVE_SHAPE}")
    return SchemaPlan(read=analyzed.query, as_json=statement.as_json)


SPECS: tuple[StatementSpec[Any], ...] = (
    reading_query(
        Query,
        "SELECT",
        syntax="[WITH …] SELECT … | VALUES … | TABLE name | FROM name …",
        example="SELECT 1",
        query=lambda query: query,
        plan=_plan,
    ),
    reading_query(
        DescribeQuery,
        "DESCRIBE QUERY",
        syntax="DESCRIBE [QUERY] query",
        example="DESCRIBE QUERY SELECT 1",
        query=lambda statement: statement.inner,
        plan=_plan_schema,
        caches_result=False,
    ),
)
