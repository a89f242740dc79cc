"""The stages for a statement without Spark: its plan, and the execution for a CREATE TABLE plan."""

from __future__ import annotations

from contextlib import suppress

from catalog.catalog import Catalog
from engine.binding.binder import Binder
from engine.binding.bound import BoundStatement
from engine.binding.sources import Sources
from engine.concurrency.retry import RetryPolicy
from engine.delta.snapshot.snapshot import load_snapshot
from engine.enforcement.enforce import enforce
from engine.execution.writes.commit import commit
from engine.execution.writes.new_tables import create_table
from engine.formats.delta.delta_format import DeltaFormat
from engine.pipeline import analyze_statement, authorize_statement, bind_statement, plan_statement
from engine.planning.analyzed import Analyzer
from engine.planning.plans.ddl import CreateTablePlan
from engine.planning.plans.plan import Plan
from engine.planning.plans.reads import QueryColumn, ReadPlan
from engine.runtime.session_state import SessionState
from engine.storage.storage import open_storage
from engine.tables.formats import formats_of
from tests.engine.contexts import NO_CONSTANTS
from tests.engine.parsed import parse_one


class NoAnalyzer:
    """An analyzer for statements whose plan does not depend on a query's columns."""

    def columns_of(self, plan: ReadPlan) -> tuple[QueryColumn, ...]:
        raise AssertionError(f"asked for the columns of {plan.text}")

    def variables_of(self, plan: ReadPlan) -> tuple[str, ...]:
        raise AssertionError(f"asked for the variables of {plan.text}")

    def setting(self, key: str) -> str | None:
        raise AssertionError(f"asked for the setting {key}")


def planned(text: str, state: SessionState, sources: Sources, analyzer: Analyzer | None = None) -> Plan:
    bound = bind_statement(parse_one(text), Binder(state, sources, NO_CONSTANTS))
    assert isinstance(bound, BoundStatement), bound
    return enforce(plan_statement(analyze_statement(authorize_statement(bound), analyzer or NoAnalyzer())))


def make_table(plan: CreateTablePlan, catalog: Catalog, now_ms: int) -> None:
    """Executes a CREATE TABLE plan without a query, as the pipeline does."""
    delta = DeltaFormat(load_snapshot, lambda location: open_storage(location, allowed_roots=catalog.allowed_roots))
    staged = create_table(plan, formats_of(delta), now_ms)
    with suppress(*plan.tolerated):
        commit(staged, RetryPolicy(), catalog)
