"""Thrift messages as bytes: the header, the body by the runtime's C codec, and the end of an unframed message.

In the strict binary protocol each message starts with 0x8001, a zero byte and the message type, then the method's name
(u32 length and bytes) and an i32 sequence number, which a response repeats; the body is one struct. All functions here
are pure; malformed input can only cause :class:`MalformedMessage`.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.Thrift import TApplicationException, TMessageType, TType
from thrift.transport.TTransport import TMemoryBuffer

STRICT_VERSION = 0x8001
# An unframed strict message's first byte.
FIRST_BYTE = 0x80
_DEPTH_MAX = 32
_CONTAINER_MAX = 100_000
_NAME_BYTES_MAX = 256
_START = struct.Struct(">HBBI")
_I32 = struct.Struct(">i")
_U32 = struct.Struct(">I")
_FIXED_SIZES = {
    TType.BOOL: 1,
    TType.BYTE: 1,
    TType.DOUBLE: 8,
    TType.I16: 2,
    TType.I32: 4,
    TType.I64: 8,
}


class MalformedMessage(Exception):
    """The bytes are not a protocol message; the text has the reason."""


@dataclass(frozen=True, slots=True)
class Header:
    """A message header; `body_at` is the offset of the message's struct."""

    name: str
    kind: int
    sequence: int
    body_at: int


def parse_header(message: bytes) -> Header:
    """Parses the header of a message in Thrift's strict binary protocol. Raises `MalformedMessage`."""
    try:
        version, _, kind, length = _START.unpack_from(message)
        (sequence,) = _I32.unpack_from(message, _START.size + length)
        name = message[_START.size : _START.size + length].decode("ascii")
    except (struct.error, UnicodeDecodeError) as error:
        raise MalformedMessage(f"no message header: {error}") from error
    if version != STRICT_VERSION or length > _NAME_BYTES_MAX:
        raise MalformedMessage("no header of the strict binary protocol")
    return Header(name, kind, sequence, _START.size + length + _I32.size)


def format_header(name: str, kind: int, sequence: int) -> bytes:
    """Returns the header of a message in Thrift's strict binary protocol; `kind` is a `TMessageType`."""
    text = name.encode()
    return _START.pack(STRICT_VERSION, 0, kind, len(text)) + text + _I32.pack(sequence)


def decode_struct(kind: type[Any], content: bytes) -> Any:
    """Decodes a struct with generated class `kind`; unknown fields are skipped without being interpreted."""
    buffer = TMemoryBuffer(content)
    protocol = TBinaryProtocolAccelerated(
        buffer,
        fallback=False,
        string_length_limit=len(content),
        container_length_limit=min(len(content), _CONTAINER_MAX),
    )
    value = kind()
    try:
        value.read(protocol)
    except Exception as error:  # the codec raises about ten classes for malformed structs
        raise MalformedMessage(f"no {kind.__name__}: {type(error).__name__} {error}".rstrip()) from error
    return value


def encode_struct(value: Any) -> bytes:
    """Returns a generated Thrift struct in the binary protocol, without a message header."""
    buffer = TMemoryBuffer()
    value.write(TBinaryProtocolAccelerated(buffer, fallback=False))
    return bytes(buffer.getvalue())


def format_exception(name: str, sequence: int, kind: int, text: str) -> bytes:
    """Returns a message that reports a failure below the service: an unknown method, a malformed body."""
    buffer = TMemoryBuffer()
    TApplicationException(kind, text).write(TBinaryProtocolAccelerated(buffer))
    return format_header(name, TMessageType.EXCEPTION, sequence) + bytes(buffer.getvalue())


class _Copy:
    """Bytes that a walk over a message has read from its source."""

    def __init__(self, take: Callable[[int], bytes], bytes_max: int) -> None:
        self._take = take
        self._left = bytes_max
        self.content = bytearray()  # not a list with pieces, which would take many times the memory for small fields

    def take(self, count: int) -> bytes:
        self._left -= count
        if self._left < 0:
            raise MalformedMessage("the message is longer than the server takes")
        piece = self._take(count)
        self.content += piece
        return piece

    def count(self) -> int:
        (number,) = _U32.unpack(self.take(4))
        return int(number)


def read_message(take: Callable[[int], bytes], bytes_max: int) -> bytes:
    """Reads one unframed message: its end is found by walking it, since it has no length prefix.

    `take(n)` returns exactly `n` bytes or raises.
    """
    copy = _Copy(take, bytes_max)
    version, _, _, length = _START.unpack(copy.take(_START.size))
    if version != STRICT_VERSION or length > _NAME_BYTES_MAX:
        raise MalformedMessage("no header of the strict binary protocol")
    copy.take(length + _I32.size)
    _walk(copy, TType.STRUCT, _DEPTH_MAX)
    return bytes(copy.content)


def _walk(copy: _Copy, kind: int, depth: int) -> None:
    """Reads one value with type `kind`."""
    if depth == 0:
        raise MalformedMessage("the message is nested too deeply")
    if kind in _FIXED_SIZES:
        copy.take(_FIXED_SIZES[kind])
    elif kind == TType.STRING:
        copy.take(copy.count())
    elif kind == TType.STRUCT:
        while field := copy.take(1)[0]:
            copy.take(2)
            _walk(copy, field, depth - 1)
    elif kind in (TType.LIST, TType.SET):
        _walk_elements(copy, (copy.take(1)[0],), copy.count(), depth)
    elif kind == TType.MAP:
        kinds = copy.take(2)
        _walk_elements(copy, (kinds[0], kinds[1]), copy.count(), depth)
    else:
        raise MalformedMessage(f"there is no Thrift type {kind}")


def _walk_elements(copy: _Copy, kinds: tuple[int, ...], count: int, depth: int) -> None:
    sizes = [_FIXED_SIZES.get(kind) for kind in kinds]
    if all(sizes):
        copy.take(count * sum(size or 0 for size in sizes))
        return
    for _ in range(count):
        for kind in kinds:
            _walk(copy, kind, depth - 1)
