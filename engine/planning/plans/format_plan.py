"""A plan that a format of tables makes and carries out by itself, and what the road has to know of it.

The planner asks the format of a statement's table whether the statement is its own (`engine.formats.planning`), and the
executor hands what it planned to the format's writer (`engine.formats.writing`). In between nobody looks into it.
"""

from __future__ import annotations

from dataclasses import dataclass

from catalog.errors import SqlError
from engine.planning.plans.expression_checks import ExpressionCheckPlan
from engine.tables.rearrangement import Rearrangement


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatPlan:
    """`own` is a value of the closed union of plans of the format named `format`.

    It is written after its `expression_checks`. An error among `tolerated` means that there was nothing to do (IF NOT
    EXISTS).
    """

    format: str
    own: object
    expression_checks: ExpressionCheckPlan | None = None
    tolerated: tuple[type[SqlError], ...] = ()
    is_last: bool = True
    """False: the statement is planned again on the version that this one makes."""
    is_repeated: bool = True
    """False: the statement ends where another writer's commit conflicts; planned again it would meet the next one."""
    repeats_error: SqlError | None = None
    """Ends the statement where this step has to be made too often, since others undo it; None: it has an end."""
    in_steps: bool = False
    """The statement is committed in steps, each planned again on the newest version with what is `left` to do."""
    left: Rearrangement | None = None
    """None: all."""
