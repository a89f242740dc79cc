"""How long the parts of a statement that changes rows take, in Delta's metrics."""

from __future__ import annotations

import time


class Stopwatch:
    """From its making on; the scan is the search for the rows, all that follows is rewriting."""

    def __init__(self) -> None:
        self._begun_s = time.monotonic()
        self._source_ms = self._scan_ms = 0

    def note_source(self) -> None:
        """The source of a MERGE is kept, or at hand."""
        self._source_ms = self._elapsed_ms()

    def note_scan(self) -> None:
        """The rows are found."""
        self._scan_ms = self._elapsed_ms() - self._source_ms

    @property
    def metrics(self) -> dict[str, int]:
        """In ms, up to now."""
        elapsed_ms = self._elapsed_ms()
        return {
            "executionTimeMs": elapsed_ms,
            "scanTimeMs": self._scan_ms,
            "rewriteTimeMs": elapsed_ms - self._source_ms - self._scan_ms,
        }

    @property
    def source_metrics(self) -> dict[str, int]:
        return {"materializeSourceTimeMs": self._source_ms}

    def _elapsed_ms(self) -> int:
        return int((time.monotonic() - self._begun_s) * 1000)
