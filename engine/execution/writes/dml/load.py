"""COPY INTO: loads file rows into a table and records the files, in one version."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from engine.binding.bound import Outcome
from engine.execution.writes.dml.insert import insert
from engine.execution.writes.staged_files import discarded_on_failure
from engine.execution.writes.staged_write import StagedWrite
from engine.planning.plans.reads import ReadPlan
from engine.planning.plans.writes import CopyPlan, InsertPlan
from engine.runtime.request import with_changes
from engine.runtime.results import RowCounts, empty_result
from engine.spark.execution_context import ExecutionContext

# Maximum number of rows that a validation shows.
_SHOWN_ROWS_MAX = 50


@contextmanager
def copy_into(plan: CopyPlan, context: ExecutionContext) -> Iterator[StagedWrite]:
    """Loads the files; does nothing if all were loaded before."""
    if plan.insert is None:
        yield StagedWrite(outcome=_outcome(0))
    elif plan.validates:
        yield StagedWrite(outcome=_validate(plan.insert, context))
    else:
        with insert(plan.insert, context) as staged, _record_loads(plan, staged, context):
            counts = staged.outcome.result.row_counts
            yield replace(staged, outcome=_outcome(counts.affected if counts else 0))


@contextmanager
def _record_loads(plan: CopyPlan, staged: StagedWrite, context: ExecutionContext) -> Iterator[None]:
    """Records the loaded files in the commit."""
    transaction = staged.transaction
    if transaction is None:  # an idempotent write that is already committed
        yield
        return
    written = transaction.note_loads(plan.loaded)
    with discarded_on_failure(plan.table.snapshot.storage, written, context):
        yield


class _Validated(Exception):
    """The rows were written, and satisfy all table rules."""


def _validate(plan: InsertPlan, context: ExecutionContext) -> Outcome:
    """Returns the first rows after processing all as an INSERT would; the written files are removed."""
    try:
        with insert(plan, context):
            raise _Validated
    except _Validated:
        pass
    request = with_changes(context.request, statement_id=f"{context.request.statement_id}-shown")
    shown = ReadPlan(
        text=f"SELECT * FROM (\n{plan.source.text}\n) LIMIT {_SHOWN_ROWS_MAX}",
        scans=plan.source.scans,
        views=plan.source.views,
    )
    return Outcome(result=context.executor.run_query(shown, request, context.parameters))


def _outcome(num_rows: int) -> Outcome:
    counts = RowCounts(affected=num_rows, inserted=num_rows, skipped_corrupt_files=0)
    return Outcome(result=replace(empty_result(), row_counts=counts))
