"""One client's connection as a small state machine over a non-blocking socket.

    READING ──► ANSWERING ◄─► WRITING ──► READING …  (back to ANSWERING for the next piece of a long response)
       │                         └──► LINGERING      (the response was the last one)
       └──► WRITING (a rejection: the bytes are not a request, or came too late)

An upload is processed twice: a worker first gets only its head, and either rejects it or returns to READING, for the
body.

In every state but ANSWERING the connection belongs to the server's loop; while ANSWERING it belongs to one worker, and
nothing is read. A worker gets only whole requests, and returns whole responses or their pieces, so a client that is
slow in either direction occupies a table entry and never a thread.

Each state has a deadline. READING has five: one for a silent connection, which may be kept alive, a longer one after
Thrift calls, one for a TLS handshake, one for a head that has begun, one for its body. WRITING has one that each byte
accepted by the client renews. A Thrift client may process one response's rows for minutes. It sends its next call on
the same connection and may not retry if that was closed; Node's clients report ECONNRESET. Therefore its connection may
idle for as long as on Hive's own server (`hive.server2.thrift.http.max.idle.time`). LINGERING reads and discards bytes
that arrive after a last response: closing a socket with unread bytes resets the connection, and many clients would see
the reset instead of the response that explains the error.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto
from http import HTTPStatus
from typing import Protocol

from engine.runtime.identity import Identity
from gateway.authenticators.peer import Peer
from gateway.http.channel import Channel, ChannelEnded
from gateway.http.uploads import Upload, Uploads
from gateway.http.wire import (
    CONTINUE,
    HEAD_BYTES_MAX,
    Answer,
    Head,
    Request,
    RequestRefused,
    Rest,
    find_head_end,
    format_refusal,
    is_upload,
    parse_head,
    skip_line_ends,
)
from gateway.process.tls import TlsServer
from gateway.results.row_links import RowLinks
from gateway.sessions.call_context import request_id_of

_HEAD_BYTES_CACHED = 4 << 10


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpLimits:
    """A connection's limits: seconds in each state, bytes in one body, and connections and bytes in total.

    A connection may be idle for longer than load balancers keep one open (up to 600 s), because a request that is sent
    while the server closes is lost. If there is no place for a new connection, the one that was idle longest is closed.
    """

    idle_s: float = 620.0
    call_idle_s: float = 1800.0
    handshake_s: float = 10.0
    head_s: float = 20.0
    body_s: float = 60.0
    write_s: float = 60.0
    linger_s: float = 10.0
    body_bytes_max: int = 16 << 20
    connections_max: int = 1000
    held_bytes_max: int = 512 << 20
    uploads: Uploads = field(default_factory=Uploads)


class State(Enum):
    READING = auto()
    ANSWERING = auto()
    WRITING = auto()
    LINGERING = auto()
    CLOSED = auto()


class Conversation(Protocol):
    """State shared by Thrift calls on one connection; raises an SqlError for malformed bytes."""

    def answer(
        self, message: bytes, identity: Identity, links: RowLinks | None, agent: str, *, is_forwarded: bool = False
    ) -> bytes:
        """Returns the response to one message. `links` and `agent` belong to the HTTP request."""
        ...

    def recall(self, message: bytes, identity: Identity) -> bytes | None:
        """Returns the recorded response to a repeated status request, which needs no worker; None without one."""
        ...


@dataclass(frozen=True, slots=True)
class KnownCaller:
    """The caller who sent `head`; accepted again until `until`, on the monotonic clock."""

    head: Head
    identity: Identity
    until: float


class Connection:
    """A connection, driven by the server's loop; see the module for thread ownership."""

    def __init__(
        self,
        client: socket.socket,
        peer: str,
        limits: HttpLimits,
        tls: TlsServer | None,
        on_response: Callable[[int], None] = lambda _: None,
    ) -> None:
        """Begins to read; `on_response` receives the status of each response."""
        self._on_response = on_response
        self._channel, self.peer, self._limits = Channel(client, peer, tls), peer, limits
        self.descriptor, self.port = self._channel.descriptor, self._channel.port
        self.state = State.READING
        self.request: Request | None = None
        # The remaining response: a worker creates it, as if it responded to a request.
        self.rest: Rest | None = None
        self.conversation: Conversation | None = None
        self.caller: KnownCaller | None = None
        self.since = time.monotonic()
        self.deadline = self.since + limits.idle_s
        self._client: Peer | None = None
        self._incoming = bytearray()
        self._searched = 0
        self._head: Head | None = None
        self._upload: Upload | None = None
        self._accepted: object | None = None
        self._last_head: tuple[bytes, Head] | None = None
        self._ends_after_writing = False

    @property
    def is_encrypted(self) -> bool:
        """Returns True once the client has begun TLS."""
        return self._channel.is_encrypted

    @property
    def client(self) -> Peer:
        """Returns the client."""
        if self._client is None:
            names = self._channel.peer_names
            self._client = Peer(self.peer, is_encrypted=self.is_encrypted, certificate_names=names)
        return self._client

    @property
    def held_bytes(self) -> int:
        """Returns the bytes of the request and the response that are in memory."""
        return len(self._incoming) + self._channel.unsent_bytes + (len(self.request.body) if self.request else 0)

    @property
    def is_idle(self) -> bool:
        """Returns True between requests."""
        return (
            self.state is State.READING
            and not self._incoming
            and self._head is None
            and not self._channel.is_shaking_hands
        )

    def receive(self) -> None:
        """Reads the client's bytes, once the socket is readable; the state determines the next step."""
        was_idle, was_shaking_hands = self.is_idle, self._channel.is_shaking_hands
        try:
            received = self._channel.receive()
        except ChannelEnded:
            self.close()
            return
        # LINGERING: the bytes are read only to avoid a reset.
        if self.state is not State.READING:
            return
        if was_idle and self._channel.is_shaking_hands:
            self._enter(State.READING, self._limits.handshake_s)
        elif was_shaking_hands and not self._channel.is_shaking_hands:
            self._enter(State.READING, self._limits.head_s if received else self._limits.idle_s)
        elif was_idle and received:
            self._enter(State.READING, self._limits.head_s)
        self._incoming += received
        self.advance()

    def advance(self) -> None:
        """Builds a request from the received bytes, if they are complete."""
        try:
            self._parse()
        except RequestRefused as refused:
            self.refuse(refused.status, refused.reason)
        except ChannelEnded:
            self.close()

    def answer(self, answer: Answer) -> None:
        """Begins writing; called by the worker that created the response, which does not use the connection
        afterwards.
        """
        if answer.accepted is not None:
            self._accept(answer.accepted)
            return
        if answer.status:
            self._on_response(answer.status)
        self.request, self.rest = None, answer.rest
        self._end_upload()
        self._ends_after_writing = answer.is_last
        self._channel.write(answer.content)
        self._enter(State.WRITING, self._limits.write_s)
        self.send()

    def resume(self) -> None:
        """Continues after a worker: the received bytes may belong to the upload that it accepted."""
        if self.state is State.READING:
            self.advance()

    def send(self) -> None:
        """Writes the bytes that the client accepts now."""
        try:
            if self._channel.flush():
                self.deadline = time.monotonic() + self._limits.write_s
        except ChannelEnded:
            self.close()

    def finish_writing(self) -> None:
        """Continues after a whole response: with the next request, or the end."""
        if self._channel.unsent_bytes or self.state is not State.WRITING:
            return
        if self.rest is not None:
            self._enter(State.ANSWERING, float("inf"))
            return
        if self._ends_after_writing:
            self._channel.end_writing()
            self._enter(State.LINGERING, self._limits.linger_s)
            return
        idle_s = self._limits.idle_s if self.conversation is None else self._limits.call_idle_s
        # Bytes of a pipelined request may have arrived with the previous one; its head has
        # then begun.
        self._enter(State.READING, self._limits.head_s if self._incoming else idle_s)
        self.advance()

    def expire(self) -> None:
        """Ends a connection at its deadline; a partial request gets an error response."""
        if self.state is State.READING and not self.is_idle and not self._channel.is_shaking_hands:
            self.refuse(HTTPStatus.REQUEST_TIMEOUT, "The request did not arrive in time.")
        else:
            self.close()

    def refuse(self, status: HTTPStatus, reason: str) -> None:
        """Rejects a malformed or incomplete request, and ends."""
        request_id = None if self._head is None else request_id_of(self._head.value("x-request-id"))
        self._incoming, self._head, self._searched = bytearray(), None, 0
        self.answer(format_refusal(status, reason, request_id))
        self.finish_writing()

    def close(self) -> None:
        """Closes the socket and ends a response in progress; an upload's file is removed."""
        self.state = State.CLOSED
        if self.rest is not None:
            self.rest.close()
            if self.rest.ends_with_connection:  # for which the connection's end always looks like a complete body
                self._channel.break_off()
        self._incoming = bytearray()
        self._end_upload()
        self._channel.close()

    def hang_up(self) -> None:
        """Ends the connection while a worker has it: a waiting caller sees that the client is gone."""
        self._channel.hang_up()

    def _parse(self) -> None:
        if self._head is None:
            del self._incoming[: skip_line_ends(self._incoming, HEAD_BYTES_MAX)]
            end = find_head_end(self._incoming, self._searched)
            # The search for the head's end continues at the new bytes; repeating it from
            # the start would make a slow, long head quadratic.
            self._searched = len(self._incoming)
            if end is None:
                return
            self._head = self._parse_head(bytes(self._incoming[:end]))
            del self._incoming[:end]
            self.deadline = time.monotonic() + self._limits.body_s
            # Authorized before the body is received: a rejected upload costs neither time
            # nor disk space.
            if is_upload(self._head.method, self._head.target) and not self._head.is_chunked:
                self.request = Request(head=self._head, body=b"", peer=self.peer, is_streaming=True)
                self._enter(State.ANSWERING, float("inf"))
                return
            self._continue(self._head)
        if self._upload is not None:
            self._receive_file(self._head, self._upload)
            return
        if len(self._incoming) < self._head.length:
            return
        body = bytes(self._incoming[: self._head.length])
        del self._incoming[: self._head.length]
        self.request = Request(head=self._head, body=body, peer=self.peer)
        self._head, self._searched = None, 0
        self._enter(State.ANSWERING, float("inf"))

    def _accept(self, accepted: object) -> None:
        """Begins to receive the body after a worker accepted an upload's head."""
        assert self._head is not None
        self.request = None
        self._enter(State.READING, self._limits.body_s)
        try:
            self._upload = self._limits.uploads.begin(self._head)
            self._accepted = accepted
            self._continue(self._head)
        except RequestRefused as refused:
            self.refuse(refused.status, refused.reason)
        except ChannelEnded:
            self.close()

    def _continue(self, head: Head) -> None:
        """Sends 100 Continue to a client that waits for it."""
        # Not sent if the body has arrived already, as RFC 9110, section 10.1.1, permits.
        if head.expects_continue and len(self._incoming) < head.length:
            self._channel.write(CONTINUE)
            self._channel.flush()

    def _receive_file(self, head: Head, upload: Upload) -> None:
        """Receives a file; each part renews the client's deadline."""
        if self._incoming:
            self.deadline = time.monotonic() + self._limits.body_s
            upload.receive(self._incoming)
        if upload.is_complete:
            self.request = Request(head=head, body=b"", peer=self.peer, file=upload.file, accepted=self._accepted)
            self._head, self._searched = None, 0
            self._enter(State.ANSWERING, float("inf"))

    def _end_upload(self) -> None:
        if self._upload is not None:
            self._upload.close()
            self._upload = self._accepted = None

    def _parse_head(self, content: bytes) -> Head:
        """Parses a head, with a cache: clients with many small calls send the same head each time."""
        if self._last_head is None or self._last_head[0] != content:
            head = parse_head(content, self._limits.body_bytes_max, self._limits.uploads.file_bytes_max)
            self._last_head = (content, head) if len(content) <= _HEAD_BYTES_CACHED else None
            return head
        return self._last_head[1]

    def _enter(self, state: State, seconds: float) -> None:
        self.state, self.since = state, time.monotonic()
        self.deadline = self.since + seconds
