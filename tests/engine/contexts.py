"""Execution contexts and constants for bound statements, without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine.attempts import run_statement
from engine.binding.bound import Outcome
from engine.binding.sources import Sources
from engine.binding.time_travel import Constants
from engine.runtime.parameters import Parameter
from engine.runtime.request import StatementRequest
from engine.runtime.session_state import SessionState
from engine.spark.execution_context import ExecutionContext
from engine.statements.scripting.statement import RunnableStatement


def _no_spark(expressions: str) -> tuple[Any, ...]:
    raise AssertionError(f"{expressions} has to be evaluated by Spark")


NO_CONSTANTS = Constants(_no_spark)


def run_on(
    statement: RunnableStatement,
    state: SessionState,
    sources: Sources,
    executor: Any,
    request: StatementRequest,
    parameters: Sequence[Parameter] = (),
) -> Outcome:
    """Runs a statement; `executor` may be a fake, or None if the statement does not use Spark."""
    return run_statement(
        statement,
        ExecutionContext(request=request, state=state, sources=sources, executor=executor, parameters=parameters),
    )


def context_without_spark(request: StatementRequest, sources: Sources | None = None) -> ExecutionContext:
    """Returns an execution context for stages that use neither the session nor Spark."""
    return ExecutionContext(request=request, state=None, sources=sources, executor=None)  # type: ignore[arg-type]
