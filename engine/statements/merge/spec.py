"""Registers MERGE."""

from __future__ import annotations

from typing import Any

from engine.authorization.policies import PolicyEffect
from engine.binding.binder import Binder
from engine.binding.bound import BoundNames, BoundStatement
from engine.planning.analyzed import AnalyzedStatement, Analyzer, with_columns
from engine.planning.reads.read_plan import read_plan
from engine.statements.merge.planning import plan_merge
from engine.statements.merge.statement import Merge
from engine.statements.row_changes.spec import require_row_changes
from engine.statements.spec import Repetition, StatementSpec, change_spec, effect, plan_from_analyzed


def bind_merge(statement: Merge, binder: Binder) -> BoundNames:
    """Binds the target, and the relations of all queries in the order of `Merge.queries`, the source's first."""
    target = binder.table(statement.table_parts)
    named = tuple(relation for query in statement.queries for relation in query.relations)
    return BoundNames(target=target, relations=binder.relations(named, binder.state.current))


def analyze_merge(bound: BoundStatement, statement: Merge, analyzer: Analyzer) -> AnalyzedStatement:
    """Returns the statement with the source's columns, which schema evolution and `*` refer to."""
    read = read_plan(statement.source, bound.relations[: len(statement.source.relations)])
    return with_columns(bound, read, analyzer)


SPECS: tuple[StatementSpec[Any], ...] = (
    change_spec(
        Merge,
        "MERGE",
        syntax="MERGE [WITH SCHEMA EVOLUTION] INTO target [[AS] alias] USING source [[AS] alias] ON condition "
        "{WHEN MATCHED [AND condition] THEN {UPDATE SET … | DELETE} | "
        "WHEN NOT MATCHED [BY TARGET] [AND condition] THEN INSERT … | "
        "WHEN NOT MATCHED BY SOURCE [AND condition] THEN {UPDATE SET … | DELETE}} …",
        example="MERGE INTO orders USING updates ON orders.id = updates.id WHEN NOT MATCHED THEN INSERT *",
        bind=bind_merge,
        required_privileges=require_row_changes,
        policy_effects=effect(PolicyEffect.CHANGES_VISIBLE_ROWS, "MERGE"),
        analyze=analyze_merge,
        plan=plan_from_analyzed(plan_merge),
        repetition=Repetition.ROWS,
        answers_rows=False,
        reports_work=False,
        lineage_type=lambda _: "MERGE",
    ),
)
