"""The connections of clients, by which a call has a peer, and by which sessions end with their client."""

from __future__ import annotations

import os
import socket
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import unquote

from gateway.authenticators.peer import Peer


@dataclass(frozen=True, slots=True)
class Connection:
    """A client's connection; `key` is unique among the open ones."""

    key: str
    peer: Peer


class Connections(Protocol):
    def of_call(self, peer: str, headers: Mapping[str, Sequence[Any]]) -> Connection:
        """Returns the connection of a call by gRPC's name of its peer, which is empty in a Handshake, or by a header
        that the port has added.
        """
        ...

    def open_keys(self) -> set[str]:
        """Returns the keys of the connections that are open, and closes those beyond the limit."""
        ...

    def count(self) -> int:
        """Returns the number of open connections."""
        ...

    def close(self) -> None:
        """Closes all connections."""
        ...


class LoopbackConnections:
    """Connections to gRPC's own listener on a loopback address: every peer is on this machine.

    gRPC has no limit for them in PyArrow's server, so the newest ones beyond `connections_max` are closed here.
    """

    def __init__(self, port: int, connections_max: int) -> None:
        self.port = port
        self._max = connections_max
        self._known: dict[str, None] = {}

    def of_call(self, peer: str, headers: Mapping[str, Sequence[Any]]) -> Connection:
        _, _, rest = unquote(peer).partition(":")
        address, _, port = rest.rpartition(":")
        return Connection(port, Peer(address.strip("[]") or "127.0.0.1"))

    def open_keys(self) -> set[str]:
        found: set[str] = set()
        with closing(_accepted(self.port)) as accepted:
            for connection, key in accepted:
                found.add(key)
                if key not in self._known and len(self._known.keys() & found) + 1 > self._max:
                    with suppress(OSError):
                        connection.shutdown(socket.SHUT_RDWR)
                else:
                    self._known[key] = None
        self._known = {key: None for key in self._known if key in found}
        return found

    def count(self) -> int:
        return len(self._known)

    def close(self) -> None:
        with closing(_accepted(self.port)) as accepted:
            for connection, _ in accepted:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)


def _accepted(port: int) -> Generator[tuple[socket.socket, str], None, None]:
    """Yields the sockets of this process that are connected at its `port`, with the port of the client."""
    for name in os.listdir("/proc/self/fd"):
        try:
            if not os.readlink(f"/proc/self/fd/{name}").startswith("socket:"):
                continue
            # A copy, since the descriptor is gRPC's.
            connection = socket.socket(fileno=os.dup(int(name)))
        except OSError:
            continue
        with connection:
            if connection.family not in (socket.AF_INET, socket.AF_INET6) or connection.type != socket.SOCK_STREAM:
                continue
            with suppress(OSError):
                if connection.getsockname()[1] == port:
                    yield connection, str(connection.getpeername()[1])
