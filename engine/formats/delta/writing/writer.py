"""The writer of Delta's own plans: which function writes which."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import assert_never, cast

from engine.binding.sources import Sources
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
from engine.spark.run import Run


class DeltaWriter:
    """See :class:`engine.formats.writing.FormatWriter`."""

    def write(self, plan: FormatPlan, sources: Sources, run: Run) -> AbstractContextManager[StagedWrite]:
        return _staged(plan, sources, run)


@contextmanager
def _staged(plan: FormatPlan, sources: Sources, run: Run) -> Iterator[StagedWrite]:
    own = cast(DeltaPlan, plan.own)
    match own:
        case ClonePlan():
            with _clone(own, sources, run) as staged:
                yield staged
        case ConvertPlan():
            with convert_table(own, sources, run) as staged:
                yield staged
        case BackfillPlan():
            yield give_row_ids(own)
        case TruncateHistoryPlan():
            yield drop_with_history(own, run.context.now_ms())
        case RewritePlan():
            with rewrite_files(own, run) as staged:
                yield staged
        case OptimizePlan():
            with optimize(replace(own, left=plan.left), run) as staged:
                yield staged
        case VacuumPlan():
            with vacuum(own, sources, run) as staged:
                yield staged
        case RestorePlan():
            with restore(own, sources, run) as staged:
                yield staged
        case RepairPlan():
            yield repair(own, run)
        case ManifestPlan():
            yield generate_manifests(own)
        case AnalyzePlan():
            yield analyze_files(own, sources, run)
        case _:
            assert_never(own)


@contextmanager
def _clone(plan: ClonePlan, sources: Sources, run: Run) -> Iterator[StagedWrite]:
    """No VACUUM of this server removes files of an older version between the look for them and the commit."""
    brought_back = plan.sources if plan.is_past else ()
    with (
        sources.locks.hold_all(map(file_lock, brought_back), run.context.cancel),
        clone_table(plan, sources.formats[plan.entry.format], run) as staged,
    ):
        yield staged
