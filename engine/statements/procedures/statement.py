"""CALL: format-specific procedures, as Iceberg's engines have them in a catalog's schema `system`.

A procedure is a value with its arguments; missing or NULL ones have the documented defaults.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import assert_never

from engine.runtime.statement import Statement


@dataclass(frozen=True, slots=True, kw_only=True)
class AncestorsOf:
    """Lists a snapshot's ancestors (None: the current one's)."""

    snapshot_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackToSnapshot:
    snapshot_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackToTimestamp:
    """Rolls back to a time; `timestamp` is an expression, like all procedure times."""

    timestamp: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SetCurrentSnapshot:
    """Sets the current snapshot by id, or by branch or tag: exactly one."""

    snapshot_id: int | None = None
    ref: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CherrypickSnapshot:
    snapshot_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishChanges:
    """Publishes the snapshot that was staged with `wap.id` (write-audit-publish)."""

    wap_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FastForward:
    """Fast-forwards a branch to another's snapshot; the branch must be in its history."""

    branch: str
    to: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpireSnapshots:
    """Expires snapshots; None: as set in the table's properties."""

    older_than: str | None = None
    retain_last: int | None = None
    snapshot_ids: tuple[int, ...] = ()
    clean_expired_metadata: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveOrphanFiles:
    """Removes orphan files; `location` None: the table's entire folder."""

    older_than: str | None = None
    location: str | None = None
    dry_run: bool = False
    equal_schemes: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    equal_authorities: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    prefix_mismatch_mode: str = "ERROR"


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteManifests:
    """Rewrites manifests; `spec_id` None: the table's default partition spec."""

    spec_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteDataFiles:
    """Rewrites data files; `where` is a condition, `sort_order` a list as in WRITE ORDERED BY."""

    strategy: str = "binpack"
    sort_order: str | None = None
    options: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    where: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RewritePositionDeleteFiles:
    options: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    where: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AddFiles:
    """Adds the Parquet files in a `folder`, or the live files of the table `source_parts`: exactly one.

    `partition_filter` selects files by the values in folder names, or in the table's partitions.
    """

    folder: str | None = None
    source_parts: tuple[str, ...] | None = None
    partition_filter: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    check_duplicate_files: bool = True


Procedure = (
    AncestorsOf
    | RollbackToSnapshot
    | RollbackToTimestamp
    | SetCurrentSnapshot
    | CherrypickSnapshot
    | PublishChanges
    | FastForward
    | ExpireSnapshots
    | RemoveOrphanFiles
    | RewriteManifests
    | RewriteDataFiles
    | RewritePositionDeleteFiles
    | AddFiles
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Call(Statement):
    """`CALL [catalog.]system.procedure(table => 't', …)`

    The table is resolved in the procedure's `catalog` (None: the current one).
    """

    catalog: str | None
    table_parts: tuple[str, ...]
    # The procedure's name.
    name: str
    procedure: Procedure

    @property
    def time(self) -> str | None:
        """Returns the single time argument, an expression."""
        match self.procedure:
            case RollbackToTimestamp(timestamp=time):
                return time
            case ExpireSnapshots(older_than=time) | RemoveOrphanFiles(older_than=time):
                return time
            case AncestorsOf() | RollbackToSnapshot() | SetCurrentSnapshot() | CherrypickSnapshot() | PublishChanges():
                return None
            case FastForward() | RewriteManifests() | RewriteDataFiles() | RewritePositionDeleteFiles() | AddFiles():
                return None
            case _:
                assert_never(self.procedure)


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotTable(Statement):
    """`CALL [catalog.]system.snapshot(source_table => 's', table => 't', location => '/path', properties => map(…))`"""

    catalog: str | None
    source_parts: tuple[str, ...]
    table_parts: tuple[str, ...]
    location: str | None = None
    properties: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisterTable(Statement):
    """`CALL [catalog.]system.register_table(table => 't', metadata_file => '/path')`"""

    catalog: str | None
    table_parts: tuple[str, ...]
    metadata_file: str
