"""The scan of a bound table: what of its snapshot a read needs, once we know that we can read it."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from engine.bound import BoundChanges, BoundTable
from engine.delta.change_feed import CHANGE_TYPE, COMMIT_TIMESTAMP, COMMIT_VERSION, ChangeFeed
from engine.delta.errors import naming
from engine.delta.spec.features import Operation
from engine.delta.type_widening import ensure_readable_changes
from engine.plan.file_choice import FileChoice
from engine.plan.plans import Scan


def scan_of(relation: str, table: BoundTable) -> Scan:
    """The scan that the rewritten text calls `relation`.

    Raises `UnsupportedReaderFeatures` for a table whose features we cannot read, by name, and `UnsupportedTypeChange`
    for a column whose old files we cannot read.
    """
    snapshot = table.snapshot
    with naming(table.label):
        snapshot.config.ensure_supported(Operation.READ)
        ensure_readable_changes(snapshot.table_root, snapshot.schema)
    return Scan(
        relation=relation,
        label=table.label,
        table_root=snapshot.table_root,
        schema=snapshot.schema,
        mapping_mode=snapshot.config.column_mapping_mode,
        partition_columns=tuple(snapshot.partition_columns),
        files=snapshot.files,
        choice=FileChoice(table.label, snapshot),
    )


@dataclass(frozen=True, slots=True)
class ChangeFiles:
    """Files of a change data feed, and which columns of the feed are constants of each."""

    files: pa.Table
    constants: tuple[str, ...]


def kinds_of_changes(feed: ChangeFeed) -> tuple[ChangeFiles, ...]:
    """The files whose rows together are the feed, by where a row's change type stands; at least one kind."""
    in_log = ChangeFiles(feed.data_files, (CHANGE_TYPE, COMMIT_VERSION, COMMIT_TIMESTAMP))
    in_rows = ChangeFiles(feed.change_files, (COMMIT_VERSION, COMMIT_TIMESTAMP))
    return tuple(kind for kind in (in_log, in_rows) if len(kind.files)) or (in_log,)


def change_scan(relation: str, changes: BoundChanges, kind: ChangeFiles) -> Scan:
    """The scan of one of these kinds."""
    feed = changes.feed
    return Scan(
        relation=relation,
        label=changes.label,
        table_root=changes.table.snapshot.table_root,
        schema=feed.schema,
        mapping_mode=feed.mapping_mode,
        partition_columns=(*feed.partition_columns, *kind.constants),
        files=kind.files,
    )
