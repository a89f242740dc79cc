"""The plan of RESTORE: the definition that the table gets back, and what the history says of it."""

from __future__ import annotations

from catalog.conditions import StatementNotSupported
from engine.binding.bound import BoundStatement, BoundTable
from engine.delta.definition.restored import restored_definition
from engine.delta.snapshot.snapshot import Snapshot
from engine.enforcement.append_only import ensure_rows_may_go
from engine.errors.table_errors import naming
from engine.formats.delta.delta_format import delta_snapshot
from engine.formats.delta.planning.maintenance_plans import RestorePlan
from engine.sql.query.values import AsOfTimestamp
from engine.statements.maintenance.statement import RestoreTable
from engine.tables.operations import CommitDescription, Json, TableOperation


def plan_restore(bound: BoundStatement, statement: RestoreTable) -> RestorePlan:
    """Raises where features of either version do not allow it."""
    table, (older,) = bound.target, bound.tables
    assert isinstance(table, BoundTable)
    restored = delta_snapshot(older.snapshot, "RESTORE")
    now, then = delta_snapshot(table.snapshot, "RESTORE").config, restored.config
    with naming(table.label):
        for config in (now, then):
            config.ensure_supported(TableOperation.OVERWRITE)
            config.ensure_supported(TableOperation.METADATA)
        if then.is_enabled("rowTracking") and not now.is_supported("rowTracking"):
            # live files have lost their ids, and the high-water mark with them
            raise StatementNotSupported("RESTORE to a version before DROP FEATURE rowTracking")
        definition = restored_definition(now, then)
    ensure_rows_may_go(now, table.label)
    return RestorePlan(
        table=table,
        restored=restored,
        definition=definition,
        description=CommitDescription(
            name="RESTORE",
            operation=TableOperation.OVERWRITE,
            parameters=_parameters(statement, restored),
            user_name=bound.state.principal,
            exclusive=True,
        ),
    )


def _parameters(statement: RestoreTable, older: Snapshot) -> dict[str, Json]:
    if isinstance(statement.to, AsOfTimestamp):
        return {"version": None, "timestamp": statement.to.expression.strip("'")}
    return {"version": str(older.version), "timestamp": None}
