"""Plans for Iceberg-only statements, the contents of Iceberg's `FormatPlan`."""

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
    """A procedure call on `table`; `snapshot` is the one to which the statement was bound.

    `time_ms` is its time argument, in milliseconds since the epoch.
    """

    table: BoundTable
    snapshot: IcebergSnapshot
    name: str
    procedure: Procedure
    time_ms: int | None
    # The table whose files the procedure uses.
    source: BoundTable | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterPlan:
    """Registers the table in `snapshot` under a name."""

    entry: TableEntry
    snapshot: IcebergSnapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferencePlan:
    """Creates, moves or drops a branch or tag."""

    table: BoundTable
    change: ChangeReference
    description: CommitDescription


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotPlan:
    """Creates the table `entry` from the files in `source`. `sources` are the files' folders. `found` is a table that
    already exists at the location.
    """

    entry: TableEntry
    source: BoundTable
    found: IcebergSnapshot | None
    sources: tuple[str, ...]
    properties: Mapping[str, str]
    description: CommitDescription


# Plans that only Iceberg has.
IcebergPlan = CallPlan | RegisterPlan | ReferencePlan | SnapshotPlan
