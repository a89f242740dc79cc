"""Plan: what to read, decided from the pinned snapshots alone."""

from __future__ import annotations

from engine.bound import AuthorizedStatement, BoundTable
from engine.delta.errors import naming
from engine.delta.spec.features import Operation
from engine.plan.plans import CommandPlan, ExplainPlan, Plan, ReadPlan, Scan, SchemaPlan
from engine.sql.splice import splice
from engine.statements import DescribeQuery, Explain, Query

_RELATION = "__scan_"
"""Names of scans in the rewritten text: no table of a user may be called so, since they never reach a catalog."""


def plan_statement(authorized: AuthorizedStatement) -> Plan:
    """The plan of an authorised statement. Raises for a table whose features we cannot read, by name."""
    bound = authorized.bound
    match bound.statement:
        case Query() as query:
            return _read(query, bound.tables)
        case Explain(mode=mode, inner=query):
            return ExplainPlan(mode=mode, read=_read(query, bound.tables))
        case DescribeQuery(inner=query):
            return SchemaPlan(read=_read(query, bound.tables))
        case _:
            return CommandPlan(bound=bound)


def _read(query: Query, tables: tuple[BoundTable, ...]) -> ReadPlan:
    """A table that the query names twice is one scan, if both names mean the same version."""
    scans: dict[tuple[str, int], Scan] = {}
    names = []
    for table in tables:
        key = table.snapshot.table_root, table.snapshot.version
        if key not in scans:
            scans[key] = _scan(f"{_RELATION}{len(scans)}", table)
        names.append(scans[key].relation)
    full_names = [table.name.parts if table.name else () for table in tables]
    return ReadPlan(text=splice(query, names, full_names), scans=tuple(scans.values()))


def _scan(relation: str, table: BoundTable) -> Scan:
    snapshot = table.snapshot
    with naming(table.label):
        snapshot.config.ensure_supported(Operation.READ)
    return Scan(
        relation=relation,
        label=table.label,
        table_root=snapshot.table_root,
        schema_json=snapshot.schema.to_json(),
        partition_columns=tuple(snapshot.partition_columns),
        files=snapshot.files.select(["path", "size", "modification_time", "partition_values"]),
    )
