"""The front ends behind one interface, each with a real client: PyHive, the statement API, PySpark, psycopg, ADBC, and
MCP's client.

Cases are written once and run over each front end. `LACKING` lists the features that a front end does not have, with
the reason; :func:`over` leaves these out.
"""

from __future__ import annotations

import datetime as dt
import json
import re
import threading
import time
import uuid
import warnings
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NoReturn, Protocol

import adbc_driver_flightsql.dbapi
import adbc_driver_manager.dbapi as adbc
import anyio
import httpx2
import psycopg
import pyarrow as pa
import pyspark.sql.connect.proto as pb2
import pytest
from mcp.client import Client as McpClient
from mcp.client.streamable_http import streamable_http_client
from pyarrow import flight
from pyhive import exc, hive
from pyspark.errors import PySparkException
from pyspark.sql.connect.session import SparkSession
from pyspark.sql.types import Row
from TCLIService.ttypes import TOperationState
from thrift.transport.TTransport import TTransportException

from gateway.flight.messages import pack
from tests.clients.connect_sessions import remote_session
from tests.samples import some
from tests.security.secure_server import basic

THRIFT, THRIFT_HTTP, STATEMENTS, CONNECT, MCP = "hs2", "hs2-http", "statements", "connect", "mcp"
POSTGRES, FLIGHT = "postgres", "flight"
SLOW = {CONNECT, FLIGHT, MCP, POSTGRES}
FRONT_ENDS = (THRIFT, THRIFT_HTTP, STATEMENTS, CONNECT, POSTGRES, MCP, FLIGHT)
SESSION, CLIENT_SESSION, COUNTS, HANDLES = "session", "client session", "counts", "handles of statements"
LACKING: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        (MCP, SESSION): "A call has a session of its own.",
        (MCP, CLIENT_SESSION): "A call has a session of its own.",
        (CONNECT, CLIENT_SESSION): "The id of another user's session opens a new session of this user.",
        (POSTGRES, HANDLES): "A statement belongs to its connection.",
        (POSTGRES, CLIENT_SESSION): "A session belongs to its connection.",
        (POSTGRES, COUNTS): "The number of rows is in the tag of the completion.",
        (THRIFT, COUNTS): "PyHive requires that a changing statement has no result set.",
        (THRIFT_HTTP, COUNTS): "PyHive requires that a changing statement has no result set.",
    }
)

_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]*(?:\.[A-Z0-9_]+)?)\]")
_SQLSTATE = re.compile(r"SQLSTATE: (\w{5})")
_ENDED_S = 200.0
_ROWS_MAX = 20_000

Rows = list[list[str | None]]


def over(*features: str) -> pytest.MarkDecorator:
    """Returns the parametrization `front_end` over the front ends with these features. Those in `SLOW` are left out by
    `make test`, which has smoke tests of their clients.
    """
    names = [name for name in FRONT_ENDS if not any((name, feature) in LACKING for feature in features)]
    return pytest.mark.parametrize("front_end", some(names, set(names) - SLOW))


class Failed(Exception):
    """A statement or a log-in failed."""

    def __init__(self, message: str, condition: str | None = None, sqlstate: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.condition = condition or _found(_CONDITION, message)
        self.sqlstate = sqlstate or _found(_SQLSTATE, message)


class Client(Protocol):
    """A client of one user, with one session where the front end has sessions."""

    def rows(self, text: str) -> Rows:
        """Returns a statement's rows as text. Raises :class:`Failed`."""
        ...

    def begin(self, text: str) -> Any:
        """Starts a statement, and returns its handle."""
        ...

    def finish(self, handle: Any) -> Rows:
        """Returns the rows of a statement that was begun, by this client or another one, when it has ended."""
        ...

    def cancel(self, handle: Any) -> None:
        """Cancels a statement that this client has begun."""
        ...

    def rows_in_session_of(self, other: Any, text: str) -> Rows:
        """Returns a statement's rows in the session of another client, as a user who knows the session's handle."""
        ...

    def reconnect(self) -> None:
        """Connects again after the server was restarted, for clients that do not do so themselves."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a server listens."""

    thrift: int
    http: int
    connect: int
    postgres: int
    flight: int

    def client(self, front_end: str, user: str, password: str | None = None) -> Client:
        """Returns a client that is logged in. Raises :class:`Failed`."""
        found = user * 2 if password is None else password
        match front_end:
            case "hs2":
                return HiveClient(lambda: _connect_hive(self.thrift, user, found))
            case "hs2-http":
                http = {"username": user, "password": found, "scheme": "http"}
                return HiveClient(lambda: _connected(lambda: hive.connect("127.0.0.1", self.http, **http)))
            case "statements":
                return StatementClient(f"http://127.0.0.1:{self.http}", basic(user, found))
            case "connect":
                return ConnectClient(self.connect, user, found)
            case "postgres":
                return PostgresClient(self.postgres, user, found)
            case "mcp":
                return AgentClient(f"http://127.0.0.1:{self.http}/api/2.0/mcp/sql", basic(user, found))
            case "flight":
                return FlightClient(self.flight, user, found)
            case _:
                raise ValueError(front_end)

    @contextmanager
    def opened(self, front_end: str, user: str) -> Iterator[Client]:
        with closing(self.client(front_end, user)) as client:
            yield client


# --------------------------------------------------------------------------------------------------------- HiveServer2


def _connect_hive(port: int, user: str, password: str) -> Any:
    return _connected(lambda: hive.connect("127.0.0.1", port, username=user, password=password, auth="LDAP"))


def _connected(connect: Callable[[], Any]) -> Any:
    try:
        return connect()
    except (TTransportException, exc.Error) as error:
        raise Failed(str(error)) from error


class HiveClient:
    """PyHive over a socket or over HTTP."""

    def __init__(self, connect: Callable[[], Any]) -> None:
        self._connect = connect
        self.connection = connect()

    def rows(self, text: str) -> Rows:
        with self._failures(), closing(self.connection.cursor()) as cursor:
            cursor.execute(text)
            return _fetched(cursor)

    def begin(self, text: str) -> Any:
        cursor = self.connection.cursor()
        with self._failures():
            cursor.execute(text, async_=True)
        return cursor

    def finish(self, handle: Any) -> Rows:
        mine = self.connection.cursor()
        mine._operationHandle, mine._state = handle._operationHandle, handle._STATE_RUNNING
        with self._failures():
            status = mine.poll()
            until = time.monotonic() + _ENDED_S
            while status.operationState in (TOperationState.RUNNING_STATE, TOperationState.PENDING_STATE):
                assert time.monotonic() < until, "the statement does not end"
                time.sleep(0.05)
                status = mine.poll()
            if status.operationState != TOperationState.FINISHED_STATE:
                raise Failed(status.errorMessage or "canceled", sqlstate=status.sqlState)
            return _fetched(mine)

    def cancel(self, handle: Any) -> None:
        with self._failures():
            handle.cancel()

    def rows_in_session_of(self, other: HiveClient, text: str) -> Rows:
        own = self.connection._sessionHandle
        self.connection._sessionHandle = other.connection._sessionHandle
        try:
            return self.rows(text)
        finally:
            self.connection._sessionHandle = own

    def reconnect(self) -> None:
        """Continues with the same handles over a new connection."""
        self.connection._client = self._connect()._client

    def close(self) -> None:
        with suppress(exc.Error, TTransportException, OSError):
            self.connection.close()

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except exc.Error as error:
            status = error.args[0].status
            raise Failed(status.errorMessage, sqlstate=status.sqlState) from error


def _fetched(cursor: Any) -> Rows:
    if cursor.description is None:
        return []
    return [[spell(value) for value in row] for row in cursor.fetchall()]


# ------------------------------------------------------------------------------------------------------- statement API


class StatementClient:
    """The statement API, with a session."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self._http = httpx2.Client(base_url=f"{url}/api/2.0/sql", headers=dict(headers), timeout=120)
        self.session_id = self._ask("POST", "/sessions", {})["session_id"]

    def rows(self, text: str) -> Rows:
        return self._rows(self._submit(text, "50s"))

    def begin(self, text: str) -> Any:
        return self._submit(text, "0s")["statement_id"]

    def finish(self, handle: Any) -> Rows:
        return self._rows(self._ask("GET", f"/statements/{handle}?wait_timeout=20s"))

    def cancel(self, handle: Any) -> None:
        self._ask("POST", f"/statements/{handle}/cancel", {})

    def rows_in_session_of(self, other: StatementClient, text: str) -> Rows:
        return self._rows(self._submit(text, "50s", other.session_id))

    def reconnect(self) -> None:
        pass

    def close(self) -> None:
        with suppress(Failed, httpx2.HTTPError):
            self._ask("DELETE", f"/sessions/{self.session_id}")
        self._http.close()

    def _submit(self, text: str, wait: str, session_id: str | None = None) -> Any:
        body = {"statement": text, "wait_timeout": wait, "session_id": session_id or self.session_id}
        return self._ask("POST", "/statements", body)

    def _rows(self, answer: Any) -> Rows:
        until = time.monotonic() + _ENDED_S
        while answer["status"]["state"] in ("PENDING", "RUNNING"):
            assert time.monotonic() < until, "the statement does not end"
            answer = self._ask("GET", f"/statements/{answer['statement_id']}?wait_timeout=20s")
        _ensure_succeeded(answer["status"])
        result, rows = answer["result"], []
        while True:
            rows += [[spell(value) for value in row] for row in result.get("data_array", [])]
            following = result.get("next_chunk_index")
            if following is None:
                return rows
            result = self._ask("GET", f"/statements/{answer['statement_id']}/result/chunks/{following}")

    def _ask(self, method: str, path: str, body: object = None) -> Any:
        answer = self._http.request(method, path, json=body)
        found = answer.json() if answer.content else {}
        if answer.is_error:
            _fail(found)
        return found


def _ensure_succeeded(status: Mapping[str, Any]) -> None:
    if status["state"] != "SUCCEEDED":
        _fail(status.get("error", {"message": status["state"]}))


def _fail(error: Mapping[str, Any]) -> NoReturn:
    raise Failed(error.get("message", str(error)), error.get("condition"), error.get("sql_state"))


# ------------------------------------------------------------------------------------------------------- Spark Connect


@dataclass
class Started:
    """A statement that a thread has sent to the Connect port."""

    tag: str
    session_id: str
    thread: threading.Thread
    found: Rows = field(default_factory=list)
    errors: list[PySparkException] = field(default_factory=list)
    operation_id: str = ""


class ConnectClient:
    """PySpark's remote session, which continues by itself."""

    def __init__(self, port: int, user: str, password: str) -> None:
        header = f"Basic {b64encode(f'{user}:{password}'.encode()).decode()}"
        self._opened = remote_session(port, user=user, parameters={"authorization": header})
        self.spark: SparkSession = self._opened.__enter__()
        try:
            _ = self.spark.version
        except PySparkException as error:
            self.close()
            raise _connect_failure(error) from error

    def rows(self, text: str) -> Rows:
        try:
            return _collected(self.spark, text)
        except PySparkException as error:
            raise _connect_failure(error) from error

    def begin(self, text: str) -> Any:
        known = self._operations()

        def run() -> None:
            self.spark.addTag(started.tag)
            try:
                started.found = _collected(self.spark, text)
            except PySparkException as error:
                started.errors.append(error)

        started = Started(f"t{uuid.uuid4().hex}", self.spark.session_id, threading.Thread(target=run))
        started.thread.start()
        until = time.monotonic() + _ENDED_S
        # A query is described first, by an operation that ends at once.
        while started.thread.is_alive() and time.monotonic() < until:
            if running := [*(self._operations("RUNNING") - known)]:
                started.operation_id = running[0]
                time.sleep(0.3)
                if self._operations("RUNNING") & {*running}:
                    break
            time.sleep(0.05)
        return started

    def finish(self, handle: Started) -> Rows:
        if handle.session_id != self.spark.session_id:
            return self._reattach(handle)
        handle.thread.join(_ENDED_S)
        assert not handle.thread.is_alive(), "the statement does not end"
        if handle.errors:
            raise _connect_failure(handle.errors[0])
        return handle.found

    def cancel(self, handle: Started) -> None:
        assert self.spark.interruptTag(handle.tag) == [handle.operation_id]

    def rows_in_session_of(self, other: ConnectClient, text: str) -> Rows:
        raise NotImplementedError(LACKING[CONNECT, CLIENT_SESSION])

    def reconnect(self) -> None:
        pass

    def close(self) -> None:
        with suppress(PySparkException):
            self._opened.__exit__(None, None, None)

    def _operations(self, state: str = "") -> set[str]:
        found = self.spark.client._get_operation_statuses().operation_statuses
        kinds = pb2.GetStatusResponse.OperationStatus.OperationState
        return {one.operation_id for one in found if state in kinds.Name(one.state)}

    def _reattach(self, handle: Started) -> NoReturn:
        """Requests the responses of another session's operation, which PySpark's client never does."""
        client = self.spark.client
        for session_id in (handle.session_id, self.spark.session_id):
            request = pb2.ReattachExecuteRequest(session_id=session_id, operation_id=handle.operation_id)
            request.user_context.user_id = "x"
            try:
                list(client._stub.ReattachExecute(request, metadata=client._builder.metadata()))
            except Exception as error:
                failure = Failed(str(error))
                found = re.search(r"INVALID_HANDLE\.\w+", str(error))
                failure.condition = found and found[0]
                if session_id == self.spark.session_id or failure.condition is None:
                    raise failure from error
            else:
                raise AssertionError("another user's operation was continued")
        raise AssertionError


def _connect_failure(error: PySparkException) -> Failed:
    return Failed(str(error), error.getCondition(), error.getSqlState())


def _collected(spark: SparkSession, text: str) -> Rows:
    return [[spell(value) for value in row] for row in spark.sql(text).collect()]


# ---------------------------------------------------------------------------------------------------------- PostgreSQL


@dataclass
class Running:
    """A statement that a thread has sent on a PostgreSQL connection."""

    thread: threading.Thread
    found: Rows = field(default_factory=list)
    errors: list[psycopg.Error] = field(default_factory=list)


class PostgresClient:
    """psycopg without transaction blocks."""

    def __init__(self, port: int, user: str, password: str) -> None:
        self._address: dict[str, Any] = {"host": "127.0.0.1", "port": port, "user": user, "password": password}
        self._connection = self._connect()

    def _connect(self) -> psycopg.Connection[Any]:
        try:
            return psycopg.connect(**self._address, dbname="postgres", autocommit=True, connect_timeout=60)
        except psycopg.OperationalError as error:
            raise Failed(str(error), sqlstate="28000" if "AUTHENTICATION" in str(error) else None) from error

    def rows(self, text: str) -> Rows:
        try:
            return self._collect(text)
        except psycopg.Error as error:
            raise _postgres_failure(error) from error

    def begin(self, text: str) -> Any:
        def run() -> None:
            try:
                running.found = self._collect(text)
            except psycopg.Error as error:
                running.errors.append(error)

        running = Running(threading.Thread(target=run))
        running.thread.start()
        time.sleep(0.5)
        return running

    def finish(self, handle: Running) -> Rows:
        handle.thread.join(_ENDED_S)
        assert not handle.thread.is_alive(), "the statement does not end"
        if handle.errors:
            raise _postgres_failure(handle.errors[0])
        return handle.found

    def cancel(self, handle: Running) -> None:
        self._connection.cancel_safe()

    def rows_in_session_of(self, other: PostgresClient, text: str) -> Rows:
        raise NotImplementedError(LACKING[POSTGRES, CLIENT_SESSION])

    def reconnect(self) -> None:
        self._connection = self._connect()

    def close(self) -> None:
        self._connection.close()

    def _collect(self, text: str) -> Rows:
        with self._connection.cursor() as cursor:
            cursor.execute(text.encode())
            return [[spell(value) for value in row] for row in cursor] if cursor.description else []


def _postgres_failure(error: psycopg.Error) -> Failed:
    return Failed(str(error), sqlstate=error.sqlstate)


# ----------------------------------------------------------------------------------------------------------------- MCP


class AgentClient:
    """MCP's client, connected for each call."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self._url, self._headers = url, dict(headers)
        self._call("list_catalogs")

    def rows(self, text: str) -> Rows:
        return self._rows(self._call("execute_sql", query=text, wait_seconds=50, row_limit=_ROWS_MAX))

    def begin(self, text: str) -> Any:
        return self._call("execute_sql", query=text, wait_seconds=0, row_limit=_ROWS_MAX)["statement_id"]

    def finish(self, handle: Any) -> Rows:
        return self._rows(self._call("poll_sql_result", statement_id=handle, wait_seconds=20))

    def cancel(self, handle: Any) -> None:
        """Cancels the call that waits for the statement."""
        self._call("poll_sql_result", give_up_s=1.0, statement_id=handle, wait_seconds=50)

    def rows_in_session_of(self, other: AgentClient, text: str) -> Rows:
        raise NotImplementedError(LACKING[MCP, CLIENT_SESSION])

    def reconnect(self) -> None:
        pass

    def close(self) -> None:
        pass

    def _rows(self, answer: Any) -> Rows:
        until = time.monotonic() + _ENDED_S
        while answer["status"]["state"] in ("PENDING", "RUNNING"):
            assert time.monotonic() < until, "the statement does not end"
            answer = self._call("poll_sql_result", statement_id=answer["statement_id"], wait_seconds=20)
        _ensure_succeeded(answer["status"])
        assert not answer["manifest"]["truncated"]
        return [[spell(value) for value in row] for row in answer["result"]["data_array"]]

    def _call(self, tool: str, give_up_s: float | None = None, **arguments: object) -> Any:
        async def drive() -> Any:
            async with httpx2.AsyncClient(headers=self._headers, timeout=120) as connection:
                transport = streamable_http_client(self._url, http_client=connection)
                async with McpClient(transport) as client:
                    with anyio.move_on_after(give_up_s):
                        return (await client.call_tool(tool, arguments)).structured_content
            return None

        try:
            return anyio.run(drive)
        except BaseExceptionGroup as group:
            error = next(_leaves(group))
            found = re.search(r"\b(4\d\d|5\d\d)\b", str(error))
            raise Failed(str(error), sqlstate="28000" if found and found[1] == "401" else None) from error


def _leaves(group: BaseExceptionGroup[Any]) -> Iterator[BaseException]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _leaves(error)
        else:
            yield error


# ---------------------------------------------------------------------------------------------------------- Flight SQL


@dataclass
class Query:
    """A statement that a thread has sent by ADBC."""

    client: FlightClient
    text: str
    cursor: Any
    thread: threading.Thread
    found: Rows = field(default_factory=list)
    errors: list[adbc.Error] = field(default_factory=list)


class FlightClient:
    """ADBC's driver; and PyArrow's client, for requests that the driver never sends."""

    def __init__(self, port: int, user: str, password: str) -> None:
        self._location = f"grpc://127.0.0.1:{port}"
        self._header = f"Basic {b64encode(f'{user}:{password}'.encode()).decode()}"
        self._login = {"username": user, "password": password}
        self.connection = self._connect()

    def rows(self, text: str) -> Rows:
        with self._failures(), closing(self.connection.cursor()) as cursor:
            return _read(cursor, text)

    def begin(self, text: str) -> Any:
        def run() -> None:
            try:
                query.found = _read(query.cursor, text)
            except adbc.Error as error:
                query.errors.append(error)

        query = Query(self, text, self.connection.cursor(), threading.Thread(target=run))
        query.thread.start()
        query.thread.join(1.0)
        return query

    def finish(self, handle: Query) -> Rows:
        if handle.client is not self:
            return self._read_ticket(handle)
        handle.thread.join(_ENDED_S)
        assert not handle.thread.is_alive(), "the statement does not end"
        with self._failures(), closing(handle.cursor):
            if handle.errors:
                raise handle.errors[0]
        return handle.found

    def cancel(self, handle: Query) -> None:
        handle.cursor.adbc_cancel()

    def rows_in_session_of(self, other: FlightClient, text: str) -> Rows:
        return self.ticket_rows(self.info(text, other.cookie()))

    def reconnect(self) -> None:
        self.close()
        self.connection = self._connect()

    def close(self) -> None:
        with suppress(adbc.Error, RuntimeError):
            self.connection.close()

    def cookie(self) -> str:
        """Returns the cookie of a session that this client opens."""
        cookies = Cookies()
        with self._failures(), closing(flight.connect(self._location, middleware=[cookies])) as client:
            list(client.do_action(flight.Action("GetSessionOptions", b""), self._options()))
        return cookies.found

    def _connect(self) -> Any:
        with self._failures(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return adbc_driver_flightsql.dbapi.connect(self._location, db_kwargs=self._login, autocommit=True)

    def _options(self, cookie: str | None = None) -> Any:
        headers = [(b"authorization", self._header.encode())]
        headers += [] if cookie is None else [(b"cookie", cookie.encode())]
        return flight.FlightCallOptions(timeout=_ENDED_S, headers=headers)

    def info(self, text: str, cookie: str | None = None) -> Any:
        """Runs a statement; returns its FlightInfo."""
        descriptor = flight.FlightDescriptor.for_command(pack("CommandStatementQuery", query=text))
        with self._failures(), closing(flight.connect(self._location)) as client:
            return client.get_flight_info(descriptor, self._options(cookie))

    def ticket_rows(self, info: Any) -> Rows:
        """Returns the rows of a FlightInfo, perhaps of another client."""
        found: Rows = []
        with self._failures(), closing(flight.connect(self._location)) as client:
            for endpoint in info.endpoints:
                found += _spelled(client.do_get(endpoint.ticket, self._options()).read_all())
        return found

    def _read_ticket(self, query: Query) -> Rows:
        """Reads the result of another client's statement, which stays readable, by its ticket."""
        owner = query.client
        return self.ticket_rows(owner.info(query.text, owner.cookie()))

    @contextmanager
    def _failures(self) -> Iterator[None]:
        try:
            yield
        except (adbc.Error, flight.FlightError, pa.ArrowException) as error:
            raise Failed(str(error)) from error


class Cookies(flight.ClientMiddlewareFactory):
    """Notes the cookie in a response."""

    def __init__(self) -> None:
        self.found = ""

    def start_call(self, info: object) -> Any:
        cookies = self

        class Noting(flight.ClientMiddleware):
            def received_headers(self, headers: Mapping[str, list[str]]) -> None:
                cookies.found = next(iter(headers.get("set-cookie", [])), cookies.found).partition(";")[0]

        return Noting()


def _read(cursor: Any, text: str) -> Rows:
    """Returns the rows of a text; the number of changed rows for a statement without a result."""
    cursor.execute(text)
    if cursor.description:
        return _spelled(cursor.fetch_arrow_table())
    return [[str(cursor.rowcount)]] if cursor.rowcount > 0 else []


def _spelled(table: Any) -> Rows:
    columns = [column.to_pylist(maps_as_pydicts="strict") for column in table.columns]
    return [[spell(value) for value in row] for row in zip(*columns, strict=True)]


# -------------------------------------------------------------------------------------------------------------- values


def spell(value: object) -> str | None:
    """Returns a value as Spark's cast to STRING writes it, nested ones as JSON; the same for all clients."""
    match value:
        case None:
            return None
        case bool():
            return str(value).lower()
        case bytes() | bytearray():
            return value.hex()
        case dt.datetime():
            return _instant(value.replace(tzinfo=None).isoformat(" "))
        case float():
            return repr(value)
        case Row() | list() | tuple() | dict():
            return json.dumps(_plain(value), separators=(",", ":"), ensure_ascii=False)
        case str() if re.fullmatch(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z?", value):
            return _instant(value.removesuffix("Z").replace("T", " "))
    return str(value)


def _instant(text: str) -> str:
    return text.rstrip("0").removesuffix(".") if "." in text else text


def _plain(value: Any) -> Any:
    if isinstance(value, Row):
        return {name: _plain(inner) for name, inner in value.asDict().items()}
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value


def _found(pattern: re.Pattern[str], text: str) -> str | None:
    found = pattern.search(text or "")
    return None if found is None else found[1]


def column(rows: Iterable[list[str | None]], index: int = 0) -> list[str | None]:
    return [row[index] for row in rows]
