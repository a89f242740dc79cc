"""Dispatches Iceberg-only statements to their planning functions."""

from __future__ import annotations

from typing import assert_never

from engine.binding.bound import BoundStatement, BoundTable
from engine.errors.table_errors import name_table_in_errors
from engine.formats.iceberg.planning.maintenance import plan_maintenance
from engine.formats.iceberg.planning.new_tables import plan_create_table_like, plan_snapshot
from engine.formats.iceberg.planning.plans import IcebergPlan, ReferencePlan
from engine.formats.iceberg.planning.procedures import plan_call, plan_register
from engine.iceberg.snapshot.snapshot import FORMAT
from engine.planning.plans.format_plan import FormatPlan
from engine.planning.plans.plan import Plan
from engine.statements.alter_table.planning import describe_change
from engine.statements.alter_table.statement import AlterTable, ChangeReference
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
from engine.tables.operations import TableOperation


class IcebergPlanner:
    """See :class:`engine.statements.format_planning.FormatPlanner`."""

    def plan(self, bound: BoundStatement, statement: FormatStatement) -> Plan | None:
        own = _plan(bound, statement)
        return FormatPlan(format=FORMAT, own=own) if isinstance(own, IcebergPlan) else own

    def follow_up(self, plan: RowPlan) -> Optimize | None:
        return None


def _plan(bound: BoundStatement, statement: FormatStatement) -> IcebergPlan | Plan | None:
    match statement:
        case Call() as call:
            return plan_call(bound, call)
        case RegisterTable() as register:
            return plan_register(bound, register)
        case SnapshotTable() as snapshot:
            return plan_snapshot(bound, snapshot)
        case AlterTable(changes=(ChangeReference() as change,)):
            return plan_reference(bound, change)
        case Optimize() | RestoreTable() | Vacuum() | Reorg() | RepairTable() | GenerateManifest() | AnalyzeTable():
            return plan_maintenance(bound, statement)
        case CreateTableLike():
            return plan_create_table_like(bound, statement)
        case CloneTable():
            return plan_maintenance(bound, statement)
        case AlterTable() | ConvertTable():
            return None
        case _:
            assert_never(statement)


def plan_reference(bound: BoundStatement, change: ChangeReference) -> ReferencePlan:
    """Plans a branch or tag change. Raises for a table whose metadata cannot be changed."""
    table = bound.target
    assert isinstance(table, BoundTable)
    with name_table_in_errors(table.label):
        table.snapshot.ensure_supported(TableOperation.METADATA)
    kind = "BRANCH" if change.is_branch else "TAG"
    return ReferencePlan(
        table=table, change=change, description=describe_change(bound, (f"{change.action} {kind}", {}))
    )
