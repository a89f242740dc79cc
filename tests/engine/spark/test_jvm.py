"""Finding Java, and a Spark whose process is gone."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
from py4j.protocol import Py4JError

from catalog.conditions import (
    JavaNotFound,
    SparkRestarting,
    SparkSettingFixed,
    SparkSettingInvalid,
    SparkUnavailable,
)
from engine.spark.jvm import ensure_java
from engine.spark.session import SparkDriver, Supervision
from tests.engine.spark.scans import rows
from tests.fix_spark import start_spark
from tests.gateway.http.conftest import eventually
from tests.paths import ROOT


def fake_java(folder: Path, version_line: str, exit_code: int = 0) -> Path:
    """Returns a `bin/java` that prints Java's version line."""
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho '{version_line}' >&2\nexit {exit_code}\n")
    java.chmod(java.stat().st_mode | stat.S_IXUSR)
    return java


@pytest.mark.parametrize(
    "version_line",
    ['openjdk version "17.0.15" 2025-04-15', 'java version "21" 2023-09-19 LTS', 'openjdk version "25-ea" 2025-09-16'],
)
def test_takes_the_java_of_java_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version_line: str) -> None:
    java = fake_java(tmp_path, version_line)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert ensure_java() == java


@pytest.mark.parametrize(
    ("version_line", "exit_code", "reason"),
    [
        ('openjdk version "11.0.2" 2019-01-15', 0, "is 11"),
        ('java version "1.8.0_402"', 0, "is 8"),
        ("no such thing", 0, "unknown version"),
        ('openjdk version "17.0.15"', 1, "does not run"),
    ],
)
def test_refuses_a_java_that_will_not_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version_line: str, exit_code: int, reason: str
) -> None:
    fake_java(tmp_path, version_line, exit_code)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    with pytest.raises(JavaNotFound, match=reason):
        ensure_java()


def test_says_what_to_do_without_java(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(JavaNotFound, match="Install one"):
        ensure_java()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(JavaNotFound, match="JAVA_HOME is .*nowhere"):
        ensure_java()


@pytest.mark.parametrize("key", ["spark.sql.variable.substitute", "spark.sql.runSQLOnFiles", "spark.master"])
def test_refuses_to_change_what_it_relies_on(tmp_path: Path, key: str) -> None:
    with pytest.raises(SparkSettingFixed, match=key):
        start_spark(local_dir=str(tmp_path), conf={key: "true"})
    assert not list(tmp_path.iterdir())


def lost(driver: SparkDriver, process_id: int) -> None:
    """Kills it, and the next one, in which the statement runs again."""
    os.kill(process_id, signal.SIGKILL)
    assert eventually(lambda: driver.unready_reason is None and driver.process.process_id != process_id)
    assert eventually(lambda: bool(driver.process._profiles))
    os.kill(driver.process.process_id, signal.SIGKILL)


def stopped_inside(driver: SparkDriver, process_id: int) -> None:
    """Stops Spark but not its process, as Spark does if one of its own threads fails."""
    spark = driver.process.gateway.jvm.org.apache.spark.sql.classic.SparkSession.getDefaultSession().get()
    with suppress(Py4JError, ConnectionError):  # the supervision may be faster
        spark.stop()


@pytest.mark.spark
@pytest.mark.slow
def test_a_spark_that_is_lost_comes_back_with_the_settings_of_its_sessions(tmp_path: Path) -> None:
    driver: SparkDriver = start_spark(local_dir=str(tmp_path))
    session, unused = driver.open_session(), driver.open_session()
    for other in (session, unused):
        other.set_setting("spark.sql.shuffle.partitions", "7")
        other.set_current_schema("spark_catalog", "sales")
    for fault in (lost, stopped_inside):
        before = driver.process.process_id
        with ThreadPoolExecutor(1) as threads:
            running = threads.submit(rows, session, "SELECT count(*) FROM range(1e12) WHERE sha2(string(id), 256) = ''")
            assert eventually(lambda: bool(list(driver.spool_dir.iterdir())))
            fault(driver, before)
            with pytest.raises(SparkRestarting) as caught:
                running.result(60)
        assert (caught.value.condition, caught.value.sqlstate) == ("SPARK_RESTARTING", "57P03")
        session.set_setting("spark.sql.ansi.enabled", "false")  # needs no Spark
        query = "SELECT current_schema(), count(*) FROM range(0, 10, 1, 3) GROUP BY ALL"
        for other in (session, unused, driver.open_session()):
            schema = "sales" if other in (session, unused) else "default"
            assert rows(other, query) == [(schema, 10)]
        assert session.get_setting("spark.sql.shuffle.partitions") == "7"
        assert session.get_setting("spark.sql.ansi.enabled") == "false"
        assert driver.unready_reason is None and driver.process.process_id != before
    driver.stop()
    assert not list(tmp_path.iterdir())


@pytest.mark.spark
@pytest.mark.slow
def test_a_java_that_is_stuck_is_replaced_and_holds_up_no_end(tmp_path: Path) -> None:
    driver = start_spark(local_dir=str(tmp_path), supervision=Supervision(silent_s=2, stuck_s=4, wait_s=250))
    session = driver.open_session()
    assert rows(session, "SELECT 1") == [(1,)]
    os.kill(driver.process.process_id, signal.SIGSTOP)
    with pytest.raises(SparkRestarting):
        rows(session, "SELECT 1")
    assert rows(session, "SELECT 1") == [(1,)]
    process_id = driver.process.process_id
    os.kill(process_id, signal.SIGSTOP)
    driver.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(process_id, 0)
    assert not list(tmp_path.iterdir())


@pytest.mark.spark
@pytest.mark.slow
def test_a_java_that_is_being_started_ends_with_the_driver(tmp_path: Path) -> None:
    driver = start_spark(local_dir=str(tmp_path))
    first = driver.process.process_id
    os.kill(first, signal.SIGKILL)
    processes = driver._launch.processes
    assert eventually(lambda: [process.pid for process in processes._running if process.pid != first] != [])
    driver.stop()
    assert not list(tmp_path.iterdir()) and not processes._running


@pytest.mark.spark
@pytest.mark.slow
def test_start_reports_its_steps_and_stop_leaves_nothing(tmp_path: Path) -> None:
    steps: list[str] = []
    driver = start_spark(local_dir=str(tmp_path), progress=steps.append)
    process_id = driver.process.process_id
    assert steps == ["starting Java", "starting Spark", "warming up Spark"]
    driver.stop()
    assert not list(tmp_path.iterdir())
    with pytest.raises(ProcessLookupError):
        os.kill(process_id, 0)


@pytest.mark.spark
@pytest.mark.slow
def test_a_start_that_fails_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(SparkUnavailable):
        start_spark(local_dir=str(tmp_path), master="no-such-master")
    assert not list(tmp_path.iterdir())


@pytest.mark.spark
@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        pytest.param("spark.sql.ansi.enabled", "maybe", "It should be a/an 'boolean' value.", marks=pytest.mark.slow),
        ("spark.gateway.optimizer.pointLookups.enabled", "1", "It should be a/an 'boolean' value."),
        ("spark.ui.port", "abc", "It should be a/an 'int' value."),
        ("spark.memory.fraction", "x", 'Illegal value for config key spark.memory.fraction: For input string: "x"'),
    ],
)
def test_start_with_invalid_spark_setting_names_setting_value_and_reason(
    key: str, value: str, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    with pytest.raises(SparkSettingInvalid) as caught:
        start_spark(conf={key: value})
    error = caught.value
    assert (error.condition, error.key, error.value) == ("INVALID_CONF_VALUE.SPARK_CONF", key, value)
    assert error.reason.endswith(reason)
    messages = "\n".join(caplog.messages)  # PySpark's remote client changes the format of the text
    assert "Spark does not start" in messages and "\tat " in messages


@pytest.mark.spark
@pytest.mark.slow
def test_executors_in_other_processes_get_our_classes(tmp_path: Path) -> None:
    """Their results arrive as bytes instead of files."""
    driver = start_spark(local_dir=str(tmp_path), master="local-cluster[1,1,1024]")
    try:
        session = driver.open_session()
        assert rows(session, "SELECT sum(id) FROM range(0, 100000, 1, 3)") == [(4_999_950_000,)]
        assert len(rows(session, "SELECT id, repeat('x', 10) FROM range(0, 100000, 1, 3)")) == 100_000
    finally:
        driver.stop()


ORPHAN = """
import os, signal, subprocess, sys
from tests.fix_spark import start_spark
from tests.gateway.http.conftest import eventually
from tests.paths import ROOT
driver = start_spark()
stdin = driver.process.gateway.proc.stdin.fileno()
holder = subprocess.Popen(  # so that Spark's own watch of its input sees nothing
    ["sleep", "120"], pass_fds=[stdin], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
)
print(driver.process.process_id, holder.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.slow
@pytest.mark.spark
def test_spark_ends_with_its_server_even_if_its_input_stays_open() -> None:
    # Java has the output open too, so the killed server is a zombie until Java ends.
    run = subprocess.run([sys.executable, "-c", ORPHAN], cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert run.returncode == -signal.SIGKILL, run.stderr
    java, holder = map(int, run.stdout.split())
    try:
        assert eventually(lambda: not Path(f"/proc/{java}").exists())
    finally:
        os.kill(holder, signal.SIGKILL)
        if Path(f"/proc/{java}").exists():
            os.kill(java, signal.SIGKILL)
