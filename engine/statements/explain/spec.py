"""Registers EXPLAIN for queries and for statements that change rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, assert_never

from catalog.grants.conditions import Requirement
from engine.authorization.policies import PolicyEffect
from engine.binding.binder import Binder
from engine.binding.bound import BoundNames, BoundStatement
from engine.planning.analyzed import AnalyzedStatement, Analyzer
from engine.planning.plans.plan import Plan
from engine.planning.plans.reads import AnswerPlan, ExplainPlan
from engine.planning.reads.answers import answer_from_log
from engine.pruning.metadata_answers import NoAnswer
from engine.statements.explain.planning import explain_write
from engine.statements.explain.statement import Explain, ExplainWrite
from engine.statements.format_planning import FormatPlanners
from engine.statements.insert.spec import analyze_insert, bind_insert, require_insert
from engine.statements.insert.statement import Insert
from engine.statements.merge.spec import analyze_merge, bind_merge
from engine.statements.merge.statement import Merge
from engine.statements.row_changes.spec import bind_delete, bind_update, require_row_changes
from engine.statements.row_changes.statement import Delete, Update
from engine.statements.select.spec import reading_query
from engine.statements.spec import StatementSpec, effect, plan_from_analyzed


def _bind(statement: ExplainWrite, binder: Binder) -> BoundNames:
    match statement.inner:
        case Insert() as insert:
            return bind_insert(insert, binder)
        case Delete() as delete:
            return bind_delete(delete, binder)
        case Update() as update:
            return bind_update(update, binder)
        case Merge() as merge:
            return bind_merge(merge, binder)
        case _:
            assert_never(statement.inner)


def _require(bound: BoundStatement, statement: ExplainWrite) -> Iterable[Requirement]:
    """Requires the explained statement's privileges."""
    if isinstance(statement.inner, Insert):
        return require_insert(bound, statement.inner)
    return require_row_changes(bound, statement.inner)


def _analyze(bound: BoundStatement, statement: ExplainWrite, analyzer: Analyzer) -> AnalyzedStatement:
    match statement.inner:
        case Insert() as insert:
            return analyze_insert(bound, insert, analyzer)
        case Merge() as merge:
            return analyze_merge(bound, merge, analyzer)
        case Delete() | Update():
            return AnalyzedStatement(bound=bound)
        case _:
            assert_never(statement.inner)


def _plan(analyzed: AnalyzedStatement, statement: Explain, _: FormatPlanners) -> Plan:
    note = _metadata_answer_note(answer_from_log(statement.inner, analyzed.bound.relations))
    return ExplainPlan(mode=statement.mode, read=analyzed.query, note=note)


def _metadata_answer_note(answer: AnswerPlan | NoAnswer) -> str:
    """Describes whether the query is metadata-only."""
    if isinstance(answer, NoAnswer):
        return f"not answered from the log: {answer.reason}"
    return f"answered from the log of {answer.table.label}, version {answer.table.snapshot.version}: no file is read"


_QUERY: StatementSpec[Any] = reading_query(
    Explain,
    "EXPLAIN",
    syntax="EXPLAIN [EXTENDED | CODEGEN | COST | FORMATTED] query",
    example="EXPLAIN SELECT 1",
    query=lambda statement: statement.inner,
    plan=_plan,
    policy_effects=effect(PolicyEffect.REVEALS_PLAN, "EXPLAIN"),
)
_WRITE = replace(
    _QUERY,
    statement=ExplainWrite,
    title="EXPLAIN of a statement that changes rows",
    syntax="EXPLAIN [EXTENDED | CODEGEN | COST | FORMATTED] {INSERT … | DELETE … | UPDATE … | MERGE …}",
    example="EXPLAIN DELETE FROM orders WHERE id = 1",
    bind=_bind,
    required_privileges=_require,
    analyze=_analyze,
    plan=plan_from_analyzed(explain_write),
)

SPECS = (_QUERY, _WRITE)
