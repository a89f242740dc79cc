"""Options of Spark's process, and their visibility to other users on the machine."""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path

import pytest

from catalog.conditions import SparkUnavailable
from engine.spark.jvm import JavaProcesses, _environment, _launch, _properties
from engine.spark.session import SparkDriver

SETTINGS = {
    "spark.hadoop.fs.s3a.secret.key": "a=b:c#d!e\\f g\n\th",
    "a key: with = all": " leading and trailing ",
    "spark.ü": "Ω 🙂 'quoted' \"twice\" $HOME `x`",
    "spark.empty": "",
}


@pytest.mark.spark
def test_java_reads_the_settings_as_they_were(spark_driver: SparkDriver) -> None:
    jvm = spark_driver.process.gateway.jvm
    read = jvm.java.util.Properties()
    read.load(jvm.java.io.StringReader(_properties(SETTINGS)))
    assert {key: read.getProperty(key) for key in read.stringPropertyNames()} == SETTINGS


@pytest.mark.spark
def test_no_setting_is_on_the_command_line(spark_driver: SparkDriver) -> None:
    process = Path("/proc") / str(spark_driver.process.process_id)
    command = (process / "cmdline").read_bytes().split(b"\0")
    assert b"--properties-file" in command
    assert b"--conf" not in command and not any(b"spark.sql" in word for word in command)
    assert not Path(command[command.index(b"--properties-file") + 1].decode()).exists()
    assert spark_driver.process.gateway.jvm.java.lang.System.getProperty("spark.sql.timeType.enabled") == "true"


def test_little_of_the_environment_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        *("GATEWAY_TOKEN", "PYSPARK_SUBMIT_ARGS", "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET", "SPARK_HOME"),
        *("SPARK_CONF_DIR", "SPARK_TESTING", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "CLASSPATH"),
    ):
        monkeypatch.setenv(name, "x")
    monkeypatch.setenv("AWS_PROFILE", "lake")
    monkeypatch.setenv("JAVA_HOME", "/java")
    passed = _environment()
    assert passed["AWS_PROFILE"] == "lake" and passed["JAVA_HOME"] == "/java" and "PATH" in passed
    assert "x" not in passed.values()


@pytest.mark.spark
def test_a_java_that_does_not_start_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/no/such")
    with pytest.raises(SparkUnavailable, match="/no/such"):
        _launch({}, JavaProcesses())


def test_processes_end_with_their_driver_also_those_that_are_added_later() -> None:
    processes = JavaProcesses()
    first, second = (subprocess.Popen(["sleep", "60"]) for _ in range(2))
    processes.add(first)
    assert first.poll() is None
    processes.close()
    assert first.poll() == -signal.SIGKILL
    with pytest.raises(SparkUnavailable, match="shutting down"):
        processes.add(second)
    assert second.poll() == -signal.SIGKILL
