"""A bound table's scan: the parts of its snapshot that a read needs, after checking that they are supported.

`empty_scan` covers a table without rows: expressions are analyzed over it before the table exists.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from catalog.conditions import MalformedLogEntry
from engine.binding.bound import BoundChanges, BoundFiles, BoundTable
from engine.errors.table_errors import name_table_in_errors
from engine.planning.plans.reads import ReadPlan
from engine.planning.reads.listed_pruning import ChangeFilePruning, ListedFilePruning
from engine.planning.reads.table_pruning import TableFilePruning
from engine.sql.query.composed import Names
from engine.storage.vended_storage import credentials_id_of
from engine.tables.changes import ChangeFiles
from engine.tables.operations import TableOperation
from engine.tables.scan import FIELD_ID, FILE_METADATA, NO_FILES, ComposedScan, RowTracking, Scan, ScanPart
from engine.types.schema import PrimitiveType, StructField, StructType


def scan_of(relation: str, table: BoundTable) -> Scan:
    """Returns the scan as :func:`read_scan`, for a target table: its files must contain its rows, identified by
    position.

    Raises, by name, for a table whose files do not (`TableOperation.DML`).
    """
    scan = read_scan(relation, table)
    if isinstance(scan, ComposedScan):
        with name_table_in_errors(table.label):
            table.snapshot.ensure_supported(TableOperation.DML)
    assert isinstance(scan, Scan), "a format whose tables are changed reads them by one scan"
    return scan


def read_scan(relation: str, table: BoundTable, asks: Callable[[str], bool] | None = None) -> Scan | ComposedScan:
    """Returns the scan with the name `relation`; `asks` as for `TableSnapshot.scan_for_query`.

    Raises, by name, for unsupported parts of the table (`TableSnapshot.ensure_supported`, `TableSnapshot.scan`).
    """
    assert table.policy is None, "its rows are read through a view"
    return unfiltered_scan(relation, table, asks)


def unfiltered_scan(relation: str, table: BoundTable, asks: Callable[[str], bool] | None = None) -> Scan | ComposedScan:
    """Returns the scan as :func:`read_scan`, for a caller that applies the table's policy above it."""
    with name_table_in_errors(table.label):
        table.snapshot.ensure_supported(TableOperation.READ)
        own = table.snapshot
        scan = own.scan(relation, table.label) if asks is None else own.scan_for_query(relation, table.label, asks)
    if isinstance(scan, ComposedScan):
        return replace(scan, parts=tuple(_pruned_scan(part, table) for part in scan.parts))
    pruning = TableFilePruning(table.label, table.snapshot)
    return replace(scan, pruning=pruning, name=table.visible_label, pin=table.snapshot.stamp)


def _pruned_scan(part: ScanPart, table: BoundTable) -> ScanPart:
    scan = replace(part.scan, pin=table.snapshot.stamp)
    if part.rows is not None:
        pruning = TableFilePruning(table.label, table.snapshot, part.rows)
        scan = replace(scan, pruning=pruning, name=table.visible_label)
    return replace(part, scan=scan)


def row_id_columns(label: str, tracking: RowTracking | None) -> tuple[StructField, ...]:
    """Returns the columns in which new files store ids and commit versions of copied rows; none for a table without row
    tracking.
    """
    if tracking is None:
        return ()
    names = (tracking.row_id_column, tracking.row_commit_version_column)
    if None in names:
        raise MalformedLogEntry(label, "row tracking is enabled, and the columns for the ids have no names")
    ids: tuple[int | None, ...] = tracking.field_ids or (None, None)
    return tuple(
        StructField(name, PrimitiveType.LONG, metadata={} if id is None else {FIELD_ID: id})
        for name, id in zip(names, ids, strict=True)
        if name is not None
    )


def with_requested_row_ids(plan: ReadPlan) -> ReadPlan:
    """Removes row ids if no text names their column: they make each file's constants different. A scan whose column has
    a generated name is made for a reader that needs it.
    """
    if all(scan.metadata != FILE_METADATA for scan in plan.scans):
        return plan
    texts = (plan.text, *(view.text for view in plan.views))
    if any(FILE_METADATA in text.casefold() for text in texts):
        return plan
    scans = (replace(scan, row_tracking=None) if scan.metadata == FILE_METADATA else scan for scan in plan.scans)
    return replace(plan, scans=tuple(scans))


def change_scan(relation: str, changes: BoundChanges, kind: ChangeFiles) -> Scan:
    """Returns the scan over one kind of change feed files."""
    feed = changes.feed
    return Scan(
        relation=relation,
        label=changes.table.label,
        name=changes.table.visible_label,
        table_root=changes.table.snapshot.table_root,
        schema=feed.schema,
        layout=kind.layout,
        read_as=kind.read_as,
        partition_columns=kind.partition_columns,
        files=kind.files,
        file_places=feed.file_places,
        credentials_id=credentials_id_of(changes.table.snapshot.storage),
        pruning=ChangeFilePruning(changes.label, feed, kind) if feed.versions else None,
        pin=f"{changes.table.snapshot.stamp} {feed.versions[0]} {feed.versions[-1]}"
        if feed.versions
        else changes.table.snapshot.stamp,
    )


def files_scan(relation: str, files: BoundFiles) -> Scan:
    """Returns the scan over files that belong to no table; if their columns are unknown, Spark infers them."""
    return Scan(
        relation=relation,
        label=files.label,
        name=files.root,
        table_root=files.root,
        schema=files.schema or StructType(()),
        partition_columns=files.partition_columns,
        files=files.files,
        format=files.format,
        infers=files.schema is None,
        pruning=ListedFilePruning(files) if files.partition_columns else None,
        is_hidden=True,
        shown_root=files.shown_root,
    )


def empty_scan(schema: StructType, location: str) -> Scan:
    """Returns a relation with a table's columns and no rows."""
    plain = StructType(tuple(StructField(field.name, field.data_type) for field in schema.fields))
    return Scan(
        relation=Names(schema.names).new("scan"),
        label="the table",
        table_root=location,
        schema=plain,
        partition_columns=(),
        files=NO_FILES,
    )
