"""The scan of a bound table: what of its snapshot a read needs, once we know that we can read it."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pyarrow as pa

from engine.bind.bound import BoundChanges, BoundFiles, BoundTable
from engine.delta.definition.table_config import TableConfig
from engine.delta.feed.change_feed import ChangeFeed
from engine.delta.feed.change_files import CHANGE_TYPE, COMMIT_TIMESTAMP, COMMIT_VERSION
from engine.delta.pruning.table_columns import TableColumns
from engine.delta.schema.type_widening import ensure_readable_changes
from engine.delta.spec.features import TableOperation
from engine.delta.spec.properties import ROW_COMMIT_VERSION_COLUMN, ROW_ID_COLUMN
from engine.errors.table_errors import naming
from engine.plan.reads.change_choice import ChangeChoice
from engine.plan.reads.file_choice import FileChoice
from engine.plans.reads import ReadPlan, RowTracking, Scan
from engine.types.schema import StructType

FILE_METADATA = "_metadata"
"""The hidden column of every table, with fields for the file that a row is in and, if the table tracks rows, its id."""


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
        mapping_mode=feed.mapping_mode,
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


def files_scan(relation: str, files: BoundFiles) -> Scan:
    """The scan of files that are no table's; where their columns are not known, Spark finds them."""
    return Scan(
        relation=relation,
        label=files.label,
        table_root=files.root,
        schema=files.schema or StructType(()),
        partition_columns=(),
        files=files.files,
        format=files.format,
        infers=files.schema is None,
    )
