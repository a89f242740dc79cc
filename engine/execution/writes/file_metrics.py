"""What a write of rows says of itself: metrics in the log, and the number of rows."""

from __future__ import annotations

from dataclasses import replace

from engine.binding.bound import Outcome
from engine.execution.writes.replaced_rows import Remainder
from engine.runtime.results import RowCounts, empty_result
from engine.tables.operations import CommitDescription, with_metrics
from engine.tables.transaction import NewFiles


def with_file_metrics(
    description: CommitDescription, new: NewFiles, remainder: Remainder | None = None
) -> CommitDescription:
    """Delta's names; its values are texts."""
    copied = remainder.copied if remainder else None
    num_copied = copied.num_rows if copied else 0
    metrics = {
        "numFiles": new.num_files + (copied.num_files if copied else 0),
        "numOutputRows": new.num_rows + num_copied,
        "numOutputBytes": new.num_bytes + (copied.num_bytes if copied else 0),
    }
    if remainder is not None:
        metrics |= remainder.removal_metrics
        if remainder.num_deleted is not None:
            metrics["numDeletedRows"] = remainder.num_deleted
            metrics |= {"numCopiedRows": num_copied, "numAddedChangeFiles": num_files(remainder.changes)}
        if remainder.marked is not None:
            metrics |= remainder.vector_metrics
    return with_metrics(description, **{name: str(value) for name, value in metrics.items()})


def num_files(new: NewFiles | None) -> int:
    """None counts as none."""
    return 0 if new is None else new.num_files


def counted(num_rows: int, *, defines_table: bool = False) -> Outcome:
    """Nothing to show, and how many rows were inserted; those that they replaced are not counted."""
    counts = RowCounts(affected=num_rows, inserted=num_rows, defines_table=defines_table)
    return Outcome(result=replace(empty_result(), row_counts=counts))
