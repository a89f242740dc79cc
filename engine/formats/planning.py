"""The door to what a format of tables plans by itself.

Most statements mean the same of every table, and are planned here in terms of `engine.tables`. Some are a format's own:
maintenance of its files and its log, copies of tables with their history, changes that need several versions. The
planner asks the format of the statement's table for these, through one `FormatPlanner` for each format, which
`engine.main` puts together.
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
"""Statements that the format of the table may plan by itself."""

RowPlan: TypeAlias = CopyPlan | DeletePlan | InsertPlan | MergePlan | UpdatePlan
"""Plans that write rows into a table that exists."""


class FormatPlanner(Protocol):
    """Plans statements of tables of one format. It looks at what is bound, and at nothing else."""

    def plan(self, bound: BoundStatement, statement: FormatStatement) -> Plan | None:
        """The plan of a statement that is the format's own; None where it means what it means of every table.

        Raises for what the table, or this release, cannot do.
        """
        ...

    def follow_up(self, plan: RowPlan) -> Optimize | None:
        """The statement that a table of the format asks for behind this write of rows."""
        ...


FormatPlanners: TypeAlias = Mapping[str, FormatPlanner]
"""By the format's name in the catalog; a format without one has no statements of its own."""


def own_plan(planners: FormatPlanners, bound: BoundStatement, statement: FormatStatement) -> Plan | None:
    """What the format of the statement's table plans by itself; CONVERT TO DELTA is of the table that it makes."""
    planner = planners.get(DEFAULT_FORMAT if isinstance(statement, ConvertTable) else _format(bound))
    return None if planner is None else planner.plan(bound, statement)


def follow_up_of(planners: FormatPlanners, plan: Plan) -> Optimize | None:
    """What the format of the table asks for behind a write of rows."""
    if not isinstance(plan, RowPlan):
        return None
    planner = planners.get(plan.table.entry.format)
    return None if planner is None else planner.follow_up(plan)


def not_planned(bound: BoundStatement, statement: FormatStatement) -> StatementNotSupported:
    """What is said of a statement that the format of its table does not have."""
    words = "".join(f" {letter}" if letter.isupper() else letter.upper() for letter in type(statement).__name__)
    return StatementNotSupported(f"{words.strip()} of a table of the format {_format(bound)}")


def _format(bound: BoundStatement) -> str:
    match bound.target:
        case BoundTable(entry=entry):
            return entry.format
        case FreeName(own=own):
            return own.name
        case TakenName() | None:  # it fails or does nothing, whatever the format
            return DEFAULT_FORMAT
        case _:
            assert_never(bound.target)
