"""Deletion vectors: a data file's deleted rows, as a compressed bitmap.

The rows are represented as a sorted array of int64 indices; the bitmap is a codec. This codec is implemented on numpy:
the bytes come from other programs, and every read is checked against their end, so that corrupt data causes only a
named error. (A million rows take 1 to 20 ms.)

A serialized vector is a magic number and a 64-bit Roaring bitmap (little-endian: a bucket count, then for each bucket
its rows' upper 32 bits and a 32-bit bitmap in the portable format). An older form ("native") is readable: it has
lengths instead of keys. In a file a vector is stored at its offset as: length (big-endian int32), bytes, CRC-32
(big-endian); the file's byte 0 is the format version, 1. Inline vectors are Z85 text, in groups of 4 bytes: bytes
beyond the recorded size are padding.

Source: PROTOCOL "Deletion Vector Format"; the Roaring bitmap project's RoaringFormatSpec; ZeroMQ RFC 32 for Z85.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import TypeAlias
from uuid import UUID

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from catalog.conditions import (
    DeletionVectorCardinalityMismatch,
    DeletionVectorChecksumMismatch,
    DeletionVectorSizeMismatch,
    MalformedLogEntry,
)

# Row indices in the data file, from 0, strictly ascending.
Rows: TypeAlias = npt.NDArray[np.int64]

INLINE = "i"
RELATIVE = "u"
ABSOLUTE = "p"

FORMAT_VERSION = 1
# The bytes around a vector in a file: its length before, its checksum after.
FRAME_BYTES = 8
# Maximum size of one vector: one bit each for a billion rows. `DeletionVector.java` has the same limit.
VECTOR_BYTES_MAX = 1 << 27
# The length of the end of `pathOrInlineDv` for a vector below the table's root; a directory, or nothing, precedes it.
UUID_CHARACTERS = 20

_PORTABLE_MAGIC = 1681511377
_NATIVE_MAGIC = 1681511376
# Values from RoaringFormatSpec: SERIAL_COOKIE with run containers,
# SERIAL_COOKIE_NO_RUNCONTAINER without.
_COOKIE_RUNS = 12347
_COOKIE_NO_RUNS = 12346
# Above this number a container is a bitset of 65536 bits, which takes no more space than
# the array.
_ARRAY_ROWS_MAX = 4096
_BITSET_BYTES = 8192
_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_Z85_VALUES = {character: value for value, character in enumerate(_Z85)}


# --- Vector locations -------------------------------------------------------------------------------------------------


def vector_file_name(uuid: UUID) -> str:
    """Returns the vector file name for a UUID, without its directory."""
    return f"deletion_vector_{uuid}.bin"


def relative_deletion_vector(uuid: UUID, prefix: str = "") -> str:
    """Returns `pathOrInlineDv` for a file that `deletion_vector_path` finds under the table root."""
    return prefix + z85_encode(uuid.bytes)


def unframe(frame: bytes, size_in_bytes: int, source: str) -> bytes:
    """Returns the serialized bitmap from its frame in a file.

    Raises `DeletionVectorSizeMismatch`, `DeletionVectorChecksumMismatch`.
    """
    if size_in_bytes < 0 or len(frame) != size_in_bytes + FRAME_BYTES:
        raise DeletionVectorSizeMismatch(source, size_in_bytes, max(0, len(frame) - FRAME_BYTES))
    (length,) = struct.unpack_from(">i", frame)
    # "Deletion Vector Format": the size in the file repeats the descriptor's, so a wrong
    # offset is noticed.
    if length != size_in_bytes:
        raise DeletionVectorSizeMismatch(source, size_in_bytes, length)
    data = frame[4:-4]
    if zlib.crc32(data) != struct.unpack(">I", frame[-4:])[0]:
        raise DeletionVectorChecksumMismatch(source)
    return data


def format_file(vectors: Sequence[bytes]) -> tuple[bytes, tuple[int, ...]]:
    """Returns a file with serialized bitmaps, and each offset for its descriptor."""
    pieces = [bytes([FORMAT_VERSION])]
    offsets = []
    position = 1
    for data in vectors:
        offsets.append(position)
        pieces += (struct.pack(">i", len(data)), data, struct.pack(">I", zlib.crc32(data)))
        position += len(data) + FRAME_BYTES
    return b"".join(pieces), tuple(offsets)


# --- The bitmap -------------------------------------------------------------------------------------------------------


def parse_rows(data: bytes, source: str, cardinality: int | None = None) -> Rows:
    """Returns the rows in a serialized bitmap.

    Raises `MalformedLogEntry`, and `DeletionVectorCardinalityMismatch` if their number is not `cardinality`.
    """
    parts, count = [np.empty(0, np.int64)], 0
    for key, bitmap in _buckets(_Reader(data, source)):
        for high, low in _containers(bitmap, key):
            parts.append(high | low)
            count += len(low)
            if cardinality is not None and count > cardinality:  # runs can encode very many rows in few bytes
                raise DeletionVectorCardinalityMismatch(source, cardinality, count)
    rows = np.concatenate(parts)
    if len(rows) > 1 and not (rows[1:] > rows[:-1]).all():
        raise MalformedLogEntry(source, "the rows of a deletion vector are not ascending")
    if cardinality is not None and len(rows) != cardinality:
        raise DeletionVectorCardinalityMismatch(source, cardinality, len(rows))
    return rows


def format_rows(rows: Rows) -> bytes:
    """Serializes ascending rows as a bitmap: each container has the smallest of Roaring's three forms."""
    buckets = _group(rows, 32)
    pieces = [struct.pack("<iq", _PORTABLE_MAGIC, len(buckets))]
    for key, bucket in buckets:
        pieces += (struct.pack("<I", key), _format_bitmap(bucket))
    return b"".join(pieces)


class _Reader:
    """Reads bytes from the front, with bounds checks."""

    __slots__ = ("_data", "_position", "_source")

    def __init__(self, data: bytes, source: str) -> None:
        self._data = data
        self._source = source
        self._position = 0

    def array(self, dtype: str, count: int) -> npt.NDArray[np.int64]:
        kind = np.dtype(dtype)
        end = self._position + count * kind.itemsize
        if count < 0 or end > len(self._data):
            raise self.error("a deletion vector ends too early")
        values = np.frombuffer(self._data, kind, count, self._position)
        self._position = end
        return values.astype(np.int64)

    def number(self, dtype: str) -> int:
        return int(self.array(dtype, 1)[0])

    def count(self, dtype: str) -> int:
        count = self.number(dtype)
        if count < 0:
            raise self.error("a deletion vector has a negative count")
        return count

    def error(self, detail: str) -> MalformedLogEntry:
        return MalformedLogEntry(self._source, detail)


def _buckets(reader: _Reader) -> Iterator[tuple[int, _Reader]]:
    """Yields the rows' upper halves, each with a reader at its 32-bit bitmap."""
    magic = reader.array("u1", 4).astype(np.uint8).tobytes()
    if magic == struct.pack("<i", _PORTABLE_MAGIC):
        for _ in range(reader.count("<i8")):
            key = reader.number("<u4")
            # Row indices are Java longs, so the upper half must leave the sign bit free.
            if key >> 31:
                raise reader.error("a deletion vector has a row beyond 63 bits")
            yield key, reader
        return
    # The native form does not state its byte order, so both are tried.
    for order in "<>":
        if magic == struct.pack(f"{order}i", _NATIVE_MAGIC):
            for key in range(reader.count(f"{order}i4")):
                reader.number(f"{order}i4")  # the bitmap's length, which the bitmap itself contains too
                yield key, reader
            return
    raise reader.error("a deletion vector has an unknown magic number")


def _containers(reader: _Reader, key: int) -> Iterator[tuple[int, Rows]]:
    """Yields a 32-bit bitmap's containers: their rows' upper 48 bits, and the rows' lower 16 bits."""
    cookie = reader.number("<u4")
    if cookie & 0xFFFF == _COOKIE_RUNS:
        count = (cookie >> 16) + 1
        bits = reader.array("u1", (count + 7) // 8).astype(np.uint8)
        is_run = np.unpackbits(bits, bitorder="little")[:count].astype(bool)
        # NO_OFFSET_THRESHOLD in RoaringFormatSpec: with runs, fewer than four containers
        # have no offset header.
        has_offsets = count >= 4
    elif cookie == _COOKIE_NO_RUNS:
        count = reader.number("<u4")
        if count > 1 << 16:
            raise reader.error("a deletion vector has too many containers")
        is_run = np.zeros(count, bool)
        has_offsets = True
    else:
        raise reader.error("a deletion vector holds something that is no Roaring bitmap")
    headers = reader.array("<u2", 2 * count).reshape(-1, 2)
    if has_offsets:
        reader.array("<u4", count)  # container offsets: they are contiguous
    for (high, last), run in zip(headers.tolist(), is_run.tolist(), strict=True):
        yield (key << 32) | (high << 16), _read_container(reader, last + 1, run)


def _read_container(reader: _Reader, cardinality: int, is_run: bool) -> Rows:
    if is_run:
        runs = reader.array("<u2", 2 * reader.number("<u2")).reshape(-1, 2)
        lengths = runs[:, 1] + 1
        if lengths.sum() > 1 << 16:
            raise reader.error("a deletion vector has overlapping runs")
        before = np.cumsum(lengths) - lengths
        return np.repeat(runs[:, 0] - before, lengths) + np.arange(lengths.sum())
    if cardinality <= _ARRAY_ROWS_MAX:
        return reader.array("<u2", cardinality)
    bits = reader.array("u1", _BITSET_BYTES).astype(np.uint8)
    return np.flatnonzero(np.unpackbits(bits, bitorder="little")).astype(np.int64)


def _format_bitmap(rows: Rows) -> bytes:
    groups = _group(rows, 16)
    keys, parts = [key for key, _ in groups], [part for _, part in groups]
    runs = [_runs(part) for part in parts]
    # The sizes in bytes of the three container forms; readers accept any, the smallest is
    # written.
    is_run = [2 + 4 * len(run) < min(2 * len(part), _BITSET_BYTES) for part, run in zip(parts, runs, strict=True)]
    bodies = [
        _format_container(part, run if flag else None) for part, run, flag in zip(parts, runs, is_run, strict=True)
    ]
    headers = np.column_stack((keys, [len(part) - 1 for part in parts])).astype("<u2").tobytes()
    if any(is_run):
        flags = np.packbits(is_run, bitorder="little").tobytes()
        cookie = struct.pack("<I", _COOKIE_RUNS | (len(keys) - 1) << 16) + flags
        has_offsets = len(keys) >= 4
    else:
        cookie = struct.pack("<II", _COOKIE_NO_RUNS, len(keys))
        has_offsets = True
    offsets = b""
    if has_offsets:
        sizes = np.array([len(body) for body in bodies])
        first = len(cookie) + len(headers) + 4 * len(keys)
        offsets = (first + np.cumsum(sizes) - sizes).astype("<u4").tobytes()
    return b"".join((cookie, headers, offsets, *bodies))


def _group(rows: Rows, bits: int) -> list[tuple[int, Rows]]:
    """Returns ascending rows by their upper bits, with each row's lower `bits` bits."""
    keys = rows >> bits
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    parts = np.split(rows & ((1 << bits) - 1), starts)[1:]
    return list(zip(keys[starts].tolist(), parts, strict=True))


def _runs(part: Rows) -> npt.NDArray[np.int64]:
    """Returns rows (first, length - 1), one for each run of consecutive values."""
    breaks = np.flatnonzero(np.diff(part) != 1) + 1
    first = np.concatenate(([0], breaks))
    last = np.concatenate((breaks, [len(part)])) - 1
    return np.column_stack((part[first], last - first))


def _format_container(part: Rows, runs: npt.NDArray[np.int64] | None) -> bytes:
    if runs is not None:
        return struct.pack("<H", len(runs)) + runs.astype("<u2").tobytes()
    if len(part) <= _ARRAY_ROWS_MAX:
        return part.astype("<u2").tobytes()
    bits = np.zeros(1 << 16, np.uint8)
    bits[part] = 1
    return np.packbits(bits, bitorder="little").tobytes()


# --- Z85 --------------------------------------------------------------------------------------------------------------


def z85_decode(text: str) -> bytes:
    """Decodes 5 characters to 4 bytes. Raises `MalformedLogEntry`."""
    if len(text) % 5:
        raise MalformedLogEntry("deletionVector", "the length of a Z85 text is no multiple of 5")
    try:
        values = np.array([_Z85_VALUES[character] for character in text], np.int64).reshape(-1, 5)
    except KeyError as error:
        raise MalformedLogEntry("deletionVector", f"{error.args[0]!r} is no character of Z85") from error
    numbers = values @ np.array([85**4, 85**3, 85**2, 85, 1])
    if (numbers >> 32).any():
        raise MalformedLogEntry("deletionVector", "a group of Z85 is beyond 32 bits")
    data: bytes = numbers.astype(">u4").tobytes()
    return data


def z85_encode(data: bytes) -> str:
    """Encodes a multiple of 4 bytes."""
    numbers = np.frombuffer(data, ">u4").astype(np.int64)
    digits = np.column_stack([numbers // 85**power % 85 for power in (4, 3, 2, 1, 0)])
    return "".join(_Z85[digit] for digit in digits.ravel().tolist())


DELETION_VECTOR = pa.struct(
    [
        ("storage_type", pa.string()),
        ("path_or_inline_dv", pa.string()),
        ("offset", pa.int32()),
        ("size_in_bytes", pa.int32()),
        ("cardinality", pa.int64()),
    ]
)
