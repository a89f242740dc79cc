"""The outcome of a statement whose commit is found in the table's history instead of made."""

from __future__ import annotations

from dataclasses import replace

from engine.binding.bound import Outcome, counted
from engine.runtime.results import RowCounts, empty_result
from engine.tables.operations import CommitRecord


def committed_outcome(record: CommitRecord) -> Outcome:
    """Returns the row counts by the commit's metrics.

    The rows that RESTORE, CLONE and CONVERT TO DELTA answer are not in the history; the outcome has none.
    """

    def count(name: str) -> int:
        text = record.metrics.get(name, "")
        return int(text) if text.isdecimal() else 0

    counts: RowCounts
    match record.operation:
        case "WRITE":
            num_rows = count("numOutputRows") - count("numCopiedRows")
            if "numSkippedCorruptFiles" not in record.metrics:
                return counted(num_rows)
            skipped = count("numSkippedCorruptFiles")
            counts = RowCounts(affected=num_rows, inserted=num_rows, skipped_corrupt_files=skipped)
        case "DELETE":
            counts = RowCounts(affected=count("numDeletedRows"))
        case "UPDATE":
            counts = RowCounts(affected=count("numUpdatedRows"))
        case "MERGE":
            inserted, updated = count("numTargetRowsInserted"), count("numTargetRowsUpdated")
            deleted = count("numTargetRowsDeleted")
            affected = inserted + updated + deleted
            counts = RowCounts(affected=affected, inserted=inserted, updated=updated, deleted=deleted)
        case "CREATE TABLE AS SELECT" | "REPLACE TABLE AS SELECT" | "CREATE OR REPLACE TABLE AS SELECT":
            return counted(count("numOutputRows"), defines_table=True)
        case _:  # DDL, whose names are Delta's, and those of a newer release
            return Outcome(result=empty_result())
    return Outcome(result=replace(empty_result(), row_counts=counts))
