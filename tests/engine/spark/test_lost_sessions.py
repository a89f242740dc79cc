"""A session over a lost Spark: at the interface to Java, with a Java that fails on demand."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError

from catalog.conditions import SparkRestarting, StatementCancelled
from engine.planning.plans.file_writes import WriteTarget
from engine.planning.plans.reads import ReadPlan
from engine.runtime.executed_plan import ExecutedPlan
from engine.runtime.identity import Identity
from engine.runtime.request import StatementRequest
from engine.runtime.results import ResultStream
from engine.spark.file_lists import FileLists
from engine.spark.query import ExecSession
from engine.spark.supervisor import Supervision, Supervisor
from engine.spool.spool import Spool
from engine.tables.scan import TableRead
from tests.gateway.http.conftest import eventually

PLAN = ReadPlan(text="SELECT 1", scans=())


@dataclass(eq=False)
class JavaSession:
    """Records the calls on a Java session; each raises `fault`."""

    settings: dict[str, str] = field(default_factory=dict)
    current: tuple[str, str] | None = None
    fault: Callable[[], Exception] | None = None
    calls: list[str] = field(default_factory=list)

    def set(self, key: str, value: str) -> None:
        self._ensure_well()
        self.settings[key] = value

    def unset(self, key: str) -> None:
        self._ensure_well()
        self.settings.pop(key)

    def get(self, key: str) -> str | None:
        self._ensure_well()
        return self.settings.get(key)

    def setCurrentSchema(self, catalog: str, schema: str) -> None:
        self._ensure_well()
        self.current = catalog, schema

    def write(self, request: str, target: str) -> str:
        self.calls.append("write")
        self._ensure_well()
        return "{}\n[]"

    def run(self, request: str) -> bytes:
        self.calls.append("run")
        self._ensure_well()
        raise ValueError("a second run")

    def checkWrite(self, request: str, target: str) -> None:
        self.calls.append("checkWrite")
        self._ensure_well()

    def _ensure_well(self) -> None:
        if self.fault:
            raise self.fault()


@dataclass(eq=False)
class Process:
    """A run of Spark; `sessions` are its opened ones."""

    spool_dir: Path
    file_lists: FileLists
    illness: str | None = None
    silence_s: float = 0.0
    unstoppable: str | None = None
    was_killed: bool = False
    sessions: list[JavaSession] = field(default_factory=list)
    cancelled: list[str] = field(default_factory=list)
    detached: list[JavaSession] = field(default_factory=list)
    retries: list[SparkRestarting] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.gateway = SimpleNamespace(jvm=None)
        self.driver = self

    def openSession(self) -> JavaSession:
        self.sessions.append(JavaSession())
        return self.sessions[-1]

    def watch_tasks(self, request: StatementRequest) -> AbstractContextManager[None]:
        return nullcontext()

    def executed_plans(
        self, statement_id: str, labels: Mapping[str, str], reads: tuple[TableRead, ...]
    ) -> tuple[ExecutedPlan, ...]:
        return ()

    def cancel(self, session: JavaSession, statement_id: str) -> None:
        self.cancelled.append(statement_id)

    def detach(self, session: JavaSession) -> None:
        self.detached.append(session)

    def note_restart(self, error: SparkRestarting) -> None:
        self.retries.append(error)
        self.illness = "its process ended"

    def kill(self) -> None: ...

    def stop(self) -> None: ...


@dataclass
class Spark:
    """Its runs so far, and a gate that holds up the next start."""

    supervisor: Supervisor[Any]
    runs: list[Process]
    may_start: threading.Event
    results: Spool

    def lose(self) -> None:
        """Spark is away when this returns."""
        self.may_start.clear()
        self.runs[-1].illness = "its process ended"

    def come_back(self) -> None:
        known = len(self.runs)
        self.may_start.set()
        assert eventually(lambda: len(self.runs) > known and self.supervisor.unready_reason is None)


@pytest.fixture
def spark(tmp_path: Path) -> Iterator[Spark]:
    file_lists, runs, may_start = FileLists(), list[Process](), threading.Event()
    may_start.set()

    def launch() -> Any:
        may_start.wait(30)
        runs.append(Process(tmp_path, file_lists))
        return runs[-1]

    supervisor: Supervisor[Any] = Supervisor(launch, Supervision(wait_s=0.05))
    supervisor.start()
    yield Spark(supervisor, runs, may_start, Spool(tmp_path))
    may_start.set()
    supervisor.stop()
    file_lists.server.close()


def write(session: ExecSession, request: StatementRequest | None = None) -> None:
    session.write_files(PLAN, WriteTarget(folder="/nowhere"), request or StatementRequest(identity=Identity("ann")))


def test_the_session_of_the_next_spark_is_as_this_one_was(spark: Spark) -> None:
    session = ExecSession(spark.supervisor, spark.results)
    session.set_setting("a", "1")
    session.set_setting("b", "1")
    session.set_current_schema("lake", "sales")
    session.set_setting("b", None)
    assert spark.runs[0].sessions[0].settings == {"a": "1"}
    spark.lose()
    session.set_setting("a", "2")  # changes need no Spark
    session.set_setting("c", "3")
    session.set_current_schema("lake", "other")
    with pytest.raises(SparkRestarting, match="its process ended"):
        write(session)
    spark.come_back()
    write(session)
    (opened,) = spark.runs[1].sessions
    assert opened.settings == {"a": "2", "c": "3"} and opened.current == ("lake", "other")
    assert len(spark.runs[0].sessions) == 1


def test_a_session_is_opened_without_spark(spark: Spark) -> None:
    spark.lose()
    session = ExecSession(spark.supervisor, spark.results)
    session.set_current_schema("lake", "sales")
    spark.come_back()
    write(session)
    assert spark.runs[1].sessions[0].current == ("lake", "sales")


def test_session_opens_without_java(spark: Spark) -> None:
    """A Java that is stopped counts as ready for seconds, in which every call to it waits."""
    session = ExecSession(spark.supervisor, spark.results)
    session.set_current_schema("lake", "sales")
    assert spark.runs[0].sessions == []
    write(session)
    (opened,) = spark.runs[0].sessions
    session.set_current_schema("lake", "other")
    assert opened.current == ("lake", "sales")
    write(session)
    assert opened.current == ("lake", "other")


@pytest.mark.parametrize(
    "fault",
    [
        lambda: Py4JNetworkError("Answer from Java side is empty"),
        lambda: Py4JError("An error occurred while calling o1.write"),
        lambda: ConnectionRefusedError(111, "Connection refused"),
        lambda: ConnectionResetError(104, "Connection reset by peer"),
    ],
)
def test_lost_connection_is_one_error_and_notifies_supervision(
    spark: Spark, fault: Callable[[], Exception], tmp_path: Path
) -> None:
    session = ExecSession(spark.supervisor, spark.results)
    write(session)
    spark.runs[0].sessions[0].fault = fault
    with pytest.raises(SparkRestarting) as caught:
        write(session)
    assert (caught.value.condition, caught.value.sqlstate) == ("SPARK_RESTARTING", "57P03")
    assert spark.runs[0].retries == [caught.value] and not list(tmp_path.iterdir())
    assert eventually(lambda: len(spark.runs) == 2 and spark.supervisor.unready_reason is None)
    write(session)


def test_setting_during_restart_applies_to_next_spark(spark: Spark) -> None:
    session = ExecSession(spark.supervisor, spark.results)
    write(session)
    spark.runs[0].sessions[0].fault = lambda: Py4JNetworkError("Answer from Java side is empty")
    session.set_setting("a", "1")
    assert eventually(lambda: len(spark.runs) == 2 and spark.supervisor.unready_reason is None)
    assert session.get_setting("a") == "1"


def test_unknown_java_call_is_a_bug_and_no_restart(spark: Spark) -> None:
    session = ExecSession(spark.supervisor, spark.results)
    write(session)
    spark.runs[0].sessions[0].fault = lambda: Py4JError("o1.write. Trace:\npy4j.Py4JException: no such method")
    with pytest.raises(Py4JError):
        write(session)
    assert not spark.runs[0].retries and len(spark.runs) == 1


def connection_lost() -> Exception:
    error: Exception = Py4JNetworkError("Answer from Java side is empty")
    return error


def test_a_cancelled_statement_that_dies_with_spark_was_cancelled(spark: Spark) -> None:
    session, request = ExecSession(spark.supervisor, spark.results), StatementRequest(identity=Identity("ann"))
    write(session)

    def cancel_and_die() -> Exception:
        request.cancel.cancel()
        return connection_lost()

    spark.runs[0].sessions[0].fault = cancel_and_die
    with pytest.raises(StatementCancelled):
        write(session, request)
    assert spark.runs[0].cancelled == [request.statement_id]


def test_a_session_that_is_closed_is_forgotten_by_its_process(spark: Spark) -> None:
    session = ExecSession(spark.supervisor, spark.results)
    write(session)
    session.close()
    session.close()
    assert spark.runs[0].detached == spark.runs[0].sessions


def check(session: ExecSession, request: StatementRequest | None = None) -> None:
    session.check_write(PLAN, WriteTarget(folder="/nowhere"), request or StatementRequest(identity=Identity("ann")))


CALLS = pytest.mark.parametrize(("name", "call"), [("write", write), ("checkWrite", check)], ids=["write", "check"])


def ended_for_others(spark: Spark, run: Process) -> Exception:
    """Returns the error from a call in `run`, which was healthy and is replaced during the call."""
    spark.supervisor.restart("a statement in it does not end")
    assert eventually(lambda: spark.supervisor.was_condemned(run))
    return connection_lost()


@CALLS
def test_calls_are_made_again_after_spark_was_ended_for_another_statement(
    spark: Spark, name: str, call: Callable[..., None]
) -> None:
    session = ExecSession(spark.supervisor, spark.results)
    session.set_setting("a", "1")
    first = spark.runs[0]
    first.sessions[0].fault = lambda: ended_for_others(spark, first)
    call(session)
    assert [(run.sessions[0].calls, run.sessions[0].settings) for run in spark.runs] == [([name], {"a": "1"})] * 2


def killed(spark: Spark, run: Process) -> Exception:
    """Returns the error from a call in `run`, whose process is killed from outside during the call."""
    run.was_killed, run.illness = True, "its process ended"
    assert eventually(lambda: spark.runs[-1] is not run and spark.supervisor.unready_reason is None)
    return connection_lost()


@CALLS
def test_calls_are_made_again_after_spark_was_killed(spark: Spark, name: str, call: Callable[..., None]) -> None:
    session = ExecSession(spark.supervisor, spark.results)
    session.set_setting("a", "1")
    first = spark.runs[0]
    first.sessions[0].fault = lambda: killed(spark, first)
    call(session)
    assert [(run.sessions[0].calls, run.sessions[0].settings) for run in spark.runs] == [([name], {"a": "1"})] * 2


def test_call_fails_after_spark_was_killed_twice_during_it(spark: Spark, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be the cause: the operating system kills a process for its memory, and a crash is a signal too."""
    monkeypatch.setattr(Process, "openSession", lambda run: JavaSession(fault=lambda: killed(spark, run)))
    with pytest.raises(SparkRestarting):
        check(ExecSession(spark.supervisor, spark.results))
    assert [run.was_killed for run in spark.runs[:2]] == [True, True]
    assert eventually(lambda: len(spark.runs) == 3) and not spark.runs[2].was_killed


def test_setting_is_read_from_the_next_spark_after_a_kill(spark: Spark) -> None:
    session = ExecSession(spark.supervisor, spark.results)
    session.set_setting("a", "1")
    first = spark.runs[0]
    first.sessions[0].fault = lambda: killed(spark, first)
    assert session.get_setting("a") == "1" and len(spark.runs) == 2


@CALLS
def test_calls_are_not_made_again_after_spark_died(spark: Spark, name: str, call: Callable[..., None]) -> None:
    """The statement may have caused its death."""
    session = ExecSession(spark.supervisor, spark.results)
    session.set_setting("a", "1")
    spark.runs[0].sessions[0].fault = lambda: Py4JNetworkError("Answer from Java side is empty")
    with pytest.raises(SparkRestarting):
        call(session)
    assert eventually(lambda: len(spark.runs) == 2) and not spark.runs[1].sessions


def test_cancelled_statement_is_not_run_again(spark: Spark) -> None:
    session, request = ExecSession(spark.supervisor, spark.results), StatementRequest(identity=Identity("ann"))
    write(session)
    first = spark.runs[0]

    def cancelled_meanwhile() -> Exception:
        request.cancel.cancel()
        return ended_for_others(spark, first)

    first.sessions[0].fault = cancelled_meanwhile
    with pytest.raises(StatementCancelled):
        write(session, request)
    assert eventually(lambda: len(spark.runs) == 2) and not spark.runs[1].sessions


def test_streamed_query_runs_again_for_the_same_result(spark: Spark) -> None:
    session, streams, columns = ExecSession(spark.supervisor, spark.results), list[ResultStream](), list[ResultStream]()
    request = StatementRequest(identity=Identity("ann"), on_rows=streams.append, on_columns=columns.append)
    session.set_setting("a", "1")
    header = {"columns": [], "time_zone": "UTC"}

    def killed_after_rows() -> Exception:
        first.file_lists._streaming[request.statement_id].read_segments(header, [b'["/nowhere", 0, 8]\n'])
        return killed(spark, first)

    first = spark.runs[0]
    first.sessions[0].fault = killed_after_rows
    with pytest.raises(ValueError, match="a second run"):
        session.stream_query(PLAN, request)
    assert len(streams) == len(columns) == 1 and len(spark.runs) == 2
    with pytest.raises(ValueError, match="a second run"):
        next(streams[0].pieces())
