"""Dispatches Delta's plans to their writers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import assert_never, cast

from engine.concurrency.table_locks import file_lock
from engine.execution.writes.staged_write import StagedWrite
from engine.formats.delta.planning.maintenance_plans import (
    AnalyzePlan,
    ManifestPlan,
    RepairPlan,
    RestorePlan,
    VacuumPlan,
)
from engine.formats.delta.planning.optimize_plans import OptimizePlan
from engine.formats.delta.planning.plans import (
    BackfillPlan,
    ClonePlan,
    ConvertPlan,
    DeltaPlan,
    RewritePlan,
    TruncateHistoryPlan,
)
from engine.formats.delta.writing.clone import clone_table
from engine.formats.delta.writing.convert import convert_table
from engine.formats.delta.writing.optimize import optimize
from engine.formats.delta.writing.repairs import analyze_files, generate_manifests, repair
from engine.formats.delta.writing.restore import restore
from engine.formats.delta.writing.rewrite import drop_with_history, give_row_ids, rewrite_files
from engine.formats.delta.writing.vacuum import vacuum
from engine.planning.plans.format_plan import FormatPlan
from engine.spark.execution_context import ExecutionContext


class DeltaWriter:
    """See :class:`engine.execution.writes.staged_write.FormatWriter`."""

    def write(self, plan: FormatPlan, context: ExecutionContext) -> AbstractContextManager[StagedWrite]:
        return _stage(plan, context)


@contextmanager
def _stage(plan: FormatPlan, context: ExecutionContext) -> Iterator[StagedWrite]:
    own = cast(DeltaPlan, plan.own)
    match own:
        case ClonePlan():
            with _clone(own, context) as staged:
                yield staged
        case ConvertPlan():
            with convert_table(own, context) as staged:
                yield staged
        case BackfillPlan():
            yield give_row_ids(own)
        case TruncateHistoryPlan():
            yield drop_with_history(own, context.request.now_ms())
        case RewritePlan():
            with rewrite_files(own, context) as staged:
                yield staged
        case OptimizePlan():
            with optimize(replace(own, left=plan.left), context) as staged:
                yield staged
        case VacuumPlan():
            with vacuum(own, context) as staged:
                yield staged
        case RestorePlan():
            with restore(own, context) as staged:
                yield staged
        case RepairPlan():
            yield repair(own, context)
        case ManifestPlan():
            yield generate_manifests(own)
        case AnalyzePlan():
            yield analyze_files(own, context)
        case _:
            assert_never(own)


@contextmanager
def _clone(plan: ClonePlan, context: ExecutionContext) -> Iterator[StagedWrite]:
    """Prevents VACUUM on this server from removing an older version's files between the existence check and the
    commit.
    """
    brought_back = plan.sources if plan.is_past else ()
    with (
        context.sources.locks.hold_all(map(file_lock, brought_back), context.request.cancel),
        clone_table(plan, context.sources.formats[plan.entry.format], context) as staged,
    ):
        yield staged
