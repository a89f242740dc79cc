"""One Spark run: its Java process from launch to end, with the operations that sessions need.

A separate thread checks its health continuously, because a call to a stopped Java does not return: the age of the last
answer is the health signal. Statements are canceled on another thread for the same reason, so that the canceling thread
never waits for Java.
"""

from __future__ import annotations

import logging
import re
import shutil
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from queue import SimpleQueue
from subprocess import TimeoutExpired
from types import MappingProxyType
from typing import Any

from py4j.clientserver import ClientServer
from py4j.protocol import Py4JError, Py4JJavaError

from catalog.conditions import ConnectorNotFound, SparkRestarting, SparkSettingInvalid, SparkUnavailable
from catalog.errors import SqlError
from catalog.store.credentials import hadoop_settings
from engine.runtime.executed_plan import ExecutedPlan, parse_plans
from engine.runtime.jvm_statistics import JvmStatistics, read_jobs, read_jvm_statistics, read_task_counts
from engine.runtime.profile import Profile
from engine.runtime.request import StatementRequest
from engine.spark.class_files import ClassFiles
from engine.spark.connectors import STORE_OF_SCHEME
from engine.spark.expressions import ALLOWED_EXPRESSIONS
from engine.spark.file_lists import FileLists
from engine.spark.jvm import EXIT_S, JavaProcesses, kill_jvm, launch_jvm, stop_jvm
from engine.spark.schema import VERSION
from engine.spark.spark_errors import CONTEXT_STOPPED, restore_names
from engine.tables.scan import TableRead

_log = logging.getLogger(__name__)

_BEAT_EVERY_S = 1.0
_LEFT_BEATS_MAX = 30
# An ending process closes its connections a moment before its end is visible.
_EXIT_S = 1.0
_CAUSES_MAX = 20
_CONDITION_AND_SQLSTATE = re.compile(r"^\[[\w.]+\] | SQLSTATE: \w{5}$")
# Spark's own default for `spark.redaction.regex`.
_SECRET_KEY = re.compile(r"(?i)secret|password|token|access[.]?key")
_REDACTED = "*********(redacted)"

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """Launch parameters for each Spark start; `spark_dir` contains files for one run only.

    Java may take `exit_s` seconds to end. Spark must have a file system for `needed_urls`.
    """

    conf: Mapping[str, str]
    spark_dir: Path
    spool_dir: Path
    class_files: ClassFiles
    allowed_functions: Collection[str]
    allowed_table_functions: Collection[str]
    file_lists: FileLists
    exit_s: float = EXIT_S
    needed_urls: tuple[str, ...] = ()
    processes: JavaProcesses = field(default_factory=JavaProcesses)


class SparkProcess:
    """A Spark process, created by :meth:`start`; an :class:`engine.spark.supervisor.Supervised`."""

    def __init__(self, gateway: ClientServer, driver: Any, launch: Launch) -> None:
        self.gateway = gateway
        self.driver = driver
        self.spool_dir = launch.spool_dir
        self.file_lists = launch.file_lists
        self._exit_s = launch.exit_s
        self._illness: str | None = None
        # It was alive when it was killed by this class.
        self._is_ended_here = False
        self._beat_at = time.monotonic()
        self._ended = threading.Event()
        self._calls: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._left: Mapping[str, int] = MappingProxyType({})
        # From the last heartbeat.
        self.jvm_statistics: JvmStatistics | None = None
        # Profiles of running statements, by statement id.
        self._profiles: dict[str, Profile] = {}
        for name, run in (("spark-beat", self._beat), ("spark-cancel", self._run_calls)):
            threading.Thread(target=run, name=name, daemon=True).start()

    @classmethod
    def start(cls, launch: Launch, progress: Progress = lambda step: None) -> SparkProcess:
        """Starts Java, Spark and the gateway's classes in it. Raises `JavaNotFound`, `SparkSettingInvalid` or
        `SparkUnavailable`.
        """
        shutil.rmtree(launch.spark_dir, ignore_errors=True)  # left by a killed run
        launch.spark_dir.mkdir(parents=True)
        gateway = None
        try:
            progress("starting Java")
            gateway = launch_jvm(launch.class_files.settings(launch.conf), launch.processes)
            progress("starting Spark")
            driver = _start_spark(gateway, launch)
            progress("warming up Spark")
            # The first query of a JVM loads and compiles classes for seconds; no client has
            # to wait for that.
            driver.warmUp()
        except BaseException as error:
            failure: BaseException = error
            if isinstance(error, Py4JError | ConnectionError):
                failure = _start_failure(error, launch.conf)  # while Java can still be called
            if gateway is not None:
                kill_jvm(gateway)
            if failure is not error:
                raise failure from None
            raise
        return cls(gateway, driver, launch)

    @property
    def process_id(self) -> int:
        """Returns the operating system's id of the Java process."""
        process_id: int = self.gateway.proc.pid
        return process_id

    @property
    def illness(self) -> str | None:
        code = self.gateway.proc.poll()
        return self._illness if code is None else f"its process ended with code {code}"

    @property
    def was_killed(self) -> bool:
        """Returns True if a signal from outside has ended it: not for a lack of heap, and not because it hung."""
        code = self.gateway.proc.poll()
        return code is not None and code < 0 and not self._is_ended_here

    @property
    def silence_s(self) -> float:
        return time.monotonic() - self._beat_at

    @property
    def left_statements(self) -> Mapping[str, int]:
        """Returns ended statements whose tasks still run: their ids, and the number of heartbeats since."""
        return self._left

    @property
    def unstoppable(self) -> str | None:
        """Returns why a healthy process has to be replaced; None if it need not be."""
        beats = max(self._left.values(), default=0)
        return f"tasks of an ended statement have not stopped for {beats} s" if beats >= _LEFT_BEATS_MAX else None

    def note_restart(self, error: SparkRestarting) -> None:
        """Records that a call to Java failed this way: waits briefly for the cause, so that `illness` reports it."""
        if error.reason == CONTEXT_STOPPED:
            self._illness = CONTEXT_STOPPED
        else:
            with suppress(TimeoutExpired):
                self.gateway.proc.wait(_EXIT_S)

    @contextmanager
    def watch_tasks(self, request: StatementRequest) -> Iterator[None]:
        """Reports tasks to the statement's profile within the block; at its end calls `on_jobs` with its jobs."""
        self._profiles[request.statement_id] = request.profile
        try:
            if request.on_jobs is None:
                yield
                return
            with suppress(Py4JError, ConnectionError):
                self.driver.follow(request.statement_id)
            try:
                yield
            finally:
                with suppress(Py4JError, ConnectionError):
                    jobs = read_jobs(self.driver.jobs(request.statement_id))
                    request.on_jobs(() if request.profile.hides_metrics else jobs)
        finally:
            self._profiles.pop(request.statement_id, None)

    def executed_plans(
        self, statement_id: str, labels: Mapping[str, str], reads: tuple[TableRead, ...]
    ) -> tuple[ExecutedPlan, ...]:
        """Returns the plans that were executed for a statement; none after this process has ended."""
        try:
            text: str = self.driver.executedPlans(statement_id)
        except (Py4JError, ConnectionError):
            return ()
        return parse_plans(text, partial(restore_names, labels=labels), reads)

    def cancel(self, session: Any, statement_id: str) -> None:
        """Cancels a statement in a Java session; returns immediately."""
        self._calls.put(partial(self._cancel, session, statement_id))

    def detach(self, session: Any) -> None:
        """Removes a Java session after the statements that were canceled before; returns immediately.

        Java does not find a removed session, and a statement in it would continue.
        """
        self._calls.put(partial(self.gateway.detach, session))

    def kill(self) -> None:
        self._is_ended_here = self._is_ended_here or self.gateway.proc.poll() is None
        self._end()
        kill_jvm(self.gateway)

    def stop(self) -> None:
        self._end()
        stop_jvm(self.gateway, self._exit_s)

    def _end(self) -> None:
        self._ended.set()
        self._calls.put(None)

    def _beat(self) -> None:
        while not self._ended.wait(_BEAT_EVERY_S):
            try:
                # A call on its own connection: it does not wait for the statements' calls,
                # and its answer proves that Java's threads run.
                illness: str = self.driver.illness()
            except (Py4JError, ConnectionError):
                continue  # the process end is detected by its exit code, other failures by the silence
            self._illness = illness or None
            self._beat_at = time.monotonic()
            with suppress(Py4JError, ConnectionError):
                self._count_tasks()
                left: str = self.driver.leftStatements()
                self._left = {id: self._left.get(id, 0) + 1 for id in left.split()}
                self.jvm_statistics = read_jvm_statistics(self.driver.jvmStatistics())

    def _count_tasks(self) -> None:
        watched = dict(self._profiles)
        if not watched:
            return
        for statement_id, counts in read_task_counts(self.driver.taskCounts(" ".join(watched))).items():
            watched[statement_id].count_tasks(counts)

    def _run_calls(self) -> None:
        while (call := self._calls.get()) is not None:
            try:
                call()
            except Exception:  # noqa: BLE001  the next statement must still be canceled
                _log.exception("a session of Spark could not be reached")

    def _cancel(self, session: Any, statement_id: str) -> None:
        try:
            session.cancel(statement_id)
        except (Py4JError, ConnectionError) as error:
            has_ended = self._ended.is_set() or self.gateway.proc.poll() is not None
            _log.log(logging.DEBUG if has_ended else logging.WARNING, "%s was not cancelled: %s", statement_id, error)


def _ensure_connectors(gateway: ClientServer, hadoop: Any, urls: Iterable[str]) -> None:
    """Raises `ConnectorNotFound` if the connector of an object store is missing: each query would fail."""
    for url in urls:
        scheme = url.partition("://")[0]
        if (store := STORE_OF_SCHEME.get(scheme)) is not None:
            try:
                gateway.jvm.org.apache.hadoop.fs.FileSystem.getFileSystemClass(scheme, hadoop)
            except Py4JJavaError as error:
                *_, reason = _cause_messages(error.java_exception)
                raise ConnectorNotFound(url, reason, store) from error


def _start_failure(error: Py4JError | ConnectionError, conf: Mapping[str, str]) -> SqlError:
    """Logs an error with Java's stack trace, and returns the one that names the rejected setting, if there is one.

    py4j requests the trace from a Java that may no longer run.
    """
    try:
        trace = str(error)
        causes = _cause_messages(error.java_exception) if isinstance(error, Py4JJavaError) else []
    except (Py4JError, ConnectionError) as gone:
        trace, causes = str(gone), []
    _log.error("Spark does not start: %s", trace)
    for message in reversed(causes):
        for key in sorted(conf, key=len, reverse=True):
            if key in message or (message and message == conf[key]):
                is_secret = _SECRET_KEY.search(key) is not None
                shown = _REDACTED if is_secret else conf[key]
                return SparkSettingInvalid(key, shown, message.replace(conf[key], shown) if is_secret else message)
    return SparkUnavailable(" ".join(line.strip(" :") for line in trace.splitlines()[:2]))


def _cause_messages(exception: Any) -> list[str]:
    """Returns the sentences of a Java exception and its causes, without conditions and SQLSTATEs."""
    messages: list[str] = []
    while exception is not None and len(messages) < _CAUSES_MAX:
        messages.append(_CONDITION_AND_SQLSTATE.sub("", exception.getMessage() or ""))
        exception = exception.getCause()
    return messages


def _start_spark(gateway: ClientServer, launch: Launch) -> Any:
    """Starts Spark, and the gateway's driver in it."""
    # Spark 4 has two implementations of SparkSession; the classic one runs in this process,
    # the other is Connect's client.
    spark = gateway.jvm.org.apache.spark.sql.classic.SparkSession.builder().getOrCreate()
    hadoop = spark.sparkContext().hadoopConfiguration()
    for key, value in hadoop_settings().items():  # not in Spark's settings, which statements and logs may show
        hadoop.set(key, value)
    _ensure_connectors(gateway, hadoop, launch.needed_urls)
    gateway.jvm.deltagateway.protocol.Schema.ensureVersion(VERSION)
    callback_server = launch.file_lists.server
    driver = gateway.jvm.deltagateway.session.GatewayDriver(
        spark,
        gateway.java_gateway_server,
        " ".join(launch.allowed_functions),
        " ".join(launch.allowed_table_functions),
        " ".join(ALLOWED_EXPRESSIONS),
        callback_server.port,
        callback_server.password,
    )
    # Executors in other processes load the gateway's classes from there. With `spark.jars`, the executor in Java's own
    # process would copy and load them again.
    for jar in (launch.class_files.jar, *launch.class_files.connectors):
        driver.shareClasses(str(jar))
    return driver
