"""Metrics for a row write in the log: files, rows, and phase durations, with Delta's names."""

from __future__ import annotations

import time

from engine.execution.writes.replaced_rows import RemainingRows
from engine.tables.operations import CommitDescription, with_metrics
from engine.tables.transaction import NewFiles


def with_file_metrics(
    description: CommitDescription, new: NewFiles, remaining: RemainingRows | None = None
) -> CommitDescription:
    """Adds the write's operation metrics, as DESCRIBE HISTORY shows them.

    Names are Delta's (`numFiles`, `numOutputRows`, `numOutputBytes`, `numCopiedRows`, …), and values are decimal
    strings as in `commitInfo.operationMetrics`. `remaining` has the rows and files of a DELETE, UPDATE or MERGE that
    were copied or removed.
    """
    copied = remaining.copied if remaining else None
    num_copied = copied.num_rows if copied else 0
    metrics = {
        "numFiles": new.num_files + (copied.num_files if copied else 0),
        "numOutputRows": new.num_rows + num_copied,
        "numOutputBytes": new.num_bytes + (copied.num_bytes if copied else 0),
    }
    if remaining is not None:
        metrics |= remaining.removal_metrics
        if remaining.num_deleted is not None:
            metrics["numDeletedRows"] = remaining.num_deleted
            metrics |= {"numCopiedRows": num_copied, "numAddedChangeFiles": num_files(remaining.changes)}
        if remaining.updated is not None:
            metrics |= remaining.vector_metrics
    return with_metrics(description, **{name: str(value) for name, value in metrics.items()})


def num_files(new: NewFiles | None) -> int:
    """Returns the number of files; 0 for None."""
    return 0 if new is None else new.num_files


class Stopwatch:
    """Measures from its creation; the scan phase is the search for rows, the rest is the rewrite phase."""

    def __init__(self) -> None:
        self._begun_s = time.monotonic()
        self._source_ms = self._scan_ms = 0

    def note_source(self) -> None:
        """Records that a MERGE source is materialized, or available."""
        self._source_ms = self._elapsed_ms()

    def note_scan(self) -> None:
        """Records that the rows are found."""
        self._scan_ms = self._elapsed_ms() - self._source_ms

    @property
    def metrics(self) -> dict[str, int]:
        """Returns durations in ms, up to now."""
        elapsed_ms = self._elapsed_ms()
        return {
            "executionTimeMs": elapsed_ms,
            "scanTimeMs": self._scan_ms,
            "rewriteTimeMs": elapsed_ms - self._source_ms - self._scan_ms,
        }

    @property
    def source_metrics(self) -> dict[str, int]:
        """Returns the time for materializing MERGE's source, under Delta's name, in milliseconds."""
        return {"materializeSourceTimeMs": self._source_ms}

    def _elapsed_ms(self) -> int:
        return int((time.monotonic() - self._begun_s) * 1000)
