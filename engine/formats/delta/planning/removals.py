"""Plans RESTORE and VACUUM.

RESTORE's plan has the restored definition, and the history record. VACUUM's plan has the retention for removed files:
without RETAIN it is the table's `delta.deletedFileRetentionDuration`. A shorter duration is rejected, as in
delta-spark, unless the session has disabled the check; running statements on this server keep their files even then
(`engine.concurrency.table_pins`).
"""

from __future__ import annotations

from catalog.conditions import RetentionNegative, RetentionTooShort, StatementNotSupported
from catalog.roots import canonical_location
from engine.binding.bound import BoundStatement, BoundTable
from engine.delta.definition.restored import restored_definition
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.properties import DELETED_FILE_RETENTION, HOUR_MS
from engine.enforcement.row_checks import ensure_rows_may_go
from engine.errors.table_errors import name_table_in_errors
from engine.formats.delta.delta_format import delta_snapshot
from engine.formats.delta.planning.maintenance_plans import RestorePlan, VacuumPlan
from engine.runtime.settings import RETENTION_CHECK
from engine.sql.query.values import AsOfTimestamp
from engine.statements.maintenance.statement import RestoreTable, Vacuum
from engine.tables.operations import CommitDescription, Json, TableOperation


def plan_restore(bound: BoundStatement, statement: RestoreTable) -> RestorePlan:
    """Plans RESTORE. Raises if table features in either version do not allow it."""
    table, (older,) = bound.target, bound.tables
    assert isinstance(table, BoundTable)
    restored = delta_snapshot(older.snapshot, "RESTORE")
    now, then = delta_snapshot(table.snapshot, "RESTORE").config, restored.config
    with name_table_in_errors(table.label):
        for config in (now, then):
            config.ensure_supported(TableOperation.OVERWRITE)
            config.ensure_supported(TableOperation.METADATA)
        if then.is_enabled("rowTracking") and not now.is_supported("rowTracking"):
            # live files have lost their ids, and the high-water mark
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


def plan_vacuum(bound: BoundStatement, statement: Vacuum) -> VacuumPlan:
    """Plans VACUUM.

    Raises if table features do not allow it, if the retention is too short, and `RestPlaceShared`.
    """
    table = bound.target
    assert isinstance(table, BoundTable)
    bound.view.folders.ensure_no_overlap_with_rest(table.entry, canonical_location(table.location), loads_tables=True)
    with name_table_in_errors(table.label):
        config = delta_snapshot(table.snapshot, "VACUUM").config
        config.ensure_supported(TableOperation.VACUUM)
        default_ms = config.get(DELETED_FILE_RETENTION)
    is_checked = bound.state.value(RETENTION_CHECK) == "true"
    retention_ms, hours = default_ms, statement.retain_hours
    parameters: dict[str, Json] = {"retentionCheckEnabled": is_checked, "defaultRetentionMillis": default_ms}
    if hours is not None:
        retention_ms = round(hours * HOUR_MS)
        parameters["specifiedRetentionMillis"] = retention_ms
        if retention_ms < 0:
            raise RetentionNegative(hours)
        # A shorter retention removes files of versions that other engines' statements may
        # be reading; only this server's are known here.
        if is_checked and retention_ms < default_ms:
            raise RetentionTooShort(hours, default_ms / HOUR_MS, RETENTION_CHECK)
    return VacuumPlan(
        table=table,
        retention_ms=retention_ms,
        lite=statement.lite,
        dry_run=statement.dry_run,
        tells_place=bound.tells_all(table),
        begin=_description(bound, "VACUUM START", parameters),
        end=_description(bound, "VACUUM END", {}),
    )


def _description(bound: BoundStatement, name: str, parameters: dict[str, Json]) -> CommitDescription:
    return CommitDescription(
        name=name,
        operation=TableOperation.VACUUM,
        parameters=parameters,
        user_name=bound.state.principal,
        changes_data=False,
    )
