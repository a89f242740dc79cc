"""JVM statistics of the Spark process, and the jobs that ran for a statement."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from engine.runtime.metrics import MetricFamily, MetricKind, counter, family_with_labels, gauge
from engine.runtime.profile import SparkJob, TaskCounts


@dataclass(frozen=True, slots=True)
class JvmStatistics:
    """The fields of `GatewayDriver.jvmStatistics`. Jobs and tasks are counted from the start of the process."""

    heap_used_bytes: int
    heap_committed_bytes: int
    heap_max_bytes: int
    column_cache_bytes: int
    collecting_ms: int
    jobs_running: int
    jobs_succeeded: int
    jobs_failed: int
    tasks_running: int
    tasks_succeeded: int
    tasks_failed: int


def jvm_metrics(jvm_statistics: JvmStatistics) -> Iterator[MetricFamily]:
    """Yields the JVM statistics as metrics; the counters begin at 0 again when Spark is restarted."""
    yield gauge("gateway_spark_heap_used_bytes", "Bytes of Spark's heap in use.", jvm_statistics.heap_used_bytes)
    yield gauge(
        "gateway_spark_heap_committed_bytes", "Bytes that Spark's heap takes.", jvm_statistics.heap_committed_bytes
    )
    yield gauge("gateway_spark_heap_max_bytes", "Bytes that Spark's heap may take.", jvm_statistics.heap_max_bytes)
    cache_description = "Bytes of Spark's heap for columns of data files as they were decoded."
    yield gauge("gateway_spark_column_cache_bytes", cache_description, jvm_statistics.column_cache_bytes)
    collecting_s = jvm_statistics.collecting_ms / 1000
    yield counter("gateway_spark_gc_seconds_total", "Time that Spark spent in garbage collections.", collecting_s)
    yield gauge("gateway_spark_jobs_running", "Jobs that Spark runs.", jvm_statistics.jobs_running)
    yield _by_outcome(
        "gateway_spark_jobs_total", "Jobs that ended.", jvm_statistics.jobs_succeeded, jvm_statistics.jobs_failed
    )
    yield gauge("gateway_spark_tasks_running", "Tasks that Spark runs.", jvm_statistics.tasks_running)
    yield _by_outcome(
        "gateway_spark_tasks_total", "Tasks that ended.", jvm_statistics.tasks_succeeded, jvm_statistics.tasks_failed
    )


def _by_outcome(name: str, description: str, succeeded: int, failed: int) -> MetricFamily:
    values = (({"outcome": "succeeded"}, succeeded), ({"outcome": "failed"}, failed))
    return family_with_labels(MetricKind.COUNTER, name, description, values)


def read_jvm_statistics(text: str) -> JvmStatistics:
    """Parses the response of `GatewayDriver.jvmStatistics`."""
    return JvmStatistics(**json.loads(text))


def read_jobs(text: str) -> tuple[SparkJob, ...]:
    """Parses the response of `GatewayDriver.jobs`."""
    return tuple(SparkJob(**job) for job in json.loads(text))


def read_task_counts(text: str) -> dict[str, TaskCounts]:
    """Parses the response of `GatewayDriver.taskCounts`: the tasks of running statements by their ids."""
    return {statement_id: TaskCounts(**counts) for statement_id, counts in json.loads(text).items()}
