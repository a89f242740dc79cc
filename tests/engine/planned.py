"""The plan of a query, by the stages before execution, without Spark."""

from __future__ import annotations

from engine.analyze.analyze import analyze
from engine.authorize.authorize import authorize
from engine.bind.bind import bind
from engine.bind.binder import Binder
from engine.bind.bound import BoundStatement
from engine.bind.sources import Sources
from engine.enforce.rules import enforce
from engine.plan.planner import plan_statement
from engine.plans.plan import Plan
from engine.plans.reads import QueryColumn, ReadPlan
from engine.runtime.session_state import SessionState
from engine.sql.parser import parse_any


class NoAnalyzer:
    """For statements whose plan does not depend on the columns of a query."""

    def columns_of(self, plan: ReadPlan) -> tuple[QueryColumn, ...]:
        raise AssertionError(f"asked for the columns of {plan.text}")

    def variables_of(self, plan: ReadPlan) -> tuple[str, ...]:
        raise AssertionError(f"asked for the variables of {plan.text}")


def planned(text: str, state: SessionState, sources: Sources) -> Plan:
    bound = bind(parse_any(text), Binder(state, sources))
    assert isinstance(bound, BoundStatement), bound
    return enforce(plan_statement(analyze(authorize(bound), NoAnalyzer())))
