"""Plans of statements that only Iceberg has: what a `FormatPlan` of Iceberg carries."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from catalog.entries import TableEntry
from engine.binding.bound import BoundTable
from engine.iceberg.snapshot.snapshot import IcebergSnapshot
from engine.statements.alter_table.statement import ChangeReference
from engine.statements.procedures.statement import Procedure
from engine.tables.operations import CommitDescription


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPlan:
    """A procedure of `table`, which `snapshot` shows as it was when the statement was bound.

    `time_ms` is the time among its arguments, in milliseconds since the epoch.
    """

    table: BoundTable
    snapshot: IcebergSnapshot
    name: str
    procedure: Procedure
    time_ms: int | None
    source: BoundTable | None = None
    """The table whose files it takes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterPlan:
    """Give the table that `snapshot` shows a name."""

    entry: TableEntry
    snapshot: IcebergSnapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferencePlan:
    """Make, move or drop a branch or a tag."""

    table: BoundTable
    change: ChangeReference
    description: CommitDescription


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotPlan:
    """Make the table `entry` of the files of `source`. `sources` are the folders that they lie in. `found` is a table
    that lies there already.
    """

    entry: TableEntry
    source: BoundTable
    found: IcebergSnapshot | None
    sources: tuple[str, ...]
    properties: Mapping[str, str]
    description: CommitDescription


IcebergPlan = CallPlan | RegisterPlan | ReferencePlan | SnapshotPlan
"""What Iceberg plans by itself."""
