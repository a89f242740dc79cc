"""Plans of statements that maintain a table."""

from __future__ import annotations

from dataclasses import dataclass

from engine.binding.bound import BoundTable
from engine.delta.definition.table_draft import Definition
from engine.delta.snapshot.snapshot import Snapshot
from engine.planning.plans.reads import ReadPlan
from engine.tables.operations import CommitDescription


@dataclass(frozen=True, slots=True, kw_only=True)
class VacuumPlan:
    """Remove the files of `table` that no version needs which was current in the last `retention_ms` milliseconds.

    `lite`: found by the log, instead of by listing. `dry_run`: only say which they are. `begin` and `end` describe the
    commits before and after the removal; metrics and outcome are added when they are known. `tells_place`: the answer
    says where the table lies.
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
    """Make the next version of `table` what `restored`, an older one, was, as `definition` says."""

    table: BoundTable
    restored: Snapshot
    definition: Definition
    description: CommitDescription


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairPlan:
    """Take the files out of `table` that are not in the storage any more; `dry_run`: only say which they are."""

    table: BoundTable
    dry_run: bool
    description: CommitDescription


@dataclass(frozen=True, slots=True, kw_only=True)
class ManifestPlan:
    """Write the symlink manifests of `table`; its log stays as it is."""

    table: BoundTable


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalyzePlan:
    """Put statistics into the log that files of `table` lack; `no_scan`: read nothing, and so do nothing.

    `counts` answers one row: how many rows there are, and how many values of each of `counted` differ.
    """

    table: BoundTable
    no_scan: bool
    counts: ReadPlan | None
    counted: tuple[str, ...]
    description: CommitDescription
