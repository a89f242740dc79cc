"""All metrics at one moment, for `/metrics` and `system.metrics`.

No label contains a user, table or statement name. The metric names are a contract with dashboards and alerts:
docs/reference/metrics.md lists them.
"""

from __future__ import annotations

import os
import resource
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from engine.runtime.metrics import MetricFamily, MetricKind, Sample, counter, family_with_labels, gauge
from gateway.lifecycle import Lifecycle, Phase
from gateway.registry import Registry
from gateway.release import VERSION
from gateway.sessions.operation_state import OperationState
from gateway.state.journal import StateStore

_OPEN_STATES = (OperationState.PENDING, OperationState.RUNNING, OperationState.STREAMING)
_STARTED_S = time.time()
_PAGE_BYTES = resource.getpagesize()


def server_metrics(lifecycle: Lifecycle) -> Iterator[MetricFamily]:
    """Returns the metrics during startup and operation, immediately even if Spark does not respond."""
    registry = lifecycle.registry
    is_up = registry is not None and lifecycle.phase is Phase.READY and registry.engine.unready_reason is None
    yield gauge("gateway_up", "1 while statements are taken.", is_up)
    yield MetricFamily(
        "gateway_build_info", MetricKind.GAUGE, "1, with the version.", (Sample(1, {"version": VERSION}),)
    )
    text = "Starts of the server after a crash of its process."
    yield counter("gateway_restarts_total", text, lifecycle.restarts)
    yield from lifecycle.traffic.families()
    yield from _of_process()
    if registry is not None:
        yield from _open(registry)
        yield from registry.counters.families()
        yield from registry.engine.metrics()


def _open(registry: Registry) -> Iterator[MetricFamily]:
    states = Counter(operation.state for operation in registry.operations())
    yield gauge("gateway_sessions", "Open sessions.", len(registry.sessions()))
    by_state = (({"state": state.name.lower()}, states[state]) for state in _OPEN_STATES)
    text = "Statements that wait for their turn (pending), run, or give rows while they run (streaming)."
    yield family_with_labels(MetricKind.GAUGE, "gateway_statements", text, by_state)
    text = "Ended statements whose threads, or tasks in Spark, still run."
    yield gauge("gateway_statements_abandoned", text, registry.abandoned_count)
    store = registry.store
    places = (({"place": "memory"}, store.memory_bytes), ({"place": "disk"}, store.held_bytes()))
    text = "Bytes of results that are kept for their clients."
    yield family_with_labels(MetricKind.GAUGE, "gateway_results_held_bytes", text, places)
    text = "Bytes that results may take on disk."
    yield gauge("gateway_results_disk_max_bytes", text, store.disk_bytes_max)
    rows, size = store.counters
    yield counter("gateway_result_rows_total", "Rows of results, counted when they are pulled.", rows)
    yield counter("gateway_result_bytes_total", "Bytes of these rows as Arrow has them.", size)
    if registry.state is not None:
        yield from _state(registry.state)


def _state(state: StateStore) -> Iterator[MetricFamily]:
    yield gauge(
        "gateway_state_sessions", "Sessions in the state folder, also those of one statement.", state.num_sessions
    )
    yield gauge("gateway_state_bytes", "Bytes of their records.", state.budget.held_bytes())
    yield gauge("gateway_state_max_bytes", "Bytes that records may take.", state.budget.bytes_max)
    text = "Records that were not written, so that what they are about ends with the process."
    yield counter("gateway_state_failures_total", text, state.failures)
    text = "Sessions that were continued after another process had ended."
    yield counter("gateway_state_restored_sessions_total", text, state.restored)


def _of_process() -> Iterator[MetricFamily]:
    """Yields metrics for the Python process; Spark's JVM has its own. The names are the ones in Prometheus' client
    libraries.
    """
    yield gauge("process_start_time_seconds", "Start of the process, since the epoch.", _STARTED_S)
    used = resource.getrusage(resource.RUSAGE_SELF)
    cpu_s = used.ru_utime + used.ru_stime
    yield counter("process_cpu_seconds_total", "Processor time of the process.", cpu_s)
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        descriptors = len(os.listdir("/proc/self/fd"))
    except OSError:
        return  # a system without /proc
    yield gauge("process_resident_memory_bytes", "Resident memory of the process.", pages * _PAGE_BYTES)
    yield gauge("process_open_fds", "Open file descriptors of the process.", descriptors)
