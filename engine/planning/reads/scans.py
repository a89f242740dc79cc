"""The scan of a bound table: what of its snapshot a read needs, once we know that we can read it.

`empty_scan` is over a table without rows: expressions are analyzed over it before the table exists.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from catalog.conditions import MalformedLogEntry
from engine.binding.bound import BoundChanges, BoundFiles, BoundTable
from engine.errors.table_errors import naming
from engine.planning.plans.reads import ReadPlan
from engine.planning.reads.file_choice import FileChoice
from engine.planning.reads.listed_choice import ChangeChoice, ListedChoice
from engine.sql.query.composed import Names
from engine.storage.lent_storage import lease_of
from engine.tables.changes import ChangeFiles
from engine.tables.operations import TableOperation
from engine.tables.scan import FIELD_ID, FILE_METADATA, NO_FILES, ComposedScan, RowTracking, Scan, ScanPart
from engine.types.schema import PrimitiveType, StructField, StructType


def scan_of(relation: str, table: BoundTable) -> Scan:
    """As :func:`read_scan`, for a table that is changed: its files hold its rows, which are known by their places.

    Raises, by name, for a table whose files do not (`TableOperation.DML`).
    """
    scan = read_scan(relation, table)
    if isinstance(scan, ComposedScan):
        with naming(table.label):
            table.snapshot.ensure_supported(TableOperation.DML)
    assert isinstance(scan, Scan), "a format whose tables are changed reads them by one scan"
    return scan


def read_scan(relation: str, table: BoundTable, asks: Callable[[str], bool] | None = None) -> Scan | ComposedScan:
    """The scan that the rewritten text calls `relation`; `asks` as for `TableSnapshot.scan_for_query`.

    Raises, by name, what of the table we cannot read (`TableSnapshot.ensure_supported`, `TableSnapshot.scan`).
    """
    assert table.policy is None, "its rows are read through a view"
    return unfiltered_scan(relation, table, asks)


def unfiltered_scan(relation: str, table: BoundTable, asks: Callable[[str], bool] | None = None) -> Scan | ComposedScan:
    """As :func:`read_scan`, for who applies the table's policy above it."""
    with naming(table.label):
        table.snapshot.ensure_supported(TableOperation.READ)
        own = table.snapshot
        scan = own.scan(relation, table.label) if asks is None else own.scan_for_query(relation, table.label, asks)
    if isinstance(scan, ComposedScan):
        return replace(scan, parts=tuple(_chosen(part, table) for part in scan.parts))
    choice = FileChoice(table.label, table.snapshot)
    return replace(scan, choice=choice, name=table.own_label, pin=table.snapshot.stamp)


def _chosen(part: ScanPart, table: BoundTable) -> ScanPart:
    scan = replace(part.scan, pin=table.snapshot.stamp)
    if part.rows is not None:
        choice = FileChoice(table.label, table.snapshot, part.rows)
        scan = replace(scan, choice=choice, name=table.own_label)
    return replace(part, scan=scan)


def row_id_columns(label: str, tracking: RowTracking | None) -> tuple[StructField, ...]:
    """The columns in which new files keep the ids and commit versions of rows that they take over; none for a table
    that does not track its rows.
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


def with_row_ids_if_asked(plan: ReadPlan) -> ReadPlan:
    """Row ids are left out where no text names the column they are in: they make every file's constants different. A
    scan whose column has a name of its own is made for who asks.
    """
    texts = (plan.text, *(view.text for view in plan.views))
    if any(FILE_METADATA in text.casefold() for text in texts):
        return plan
    scans = (replace(scan, row_tracking=None) if scan.metadata == FILE_METADATA else scan for scan in plan.scans)
    return replace(plan, scans=tuple(scans))


def change_scan(relation: str, changes: BoundChanges, kind: ChangeFiles) -> Scan:
    """The scan of one kind of files of a change data feed."""
    feed = changes.feed
    return Scan(
        relation=relation,
        label=changes.table.label,
        name=changes.table.own_label,
        table_root=changes.table.snapshot.table_root,
        schema=feed.schema,
        layout=kind.layout,
        read_as=kind.read_as,
        partition_columns=kind.partition_columns,
        files=kind.files,
        file_places=feed.file_places,
        lease=lease_of(changes.table.snapshot.storage),
        choice=ChangeChoice(changes.label, feed, kind) if feed.versions else None,
        pin=f"{changes.table.snapshot.stamp} {feed.versions[0]} {feed.versions[-1]}"
        if feed.versions
        else changes.table.snapshot.stamp,
    )


def files_scan(relation: str, files: BoundFiles) -> Scan:
    """The scan of files that are no table's; where their columns are not known, Spark finds them."""
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
        choice=ListedChoice(files) if files.partition_columns else None,
        is_hidden=True,
        shown_root=files.shown_root,
    )


def empty_scan(schema: StructType, location: str) -> Scan:
    """A relation with the columns of a table and no rows."""
    plain = StructType(tuple(StructField(field.name, field.data_type) for field in schema.fields))
    return Scan(
        relation=Names(schema.names).new("scan"),
        label="the table",
        table_root=location,
        schema=plain,
        partition_columns=(),
        files=NO_FILES,
    )
