"""The connections of clients, by which a call has a peer, and by which sessions end with their client."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
        """Returns the connection of a call by gRPC's name of its peer, which is empty in a Handshake."""
        ...

    def open_keys(self) -> set[str]:
        """Returns the keys of the connections that are open."""
        ...


class LoopbackConnections:
    """Connections to gRPC's own listener on a loopback address, so that every peer is on this machine."""

    def __init__(self, port: int) -> None:
        self.port = port

    def of_call(self, peer: str, headers: Mapping[str, Sequence[Any]]) -> Connection:
        _, _, rest = unquote(peer).partition(":")
        address, _, port = rest.rpartition(":")
        return Connection(port, Peer(address.strip("[]") or "127.0.0.1"))

    def open_keys(self) -> set[str]:
        return {str(port) for port in _peer_ports(self.port)}


def _peer_ports(port: int) -> set[int]:
    """Returns the ports of the clients that are connected to `port` on this machine (proc(5), /proc/net/tcp)."""
    found: set[int] = set()
    for table in ("/proc/net/tcp", "/proc/net/tcp6"):
        try:
            with open(table, encoding="ascii") as lines:
                next(lines)
                for line in lines:
                    _, local, remote, state, *_ = line.split()
                    if state == _ESTABLISHED and int(local.rpartition(":")[2], 16) == port:
                        found.add(int(remote.rpartition(":")[2], 16))
        except (OSError, StopIteration):
            continue
    return found


_ESTABLISHED = "01"
