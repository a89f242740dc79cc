"""The interface for plans that are specific to a table format.

Most statements have the same meaning for every table, and are planned in terms of `engine.tables`. Some are specific to
a format: maintenance of its files and its log, copies of tables with their history, changes that need several versions.
For these, the planner calls the `FormatPlanner` of the table's format; `engine.main` assembles them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, TypeAlias, assert_never

from catalog.conditions import StatementNotSupported
from engine.binding.bound import BoundStatement, BoundTable, FreeName, TakenName
from engine.planning.plans.plan import Plan
from engine.planning.plans.writes import CopyPlan, DeletePlan, InsertPlan, MergePlan, UpdatePlan
from engine.statements.alter_table.statement import AlterTable
from engine.statements.create_table.statement import CloneTable, ConvertTable, CreateTableLike
from engine.statements.maintenance.statement import MaintenanceStatement, Optimize
from engine.statements.procedures.statement import Call, RegisterTable, SnapshotTable
from engine.tables.formats import DEFAULT_FORMAT

# Statements that the table's format may plan.
FormatStatement: TypeAlias = (
    AlterTable
    | CreateTableLike
    | CloneTable
    | ConvertTable
    | MaintenanceStatement
    | Call
    | RegisterTable
    | SnapshotTable
)

# Plans that write rows into an existing table.
RowPlan: TypeAlias = CopyPlan | DeletePlan | InsertPlan | MergePlan | UpdatePlan


class FormatPlanner(Protocol):
    """Plans statements for tables in one format, from the bound statement alone."""

    def plan(self, bound: BoundStatement, statement: FormatStatement) -> Plan | None:
        """Returns a format-specific plan; None if the statement has its general meaning.

        Raises for operations that the table, or this release, does not support.
        """
        ...

    def follow_up(self, plan: RowPlan) -> Optimize | None:
        """Returns the statement to run after this write, if the table requires one."""
        ...


# Planners by the format's catalog name; a format without a planner has no specific statements.
FormatPlanners: TypeAlias = Mapping[str, FormatPlanner]


def plan_by_format(planners: FormatPlanners, bound: BoundStatement, statement: FormatStatement) -> Plan | None:
    """Returns the format-specific plan; for CONVERT TO DELTA the format is the new table's."""
    planner = planners.get(DEFAULT_FORMAT if isinstance(statement, ConvertTable) else _format(bound))
    return None if planner is None else planner.plan(bound, statement)


def follow_up_of(planners: FormatPlanners, plan: Plan) -> Optimize | None:
    """Returns the statement to run after a write, by the table's format."""
    if not isinstance(plan, RowPlan):
        return None
    planner = planners.get(plan.table.entry.format)
    return None if planner is None else planner.follow_up(plan)


def statement_not_supported(bound: BoundStatement, statement: FormatStatement) -> StatementNotSupported:
    """Returns the error for a statement that the table's format does not support."""
    words = "".join(f" {letter}" if letter.isupper() else letter.upper() for letter in type(statement).__name__)
    return StatementNotSupported(f"{words.strip()} of a table of the format {_format(bound)}")


def _format(bound: BoundStatement) -> str:
    match bound.target:
        case BoundTable(entry=entry):
            return entry.format
        case FreeName(own=own):
            return own.name
        case TakenName() | None:  # it fails or does nothing in any format
            return DEFAULT_FORMAT
        case _:
            assert_never(bound.target)
