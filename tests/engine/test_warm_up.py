"""Warm-up statements at the server's start: they run only while no client's statement does, and leave nothing."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from engine.engine import EngineSession
from engine.main import EngineOptions, LakeEngine, open_sources
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.runtime.results import ResultStream, empty_result
from engine.spark.session import SparkDriver
from engine.warm_up import STATEMENTS, RunningStatements, WarmUp
from tests.gateway.http.conftest import eventually


class Session:
    """Records the statements; `at` is called with each and its context."""

    def __init__(self, at: Any = lambda text, context: None) -> None:
        self.texts: list[str] = []
        self.folders: list[str] = []
        self._at = at

    @contextmanager
    def opened(self, folder: str) -> Iterator[EngineSession]:
        self.folders.append(folder)
        yield self  # type: ignore[misc]

    def execute(self, text: str, request: StatementRequest) -> ResultStream:
        self._at(text, request)
        self.texts.append(text)
        return empty_result()


def has_ended() -> bool:
    return not any(thread.name == "warm-up" for thread in threading.enumerate())


@pytest.mark.spark
def test_all_statements_run_on_a_lake_of_their_own(
    spark_driver: SparkDriver, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lake, local = tmp_path / "lake", tmp_path / "local"
    lake.mkdir()
    local.mkdir()
    engine = LakeEngine(open_sources(EngineOptions(lake_folder=str(lake))), spark_driver)
    with caplog.at_level(logging.INFO, "engine.warm_up"):
        engine.warm_up(str(local))
        assert eventually(has_ended, 200)
    (record,) = caplog.records
    assert record.getMessage().startswith(f"warmed up by {len(STATEMENTS)} statements")
    assert not os.listdir(local)
    assert not os.listdir(lake)
    session = engine.open_session(Identity("ann"), settings={}, catalog=None, schema=None)
    shown = session.execute("SHOW SCHEMAS", StatementRequest(identity=Identity("ann")))
    assert "shop" not in str([batch.to_pylist() for batch in shown.batches()])
    session.close()


def test_warm_up_waits_while_a_client_statement_runs(tmp_path: Path) -> None:
    clients, session = RunningStatements(), Session()
    reached = threading.Event()
    may_end = threading.Event()

    def at(text: str, request: StatementRequest) -> None:
        if len(session.texts) == 1:
            reached.set()
            assert may_end.wait(60)

    session = Session(at)
    warm_up = WarmUp(session.opened, clients, str(tmp_path))
    with clients.statement():
        warm_up.start()
        assert eventually(lambda: bool(session.folders))
        assert not reached.wait(0.3)
        assert session.texts == []
    assert reached.wait(60)
    with clients.statement(), clients.statement():
        may_end.set()
        assert eventually(lambda: len(session.texts) == 2)
        assert not eventually(lambda: len(session.texts) > 2, 0.3)
    assert eventually(has_ended)
    assert tuple(session.texts) == STATEMENTS


def test_warm_up_ends_under_constant_load(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    clients, session = RunningStatements(), Session()
    with clients.statement(), caplog.at_level(logging.INFO, "engine.warm_up"):
        WarmUp(session.opened, clients, str(tmp_path), lasting_s=0.0).start()
        assert eventually(has_ended)
    assert session.texts == []
    assert caplog.records[0].getMessage().startswith("warmed up by 0 statements")
    assert not os.listdir(tmp_path)


def test_the_server_s_end_ends_the_statement_that_runs(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    runs = threading.Event()

    def at(text: str, request: StatementRequest) -> None:
        cancelled = threading.Event()
        request.cancel.on_cancel(cancelled.set)
        runs.set()
        assert cancelled.wait(60)
        request.cancel.ensure_live()

    session = Session(at)
    warm_up = WarmUp(session.opened, RunningStatements(), str(tmp_path))
    warm_up.start()
    assert runs.wait(60)
    warm_up.stop()
    assert has_ended()
    assert session.texts == []
    assert not os.listdir(tmp_path)
    assert not caplog.records


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), ValueError("whatever")])
def test_failed_warm_up_ends_only_the_warm_up(
    error: Exception, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    session = Session()

    def at(text: str, request: StatementRequest) -> None:
        if len(session.texts) == 3:
            raise error

    session = Session(at)
    WarmUp(session.opened, RunningStatements(), str(tmp_path)).start()
    assert eventually(has_ended)
    assert len(session.texts) == 3
    assert caplog.records[-1].getMessage() == "the first statements of clients may take longer"
    assert not os.listdir(tmp_path)
