"""A WSGI request (PEP 3333): its body has arrived. A response without a length is created while it is sent."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import unquote_to_bytes

from gateway.http.callers import CLIENT_DESCRIPTOR, PEER
from gateway.http.connection import Connection
from gateway.http.wire import SERVER_NAME, Answer, Request, begin_answer, format_answer

# The WSGI environment key by which an application marks its response as long, though it has a length.
STREAMED = "gateway.streamed"

# The WSGI environment key that is True for an upload with only its head.
STREAMING = "gateway.announced"

# The WSGI environment key by which an application accepts an announced upload, and whose value it finds again when the
# body has arrived.
ACCEPTED = "gateway.accepted"

Application = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]


def run_application(application: Application, request: Request, connection: Connection) -> Answer:
    """Returns the application's response."""
    started: list[tuple[str, list[tuple[str, str]]]] = []
    written: list[bytes] = []

    def start_response(status: str, headers: list[tuple[str, str]], _: object = None) -> Callable[[bytes], None]:
        started.append((status, headers))
        return written.append

    variables = environment(request, connection)
    body = application(variables, start_response)
    close = getattr(body, "close", _do_nothing)
    status, given = started[-1]
    headers = [(name, value) for name, value in given if name.lower() != "connection"]
    ends = len(headers) < len(given) and request.head.method != "HEAD"
    if request.is_streaming and (accepted := variables.get(ACCEPTED)) is not None:
        close()
        return Answer(content=b"", is_last=False, accepted=accepted)
    has_length = any(name.lower() == "content-length" for name, _ in headers)
    if variables.get(STREAMED) or (not has_length and status.startswith("200")):
        return begin_answer(status, headers, iter(body), close, request.head)
    try:
        written += body
    finally:
        close()
    # A rejected upload is left unread, so its connection ends.
    return format_answer(status, headers, written, None if request.is_streaming or ends else request.head)


def _do_nothing() -> None:
    pass


def environment(request: Request, connection: Connection) -> dict[str, Any]:
    """Returns the request as a WSGI environment, with the client's descriptor, by which a waiting request detects a
    disconnect.
    """
    head = request.head
    path, _, query = head.target.partition("?")
    variables: dict[str, Any] = {
        "REQUEST_METHOD": head.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
        "QUERY_STRING": query,
        "REQUEST_URI": head.target,
        "SERVER_PROTOCOL": head.version,
        "SERVER_NAME": SERVER_NAME,
        "SERVER_PORT": str(connection.port),
        "SERVER_SOFTWARE": SERVER_NAME,
        "REMOTE_ADDR": request.peer,
        "CONTENT_LENGTH": str(head.length),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "https" if connection.is_encrypted else "http",
        "wsgi.input": io.BytesIO(request.body) if request.file is None else request.file,
        "wsgi.input_terminated": head.is_chunked,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
        CLIENT_DESCRIPTOR: connection.descriptor,
        PEER: connection.client,
        STREAMING: request.is_streaming,
        ACCEPTED: request.accepted,
    }
    for name, value in head.headers:
        # A header with an underscore would be taken for one with a hyphen, which a proxy in front may have checked.
        if "_" in name or name == "content-length":
            continue
        key = "CONTENT_TYPE" if name == "content-type" else f"HTTP_{name.upper().replace('-', '_')}"
        variables[key] = f"{variables[key]}, {value}" if key in variables else value
    return variables
