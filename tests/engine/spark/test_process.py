"""Requests to a Spark run on the thread that may wait for Java."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JError

import engine.spark.process
from engine.runtime.jvm_statistics import JvmStatistics
from engine.spark.class_files import ClassFiles
from engine.spark.file_lists import FileLists
from engine.spark.process import Launch, SparkProcess
from tests.gateway.http.conftest import eventually


class Java:
    """A gateway, its driver and a session in one, which waits for `go_on`; `calls` has the received calls."""

    def __init__(self) -> None:
        self.go_on, self.calls, self.fault = threading.Event(), list[str](), list[Exception]()
        self.proc = SimpleNamespace(poll=lambda: None)
        self.left = ""

    def illness(self) -> str:
        return ""

    def leftStatements(self) -> str:
        return self.left

    def jvmStatistics(self) -> str:
        return json.dumps({each.name: 0 for each in fields(JvmStatistics)})

    def cancel(self, statement_id: str) -> None:
        assert self.go_on.wait(60)
        self.calls.append(statement_id)
        if self.fault:
            raise self.fault.pop()

    def detach(self, session: Any) -> None:
        self.calls.append("detached")


@pytest.fixture
def java() -> Java:
    return Java()


@pytest.fixture
def process(java: Java, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SparkProcess]:
    monkeypatch.setattr(engine.spark.process, "_BEAT_EVERY_S", 0.01)
    file_lists = FileLists()
    launch = Launch(
        conf={},
        spark_dir=tmp_path,
        spool_dir=tmp_path,
        class_files=ClassFiles(tmp_path, tmp_path),
        allowed_functions=(),
        allowed_table_functions=(),
        file_lists=file_lists,
    )
    made = SparkProcess(java, java, launch)
    yield made
    made._end()
    file_lists.server.close()


def test_a_session_is_forgotten_behind_the_cancels_of_its_statements(java: Java, process: SparkProcess) -> None:
    """Java does not find a session that it has forgotten, and its statements would run on."""
    process.cancel(java, "a")
    process.cancel(java, "b")
    process.detach(java)  # returns at once, though Java is stopped
    assert java.calls == []
    java.go_on.set()
    assert eventually(lambda: java.calls == ["a", "b", "detached"])


@pytest.mark.parametrize("fault", [Py4JError("Target Object ID does not exist"), ValueError("a bug")], ids=repr)
def test_failed_cancel_is_logged_and_next_one_is_sent(
    java: Java, process: SparkProcess, fault: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    java.fault.append(fault)
    java.go_on.set()
    with caplog.at_level(logging.WARNING):
        process.cancel(java, "a")
        process.cancel(java, "b")
        assert eventually(lambda: java.calls == ["a", "b"])
    assert str(fault) in caplog.text


def test_process_is_replaced_for_a_statement_that_is_left_for_thirty_beats(java: Java, process: SparkProcess) -> None:
    java.left = "a b"
    assert eventually(lambda: process.left_statements.keys() == {"a", "b"})
    java.left = "b c"  # work that ends in time is discarded
    assert eventually(lambda: process.left_statements.keys() == {"b", "c"})
    java.left = ""
    assert eventually(lambda: not process.left_statements) and process.unstoppable is None
    java.left = "d"
    assert eventually(lambda: process.unstoppable is not None)
    assert process.left_statements["d"] >= 30 and process.illness is None
