"""Plans OPTIMIZE and REORG TABLE: the kind of rearrangement, and its columns.

OPTIMIZE clusters a table that has clustering columns; it compacts other tables, or sorts them by the ZORDER BY columns.
As in delta-spark, ZORDER BY needs columns with statistics, since data skipping depends on them.
"""

from __future__ import annotations

from catalog.conditions import (
    ClusteredWithCondition,
    ClusteredWithZorder,
    FullNotClustered,
    NotPartitionColumns,
    ZorderByPartition,
    ZorderColumnNotFound,
    ZorderWithoutStatistics,
)
from catalog.names import PATH_SCHEMA, fold
from engine.binding.bound import BoundStatement, BoundTable
from engine.delta.definition.clustering import CLUSTERING, can_cluster, clustering_columns, measured_columns
from engine.delta.spec.properties import AUTO_COMPACT
from engine.errors.table_errors import name_table_in_errors
from engine.formats.delta.delta_format import delta_snapshot
from engine.formats.delta.planning.optimize_plans import Cluster, Goal, Merge, OptimizePlan, Purge, Zorder
from engine.planning.semantics.conditions import target_condition, target_condition_check
from engine.sql.expressions import Expression, to_one_line
from engine.statements.format_planning import RowPlan
from engine.statements.maintenance.statement import Optimize, Reorg
from engine.tables.operations import CommitDescription, Json, TableOperation
from engine.types.column_paths import Path, field_at, format_name

_OPTIMIZE, _REORG = "OPTIMIZE", "REORG"


def plan_optimize(bound: BoundStatement, statement: Optimize) -> OptimizePlan:
    """Plans OPTIMIZE. Raises for table features that do not allow rearranging files, and for unsuitable columns."""
    table = _target(bound)
    # As in delta-spark: clustering spans partitions and orders by its own columns, so that
    # neither a WHERE nor ZORDER BY applies.
    if delta_snapshot(table.snapshot).config.is_supported(CLUSTERING):
        if statement.condition is not None:
            raise ClusteredWithCondition(table.label)
        if statement.zorder_by:
            raise ClusteredWithZorder(table.label)
    goal = _goal(table, statement)
    if statement.full and not isinstance(goal, Cluster):
        raise FullNotClustered(table.label)
    zorder = [format_name(path) for path in goal.columns] if isinstance(goal, Zorder) else []
    cluster = [format_name(path) for path in goal.columns] if isinstance(goal, Cluster) else []
    parameters: dict[str, Json] = {"zOrderBy": zorder, "clusterBy": cluster, "auto": statement.is_auto}
    if isinstance(goal, Cluster):
        parameters["isFull"] = goal.is_full
    return _plan(bound, table, goal, _OPTIMIZE, statement.condition, parameters)


def plan_reorg(bound: BoundStatement, statement: Reorg) -> OptimizePlan:
    """Plans REORG like :func:`plan_optimize`."""
    return _plan(bound, _target(bound), Purge(), _REORG, statement.condition, {"applyPurge": True})


def auto_compaction(plan: RowPlan) -> Optimize | None:
    """Returns the auto compaction after a write, if the table enables it. Clustered tables wait for an explicit
    OPTIMIZE.
    """
    config = delta_snapshot(plan.table.snapshot).config
    if config.get(AUTO_COMPACT) == "false" or config.is_supported(CLUSTERING):
        return None
    name = plan.table.name
    return Optimize(table_parts=name.parts if name else (PATH_SCHEMA, plan.table.entry.location), is_auto=True)


def _target(bound: BoundStatement) -> BoundTable:
    table = bound.target
    assert isinstance(table, BoundTable)
    with name_table_in_errors(table.label):
        table.snapshot.ensure_supported(TableOperation.OPTIMIZE)
    return table


def _plan(
    bound: BoundStatement, table: BoundTable, goal: Goal, name: str, condition: str | None, parameters: dict[str, Json]
) -> OptimizePlan:
    # Files are rewritten as a whole, and only a condition on partition columns selects
    # whole files.
    own = None if condition is None else _partition_condition(table, name, condition)
    shown: list[Json] = [] if own is None else [f"({to_one_line(own.text)})"]
    return OptimizePlan(
        table=table,
        goal=goal,
        tells_place=bound.tells_all(table),
        description=CommitDescription(
            name=name,
            operation=TableOperation.OPTIMIZE,
            parameters={"predicate": shown, **parameters},
            user_name=bound.state.principal,
            changes_data=False,
        ),
        condition=None if own is None else own.in_parentheses,
        expression_checks=None if own is None else target_condition_check(table, name, own),
    )


def _partition_condition(table: BoundTable, clause: str, text: str) -> Expression:
    own = target_condition(table, clause, text)
    partitions = table.snapshot.partition_columns
    folded = {fold(name) for name in partitions}
    for path in own.columns:
        if fold(path[0]) not in folded:
            raise NotPartitionColumns(clause, format_name(path), ", ".join(partitions))
    return own


def _goal(table: BoundTable, statement: Optimize) -> Goal:
    if statement.zorder_by:
        return Zorder(columns=tuple(_zorder_columns(table, statement.zorder_by)))
    clustering = clustering_columns(delta_snapshot(table.snapshot).config)
    return Cluster(columns=clustering, is_full=statement.full) if clustering else Merge(is_auto=statement.is_auto)


def _zorder_columns(table: BoundTable, paths: tuple[Path, ...]) -> list[Path]:
    """Returns the columns as spelled in the schema."""
    snapshot = delta_snapshot(table.snapshot)
    partitions = {fold(name) for name in snapshot.partition_columns}
    measured = measured_columns(snapshot.config)
    found, unmeasured = [], []
    for path in paths:
        if fold(path[0]) in partitions:
            raise ZorderByPartition(path[0])
        field = field_at(snapshot.schema, path)
        if field is None:
            raise ZorderColumnNotFound(format_name(path))
        if not can_cluster(field.data_type) or field_at(measured, path) is None:
            unmeasured.append(format_name(path))
        spelled = [field_at(snapshot.schema, path[:end]) for end in range(1, len(path) + 1)]
        found.append(tuple(each.name for each in spelled if each is not None))
    if unmeasured:
        raise ZorderWithoutStatistics(", ".join(unmeasured))
    return found
