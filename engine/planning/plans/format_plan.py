"""A plan that a table format makes and executes itself, with the attributes that the pipeline needs.

The planner lets the statement's table format claim the statement (`engine.statements.format_planning`), and the
executor passes the plan to the format's writer (`engine.execution.writes.staged_write`). No stage between them inspects
it.
"""

from __future__ import annotations

from dataclasses import dataclass

from catalog.errors import SqlError
from engine.planning.plans.expression_checks import ExpressionCheckPlan
from engine.tables.compaction import Compaction


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatPlan:
    """A format's plan. `own` is a value from the closed union of plans for the format named `format`.

    It is written after its `expression_checks`. An error among `tolerated` means that nothing had to be done (IF NOT
    EXISTS).
    """

    format: str
    own: object
    expression_checks: ExpressionCheckPlan | None = None
    tolerated: tuple[type[SqlError], ...] = ()
    # False: the statement is planned again on the version that this step makes.
    is_last: bool = True
    # False: the statement fails if another writer's commit conflicts; another attempt would meet the next conflict.
    is_repeated: bool = True
    # The error if this step is repeated too often because others undo it; None: the repetition is bounded.
    repeats_error: SqlError | None = None
    # The statement is committed in steps, each planned on the newest version with the remaining work, `left`.
    in_steps: bool = False
    # None: everything.
    left: Compaction | None = None
