"""Registers INSERT."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from catalog.grants.conditions import Requirement
from catalog.grants.privileges import Privilege
from engine.authorization.policies import Effect, PolicyEffect
from engine.authorization.required_privileges import on_target, reads
from engine.binding.binder import Binder
from engine.binding.bound import BoundNames, BoundStatement
from engine.planning.analyzed import AnalyzedStatement, Analyzer
from engine.planning.reads.read_plan import read_plan
from engine.statements.insert.planning import plan_insert
from engine.statements.insert.planning_fields import depends_on_names
from engine.statements.insert.planning_rows import insert_rows
from engine.statements.insert.statement import Insert, ReplaceOn
from engine.statements.spec import Repetition, StatementSpec, change_spec, plan_from_analyzed


def bind_insert(statement: Insert, binder: Binder) -> BoundNames:
    """Binds the target, and the source's relations in the session's current schema."""
    target = binder.table(statement.table_parts)
    return BoundNames(target=target, relations=binder.relations(statement.source.relations, binder.state.current))


def require_insert(bound: BoundStatement, statement: Insert) -> Iterable[Requirement]:
    """Requires SELECT too if existing rows decide the outcome, which then reveals something about them."""
    yield from on_target(bound, Privilege.MODIFY)
    if _replaces(statement):
        yield from on_target(bound, Privilege.SELECT)
    yield from reads(bound.relations)


def _effects(_: BoundStatement, statement: Insert) -> Iterable[Effect]:
    yield Effect(PolicyEffect.READS_THROUGH_POLICIES, "INSERT")
    if _replaces(statement):
        yield Effect(PolicyEffect.REMOVES_OR_REPLACES_ROWS, "INSERT that replaces rows")
    else:
        yield Effect(PolicyEffect.ADDS_ROWS, "INSERT")


def _replaces(statement: Insert) -> bool:
    return statement.overwrite or statement.replace is not None


def analyze_insert(bound: BoundStatement, statement: Insert, analyzer: Analyzer) -> AnalyzedStatement:
    """Requests the source's columns from Spark only if the plan depends on them."""
    found = insert_rows(bound, statement)
    source, *more = found.sources(read_plan(statement.source, bound.relations, found.edits))
    names_fields = depends_on_names(found.rows.config, statement)
    requires_columns = statement.by_name or found.evolves or names_fields or isinstance(statement.replace, ReplaceOn)
    columns = analyzer.columns_of(source) if requires_columns else None
    return AnalyzedStatement(bound=bound, source=source, columns=columns, insert=found, more_sources=tuple(more))


SPECS: tuple[StatementSpec[Any], ...] = (
    change_spec(
        Insert,
        "INSERT",
        syntax="INSERT [WITH SCHEMA EVOLUTION] {INTO | OVERWRITE} [TABLE] table [PARTITION (…)] [BY NAME | (columns)] "
        "[REPLACE {WHERE condition | USING (columns) | ON condition}] {query | VALUES … | DEFAULT VALUES}",
        example="INSERT INTO orders (id, total) VALUES (1, 9.90)",
        bind=bind_insert,
        required_privileges=require_insert,
        policy_effects=_effects,
        analyze=analyze_insert,
        plan=plan_from_analyzed(plan_insert),
        repetition=Repetition.ROWS,
        answers_rows=False,
        reports_work=False,
        lineage_type=lambda _: "INSERT",
    ),
)
