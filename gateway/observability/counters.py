"""Counters since the server's start, without user or table names."""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Iterator

from catalog.conditions import ConcurrentModification
from engine.concurrency.retry import RetryReason
from engine.runtime.metrics import Latencies, MetricFamily, MetricKind, counter, family_with_labels
from engine.runtime.profile import Stage
from engine.runtime.statement import StatementClass
from gateway.sessions.operation import Operation
from gateway.sessions.operation_state import OperationState


class Counters:
    """Counters. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ended: Counter[tuple[OperationState, StatementClass]] = Counter()
        self._stages: defaultdict[Stage, Latencies] = defaultdict(Latencies)
        self._statements: defaultdict[StatementClass, Latencies] = defaultdict(Latencies)
        self._retries: Counter[RetryReason] = Counter()
        self._commits = self._conflicts = self._bytes_read = self._bytes_pruned = 0

    def add(self, operation: Operation) -> None:
        """Counts an ended statement."""
        reads, stages = operation.profile.reads, operation.profile.stages
        ended_ms = operation.ended_ms or operation.created_ms
        with self._lock:
            self._ended[operation.state, operation.kind] += 1
            seconds = max(0, ended_ms - operation.created_ms) / 1000
            self._statements[operation.kind].add(seconds)
            for each in stages:
                self._stages[each.stage].add(each.duration_ms / 1000)
            self._commits += operation.commits
            self._retries.update(operation.retries)
            self._conflicts += isinstance(operation.error, ConcurrentModification)
            self._bytes_read += sum(read.bytes for read in reads)
            self._bytes_pruned += sum(read.bytes_total - read.bytes for read in reads)

    def families(self) -> tuple[MetricFamily, ...]:
        """Returns the current metrics."""
        with self._lock:
            return (*self._of_statements(), *self._of_commits(), *self._of_reads())

    def _of_statements(self) -> Iterator[MetricFamily]:
        ended = (
            ({"state": state.name.lower(), "class": kind.name.lower()}, count)
            for (state, kind), count in self._ended.items()
        )
        text = "Statements that have ended, by how and by class."
        yield family_with_labels(MetricKind.COUNTER, "gateway_statements_ended_total", text, ended)
        samples = (
            sample
            for kind, latencies in self._statements.items()
            for sample in latencies.samples({"class": kind.name.lower()})
        )
        text = "Time from the arrival to the end of a statement."
        yield MetricFamily("gateway_statement_seconds", MetricKind.HISTOGRAM, text, tuple(samples))
        samples = (
            sample for stage, latencies in self._stages.items() for sample in latencies.samples({"stage": stage})
        )
        text = "Time that a statement spent in a stage; in `queue` it waits for its turn."
        yield MetricFamily("gateway_stage_seconds", MetricKind.HISTOGRAM, text, tuple(samples))

    def _of_commits(self) -> Iterator[MetricFamily]:
        yield counter("gateway_commits_total", "Versions of tables that statements made.", self._commits)
        text = "Attempts to commit that lost to another writer and were made again: the same files as a later version "
        text += "(rebase), or the statement from its beginning (rerun)."
        retries = (({"kind": reason}, self._retries[reason]) for reason in RetryReason)
        yield family_with_labels(MetricKind.COUNTER, "gateway_commit_retries_total", text, retries)
        text = "Statements that failed because of another writer's commit."
        yield counter("gateway_commit_conflicts_total", text, self._conflicts)

    def _of_reads(self) -> Iterator[MetricFamily]:
        yield counter("gateway_read_bytes_total", "Sizes of data files that were read.", self._bytes_read)
        yield counter("gateway_pruned_bytes_total", "Sizes of data files that pruning left out.", self._bytes_pruned)
