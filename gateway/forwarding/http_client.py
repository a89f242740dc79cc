"""One request to another gateway, on its own connection: a request that was not received can be sent to another one."""

from __future__ import annotations

import http.client
import select
import socket
import ssl
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

from gateway.state.addresses import Address

_CONNECT_S = 2.0
# Time in seconds between two bytes of a response that has begun.
_READ_S = 60.0
# Interval in seconds of checks if the owner is still the owner, while it creates its response.
_LOOK_S = 0.5
_PIECE_BYTES = 64 << 10


class NotReached(Exception):
    """The gateway has not received the request."""


class NoResponse(Exception):
    """The gateway may have processed the request, and has not responded."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request, with the headers that are sent."""

    method: str
    target: str
    headers: Sequence[tuple[str, str]]
    body: bytes


@dataclass(frozen=True, slots=True)
class Response:
    """A response whose body is read while it is used; call `close` or read it to its end."""

    status: int
    reason: str
    headers: Sequence[tuple[str, str]]
    connection: http.client.HTTPConnection
    content: http.client.HTTPResponse

    def pieces(self) -> Iterator[bytes]:
        """Yields the body in pieces and closes the connection at its end."""
        with closing(self.connection):
            while piece := self.content.read(_PIECE_BYTES):
                yield piece

    def read(self) -> bytes:
        """Returns the body; raises `NoResponse` if it is incomplete."""
        try:
            return b"".join(self.pieces())
        except (OSError, http.client.HTTPException) as error:
            raise NoResponse(str(error)) from error

    def close(self) -> None:
        """Closes the connection; the rest of the body is not read."""
        self.connection.close()


def send(address: Address, request: Request, is_current: Callable[[], bool]) -> Response:
    """Sends the request; raises `NotReached` and `NoResponse`.

    `is_current` returns False if the gateway at `address` is no longer the owner, as when it is suspended.
    """
    connection = _connection(address)
    try:
        connection.connect()
    except (OSError, http.client.HTTPException) as error:
        connection.close()
        raise NotReached(str(error)) from error
    try:
        connection.putrequest(request.method, request.target, skip_host=True, skip_accept_encoding=True)
        for name, value in request.headers:
            connection.putheader(name, value)
        connection.putheader("Content-Length", str(len(request.body)))
        connection.putheader("Connection", "close")
        connection.endheaders(request.body)
        _wait(connection.sock, is_current)
        connection.sock.settimeout(_READ_S)
        content = connection.getresponse()
    except (OSError, http.client.HTTPException) as error:
        connection.close()
        raise NoResponse(str(error)) from error
    return Response(content.status, content.reason, content.getheaders(), connection, content)


def _connection(address: Address) -> http.client.HTTPConnection:
    if address.certificate is None:
        return http.client.HTTPConnection(address.host, address.port, timeout=_CONNECT_S)
    context = ssl.create_default_context(cadata=address.certificate)
    # The certificate in the state folder is the only one that is accepted; its names are those that clients use.
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return http.client.HTTPSConnection(address.host, address.port, timeout=_CONNECT_S, context=context)


def _wait(connection: socket.socket, is_current: Callable[[], bool]) -> None:
    """Waits for the first byte of the response."""
    pending = connection.pending() if isinstance(connection, ssl.SSLSocket) else 0
    while not pending and not select.select([connection], [], [], _LOOK_S)[0]:
        if not is_current():
            raise NoResponse("another gateway has taken over")
