"""The scan of a bound table: what of its snapshot a read needs, once we know that we can read it."""

from __future__ import annotations

from dataclasses import replace

from engine.bind.bound import BoundChanges, BoundTable
from engine.errors.table_errors import naming
from engine.plan.reads.change_choice import ChangeChoice
from engine.plan.reads.file_choice import FileChoice
from engine.plans.reads import ReadPlan
from engine.table.changes import ChangeFiles
from engine.table.operations import TableOperation
from engine.table.scan import Scan

FILE_METADATA = "_metadata"
"""The hidden column of every table, with fields for the file that a row is in and, if the table tracks rows, its id."""


def scan_of(relation: str, table: BoundTable) -> Scan:
    """The scan that the rewritten text calls `relation`.

    Raises, by name, what of the table we cannot read (`TableSnapshot.ensure_supported`, `TableSnapshot.scan`).
    """
    with naming(table.label):
        table.snapshot.ensure_supported(TableOperation.READ)
        scan = table.snapshot.scan(relation, table.label)
    return replace(scan, choice=FileChoice(table.label, table.snapshot))


def with_row_ids_if_asked(plan: ReadPlan) -> ReadPlan:
    """Row ids are left out where no text names the column they are in: they make every file's constants different."""
    texts = (plan.text, *(view.text for view in plan.views))
    if any(FILE_METADATA in text.casefold() for text in texts):
        return plan
    return replace(plan, scans=tuple(replace(scan, row_tracking=None) for scan in plan.scans))


def change_scan(relation: str, changes: BoundChanges, kind: ChangeFiles) -> Scan:
    """The scan of one kind of files of a change data feed."""
    feed = changes.feed
    return Scan(
        relation=relation,
        label=changes.table.label,
        table_root=changes.table.snapshot.table_root,
        schema=feed.schema,
        layout=kind.layout,
        partition_columns=kind.partition_columns,
        files=kind.files,
        allowed_roots=feed.allowed_roots,
        choice=ChangeChoice(changes.label, feed, kind) if feed.versions else None,
    )
