"""CALL: procedures of a table's format, as Iceberg's engines have them in the schema `system` of a catalog.

A procedure is a value with its arguments; those that were not given, or are NULL, have the documented defaults.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import assert_never

from engine.runtime.statement import Statement


@dataclass(frozen=True, slots=True, kw_only=True)
class AncestorsOf:
    """The snapshots that led to one (None: the current one)."""

    snapshot_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackToSnapshot:
    snapshot_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RollbackToTimestamp:
    """`timestamp` is an expression, as are all times of procedures."""

    timestamp: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SetCurrentSnapshot:
    """To the snapshot with an id, or that a branch or tag refers to: one of the two."""

    snapshot_id: int | None = None
    ref: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CherrypickSnapshot:
    snapshot_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishChanges:
    """The snapshot that was staged with `wap.id` (write, audit, publish)."""

    wap_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FastForward:
    """A branch to the snapshot of another one, of whose history it is a part."""

    branch: str
    to: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpireSnapshots:
    """None: as the table's properties say."""

    older_than: str | None = None
    retain_last: int | None = None
    snapshot_ids: tuple[int, ...] = ()
    clean_expired_metadata: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoveOrphanFiles:
    """`location` None: the whole folder of the table."""

    older_than: str | None = None
    location: str | None = None
    dry_run: bool = False
    equal_schemes: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    equal_authorities: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    prefix_mismatch_mode: str = "ERROR"


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteManifests:
    """`spec_id` None: of the table's default partition spec."""

    spec_id: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RewriteDataFiles:
    """`where` is a condition, `sort_order` a list as in WRITE ORDERED BY."""

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
    """The Parquet files of a `folder`, or the live files of the table `source_parts`: one of the two.

    `partition_filter` chooses some by the values in the names of folders, or of the table's partitions.
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

    The table is looked up in the `catalog` (None: the current one) that the procedure is named with.
    """

    catalog: str | None
    table_parts: tuple[str, ...]
    name: str
    """Of the procedure."""
    procedure: Procedure

    @property
    def time(self) -> str | None:
        """The one time among the arguments, an expression."""
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
