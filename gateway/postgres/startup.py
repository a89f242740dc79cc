"""The beginning of a connection: requests for encryption, cancellation, and the startup packet.

These have no type byte: an int32 length and an int32 code. Each request for encryption may be sent once. A client that
begins with TLS itself has to name the protocol (`postgresql`) by ALPN, since another protocol's client could otherwise
be redirected here. See "Message Flow" in PostgreSQL's documentation.
"""

from __future__ import annotations

import hmac
import re
import secrets
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from catalog.conditions import PostgresFeatureNotSupported
from engine.runtime.request import SqlDialect
from gateway.postgres.messages import MalformedMessage, Reader
from gateway.process.byte_stream import ByteStream, Disconnected
from gateway.process.tls import POSTGRESQL, TLS_FIRST_BYTE, TlsServer

PACKET_BYTES_MAX = 10_000
VERSION_3_0, VERSION_3_2 = 3 << 16, (3 << 16) | 2
_SSL, _GSS, _CANCEL = 80_877_103, 80_877_104, 80_877_102
_MAJOR = 3
_OPTION_PREFIX = "_pq_."
_KEY_BYTES = {VERSION_3_0: 4, VERSION_3_2: 32}
_OPTION = re.compile(r"(?:\\.|[^\s\\])+")


@dataclass(frozen=True, slots=True)
class Startup:
    """A startup packet: the version that the client requests, and its parameters."""

    version: int
    parameters: Mapping[str, str]

    @property
    def offered(self) -> int:
        """Returns the version that the connection has."""
        return VERSION_3_2 if self.version >= VERSION_3_2 else VERSION_3_0

    @property
    def protocol_options(self) -> tuple[str, ...]:
        """Returns the names of the options of the protocol, none of which is known."""
        return tuple(name for name in self.parameters if name.startswith(_OPTION_PREFIX))

    @property
    def is_negotiated(self) -> bool:
        """Returns True if the client has to learn the version."""
        return self.version != self.offered or bool(self.protocol_options)

    @property
    def settings(self) -> dict[str, str]:
        """Returns the parameters that are settings, those in `options` included."""
        named = {"user", "database", "options", "replication"}
        found = parse_options(self.parameters.get("options", ""))
        own = {name: value for name, value in self.parameters.items() if name not in named}
        return found | {name: value for name, value in own.items() if not name.startswith(_OPTION_PREFIX)}


@dataclass(frozen=True, slots=True)
class CancelRequest:
    process_id: int
    key: bytes


def read_startup(stream: ByteStream, tls: TlsServer | None) -> Startup | CancelRequest:
    """Reads until the startup packet. Raises `MalformedMessage`, `PostgresFeatureNotSupported` and `Disconnected`."""
    if stream.peek() == TLS_FIRST_BYTE:
        if tls is None:
            raise Disconnected()
        stream.start_tls(tls, POSTGRESQL)
        if stream.tls_protocol != POSTGRESQL:
            raise Disconnected()
    answered: set[int] = set()
    while True:
        code, reader = _packet(stream)
        if code in (_SSL, _GSS):
            if code in answered or (code == _SSL and stream.is_encrypted):
                raise MalformedMessage("a request for encryption is repeated")
            answered.add(code)
            _answer(stream, tls if code == _SSL else None)
            continue
        if code == _CANCEL:
            return CancelRequest(reader.int32(), reader.rest())
        if code >> 16 != _MAJOR:
            raise PostgresFeatureNotSupported(f"Version {code >> 16}.{code & 0xFFFF} of the protocol")
        return Startup(code, _parameters(reader))


def _packet(stream: ByteStream) -> tuple[int, Reader]:
    length = Reader(stream.take(4)).int32()
    if not 8 <= length <= PACKET_BYTES_MAX:
        raise MalformedMessage("the length of the startup packet is invalid")
    reader = Reader(stream.take(length - 4))
    return reader.int32(), reader


def _answer(stream: ByteStream, tls: TlsServer | None) -> None:
    """Answers a request for encryption. Bytes that follow it before the answer were not encrypted (CVE-2021-23222)."""
    if tls is None:
        stream.write((b"N",))
        return
    if stream.has_received:
        raise MalformedMessage("unencrypted bytes follow the request for TLS")
    stream.write((b"S",))
    stream.start_tls(tls, POSTGRESQL)


def _parameters(reader: Reader) -> dict[str, str]:
    found: dict[str, str] = {}
    while name := reader.text():
        found[name] = reader.text()
    reader.end()
    return found


def parse_options(text: str) -> dict[str, str]:
    """Parses the startup parameter `options`: `-c name=value`, `--name=value`; a backslash precedes a space."""
    words = [re.sub(r"\\(.)", r"\1", word) for word in _OPTION.findall(text)]
    found: dict[str, str] = {}
    while words:
        word = words.pop(0)
        if word == "-c" and words:
            word = words.pop(0)
        elif word.startswith("-c"):
            word = word[2:]
        elif word.startswith("--"):
            word = word[2:]
        name, equal, value = word.partition("=")
        if not equal:
            raise PostgresFeatureNotSupported(f"The option {word} of the server", "Use -c name=value.")
        found[name.replace("-", "_") if "." not in name else name] = value
    return found


def split_dialect(database: str) -> tuple[str, SqlDialect]:
    """Returns a database's name, and the dialect that follows it: `name:postgres` is read in PostgreSQL's."""
    name, colon, dialect = database.rpartition(":")
    if colon and dialect.lower() in {*SqlDialect}:
        return name, SqlDialect(dialect.lower())
    return database, SqlDialect.SPARK


class Cancellable(Protocol):
    """A connection whose statement other connections may cancel."""

    def cancel(self) -> None:
        """Cancels the connection's running statement; does nothing without one."""
        ...


@dataclass(slots=True)
class BackendKeys:
    """The keys by which clients cancel a statement on another connection. Thread-safe."""

    _entries: dict[int, tuple[bytes, Cancellable]] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, connection: Cancellable, version: int) -> tuple[int, bytes]:
        """Returns the connection's process id and key."""
        key = secrets.token_bytes(_KEY_BYTES[version])
        with self._lock:
            while (process_id := secrets.randbelow((1 << 31) - 1) + 1) in self._entries:
                pass
            self._entries[process_id] = key, connection
        return process_id, key

    def remove(self, process_id: int) -> None:
        """Removes the key of a connection that has ended."""
        with self._lock:
            self._entries.pop(process_id, None)

    def cancel(self, request: CancelRequest) -> None:
        """Cancels the statement that the connection runs now; does nothing for an unknown key."""
        with self._lock:
            key, connection = self._entries.get(request.process_id, (b"", None))
        if connection is not None and hmac.compare_digest(key, request.key):
            connection.cancel()
