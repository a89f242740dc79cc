"""Plans of FSCK, GENERATE and ANALYZE, which look at the files of the newest version."""

from __future__ import annotations

from engine.bind.bound import BoundStatement, BoundTable
from engine.delta.delta_format import delta_snapshot
from engine.delta.planning.maintenance_plans import AnalyzePlan, ManifestPlan, RepairPlan
from engine.errors.table_errors import naming
from engine.statements.maintenance import AnalyzeTable, RepairTable
from engine.table.operations import CommitDescription, TableOperation
from engine.types.schema_changes import resolve_path


def plan_repair(bound: BoundStatement, statement: RepairTable) -> RepairPlan:
    """Raises where the table's features do not allow it."""
    table = _table(bound, TableOperation.DML)
    return RepairPlan(
        table=table,
        dry_run=statement.dry_run,
        description=CommitDescription(name="FSCK", operation=TableOperation.DML, user_name=bound.state.principal),
    )


def plan_manifest(bound: BoundStatement) -> ManifestPlan:
    """Raises where the table's features do not allow it."""
    return ManifestPlan(table=_table(bound, TableOperation.READ))


def plan_analyze(bound: BoundStatement, statement: AnalyzeTable) -> AnalyzePlan:
    """Statistics are kept file by file, for the columns that the table's properties choose; others have none to add.

    Raises for columns that are not there.
    """
    table = _table(bound, TableOperation.METADATA)
    with naming(table.label):
        for column in statement.columns:
            resolve_path(table.snapshot.schema, column)
    return AnalyzePlan(
        table=table,
        no_scan=statement.no_scan,
        description=CommitDescription(
            name="COMPUTE STATS",
            operation=TableOperation.METADATA,
            parameters={"predicate": "[]"},
            user_name=bound.state.principal,
            changes_data=False,
        ),
    )


def _table(bound: BoundStatement, operation: TableOperation) -> BoundTable:
    table = bound.target
    assert isinstance(table, BoundTable)
    with naming(table.label):
        delta_snapshot(table.snapshot).ensure_supported(operation)
    return table
