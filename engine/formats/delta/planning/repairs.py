"""Plans FSCK, GENERATE and ANALYZE, which examine the newest version's files."""

from __future__ import annotations

from catalog.names import quote
from engine.binding.bound import BoundStatement, BoundTable
from engine.errors.table_errors import name_table_in_errors
from engine.formats.delta.delta_format import delta_snapshot
from engine.formats.delta.planning.maintenance_plans import AnalyzePlan, ManifestPlan, RepairPlan
from engine.planning.plans.reads import ReadPlan
from engine.planning.reads.scans import read_scan
from engine.sql.query.composed import Names
from engine.statements.maintenance.statement import AnalyzeTable, RepairTable
from engine.tables.operations import CommitDescription, TableOperation
from engine.tables.scan import Scan
from engine.types.schema import DataType, DecimalType, PrimitiveType
from engine.types.schema_changes import resolve_path


def plan_repair(bound: BoundStatement, statement: RepairTable) -> RepairPlan:
    """Plans FSCK REPAIR. Raises if table features do not allow it."""
    table = _table(bound, TableOperation.DML)
    return RepairPlan(
        table=table,
        dry_run=statement.dry_run,
        description=CommitDescription(name="FSCK", operation=TableOperation.DML, user_name=bound.state.principal),
    )


def plan_manifest(bound: BoundStatement) -> ManifestPlan:
    """Plans GENERATE. Raises if table features do not allow it."""
    return ManifestPlan(table=_table(bound, TableOperation.READ))


def plan_analyze(bound: BoundStatement, statement: AnalyzeTable) -> AnalyzePlan:
    """Plans ANALYZE. File statistics cover the columns that the table's properties select; other columns are not added.

    Distinct values are counted for top-level columns with types that Spark's cost model supports. Raises for unknown
    columns.
    """
    table = _table(bound, TableOperation.METADATA)
    schema = table.snapshot.schema
    with name_table_in_errors(table.label):
        named = [resolve_path(schema, column) for column in statement.columns or ()]
    requested = {path[0] for path in named if len(path) == 1} if named else set(schema.names)
    counted: tuple[str, ...] = ()
    if statement.columns is not None:
        counted = tuple(
            field.name for field in schema.fields if field.name in requested and _is_counted(field.data_type)
        )
    return AnalyzePlan(
        table=table,
        no_scan=statement.no_scan,
        counts=_count_distinct(table, counted) if counted else None,
        counted=counted,
        description=CommitDescription(
            name="COMPUTE STATS",
            operation=TableOperation.METADATA,
            parameters={"predicate": "[]"},
            user_name=bound.state.principal,
            changes_data=False,
        ),
    )


def _is_counted(data_type: DataType) -> bool:
    return isinstance(data_type, DecimalType) or (
        isinstance(data_type, PrimitiveType) and data_type not in (PrimitiveType.VARIANT, PrimitiveType.VOID)
    )


def _count_distinct(table: BoundTable, columns: tuple[str, ...]) -> ReadPlan:
    """Counts distinct values approximately, in one pass over the rows."""
    scan = read_scan(Names(table.snapshot.schema.names).new("scan"), table)
    assert isinstance(scan, Scan), "rows of a Delta table are read by one scan"
    counts = (f"approx_count_distinct({quote(column)})" for column in columns)
    return ReadPlan(text=f"SELECT count(*), {', '.join(counts)} FROM {scan.relation}", scans=(scan,))


def _table(bound: BoundStatement, operation: TableOperation) -> BoundTable:
    table = bound.target
    assert isinstance(table, BoundTable)
    with name_table_in_errors(table.label):
        delta_snapshot(table.snapshot).ensure_supported(operation)
    return table
