"""The road of one statement: the one function that calls the stages, in their order.

    text ──parse──► Statement ──bind──► BoundStatement ──authorize──► AuthorizedStatement ──plan──► Plan ──► Outcome

No stage calls another, and the type of each stage's input is the proof that the former one ran. Cancelling is looked
for between the stages; inside of execution it reaches the Spark job (`engine/exec`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

import pyarrow as pa

from engine.authorize import authorize
from engine.binder import Sources, bind
from engine.bound import Outcome
from engine.commands.commands import run_command
from engine.context import StatementContext
from engine.engine import Parameter
from engine.exec.session import ExecSession
from engine.plan.planner import plan_statement
from engine.plan.plans import CommandPlan, ExplainPlan, Plan, ReadPlan, SchemaPlan
from engine.settings import SessionState
from engine.sql.parser import parse
from engine.statements import Statement


def parse_statement(text: str) -> Statement:
    """The first stage, for those who have text."""
    return parse(text)


def run_statement(
    statement: Statement,
    state: SessionState,
    sources: Sources,
    executor: ExecSession,
    context: StatementContext,
    parameters: Sequence[Parameter] = (),
) -> Outcome:
    """Take `statement` down the road. Raises `SqlError`; nothing else that is not a bug."""
    bound = bind(statement, state, sources, lambda expression: _timestamp_ms(expression, executor, context))
    context.cancel.ensure_live()
    plan = plan_statement(authorize(bound))
    context.cancel.ensure_live()
    return _execute(plan, executor, context, parameters)


def _timestamp_ms(expression: str, executor: ExecSession, context: StatementContext) -> int | None:
    """The value of `TIMESTAMP AS OF expression`: Spark's, in the session's zone and under its guard."""
    text = f"SELECT unix_micros(TRY_CAST(({expression}) AS TIMESTAMP))"
    result = executor.run_query(ReadPlan(text=text, scans=()), context)
    try:
        (micros,) = pa.Table.from_batches(result.batches(), result.schema).column(0).to_pylist()
    finally:
        result.close()
    return None if micros is None else int(micros) // 1000


def _execute(plan: Plan, executor: ExecSession, context: StatementContext, parameters: Sequence[Parameter]) -> Outcome:
    match plan:
        case ReadPlan():
            return Outcome(result=executor.run_query(plan, context, parameters))
        case ExplainPlan(mode=mode, read=read):
            return Outcome(result=executor.explain(read, mode, context, parameters))
        case SchemaPlan(read=read):
            return Outcome(result=executor.describe(read, context, parameters))
        case CommandPlan(bound=bound):
            return run_command(bound)
        case _:
            assert_never(plan)
