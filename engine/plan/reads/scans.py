"""The scan of a bound table: what of its snapshot a read needs, once we know that we can read it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa

from engine.bind.bound import BoundChanges, BoundTable
from engine.delta.definition.table_config import TableConfig
from engine.delta.feed.change_feed import ChangeFeed
from engine.delta.feed.change_files import CHANGE_TYPE, COMMIT_TIMESTAMP, COMMIT_VERSION
from engine.delta.schema.column_mapping import physical_schema
from engine.delta.schema.type_widening import ensure_readable_changes
from engine.delta.spec.features import TableOperation
from engine.delta.spec.properties import ROW_COMMIT_VERSION_COLUMN, ROW_ID_COLUMN
from engine.errors.table_errors import MalformedLogEntry, naming
from engine.plan.reads.change_choice import ChangeChoice
from engine.plan.reads.file_choice import FileChoice
from engine.plans.reads import FILE_METADATA, ReadPlan, RowTracking, Scan
from engine.pruning.table_columns import TableColumns
from engine.types.schema import PrimitiveType, StructField


def scan_of(relation: str, table: BoundTable) -> Scan:
    """The scan that the rewritten text calls `relation`.

    Raises `UnsupportedReaderFeatures` for a table whose features we cannot read, by name, and `UnsupportedTypeChange`
    for a column whose old files we cannot read; `LogPathNotAllowed` where the log leads elsewhere.
    """
    snapshot = table.snapshot
    with naming(table.label):
        snapshot.config.ensure_supported(TableOperation.READ)
        ensure_readable_changes(snapshot.table_root, snapshot.schema)
        snapshot.ensure_files_allowed()
    return Scan(
        relation=relation,
        label=table.label,
        table_root=snapshot.table_root,
        schema=snapshot.schema,
        mapping_mode=snapshot.config.column_mapping_mode,
        partition_columns=tuple(snapshot.partition_columns),
        files=snapshot.files,
        allowed_roots=snapshot.storage.confinement.places,
        row_tracking=_row_tracking(snapshot.config),
        choice=FileChoice(table.label, snapshot),
    )


def _row_tracking(config: TableConfig) -> RowTracking | None:
    if not config.is_enabled("rowTracking"):
        return None
    return RowTracking(
        row_id_column=config.get(ROW_ID_COLUMN), row_commit_version_column=config.get(ROW_COMMIT_VERSION_COLUMN)
    )


def row_id_columns(table: BoundTable) -> tuple[StructField, ...]:
    """The columns in which new files keep the ids and commit versions of rows that they take over; none where the table
    does not track its rows.
    """
    tracking = _row_tracking(table.snapshot.config)
    if tracking is None:
        return ()
    names = (tracking.row_id_column, tracking.row_commit_version_column)
    if None in names:
        raise MalformedLogEntry(table.label, "row tracking is enabled, and the columns for the ids have no names")
    return tuple(StructField(name, PrimitiveType.LONG) for name in names if name is not None)


def with_row_ids_if_asked(plan: ReadPlan) -> ReadPlan:
    """Row ids are left out where no text names the column they are in: they make every file's constants different."""
    texts = (plan.text, *(view.text for view in plan.views))
    if any(FILE_METADATA in text.casefold() for text in texts):
        return plan
    return replace(plan, scans=tuple(replace(scan, row_tracking=None) for scan in plan.scans))


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
    columns = TableColumns(
        schema=feed.schema,
        partition_columns=(*feed.partition_columns, *kind.constants),
        physical_schema=physical_schema(feed.schema, feed.mapping_mode),
    )
    return Scan(
        relation=relation,
        label=changes.table.label,
        table_root=changes.table.snapshot.table_root,
        schema=feed.schema,
        mapping_mode=feed.mapping_mode,
        partition_columns=columns.partition_columns,
        files=kind.files,
        allowed_roots=changes.table.snapshot.storage.confinement.places,
        choice=ChangeChoice(changes.label, feed.versions, columns, kind.files) if feed.versions else None,
    )
