"""Plans for table maintenance statements."""

from __future__ import annotations

from dataclasses import dataclass

from engine.binding.bound import BoundTable
from engine.delta.definition.table_draft import Definition
from engine.delta.snapshot.snapshot import Snapshot
from engine.planning.plans.reads import ReadPlan
from engine.tables.operations import CommitDescription


@dataclass(frozen=True, slots=True, kw_only=True)
class VacuumPlan:
    """Removes the files in `table` that no version needs that was current in the last `retention_ms` milliseconds.

    `lite`: found by log replay instead of listing. `dry_run`: only lists them. `begin` and `end` describe the commits
    before and after the removal; metrics and outcome are added when they are known. `tells_place`: the result contains
    the table's location.
    """

    table: BoundTable
    retention_ms: int
    lite: bool
    dry_run: bool
    tells_place: bool
    begin: CommitDescription
    end: CommitDescription


@dataclass(frozen=True, slots=True, kw_only=True)
class RestorePlan:
    """Makes the next version of `table` equal to `restored`, an older one, with `definition`."""

    table: BoundTable
    restored: Snapshot
    definition: Definition
    description: CommitDescription


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairPlan:
    """Removes files from `table` that are missing in the storage; `dry_run`: only lists them."""

    table: BoundTable
    dry_run: bool
    description: CommitDescription


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestPlan:
    """Writes symlink manifests for `table`; its log is unchanged."""

    table: BoundTable


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalyzePlan:
    """Adds missing file statistics to the log of `table`; `no_scan`: reads no data, so does nothing.

    `counts` returns one row: the row count, and the distinct count for each column in `counted`.
    """

    table: BoundTable
    no_scan: bool
    counts: ReadPlan | None
    counted: tuple[str, ...]
    description: CommitDescription
