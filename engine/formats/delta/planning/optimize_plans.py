"""Plans that write files again, and change no row."""

from __future__ import annotations

from dataclasses import dataclass

from engine.binding.bound import BoundTable
from engine.planning.plans.expression_checks import ExpressionCheckPlan
from engine.tables.operations import CommitDescription
from engine.tables.rearrangement import Rearrangement
from engine.types.column_paths import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """Small files become fewer ones; with `is_auto` only where they are many, so that it is worth the time of a write
    that others wait for.
    """

    is_auto: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Zorder:
    """All rows of a partition are sorted along a Z-order curve through these columns (logical paths)."""

    columns: tuple[Path, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """The rows of files that are not clustered yet, or with `is_full` of all files that are not clustered by these
    columns (logical paths), are sorted along a Hilbert curve.
    """

    columns: tuple[Path, ...]
    is_full: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Purge:
    """Files go in which there is something that no row of the table has any more."""


Goal = Merge | Zorder | Cluster | Purge


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizePlan:
    """Rearrange the files of `table`, or those of the partitions for which `condition` (SQL, in parentheses) is true.

    It is committed in steps: the statement is planned again for each of them, with what is `left` to do; None: all.
    `tells_place`: the answer says where the table lies.
    """

    table: BoundTable
    goal: Goal
    tells_place: bool
    description: CommitDescription
    condition: str | None = None
    expression_checks: ExpressionCheckPlan | None = None
    left: Rearrangement | None = None
