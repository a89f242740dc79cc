"""Connections of each front end with each authentication method: connect, run a statement, close."""

from __future__ import annotations

import base64
import http.client
import json
import logging
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import adbc_driver_flightsql.dbapi as adbc
import psycopg
from pyhive import hive
from pyspark.errors import PySparkException
from thrift.transport.THttpClient import THttpClient

from tests.clients.http_client import API

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of releases of pandas
    from pyspark.sql.connect.client.core import DefaultChannelBuilder
    from pyspark.sql.connect.session import SparkSession

# PySpark prints each error of a statement with its stack trace.
logging.getLogger("SQLQueryContextLogger").disabled = True
TIMEOUT_S = 300.0
ANONYMOUS = "anonymous"
_UNFINISHED = ("PENDING", "RUNNING")


class StatementError(Exception):
    """The server's error for a statement; the text is its message."""


@dataclass(frozen=True)
class Login:
    """A user's secret for a method: a password, an access token or a JWT; none if `method` is anonymous."""

    method: str
    user: str
    secret: str

    @property
    def header(self) -> str:
        if self.method in (ANONYMOUS, "password"):
            return "Basic " + base64.b64encode(f"{self.user}:{self.secret}".encode()).decode()
        return f"Bearer {self.secret}"


class Connection(ABC):
    """An open connection; `run` raises `StatementError` for the server's errors."""

    @abstractmethod
    def __init__(self, ports: Mapping[str, int], login: Login) -> None:
        """Connects, and opens a session."""

    @abstractmethod
    def run(self, text: str) -> int:
        """Returns the number of rows, which are all read."""

    @abstractmethod
    def close(self) -> None: ...


class Api(Connection):
    """The statement API in a session, over one connection that is kept alive."""

    def __init__(self, ports: Mapping[str, int], login: Login) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", ports["http"], timeout=TIMEOUT_S)
        self._headers = {"Content-Type": "application/json", "Authorization": login.header}
        self._session = self.ask("POST", f"{API}/sessions", {"session_confs": {}})["session_id"]

    def ask(self, method: str, path: str, body: object = None) -> Any:
        self._connection.request(method, path, json.dumps(body) if body is not None else None, self._headers)
        answer = self._connection.getresponse()
        content = answer.read()
        if answer.status >= 400:
            raise StatementError(content.decode())
        return json.loads(content or b"{}") if "json" in answer.headers.get("Content-Type", "json") else content

    def run(self, text: str) -> int:
        body = {"statement": text, "wait_timeout": "10s", "session_id": self._session}
        answer = self.ask("POST", f"{API}/statements", body)
        path = f"{API}/statements/{answer['statement_id']}"
        while answer["status"]["state"] in _UNFINISHED:
            answer = self.ask("GET", f"{path}?wait_timeout=10s")
        if answer["status"]["state"] != "SUCCEEDED":
            raise StatementError(answer["status"].get("error", {}).get("message", answer["status"]["state"]))
        result = answer.get("result", {})
        count = len(result.get("data_array", []))
        while result.get("next_chunk_index") is not None:
            result = self.ask("GET", f"{path}/result/chunks/{result['next_chunk_index']}")
            count += len(result["data_array"])
        return count

    def close(self) -> None:
        self.ask("DELETE", f"{API}/sessions/{self._session}")
        self._connection.close()


CONSOLE_ROUTES = (
    ("GET", "/", None),
    ("GET", "/api/2.0/catalog/schemas?catalog=spark_catalog", None),
    ("GET", "/api/2.0/catalog/tables?catalog=spark_catalog&schema=default", None),
    ("GET", "/api/2.0/catalog/table?catalog=spark_catalog&schema=default&table=numbers", None),
    ("GET", f"{API}/history/queries?max_results=20", None),
    ("GET", f"{API}/sessions", None),
    ("POST", f"{API}/parse", {"statement": "SELECT 1; SELECT 2"}),
    ("GET", "/api/2.0/catalog/functions?catalog=spark_catalog", None),
)


class Console(Api):
    """The requests of the console's pages, before each statement."""

    requests = 0

    def run(self, text: str) -> int:
        self.ask(*CONSOLE_ROUTES[self.requests % len(CONSOLE_ROUTES)])
        self.requests += 1
        return super().run(text)


class Hs2(Connection):
    """HiveServer2 in the binary transport, by PyHive."""

    def __init__(self, ports: Mapping[str, int], login: Login) -> None:
        self.opened = self.connect(ports, login)

    def connect(self, ports: Mapping[str, int], login: Login) -> Any:
        password = {} if login.method == ANONYMOUS else {"password": login.secret, "auth": "LDAP"}
        return hive.connect("127.0.0.1", ports["thrift"], username=login.user, **password)

    def run(self, text: str) -> int:
        cursor = self.opened.cursor()
        try:
            cursor.execute(text)
            return len(cursor.fetchall()) if cursor.description else 0
        except hive.OperationalError as error:
            status = getattr(error.args[0], "status", None)
            raise StatementError(str(status.errorMessage if status else error)) from error
        finally:
            cursor.close()

    def close(self) -> None:
        self.opened.close()


class Hs2Http(Hs2):
    """HiveServer2 over HTTP, by PyHive with a header."""

    def connect(self, ports: Mapping[str, int], login: Login) -> Any:
        client = THttpClient(f"http://127.0.0.1:{ports['http']}/cliservice")
        client.setTimeout(1000 * TIMEOUT_S)
        client.setCustomHeaders({"Authorization": login.header})
        return hive.connect(thrift_transport=client)


class _Channel(DefaultChannelBuilder):
    """A channel without TLS whose calls have a login; PySpark's own builder sends tokens over TLS only."""

    def __init__(self, port: int, login: Login) -> None:
        super().__init__(f"sc://127.0.0.1:{port}/;user_id={login.user}")
        self._login = login

    def metadata(self) -> Iterable[tuple[str, str]]:
        return [*super().metadata(), ("authorization", self._login.header)]


class SparkConnect(Connection):
    """PySpark's remote session."""

    def __init__(self, ports: Mapping[str, int], login: Login) -> None:
        self._session = SparkSession(connection=_Channel(ports["connect"], login))

    def run(self, text: str) -> int:
        try:
            return len(self._session.sql(text).collect())
        except PySparkException as error:
            raise StatementError(str(error)) from error

    def close(self) -> None:
        self._session.client.release_session()
        self._session.client.close()


class Mcp(Api):
    """MCP's tool for statements, beside a session of the statement API."""

    def run(self, text: str) -> int:
        call = {"name": "execute_sql", "arguments": {"query": text}}
        result = self._call("tools/call", call)
        while not result.get("isError") and result["structuredContent"]["status"]["state"] in _UNFINISHED:
            arguments = {"statement_id": result["structuredContent"]["statement_id"]}
            result = self._call("tools/call", {"name": "poll_sql_result", "arguments": arguments})
        if result.get("isError"):
            raise StatementError(result["content"][0]["text"])
        return len(result["structuredContent"]["result"]["data_array"])

    def _call(self, method: str, parameters: object) -> dict[str, Any]:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": parameters}
        found: dict[str, Any] = self.ask("POST", "/api/2.0/mcp/sql", body)["result"]
        return found


class Postgres(Connection):
    """PostgreSQL's protocol, by psycopg without transaction blocks; tokens are passwords of the user `token`."""

    def __init__(self, ports: Mapping[str, int], login: Login) -> None:
        self._opened = psycopg.connect(
            host="127.0.0.1",
            port=ports["postgres"],
            user=login.user if login.method in (ANONYMOUS, "password") else "token",
            password=login.secret,
            dbname="postgres",
            autocommit=True,
        )

    def run(self, text: str) -> int:
        try:
            cursor = self._opened.execute(text)
        except psycopg.Error as error:
            if self._opened.closed:
                raise
            raise StatementError(str(error)) from error
        return len(cursor.fetchall()) if cursor.description else 0

    def close(self) -> None:
        self._opened.close()


class Flight(Connection):
    """Arrow Flight SQL, by ADBC's driver."""

    def __init__(self, ports: Mapping[str, int], login: Login) -> None:
        options = {"adbc.flight.sql.authorization_header": login.header}
        # The driver has one session for a connection, if it returns the server's cookies.
        options["adbc.flight.sql.rpc.with_cookie_middleware"] = "true"
        self._opened = adbc.connect(f"grpc://127.0.0.1:{ports['flight']}", db_kwargs=options, autocommit=True)

    def run(self, text: str) -> int:
        with closing(self._opened.cursor()) as cursor:
            try:
                cursor.execute(text)
                return len(cursor.fetchall())
            except adbc.Error as error:
                raise StatementError(str(error)) from error

    def close(self) -> None:
        self._opened.close()


FRONT_ENDS: dict[str, type[Connection]] = {
    "api": Api,
    "console": Console,
    "hs2": Hs2,
    "hs2-http": Hs2Http,
    "connect": SparkConnect,
    "mcp": Mcp,
    "postgres": Postgres,
    "flight": Flight,
}
