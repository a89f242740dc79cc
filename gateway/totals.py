"""Counts of what the server has done since it started, for those who watch it; they name nobody and no table."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass

from engine.runtime.profile import Stage
from engine.runtime.statement_class import StatementClass
from gateway.operation import Operation, OperationState


@dataclass(frozen=True, slots=True)
class Counts:
    """Ended statements by state and class; of each stage the seconds and how many statements were in it; and what
    statements answered and read.
    """

    ended: dict[tuple[OperationState, StatementClass], int]
    stage_seconds: dict[Stage, float]
    stage_statements: dict[Stage, int]
    rows: int
    bytes_read: int
    bytes_pruned: int


class Totals:
    """Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ended: Counter[tuple[OperationState, StatementClass]] = Counter()
        self._seconds: dict[Stage, float] = {}
        self._statements: Counter[Stage] = Counter()
        self._rows = self._bytes_read = self._bytes_pruned = 0

    def add(self, operation: Operation) -> None:
        """Count a statement that has ended."""
        reads, stages = operation.profile.reads, operation.profile.stages
        with self._lock:
            self._ended[operation.state, operation.kind] += 1
            for each in stages:
                self._seconds[each.stage] = self._seconds.get(each.stage, 0.0) + each.duration_ms / 1000
                self._statements[each.stage] += 1
            self._rows += operation.rows_held
            self._bytes_read += sum(read.bytes for read in reads)
            self._bytes_pruned += sum(read.bytes_total - read.bytes for read in reads)

    def counts(self) -> Counts:
        """As they are now."""
        with self._lock:
            return Counts(
                ended=dict(self._ended),
                stage_seconds=dict(self._seconds),
                stage_statements=dict(self._statements),
                rows=self._rows,
                bytes_read=self._bytes_read,
                bytes_pruned=self._bytes_pruned,
            )
