"""Planning by formats: the format to call, and the fallback if it returns nothing."""

from __future__ import annotations

import pytest

from catalog.conditions import StatementNotSupported
from engine.binding.bound import BoundStatement
from engine.planning.analyzed import AnalyzedStatement
from engine.planning.plans.ddl import AlterPlan
from engine.planning.plans.format_plan import FormatPlan
from engine.planning.plans.plan import Plan
from engine.planning.plans.writes import DeletePlan
from engine.statements.alter_table.statement import AlterTable
from engine.statements.format_planning import FormatPlanners, FormatStatement, RowPlan, follow_up_of
from engine.statements.maintenance.statement import Optimize
from engine.statements.registry import spec_of
from tests.engine.planning.lake import PlanningLake


class Planner:
    """A format that plans everything except ALTER TABLE."""

    def plan(self, bound: BoundStatement, statement: FormatStatement) -> Plan | None:
        return None if isinstance(statement, AlterTable) else FormatPlan(format="delta", own=statement)

    def follow_up(self, plan: RowPlan) -> Optimize | None:
        return Optimize(table_parts=(plan.table.label,))


def plan_by(analyzed: AnalyzedStatement, planners: FormatPlanners) -> Plan:
    statement = analyzed.bound.statement
    return spec_of(statement).plan(analyzed, statement, planners)


@pytest.mark.parametrize("text", ["OPTIMIZE plain", "CREATE TABLE other LIKE plain", "VACUUM plain"])
def test_table_format_plans_first(planning: PlanningLake, text: str) -> None:
    analyzed = planning.analyzed(text)
    assert plan_by(analyzed, {"delta": Planner()}) == FormatPlan(format="delta", own=analyzed.bound.statement)


def test_common_statement_is_planned_for_every_format(planning: PlanningLake) -> None:
    analyzed = planning.analyzed("ALTER TABLE plain ADD COLUMN c INT")
    assert isinstance(plan_by(analyzed, {"delta": Planner()}), AlterPlan)
    assert isinstance(plan_by(analyzed, {}), AlterPlan)


def test_a_format_that_has_not_the_statement(planning: PlanningLake) -> None:
    with pytest.raises(StatementNotSupported, match="OPTIMIZE of a table of the format delta"):
        plan_by(planning.analyzed("OPTIMIZE plain"), {"other": Planner()})


def test_compaction_after_a_write(planning: PlanningLake) -> None:
    plan = planning.plan(DeletePlan, "DELETE FROM plain")
    assert follow_up_of({"delta": Planner()}, plan) == Optimize(table_parts=(plan.table.label,))
    assert follow_up_of({"other": Planner()}, plan) is None
    assert follow_up_of({"delta": Planner()}, planning.plan(AlterPlan, "COMMENT ON TABLE plain IS 'x'")) is None
