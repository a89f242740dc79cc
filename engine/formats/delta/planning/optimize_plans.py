"""Plans that rewrite files without changing rows."""

from __future__ import annotations

from dataclasses import dataclass

from engine.binding.bound import BoundTable
from engine.planning.plans.expression_checks import ExpressionCheckPlan
from engine.tables.compaction import Compaction
from engine.tables.operations import CommitDescription
from engine.types.column_paths import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """Compaction: merges small files; with `is_auto` only if there are enough to justify delaying the triggering
    write.
    """

    is_auto: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Zorder:
    """Z-Ordering: sorts all rows in a partition along a Z-order curve through these columns (logical paths)."""

    columns: tuple[Path, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Clustering: sorts rows along a Hilbert curve, in files that are not clustered yet, or with `is_full` in all files
    not clustered by these columns (logical paths).
    """

    columns: tuple[Path, ...]
    is_full: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Purge:
    """Purge: rewrites files that contain deleted rows or dropped columns."""


Goal = Merge | Zorder | Cluster | Purge


@dataclass(frozen=True, slots=True, kw_only=True)
class OptimizePlan:
    """Rearranges the files in `table`, or in the partitions for which `condition` (SQL, in parentheses) is true.

    It is committed in steps: the statement is planned again for each step, with the remaining work in `left`; None:
    all. `tells_place`: the result contains the table's location.
    """

    table: BoundTable
    goal: Goal
    tells_place: bool
    description: CommitDescription
    condition: str | None = None
    expression_checks: ExpressionCheckPlan | None = None
    left: Compaction | None = None
