"""The planner of Iceberg's own statements: which function plans which."""

from __future__ import annotations

from engine.bind.bound import BoundStatement
from engine.formats.planning import RowPlan
from engine.iceberg.planning.plans import IcebergPlan
from engine.iceberg.planning.procedures import plan_call, plan_register
from engine.iceberg.snapshot.snapshot import FORMAT
from engine.plans.format_plan import FormatPlan
from engine.plans.plan import Plan
from engine.statements.calls.procedures import Call, RegisterTable
from engine.statements.maintenance import Optimize
from engine.statements.statement import FormatStatement


class IcebergPlanner:
    """See :class:`engine.formats.planning.FormatPlanner`."""

    def plan(self, bound: BoundStatement, statement: FormatStatement) -> Plan | None:
        own = _planned(bound, statement)
        return None if own is None else FormatPlan(format=FORMAT, own=own)

    def follow_up(self, plan: RowPlan) -> Optimize | None:
        return None


def _planned(bound: BoundStatement, statement: FormatStatement) -> IcebergPlan | None:
    match statement:
        case Call() as call:
            return plan_call(bound, call)
        case RegisterTable() as register:
            return plan_register(bound, register)
        case _:
            return None
