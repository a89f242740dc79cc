"""Clients that write, read by pages and use sessions, and go on after each fault with the ids that they have.

A result that a restart may end before there is a state folder is counted by name (`LOST`); anything else that a client
did not expect is a violation.
"""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

import impala.dbapi
from impala.error import HiveServer2Error
from impala.hiveserver2 import HiveServer2Cursor
from pyhive import hive
from thrift.transport.TTransport import TTransportException

from tests.chaos.errors import Disconnected, Forgotten, Rejected, Stuck, ask, condition_in, rows
from tests.chaos.hs2_client import Hs2Client, has_succeeded, is_running
from tests.chaos.model import PAGES, PAGES_ROWS, Fate, Kind, Model, Write
from tests.clients.http_client import HttpClient
from tests.paths import ROOT

RECOVER_S = 240
# Seconds without an answer after which a client gives up a request, and a statement whose driver waits for its end.
TIMEOUT_S, STATEMENT_S = 20, 60
# Time in seconds after a failed process of the shell.
_FAILED_SHELL_S = 8
PAGE_ROWS = 400
HASHED_ROWS = 300_000
# Counted results that are violations if recovery is expected.
LOST = (
    "unknown statement",
    "unknown session",
    "unknown operation",
    "failed: SPARK_RESTARTING",
    "failed: SERVER_SHUTTING_DOWN",
    "failed: CANCELED",
    "failed: CLOSED",
)
_UNFINISHED = ("PENDING", "RUNNING")
_MAYBE = "OUTCOME_UNKNOWN"
T = TypeVar("T")
# The finalizer sends a request, on the thread that collects garbage. If that is the proxy's, it waits for itself, and
# all clients wait with it.
del HiveServer2Cursor.__del__


@dataclass
class Target:
    """The ports to which a client connects, by protocol."""

    http: int
    thrift: int


@dataclass
class Client(ABC):
    """A thread that repeats `step` until `stop`; `counts` and `violations` are read after `join`."""

    name: str
    target: Target
    model: Model
    chance: random.Random
    counts: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    steps: int = 0

    def start(self) -> None:
        self.writer = self.model.next_number()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=self.name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()

    def join(self, seconds: float) -> None:
        self._thread.join(seconds)
        if self._thread.is_alive():
            self.violations.append(f"stuck ({self.name})")

    def close(self) -> None:  # noqa: B027 (not every client has a session)
        """Ends sessions, as far as the server answers."""

    @abstractmethod
    def step(self) -> None:
        """Does one unit of work; raises `Disconnected`, `Forgotten` and `Rejected`."""

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self.step()
            except Disconnected:
                self.counts["disconnected"] += 1
                self._stopping.wait(0.3)
            except Rejected as error:
                self.counts[f"failed: {condition_in(str(error))}"] += 1
                self._stopping.wait(0.3)
            except Forgotten:
                pass  # counted by the step
            except Stuck as error:
                self.violations.append(f"stuck ({self.name}: {error})")
            except Exception as error:  # noqa: BLE001 (a client's defect must not end the run)
                self.violations.append(f"client failed ({self.name}: {error!r:.200})")
                self._stopping.wait(1)
            self.steps += 1

    def again(self, call: Callable[[], T]) -> T:
        """Returns what `call` returns at last: a request that may be repeated."""
        end = time.monotonic() + RECOVER_S
        while True:
            try:
                return call()
            except (Disconnected, Rejected) as error:
                if isinstance(error, Rejected) and not error.is_temporary:
                    raise
                if time.monotonic() > end:
                    raise Stuck(str(error)) from error
                self.counts["repeated requests"] += 1
                time.sleep(0.3)

    def known(self, name: str, call: Callable[[], T]) -> T:
        """Counts an id that the server does not know."""
        try:
            return call()
        except Forgotten:
            self.counts[f"unknown {name}"] += 1
            raise

    def conclude(self, write: Write, fate: Fate, error: str = "") -> None:
        """Records an outcome; `error` is the server's."""
        fate = Fate.UNKNOWN if _MAYBE in error else fate
        self.model.record(write, fate)
        self.counts["writes"] += 1
        self.counts[f"outcome {fate.value}"] += 1
        if error:
            self.counts[f"failed: {condition_in(error)}"] += 1
        if fate is not Fate.SUCCEEDED:
            self._stopping.wait(0.3)
        if fate is Fate.UNKNOWN:
            self.writer = self.model.next_number()


class HttpClientBase(Client):
    """A client of the statement API."""

    @property
    def http(self) -> HttpClient:
        return HttpClient(self.target.http, timeout_s=TIMEOUT_S)

    def submit(self, text: str, session_id: object = None) -> Any:
        """Returns the statement's id. Repeats the request while the server rejects it with 503, and runs nothing."""
        body = {"statement": text, "wait_timeout": "0s"} | ({"session_id": session_id} if session_id else {})
        end = time.monotonic() + RECOVER_S
        while True:
            try:
                return ask(self.http, "POST", "/statements", body)["statement_id"]
            except Rejected as error:
                if not error.is_temporary or time.monotonic() > end:
                    raise
                self.counts["repeated requests"] += 1
                time.sleep(0.3)

    def ended(self, statement_id: object) -> dict[str, Any]:
        """Polls a statement to its end, and returns the answer."""
        end, path = time.monotonic() + RECOVER_S, f"/statements/{statement_id}?wait_timeout=5s"
        while time.monotonic() < end:
            answer: dict[str, Any] = self.known("statement", lambda: self.again(lambda: ask(self.http, "GET", path)))
            if answer["status"]["state"] not in _UNFINISHED:
                return answer
        raise Stuck(f"statement {statement_id} runs")

    def succeeded(self, statement_id: object) -> dict[str, Any]:
        answer = self.ended(statement_id)
        if answer["status"]["state"] != "SUCCEEDED":
            raise Rejected(_message(answer))
        return answer


class HttpWriter(HttpClientBase):
    """Writes by statements that it asks for by id."""

    def step(self) -> None:
        write = self.model.next_write(self.chance, self.writer)
        try:
            statement_id = self.submit(write.text)
        except Disconnected:
            return self.conclude(write, Fate.UNKNOWN)
        except Rejected as error:
            return self.conclude(write, Fate.FAILED, str(error))
        try:
            answer = self.ended(statement_id)
        except (Forgotten, Stuck):
            self.conclude(write, Fate.UNKNOWN)
            raise
        is_there = answer["status"]["state"] == "SUCCEEDED"
        self.conclude(write, Fate.SUCCEEDED if is_there else Fate.FAILED, "" if is_there else _message(answer))


class HttpReader(HttpClientBase):
    """Reads a pinned version by pages of rows, whose content is known."""

    def step(self) -> None:
        text = f"SELECT id, text, {self.model.next_number()} AS number FROM {PAGES} VERSION AS OF 0 ORDER BY id"
        statement_id = self.submit(text)
        self.succeeded(statement_id)
        for offset in range(0, PAGES_ROWS, PAGE_ROWS):
            page = self.known(
                "statement",
                lambda at=offset: self.again(lambda: rows(self.http, statement_id, at, PAGE_ROWS)),  # type: ignore[misc]
            )
            ensure_page(self, offset, [int(cell) for cell in page["id"].to_pylist()], page["text"].to_pylist())
            self.counts["pages"] += 1
            time.sleep(0.1)


class HttpSession(HttpClientBase):
    """Keeps a session with a setting, a temporary view and a variable, and checks them; runs a longer query."""

    session_id: object = None
    values: frozenset[str] = frozenset()

    def step(self) -> None:
        if self.session_id is None:
            self._open()
        number = self.model.next_number()
        try:
            self.values |= {str(number)}
            self._run_here(f"SET VAR v = {number}")
            self.values = frozenset({str(number)})
        except Forgotten:
            self.session_id = None
            raise
        found = self._cells("SELECT n, v, current_schema() FROM mine")
        if found[0] != "42" or found[1] not in self.values or found[2] != "other":
            self.violations.append(f"session state lost ({found} instead of 42 {sorted(self.values)} other)")
        self.values = frozenset({found[1]})
        if self._cells("SET spark.sql.shuffle.partitions")[1] != "5":
            self.violations.append("session state lost (setting)")
        hashed = f"SELECT count(sha2(cast(id + {number} AS string), 256)) FROM range({HASHED_ROWS})"
        if self._cells(hashed) != [str(HASHED_ROWS)]:
            self.violations.append("wrong answer (count)")
        self.counts["session checks"] += 1

    def _open(self) -> None:
        session_id = ask(self.http, "POST", "/sessions", {"session_confs": {"spark.sql.shuffle.partitions": "5"}})
        self.session_id = session_id["session_id"]
        self.values = frozenset({"7"})
        try:
            for text in (
                "CREATE TEMPORARY VIEW mine AS SELECT 42 AS n",
                "DECLARE VARIABLE v INT DEFAULT 7",
                "USE other",
            ):
                self._run_here(text)
        except BaseException:
            self.session_id = None  # half prepared
            raise

    def close(self) -> None:
        if self.session_id is not None:
            with suppress(Disconnected, Forgotten, Rejected):
                ask(self.http, "DELETE", f"/sessions/{self.session_id}")

    def _run_here(self, text: str) -> dict[str, Any]:
        try:
            statement_id = self.submit(text, self.session_id)
        except Forgotten:
            self.counts["unknown session"] += 1
            raise
        return self.succeeded(statement_id)

    def _cells(self, text: str) -> list[str]:
        try:
            cells: list[str] = self._run_here(text)["result"]["data_array"][0]
        except Forgotten:
            self.session_id = None
            raise
        except Rejected as error:
            if condition_in(str(error)) in ("TABLE_OR_VIEW_NOT_FOUND", "UNRESOLVED_COLUMN.WITH_SUGGESTION"):
                self.violations.append(f"session state lost ({condition_in(str(error))})")
                self.session_id = None
            raise
        return cells


class Hs2Base(Client):
    """A HiveServer2 client that reconnects with its handles."""

    has_session = False

    @property
    def hs2(self) -> Hs2Client:
        if not hasattr(self, "_hs2"):
            self._hs2 = Hs2Client(self.target.thrift, TIMEOUT_S)
        return self._hs2

    def close(self) -> None:
        self.hs2.close_session()

    def ensure_session(self, *texts: str) -> None:
        if not self.has_session:
            self.hs2.open_session()
            for text in texts:
                self.succeeded(self.hs2.execute(text))
            self.has_session = True

    def execute(self, text: str) -> Any:
        """Returns the operation's handle."""
        try:
            return self.known("session", lambda: self.hs2.execute(text))
        except Forgotten:
            self.has_session = False
            raise

    def ended(self, handle: Any) -> Any:
        """Polls an operation to its end, and returns its status."""
        end = time.monotonic() + RECOVER_S
        while time.monotonic() < end:
            status = self.known("operation", lambda: self.again(lambda: self.hs2.status(handle)))
            if not is_running(status):
                return status
            time.sleep(0.05)
        raise Stuck("operation runs")

    def succeeded(self, handle: Any) -> None:
        status = self.ended(handle)
        if not has_succeeded(status):
            raise Rejected(str(status.errorMessage))


class Hs2Writer(Hs2Base):
    """Writes by asynchronous operations, whose status it requests by handle."""

    def step(self) -> None:
        self.ensure_session()
        write = self.model.next_write(self.chance, self.writer)
        try:
            handle = self.execute(write.text)
        except Disconnected:
            return self.conclude(write, Fate.UNKNOWN)
        except (Rejected, Forgotten) as error:
            return self.conclude(write, Fate.FAILED, str(error) if isinstance(error, Rejected) else "")
        try:
            status = self.ended(handle)
        except (Forgotten, Stuck):
            self.conclude(write, Fate.UNKNOWN)
            raise
        is_there = has_succeeded(status)
        self.conclude(write, Fate.SUCCEEDED if is_there else Fate.FAILED, "" if is_there else str(status.errorMessage))
        self.again(lambda: self.hs2.close_operation(handle))


class Hs2Reader(Hs2Base):
    """Fetches pages in a session with a temporary view, which each of its queries reads."""

    def step(self) -> None:
        self.ensure_session("CREATE OR REPLACE TEMPORARY VIEW mine AS SELECT 42 AS n")
        handle = self.execute(f"SELECT id, text, n FROM {PAGES} VERSION AS OF 0 CROSS JOIN mine ORDER BY id")
        self.succeeded(handle)
        position, is_lost = 0, False
        while position < PAGES_ROWS:
            try:
                start, columns = self.known("operation", lambda: self.hs2.fetch(handle, PAGE_ROWS))
            except Disconnected:
                self.counts["disconnected"] += 1
                is_lost = True
                time.sleep(0.3)
                continue
            if is_lost and start == position + PAGE_ROWS:  # the page was in the answer that did not arrive
                self.counts["page of lost answer skipped"] += 1
                position = start
            if start != position:
                self.violations.append(f"page at {start} instead of {position}")
                return
            is_lost = False
            ensure_page(self, position, columns[0], columns[1])
            position += len(columns[0]) or PAGES_ROWS
            self.counts["pages"] += 1
            time.sleep(0.1)
        self.again(lambda: self.hs2.close_operation(handle))


class PyHiveWriter(Client):
    """Appends by PyHive's cursor; after an error of its socket it opens the socket again and keeps the session."""

    connection: Any = None

    def step(self) -> None:
        try:
            if self.connection is None:
                self.connection = hive.connect("127.0.0.1", self.target.thrift, username="ada")
                self.connection._transport._trans.setTimeout(1000 * STATEMENT_S)
            elif not self.connection._transport.isOpen():
                self.connection._transport.open()
        except (TTransportException, OSError, EOFError, hive.OperationalError) as error:
            self._close()
            raise Disconnected(str(error)) from error
        write = self.model.next_write(self.chance, self.writer, [Kind.APPEND])
        try:
            self.connection.cursor().execute(write.text)
        except (TTransportException, OSError, EOFError):
            self.conclude(write, Fate.UNKNOWN)
            self.connection._transport.close()
        except hive.OperationalError as error:
            message = str(error.args[0].status.errorMessage) if hasattr(error.args[0], "status") else str(error)
            self.conclude(write, Fate.FAILED, "" if "INVALID_HANDLE" in message else message)
            if "INVALID_HANDLE" in message:
                self.counts["unknown session"] += 1
                self._close()
        else:
            self.conclude(write, Fate.SUCCEEDED)

    def close(self) -> None:
        if self.connection is not None:
            with suppress(Exception):
                self.connection.close()

    def _close(self) -> None:
        if self.connection is not None:
            self.connection._transport.close()
        self.connection = None


class ImpylaReader(Client):
    """Reads pages by impyla's cursor, which opens its socket again for the next call once it is closed."""

    connection: Any = None

    def step(self) -> None:
        try:
            if self.connection is None:
                port = self.target.thrift
                self.connection = impala.dbapi.connect("127.0.0.1", port, auth_mechanism="NOSASL", timeout=STATEMENT_S)
            self._read(self.connection.cursor())
        except (HiveServer2Error, impala.dbapi.OperationalError) as error:
            self.connection = None  # its session has ended
            if "INVALID_HANDLE" in str(error):
                self.counts["unknown session"] += 1
                raise Forgotten(str(error)) from error
            raise Rejected(str(error)) from error
        except (TTransportException, OSError, EOFError) as error:
            self._close_socket()
            raise Disconnected(str(error)) from error

    def _read(self, cursor: Any) -> None:
        number = self.model.next_number()
        cursor.execute(f"SELECT id, text, {number} AS number FROM {PAGES} VERSION AS OF 0 ORDER BY id")
        cursor.arraysize = PAGE_ROWS
        position, is_lost = 0, False
        while position < PAGES_ROWS:
            try:
                page = cursor.fetchmany(PAGE_ROWS)
            except (TTransportException, OSError, EOFError):
                self._close_socket()
                self.counts["disconnected"] += 1
                is_lost = True
                time.sleep(0.3)
                continue
            if is_lost and page and page[0][0] == position + PAGE_ROWS:
                self.counts["page of lost answer skipped"] += 1
                position += PAGE_ROWS
            is_lost = False
            ensure_page(self, position, [row[0] for row in page], [row[1] for row in page])
            position += len(page) or PAGES_ROWS
            self.counts["pages"] += 1
            time.sleep(0.1)
        cursor.close()

    def close(self) -> None:
        if self.connection is not None:
            with suppress(Exception):
                self.connection.close()

    def _close_socket(self) -> None:
        if self.connection is not None:
            self.connection.service.client._iprot.trans.close()


class ShellWriter(Client):
    """Appends by the shell, a process per statement: its exit code says if the statement succeeded."""

    def step(self) -> None:
        write = self.model.next_write(self.chance, self.writer, [Kind.APPEND])
        server = f"http://127.0.0.1:{self.target.http}"
        command = [sys.executable, "-m", "gateway", "sql", write.text, "--server", server]
        try:
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=RECOVER_S, check=False)
        except subprocess.TimeoutExpired as error:
            self.conclude(write, Fate.UNKNOWN)
            raise Stuck("shell") from error
        self.conclude(write, Fate.UNKNOWN if done.returncode else Fate.SUCCEEDED)
        if done.returncode:
            self.counts["shell failed"] += 1
        # The start of a process takes as much CPU time as a part of the server's start, for which it would compete.
        self._stopping.wait(_FAILED_SHELL_S if done.returncode else 1)


CLIENTS: dict[str, type[Client]] = {
    "http writer": HttpWriter,
    "http reader": HttpReader,
    "http session": HttpSession,
    "hs2 writer": Hs2Writer,
    "hs2 reader": Hs2Reader,
    "pyhive writer": PyHiveWriter,
    "impyla reader": ImpylaReader,
    "shell writer": ShellWriter,
}


def ensure_page(client: Client, position: int, ids: list[int], texts: list[str]) -> None:
    """Adds a violation if a page has other rows than those from `position` on."""
    expected = range(position, min(position + PAGE_ROWS, PAGES_ROWS))
    if ids != list(expected) or texts != [f"row {number}" for number in expected]:
        client.violations.append(f"wrong rows at {position} ({client.name}: {ids[:3]}…, {len(ids)} rows)")


def _message(answer: dict[str, Any]) -> str:
    status = answer["status"]
    return str(status.get("error", {}).get("message") or status["state"])
