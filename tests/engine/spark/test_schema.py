"""The JSON objects that cross between Python and Java have the same fields on both sides."""

from __future__ import annotations

import json

import pytest
from py4j.protocol import Py4JJavaError

from engine.runtime.jvm_statistics import read_jobs, read_jvm_statistics, read_task_counts
from engine.runtime.profile import TaskCounts
from engine.spark.schema import FIELDS, VERSION
from engine.spark.session import SparkDriver


@pytest.mark.spark
def test_python_and_java_declare_the_same_fields(spark_driver: SparkDriver) -> None:
    java = json.loads(spark_driver.process.gateway.jvm.deltagateway.protocol.Schema.toJson())
    assert {name: sorted(fields) for name, fields in java.items()} == {
        name: sorted(fields) for name, fields in FIELDS.items()
    }


@pytest.mark.spark
def test_jar_of_another_schema_version_is_rejected_at_start(spark_driver: SparkDriver) -> None:
    schema = spark_driver.process.gateway.jvm.deltagateway.protocol.Schema
    schema.ensureVersion(VERSION)
    with pytest.raises(Py4JJavaError) as caught:
        schema.ensureVersion(VERSION + 1)
    assert caught.value.java_exception.getMessage() == (
        f"The gateway's jar has version {VERSION} of the schema between Python and Java, and its Python code version"
        f" {VERSION + 1}: install the gateway again."
    )


@pytest.mark.spark
def test_jvm_statistics_have_plausible_values_by_name(spark_driver: SparkDriver) -> None:
    statistics = read_jvm_statistics(spark_driver.process.driver.jvmStatistics())
    assert 0 < statistics.heap_used_bytes <= statistics.heap_committed_bytes <= statistics.heap_max_bytes
    assert read_jobs(spark_driver.process.driver.jobs("no-such-statement")) == ()
    assert read_task_counts(spark_driver.process.driver.taskCounts("no-such-statement")) == {}


def test_task_counts_are_read_by_statement_and_name() -> None:
    counts = {"total": 5, "running": 2, "done": 3, "failed": 1}
    text = json.dumps({"a": counts, "b": dict.fromkeys(counts, 0)})
    assert read_task_counts(text) == {"a": TaskCounts(total=5, running=2, done=3, failed=1), "b": TaskCounts()}


def test_unknown_field_of_a_job_is_rejected() -> None:
    job = {"id": 1, "began_ms": 2, "ended_ms": 3, "stages": 1, "tasks": 4, "failed_tasks": 0, "has_succeeded": True}
    assert read_jobs(json.dumps([job]))[0].tasks == 4
    with pytest.raises(TypeError, match="unexpected keyword argument 'color'"):
        read_jobs(json.dumps([job | {"color": "red"}]))
