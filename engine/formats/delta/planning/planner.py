"""Dispatches Delta-only statements to their planning functions, and describes their plans to the pipeline."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from catalog.conditions import FeatureDropConflict, StatementNotSupported
from engine.binding.bound import BoundStatement
from engine.formats.delta.planning.alters import plan_own_alter
from engine.formats.delta.planning.clones import plan_clone, plan_create_table_like
from engine.formats.delta.planning.conversions import plan_convert
from engine.formats.delta.planning.maintenance_plans import (
    AnalyzePlan,
    ManifestPlan,
    RepairPlan,
    RestorePlan,
    VacuumPlan,
)
from engine.formats.delta.planning.optimize_plans import OptimizePlan
from engine.formats.delta.planning.optimizes import auto_compaction, plan_optimize, plan_reorg
from engine.formats.delta.planning.plans import (
    BackfillPlan,
    ClonePlan,
    ConvertPlan,
    DeltaPlan,
    RewritePlan,
    TruncateHistoryPlan,
)
from engine.formats.delta.planning.removals import plan_restore, plan_vacuum
from engine.formats.delta.planning.repairs import plan_analyze, plan_manifest, plan_repair
from engine.planning.plans.format_plan import FormatPlan
from engine.planning.plans.plan import Plan
from engine.statements.alter_table.statement import AlterTable
from engine.statements.create_table.planning import free_name
from engine.statements.create_table.statement import CloneTable, ConvertTable, CreateTableLike
from engine.statements.format_planning import FormatStatement, RowPlan
from engine.statements.maintenance.statement import (
    AnalyzeTable,
    GenerateManifest,
    Optimize,
    Reorg,
    RepairTable,
    RestoreTable,
    Vacuum,
)
from engine.statements.procedures.statement import Call, RegisterTable, SnapshotTable
from engine.tables.formats import DEFAULT_FORMAT


class DeltaPlanner:
    """See :class:`engine.statements.format_planning.FormatPlanner`."""

    def plan(self, bound: BoundStatement, statement: FormatStatement) -> Plan | None:
        planned = _plan(bound, statement)
        return format_plan(planned) if isinstance(planned, DeltaPlan) else planned

    def follow_up(self, plan: RowPlan) -> Optimize | None:
        return auto_compaction(plan)


def _plan(bound: BoundStatement, statement: FormatStatement) -> DeltaPlan | Plan | None:
    match statement:
        case AlterTable() as alter:
            return plan_own_alter(bound, alter)
        case CreateTableLike() as like:
            return plan_create_table_like(bound, like)
        case CloneTable() as clone:
            return plan_clone(bound, clone)
        case ConvertTable() as convert:
            return plan_convert(bound, convert)
        case Vacuum() as vacuum:
            return plan_vacuum(bound, vacuum)
        case RestoreTable() as restore:
            return plan_restore(bound, restore)
        case RepairTable() as repair:
            return plan_repair(bound, repair)
        case GenerateManifest():
            return plan_manifest(bound)
        case AnalyzeTable() as analyze:
            return plan_analyze(bound, analyze)
        case Optimize() as optimize:
            return plan_optimize(bound, optimize)
        case Reorg() as reorg:
            return plan_reorg(bound, reorg)
        case Call(name=name):
            raise StatementNotSupported(f"CALL {name} of a Delta table")
        case RegisterTable() | SnapshotTable():  # the name is taken
            free_name(bound, if_not_exists=False)
            return None
        case _:
            assert_never(statement)


def format_plan(own: DeltaPlan) -> FormatPlan:
    """Returns the plan in the form that the pipeline needs."""
    plan = FormatPlan(format=DEFAULT_FORMAT, own=own)
    match own:
        case ClonePlan(tolerated=tolerated):
            return replace(plan, tolerated=tolerated)
        case BackfillPlan():
            return replace(plan, is_last=False)
        case RewritePlan(is_last=True):  # it replaces all files in the table
            return replace(plan, is_repeated=False)
        case RewritePlan(table=table):  # other writers may keep adding files that must be rewritten
            conflict = FeatureDropConflict(table.label, table.snapshot.version, "write")
            return replace(plan, is_last=False, repeats_error=conflict)
        case OptimizePlan(expression_checks=checks):
            return replace(plan, expression_checks=checks, in_steps=True)
        case ConvertPlan() | TruncateHistoryPlan() | VacuumPlan() | RestorePlan() | RepairPlan():
            return plan
        case ManifestPlan() | AnalyzePlan():
            return plan
        case _:
            assert_never(own)
