"""Registers queries: SELECT and its variants, DESCRIBE QUERY, and the queries with one row that scripts evaluate."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from catalog.conditions import StatementNotSupported
from catalog.grants.conditions import Requirement
from engine.authorization.policies import PolicyEffect
from engine.authorization.required_privileges import reads
from engine.binding.binder import Binder
from engine.binding.bound import BoundNames, BoundStatement
from engine.formats.planning import FormatPlanners
from engine.planning.analyzed import AnalyzedStatement, Analyzer
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
from engine.statements.spec import StatementSpec, effect, never

THROUGH_POLICIES = effect(PolicyEffect.READS_THROUGH_POLICIES, "SELECT")


def bind_query(query: Query, binder: Binder) -> BoundNames:
    return BoundNames(relations=binder.relations(query.relations, binder.state.current))


def require_reads(bound: BoundStatement, _: Statement) -> Iterable[Requirement]:
    """Requires SELECT on all relations that the statement reads."""
    return reads(bound.relations)


def analyze_query(bound: BoundStatement, query: Query) -> AnalyzedStatement:
    return AnalyzedStatement(bound=bound, source=read_plan(query, bound.relations))


def _analyze(bound: BoundStatement, query: Query, _: Analyzer) -> AnalyzedStatement:
    return analyze_query(bound, query)


def _plan(analyzed: AnalyzedStatement, query: Query, _: FormatPlanners) -> Plan:
    answer = answer_from_log(query, analyzed.bound.relations)
    return analyzed.query if isinstance(answer, NoAnswer) else answer


def _plan_schema(analyzed: AnalyzedStatement, _: DescribeQuery, __: FormatPlanners) -> Plan:
    # pandas treats anything that can be described as a table's name
    if analyzed.bound.state.value(HIVE_SHAPE) == "true":
        raise StatementNotSupported(f"DESCRIBE of a query in a session with {HIVE_SHAPE}")
    return SchemaPlan(read=analyzed.query)


SPECS: tuple[StatementSpec[Any], ...] = (
    StatementSpec(
        statement=Query,
        title="SELECT",
        syntax="[WITH …] SELECT … | VALUES … | TABLE name | FROM name …",
        example="SELECT 1",
        bind=bind_query,
        required_privileges=require_reads,
        policy_effects=THROUGH_POLICIES,
        analyze=_analyze,
        plan=_plan,
        answer=None,
        use=Use.READ,
        retry=never,
        caches_result=True,
        reports_work=False,
        is_read_only=True,
        answers_rows=True,
    ),
    StatementSpec(
        statement=DescribeQuery,
        title="DESCRIBE QUERY",
        syntax="DESCRIBE [QUERY] query",
        example="DESCRIBE QUERY SELECT 1",
        bind=lambda statement, binder: bind_query(statement.inner, binder),
        required_privileges=require_reads,
        policy_effects=THROUGH_POLICIES,
        analyze=lambda bound, statement, _: analyze_query(bound, statement.inner),
        plan=_plan_schema,
        answer=None,
        use=Use.READ,
        retry=never,
        caches_result=False,
        reports_work=False,
        is_read_only=True,
        answers_rows=True,
    ),
)
