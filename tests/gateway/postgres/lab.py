"""The PostgreSQL port over a scripted engine, with a client of raw messages."""

from __future__ import annotations

import socket
import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from gateway.authenticators.anonymous import Anonymous
from gateway.authenticators.exchange import Authenticator
from gateway.postgres.server import PostgresServer, PostgresSettings
from gateway.registry import Registry
from gateway.sessions.limits import Limits
from tests.gateway.arrow_engine import ArrowEngine

Message = tuple[bytes, bytes]


class Lab:
    """A port on a free number."""

    def __init__(
        self,
        engine: ArrowEngine | None = None,
        authenticator: Authenticator | None = None,
        limits: Limits | None = None,
        **settings: Any,
    ) -> None:
        self.engine = engine or ArrowEngine()
        self.registry = Registry(self.engine, limits or Limits(reap_every_s=0.2))
        self.server = PostgresServer(
            self.registry, authenticator or Anonymous(), "127.0.0.1", 0, PostgresSettings(**settings)
        )
        self.port = self.server.start()

    def close(self) -> None:
        self.server.stop()
        self.registry.drain(0)


class Wire:
    """A connection of raw messages."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), 20)
        self._stream = self.socket.makefile("rb")

    def close(self) -> None:
        self._stream.close()
        self.socket.close()

    def start(self, parameters: Mapping[str, str] | None = None, version: int = 3 << 16) -> list[Message]:
        """Sends the startup packet; returns the messages until ReadyForQuery, or the end."""
        given = {"user": "ada"} | dict(parameters or {})
        content = b"".join(f"{name}\0{value}\0".encode() for name, value in given.items()) + b"\0"
        self.socket.sendall(struct.pack(">ii", len(content) + 8, version) + content)
        return self.until_ready()

    def send(self, kind: bytes, *content: bytes) -> None:
        joined = b"".join(content)
        self.socket.sendall(kind + struct.pack(">i", len(joined) + 4) + joined)

    def query(self, text: str) -> list[Message]:
        self.send(b"Q", text.encode() + b"\0")
        return self.until_ready()

    def prepare(self, text: str, name: bytes = b"", oids: tuple[int, ...] = ()) -> None:
        self.send(b"P", name + b"\0", text.encode() + b"\0", struct.pack(f">h{len(oids)}I", len(oids), *oids))

    def bind(self, *values: bytes | None, name: bytes = b"", portal: bytes = b"", binary: bool = False) -> None:
        cells = b"".join(
            struct.pack(">i", -1) if value is None else struct.pack(">i", len(value)) + value for value in values
        )
        formats = struct.pack(">hh", 1, 1) if binary else struct.pack(">h", 0)
        count = struct.pack(">h", len(values))
        self.send(b"B", portal + b"\0", name + b"\0", struct.pack(">h", 0), count, cells, formats)

    def execute(self, rows_max: int = 0, portal: bytes = b"") -> None:
        self.send(b"E", portal + b"\0", struct.pack(">i", rows_max))

    def sync(self) -> list[Message]:
        self.send(b"S")
        return self.until_ready()

    def read(self) -> Message | None:
        """Returns the next message; None at the end."""
        kind = self._stream.read(1)
        if not kind:
            return None
        (length,) = struct.unpack(">i", self._stream.read(4))
        return kind, self._stream.read(length - 4)

    def until_ready(self) -> list[Message]:
        found: list[Message] = []
        while (message := self.read()) is not None:
            found.append(message)
            if message[0] == b"Z":
                break
        return found


@contextmanager
def opened(port: int, **parameters: str) -> Iterator[Wire]:
    """Yields a connection that is logged in."""
    wire = Wire(port)
    try:
        assert wire.start(parameters)[-1] == (b"Z", b"I")
        yield wire
    finally:
        wire.close()


def kinds(messages: list[Message]) -> str:
    """Returns the types of messages as a text."""
    return b"".join(kind for kind, _ in messages).decode()


def fields(message: Message) -> dict[str, str]:
    """Returns the fields of an error or a notice."""
    parts = message[1].rstrip(b"\0").split(b"\0")
    return {part[:1].decode(): part[1:].decode() for part in parts}


def error_of(messages: list[Message]) -> dict[str, str]:
    """Returns the fields of the only error."""
    (found,) = [fields(message) for message in messages if message[0] == b"E"]
    return found


def tags(messages: list[Message]) -> list[str]:
    return [content[:-1].decode() for kind, content in messages if kind == b"C"]


def cells(messages: list[Message]) -> list[list[bytes | None]]:
    """Returns the values of the rows."""
    found: list[list[bytes | None]] = []
    for _, content in [message for message in messages if message[0] == b"D"]:
        (count,), at = struct.unpack(">h", content[:2]), 2
        row: list[bytes | None] = []
        for _ in range(count):
            (length,) = struct.unpack(">i", content[at : at + 4])
            at += 4
            row.append(None if length < 0 else content[at : at + length])
            at += max(0, length)
        found.append(row)
    return found
