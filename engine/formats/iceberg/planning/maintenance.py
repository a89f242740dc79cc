"""Maps Delta's maintenance statements on Iceberg tables to equivalent procedures.

    OPTIMIZE [WHERE] [ZORDER BY]   rewrite_data_files
    RESTORE                        set_current_snapshot

Statements whose effect would differ from Delta's are rejected; the error names the procedures to call.
"""

from __future__ import annotations

from typing import assert_never

from catalog.conditions import IcebergStatementRefused
from engine.binding.bound import BoundStatement, BoundTable
from engine.formats.iceberg.planning.plans import CallPlan
from engine.formats.iceberg.planning.procedures import ensure_not_static
from engine.iceberg.snapshot.snapshot import IcebergSnapshot
from engine.statements.create_table.statement import CloneTable
from engine.statements.maintenance.statement import (
    AnalyzeTable,
    GenerateManifest,
    MaintenanceStatement,
    Optimize,
    Reorg,
    RepairTable,
    RestoreTable,
    Vacuum,
)
from engine.statements.procedures.statement import Procedure, RewriteDataFiles, SetCurrentSnapshot
from engine.types.column_paths import format_name

_REWRITE = "CALL system.rewrite_data_files writes files again that have deleted rows."


def plan_maintenance(bound: BoundStatement, statement: MaintenanceStatement | CloneTable) -> CallPlan:
    """Plans a maintenance statement. Raises `IcebergStatementRefused`, `IcebergTableIsStatic`."""
    match statement:
        case Optimize(full=False):
            return _call(bound, "OPTIMIZE", _rewrite(statement))
        case RestoreTable():
            (older,) = bound.tables
            return _call(bound, "RESTORE", SetCurrentSnapshot(snapshot_id=older.snapshot.version))
        case Optimize():
            advice = "CALL system.rewrite_data_files with options => map('rewrite-all', 'true') writes all files again."
            raise _not_supported(bound, "OPTIMIZE … FULL", advice)
        case Vacuum():
            advice = (
                "CALL system.expire_snapshots removes old snapshots with the files that only they have, and "
                "CALL system.remove_orphan_files those that no snapshot has."
            )
            raise _not_supported(bound, "VACUUM", advice)
        case Reorg():
            raise _not_supported(bound, "REORG TABLE", _REWRITE)
        case RepairTable():
            raise _not_supported(bound, "FSCK REPAIR TABLE", "Its metadata table files has all that it names.")
        case GenerateManifest():
            raise _not_supported(bound, "GENERATE", "Readers of Iceberg tables need no such files.")
        case AnalyzeTable():
            raise _not_supported(bound, "ANALYZE TABLE", "Manifests have the statistics of all files.")
        case CloneTable():
            raise _not_supported(bound, "CLONE", "CREATE TABLE … AS SELECT copies its rows.")
        case _:
            assert_never(statement)


def _rewrite(statement: Optimize) -> RewriteDataFiles:
    if not statement.zorder_by:
        return RewriteDataFiles(where=statement.condition, options={"min-input-files": "2"})
    columns = ", ".join(format_name(path) for path in statement.zorder_by)
    return RewriteDataFiles(strategy="sort", sort_order=f"zorder({columns})", where=statement.condition)


def _call(bound: BoundStatement, name: str, procedure: Procedure) -> CallPlan:
    table = bound.target
    assert isinstance(table, BoundTable) and isinstance(table.snapshot, IcebergSnapshot)
    ensure_not_static(table, table.snapshot)
    return CallPlan(table=table, snapshot=table.snapshot, name=name, procedure=procedure, time_ms=None)


def _not_supported(bound: BoundStatement, statement: str, advice: str) -> IcebergStatementRefused:
    table = bound.target if isinstance(bound.target, BoundTable) else next(iter(bound.tables), None)
    return IcebergStatementRefused(statement, "an Iceberg table" if table is None else table.label, advice)
