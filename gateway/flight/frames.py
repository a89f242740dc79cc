"""The frames that a client sends over HTTP/2 (RFC 9113), as far as they are limited before gRPC receives them. Pure.

PyArrow's server has no limit for the messages that it receives, and tells a Handshake nothing about its connection.
So each block of headers gets one more header, by which the call finds its connection; and a message that is larger
than the limit, or compressed, ends the connection before it is buffered.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from catalog.conditions import FlightMessageInvalid, FlightMessageTooLarge

CONNECTION_HEADER = "x-gateway-connection"
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_FRAME_PREFIX, _MESSAGE_PREFIX = 9, 5
# SETTINGS_MAX_FRAME_SIZE of gRPC's server is at most this.
_FRAME_BYTES_MAX = (1 << 24) - 1
_HEADER_BYTES_MAX = 64 << 10
_DATA, _HEADERS, _RESET, _CONTINUATION = 0x0, 0x1, 0x3, 0x9
_END_STREAM, _END_HEADERS, _PADDED = 0x1, 0x4, 0x8


@dataclass(slots=True)
class _Stream:
    """A stream on which the client sends: the bytes left of its message, and the first bytes of the next one."""

    left: int = 0
    head: bytes = b""


@dataclass(slots=True)
class ClientFrames:
    """The frames of one connection; `token` is the value of the additional header."""

    token: str
    message_bytes_max: int
    streams_max: int = 1000
    _pending: bytearray = field(default_factory=bytearray)
    _streams: dict[int, _Stream] = field(default_factory=dict)
    _has_begun: bool = False
    _header_bytes: int = 0

    def receive(self, content: bytes) -> bytes:
        """Returns the bytes for gRPC. Raises `FlightMessageInvalid` and `FlightMessageTooLarge`, which end the
        connection.
        """
        self._pending += content
        forwarded: list[bytes] = []
        if not self._has_begun:
            begin = bytes(self._pending[: len(_PREFACE)])
            if not _PREFACE.startswith(begin):
                raise FlightMessageInvalid("the connection does not begin as HTTP/2")
            if len(begin) < len(_PREFACE):
                return b""
            del self._pending[: len(_PREFACE)]
            self._has_begun = True
            forwarded.append(begin)
        at = 0
        while len(self._pending) - at >= _FRAME_PREFIX:
            length = int.from_bytes(self._pending[at : at + 3])
            end = at + _FRAME_PREFIX + length
            kind = self._pending[at + 3]
            self._ensure_size(kind, length)
            if len(self._pending) < end:
                break
            forwarded.append(self._frame(bytes(self._pending[at:end])))
            at = end
        del self._pending[:at]
        return b"".join(forwarded)

    def _ensure_size(self, kind: int, length: int) -> None:
        limit = min(_FRAME_BYTES_MAX, self.message_bytes_max) if kind == _DATA else _HEADER_BYTES_MAX
        if length > limit:
            raise FlightMessageTooLarge("A frame", limit)

    def _frame(self, frame: bytes) -> bytes:
        kind, flags = frame[3], frame[4]
        stream_id = int.from_bytes(frame[5:9]) & 0x7FFFFFFF
        match kind:
            case 0x0:
                self._count_data(stream_id, flags, frame)
            case 0x1 | 0x9:
                return self._headers(stream_id, flags, frame)
            case 0x3:
                self._streams.pop(stream_id, None)
            case _:  # frames about the connection, which gRPC checks
                pass
        return frame

    def _headers(self, stream_id: int, flags: int, frame: bytes) -> bytes:
        if frame[3] == _HEADERS:
            self._header_bytes = 0
            if not flags & _END_STREAM:
                self._streams.setdefault(stream_id, _Stream())
            if len(self._streams) > self.streams_max:
                raise FlightMessageInvalid(f"the connection has more than {self.streams_max} open streams")
        self._header_bytes += len(frame)
        if self._header_bytes > _HEADER_BYTES_MAX:
            raise FlightMessageTooLarge("A block of headers", _HEADER_BYTES_MAX)
        if not flags & _END_HEADERS:
            return frame
        begin = frame[:4] + bytes([flags & ~_END_HEADERS]) + frame[5:]
        added = _literal(CONNECTION_HEADER) + _literal(self.token)
        content = b"\x00" + added
        return begin + len(content).to_bytes(3) + bytes([_CONTINUATION, _END_HEADERS]) + frame[5:9] + content

    def _count_data(self, stream_id: int, flags: int, frame: bytes) -> None:
        start, end = _FRAME_PREFIX, len(frame)
        if flags & _PADDED:
            if end == start:
                raise FlightMessageInvalid("a frame has no length of its padding")
            start, end = start + 1, max(start + 1, end - frame[start])
        stream = self._streams.get(stream_id)
        if stream is not None:
            self._count_messages(stream, memoryview(frame)[start:end])
        if flags & _END_STREAM:
            self._streams.pop(stream_id, None)

    def _count_messages(self, stream: _Stream, data: memoryview) -> None:
        """Follows gRPC's messages, each of which has its length before it."""
        at = 0
        while at < len(data):
            if stream.left:
                skipped = min(stream.left, len(data) - at)
                stream.left -= skipped
                at += skipped
                continue
            taken = min(_MESSAGE_PREFIX - len(stream.head), len(data) - at)
            stream.head += bytes(data[at : at + taken])
            at += taken
            if len(stream.head) == _MESSAGE_PREFIX:
                if stream.head[0]:
                    raise FlightMessageInvalid("a message is compressed")
                stream.left, stream.head = int.from_bytes(stream.head[1:]), b""
                if stream.left > self.message_bytes_max:
                    raise FlightMessageTooLarge("A message", self.message_bytes_max)


def _literal(text: str) -> bytes:
    """Returns a short text as a string literal of HPACK (RFC 7541, section 5.2)."""
    content = text.encode("ascii")
    assert len(content) < 0x7F
    return bytes([len(content)]) + content
