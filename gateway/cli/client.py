"""A small HTTP API client for the command line: submit, wait, fetch chunks, close."""

from __future__ import annotations

import contextlib
import http.client
import json
import select
import ssl
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

_API = "/api/2.0/sql/statements"
_WAIT, _SHORT_WAIT = "50s", "1s"
_SOCKET_TIMEOUT_S = 120.0
_PIECE_BYTES = 1 << 20
_UNFINISHED = ("PENDING", "RUNNING")

Rows = list[list[str | None]]


_SESSION_NOT_FOUND = "[INVALID_HANDLE.SESSION_NOT_FOUND]"


class ClientError(Exception):
    """The statement failed, or the server is unreachable; the text is for people."""


class SessionLost(ClientError):
    """The server does not have the session (any more); the statement did not run."""


class Unreachable(ClientError):
    """No connection to the server could be opened; nothing was sent."""


class ConnectionBroken(ClientError):
    """The server was reached, but its response was not; a statement may have run."""


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    # For example DECIMAL, and with arguments DECIMAL(10,2).
    type_name: str
    type_text: str = ""


@dataclass(frozen=True, slots=True)
class Variable:
    """A value for a named parameter marker; None for NULL."""

    value: str | None
    sql_type: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """How a statement runs: in the session with `session_id`, or in one of its own."""

    rows_inline: bool
    session_id: str | None = None
    catalog: str | None = None
    schema: str | None = None
    # The maximum number of rows; 0 for all.
    rows_max: int = 0
    variables: Mapping[str, Variable] = field(default_factory=dict)


class Statement:
    """A successful statement whose rows are fetched."""

    def __init__(self, client: ApiClient, answer: Mapping[str, Any]) -> None:
        self._client = client
        self._answer = answer
        self._path = f"{_API}/{answer['statement_id']}"
        manifest = answer["manifest"]
        self.columns = [
            Column(column["name"], column["type_name"], column["type_text"]) for column in manifest["schema"]["columns"]
        ]
        self.is_truncated = bool(manifest["truncated"])
        self._chunk_count = manifest["total_chunk_count"]

    def row_chunks(self) -> Iterator[Rows]:
        """Yields rows as text, one chunk at a time."""
        result = self._answer["result"]
        while True:
            yield result.get("data_array", [])
            if result.get("next_chunk_index") is None:
                return
            result = self._client.ask("GET", f"{self._path}/result/chunks/{result['next_chunk_index']}")

    def documents(self, content_type: str) -> Iterator[bytes]:
        """Yields the chunks as documents with `content_type`."""
        for index in range(self._chunk_count):
            yield self._client.fetch("GET", f"{self._path}/result/chunks/{index}", accept=content_type)

    def file(self, format_: str) -> Iterator[bytes]:
        """Yields the whole result as a file, in pieces as they arrive."""
        return self._client.pieces(f"{self._path}/result/file?format={format_}")

    def close(self) -> None:
        """Releases the result on the server; if the request fails, the result expires there."""
        with contextlib.suppress(ClientError):
            self._client.ask("DELETE", self._path)


class ApiClient:
    """One connection to a server; not thread-safe."""

    def __init__(self, server: str, authorization: str = "", ca_file: str = "") -> None:
        """Connects; `authorization` is the header's value; `ca_file` has the certificate authorities for https."""
        self._server = server
        self.authorization = authorization
        self._connection: http.client.HTTPConnection
        try:
            parts = urlsplit(server if "://" in server else f"http://{server}")
            self._base = parts.path.rstrip("/")
            host = (parts.hostname or "", parts.port)
            if parts.scheme == "https":
                context = ssl.create_default_context(cafile=ca_file or None)
                self._connection = http.client.HTTPSConnection(*host, timeout=_SOCKET_TIMEOUT_S, context=context)
            elif parts.scheme == "http":
                self._connection = http.client.HTTPConnection(*host, timeout=_SOCKET_TIMEOUT_S)
            else:
                raise ValueError(parts.scheme)
        except OSError as error:
            raise ClientError(f"{ca_file} cannot be used: {error}") from error
        except (ValueError, http.client.InvalidURL):
            raise ClientError(f"{server} is no address of a server, such as http://127.0.0.1:8080") from None

    def __enter__(self) -> ApiClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def hang_up(self) -> None:
        """Aborts the current request; the next one reconnects."""
        self._connection.close()

    def run(self, text: str, options: RunOptions, on_wait: Callable[[str], None] | None = None) -> Statement:
        """Runs a statement to the end; raises :class:`ClientError` with the statement's error.

        `on_wait`, if set, receives the statement's id each second until then.
        """
        wait = _WAIT if on_wait is None else _SHORT_WAIT
        body: dict[str, object] = {
            "statement": text,
            "catalog": options.catalog,
            "schema": options.schema,
            "session_id": options.session_id,
            "row_limit": options.rows_max or None,
            "parameters": [
                {"name": name, "value": variable.value, "type": variable.sql_type}
                for name, variable in options.variables.items()
            ],
        }
        delivery = {"wait_timeout": wait, "disposition": "INLINE" if options.rows_inline else "EXTERNAL_LINKS"}
        answer = self.ask("POST", _API, body | delivery)
        while answer["status"]["state"] in _UNFINISHED:
            if on_wait:
                on_wait(answer["statement_id"])
            answer = self.ask("GET", f"{_API}/{answer['statement_id']}?wait_timeout={wait}&on_disconnect=CANCEL")
        if answer["status"]["state"] != "SUCCEEDED":
            error = answer["status"].get("error")
            raise ClientError(error["message"] if error else f"the statement is {answer['status']['state']}")
        return Statement(self, answer)

    def ask(self, method: str, path: str, body: object = None) -> dict[str, Any]:
        """Sends a request, and returns the JSON response."""
        content = self.fetch(method, path, body=body)
        try:
            answer = json.loads(content)
        except ValueError:
            raise ClientError(f"{self._server} does not answer like a delta-gateway") from None
        if not isinstance(answer, dict):
            raise ClientError(f"{self._server} does not answer like a delta-gateway")
        return answer

    def fetch(self, method: str, path: str, *, body: object = None, accept: str = "application/json") -> bytes:
        """Sends a request and returns the response's body; `body` is sent as JSON. Raises `ClientError`."""
        with self._request(method, path, body, accept) as response:
            return bytes(response.read())

    def pieces(self, path: str) -> Iterator[bytes]:
        """Yields a document's pieces, regardless of its length."""
        with self._request("GET", path, None, "*/*") as response:
            while piece := response.read(_PIECE_BYTES):
                yield piece

    @contextlib.contextmanager
    def _request(self, method: str, path: str, body: object, accept: str) -> Iterator[http.client.HTTPResponse]:
        """Sends a request; the response, if it is not an error, is read within the block."""
        headers = {"Accept": accept} | ({"Content-Type": "application/json"} if body is not None else {})
        headers |= {"Authorization": self.authorization} if self.authorization else {}
        content = json.dumps(body).encode() if body is not None else None
        is_complete = False
        self._close_if_disconnected()
        try:
            self._connect()
            self._connection.request(method, self._base + path, content, headers)
            response = self._connection.getresponse()
            if response.status >= 400:
                answer = response.read()
                is_complete = True
                reason = _error_text(answer) or f"{self._server} answers {response.status} {response.reason}"
                raise SessionLost(reason) if reason.startswith(_SESSION_NOT_FOUND) else ClientError(reason)
            yield response
            is_complete = True
        except (OSError, http.client.HTTPException) as error:
            reason = str(error) or type(error).__name__
            raise ConnectionBroken(f"the connection to {self._server} broke ({reason})") from error
        finally:
            if not is_complete:  # a connection in the middle of a response cannot send another request
                self._connection.close()

    def _connect(self) -> None:
        """Opens the connection if necessary; an error means that nothing was sent."""
        if self._connection.sock is None:
            try:
                self._connection.connect()
            except OSError as error:
                reason = error.strerror or str(error)
                raise Unreachable(f"{self._server} does not answer ({reason}); is the server running?") from error

    def _close_if_disconnected(self) -> None:
        """Closes an idle connection that the server has closed: before a request, there is nothing to read."""
        sock = self._connection.sock
        if sock is not None and select.select([sock], [], [], 0)[0]:
            self._connection.close()


def _error_text(content: bytes) -> str | None:
    try:
        message = json.loads(content)["message"]
    except (ValueError, KeyError, TypeError):
        return None
    return message if isinstance(message, str) else None
