"""Finds record batches in a file with Arrow messages, without reading the rows.

A message (Arrow columnar format, "Encapsulated message format") consists of `FFFFFFFF`, the metadata length, the padded
metadata, and the body. The metadata is a flatbuffer (`Message.fbs`): the root table has `bodyLength` in field 3 and a
`RecordBatch` in field 2, whose field 0 is the number of rows.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_CONTINUATION = 0xFFFFFFFF
_PREFIX_BYTES = 8
# Bytes in the first read; only very many columns need longer metadata.
_HEAD_BYTES = 4096
_HEADER, _BODY_LENGTH, _ROWS = 2, 3, 0

# Reads a number of bytes (second argument) from an offset (first argument), fewer at the end.
Read = Callable[[int, int], bytes]


@dataclass(frozen=True, slots=True)
class MessagePlace:
    """A message's bytes including its prefix, its body's bytes, and its rows."""

    offset: int
    length: int
    body_length: int
    num_rows: int


def find_messages(read: Read, offset: int, length: int) -> Iterator[MessagePlace]:
    """Yields the messages that fill `length` bytes from `offset` on. Raises ValueError if they are not messages."""
    end = offset + length
    while offset < end:
        place = _find_message(read, offset)
        if offset + place.length > end:
            raise ValueError(f"the message at byte {offset} is longer than what was written")
        yield place
        offset += place.length


def _find_message(read: Read, offset: int) -> MessagePlace:
    head = read(offset, _HEAD_BYTES)
    try:
        mark, metadata_length = struct.unpack_from("<Ii", head)
        if mark != _CONTINUATION or metadata_length <= 0:
            raise ValueError(f"no message begins at byte {offset}")
        # The metadata grows with the number of columns; a second read is needed only for
        # wide rows.
        if len(head) < _PREFIX_BYTES + metadata_length:
            head = read(offset, _PREFIX_BYTES + metadata_length)
        metadata = head[_PREFIX_BYTES : _PREFIX_BYTES + metadata_length]
        message = _target(metadata, 0)
        batch = _field(metadata, message, _HEADER)
        rows = _number(metadata, _field(metadata, _target(metadata, batch), _ROWS)) if batch else 0
        body_length = _number(metadata, _field(metadata, message, _BODY_LENGTH))
    except struct.error:
        raise ValueError(f"the message at byte {offset} has no metadata") from None
    return MessagePlace(offset, _PREFIX_BYTES + metadata_length + body_length, body_length, rows)


def _target(buffer: bytes, at: int) -> int:
    """Returns the position to which the offset at `at` points."""
    return at + int(struct.unpack_from("<I", buffer, at)[0])


def _field(buffer: bytes, table: int, index: int) -> int:
    """Returns a table field's position, or 0 if the field has its default."""
    # In a flatbuffer a table begins with the signed distance back to its vtable, which has
    # a 16-bit offset per field.
    fields = table - int(struct.unpack_from("<i", buffer, table)[0])
    place = 4 + 2 * index
    if place >= int(struct.unpack_from("<H", buffer, fields)[0]):
        return 0
    distance = int(struct.unpack_from("<H", buffer, fields + place)[0])
    return table + distance if distance else 0


def _number(buffer: bytes, at: int) -> int:
    return int(struct.unpack_from("<q", buffer, at)[0]) if at else 0
