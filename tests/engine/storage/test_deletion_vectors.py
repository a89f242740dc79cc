"""Deletion vectors: storage, framing, bitmaps."""

from __future__ import annotations

import struct
import zlib
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.conditions import (
    DeletionVectorCardinalityMismatch,
    DeletionVectorChecksumMismatch,
    DeletionVectorSizeMismatch,
    MalformedLogEntry,
)
from engine.delta.spec.actions import DeletionVectorDescriptor
from engine.delta.spec.deletion_vectors import deletion_vector_path, inline_deletion_vector, read_inline
from engine.storage.deletion_vectors import (
    FRAME_BYTES,
    Rows,
    format_file,
    format_rows,
    parse_rows,
    relative_deletion_vector,
    unframe,
    z85_decode,
    z85_encode,
)


def descriptor(**fields: Any) -> DeletionVectorDescriptor:
    return DeletionVectorDescriptor(
        **{"storage_type": "i", "path_or_inline_dv": "", "size_in_bytes": 0, "cardinality": 0, **fields}
    )


# PROTOCOL, "JSON Example 3": the native form, which the text does not describe.
INLINE_EXAMPLE = descriptor(
    path_or_inline_dv="wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L", size_in_bytes=40, cardinality=6
)


def rows_of(*values: int) -> Rows:
    return np.array(values, np.int64)


def test_the_inline_example_of_the_protocol() -> None:
    assert parse_rows(read_inline(INLINE_EXAMPLE), "example", 6).tolist() == [3, 4, 7, 11, 18, 29]


def test_the_path_example_of_the_protocol() -> None:
    relative = descriptor(storage_type="u", path_or_inline_dv="ab^-aqEH.-t@S}K{vb[*k^")
    assert deletion_vector_path(relative) == "ab/deletion_vector_d2c639aa-8816-431a-aaf6-d3fe2512ff61.bin"
    absolute = descriptor(storage_type="p", path_or_inline_dv="file:///t/a%20b.bin")
    assert deletion_vector_path(absolute) == "/t/a b.bin"


@given(st.uuids(), st.sampled_from(["", "ab", "x/y"]))
def test_relative_paths_are_undone(uuid: UUID, prefix: str) -> None:
    text = relative_deletion_vector(uuid, prefix)
    path = deletion_vector_path(descriptor(storage_type="u", path_or_inline_dv=text))
    assert path == (f"{prefix}/" if prefix else "") + f"deletion_vector_{uuid}.bin"


@pytest.mark.parametrize(
    ("storage_type", "text"), [("u", "short"), ("u", "\u00e9" * 20), ("u", "#" * 20), ("r", "x"), ("i", "x")]
)
def test_a_descriptor_without_a_file_is_named(storage_type: str, text: str) -> None:
    with pytest.raises(MalformedLogEntry):
        deletion_vector_path(descriptor(storage_type=storage_type, path_or_inline_dv=text))


DENSE = st.builds(
    lambda start, flags: start + np.flatnonzero(np.array(flags)).astype(np.int64),
    st.sampled_from([0, 65_530, 2**32 - 5]),
    st.lists(st.booleans(), min_size=1, max_size=40),
)
SPARSE = st.lists(st.integers(0, 2**40), max_size=30, unique=True).map(lambda values: rows_of(*sorted(values)))
BLOCKS = st.lists(st.tuples(st.integers(0, 300_000), st.integers(1, 6000)), max_size=4).map(
    lambda runs: np.unique(np.concatenate([rows_of(), *(np.arange(at, at + n) for at, n in runs)]).astype(np.int64))
)
EVENS = st.integers(4000, 9000).map(lambda count: 2 * np.arange(count, dtype=np.int64))


@given(st.one_of(DENSE, SPARSE, BLOCKS, EVENS))
def test_bitmaps_are_undone(rows: Rows) -> None:
    data = format_rows(rows)
    assert np.array_equal(parse_rows(data, "test", len(rows)), rows)
    inline = inline_deletion_vector(rows)
    assert np.array_equal(parse_rows(read_inline(inline), "test", inline.cardinality), rows)


@given(st.lists(st.one_of(DENSE, SPARSE), min_size=1, max_size=3))
def test_files_are_undone(vectors: list[Rows]) -> None:
    pieces = [format_rows(rows) for rows in vectors]
    data, offsets = format_file(pieces)
    assert data[0] == 1
    for rows, piece, offset in zip(vectors, pieces, offsets, strict=True):
        frame = data[offset : offset + len(piece) + FRAME_BYTES]
        assert np.array_equal(parse_rows(unframe(frame, len(piece), "f"), "f"), rows)


def test_every_form_of_container_is_the_smallest() -> None:
    """Arrays up to 4096 rows, then 8 KiB bitmaps; runs wherever they are smaller."""
    overhead = len(format_rows(rows_of(1, 3))) - 4
    assert len(format_rows(2 * np.arange(4096, dtype=np.int64))) == overhead + 2 * 4096
    assert len(format_rows(2 * np.arange(4097, dtype=np.int64))) == overhead + 8192
    assert len(format_rows(np.arange(65_536, dtype=np.int64))) < 40


def native(order: str, *bitmaps: bytes) -> bytes:
    body = b"".join(struct.pack(f"{order}i", len(bitmap)) + bitmap for bitmap in bitmaps)
    return struct.pack(f"{order}ii", 1681511376, len(bitmaps)) + body


@pytest.mark.parametrize("order", ["<", ">"])
def test_the_native_form_is_read(order: str) -> None:
    bitmap = format_rows(rows_of(1, 70_000))[16:]
    assert parse_rows(native(order, bitmap, bitmap), "test").tolist() == [1, 70_000, 2**32 + 1, 2**32 + 70_000]


GOOD = format_rows(rows_of(1, 5, 70_000))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x00" * 40,
        GOOD[:-1],
        GOOD[:14],
        struct.pack("<iq", 1681511377, 2) + GOOD[12:],
        struct.pack("<iq", 1681511377, -1) + GOOD[12:20],
        struct.pack("<iq", 1681511377, 1) + struct.pack("<I", 2**31) + GOOD[16:],
        struct.pack("<iqI", 1681511377, 1, 0) + struct.pack("<II", 12346, 70_000),
        struct.pack("<iqI", 1681511377, 1, 0) + struct.pack("<I", 999),
        struct.pack("<iqIIBHHHHHHH", 1681511377, 1, 0, 12347, 1, 0, 3, 2, 0, 65_535, 5, 1),
        struct.pack("<iqIIIHHIHH", 1681511377, 1, 0, 12346, 1, 0, 1, 24, 9, 3),
    ],
    ids=[
        "empty",
        "no magic",
        "cut",
        "cut in a header",
        "too few buckets",
        "negative count",
        "beyond 63 bits",
        "too many containers",
        "no bitmap",
        "overlapping runs",
        "descending",
    ],
)
def test_invalid_bitmap_is_rejected(data: bytes) -> None:
    with pytest.raises(MalformedLogEntry, match="test"):
        parse_rows(data, "test")


def test_a_wrong_cardinality_is_named() -> None:
    for cardinality in (2, 4):
        with pytest.raises(DeletionVectorCardinalityMismatch):
            parse_rows(GOOD, "test", cardinality)


def test_runs_do_not_fill_the_memory() -> None:
    """65,536 rows from 10 bytes: reading ends when the recorded cardinality is exceeded."""
    bucket = struct.pack("<IIBHHHHH", 0, 12347, 1, 0, 65_535, 1, 0, 65_535)
    data = struct.pack("<iq", 1681511377, 2**40) + bucket * 1000
    with pytest.raises(DeletionVectorCardinalityMismatch) as caught:
        parse_rows(data, "test", 10)
    assert caught.value.actual == 65_536


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda frame: frame[:-1], DeletionVectorSizeMismatch),
        (lambda frame: frame + b"x", DeletionVectorSizeMismatch),
        (lambda frame: b"\x00\x00\x00\x01" + frame[4:], DeletionVectorSizeMismatch),
        (lambda frame: frame[:6] + b"?" + frame[7:], DeletionVectorChecksumMismatch),
        (lambda frame: frame[:-4] + b"\x00" * 4, DeletionVectorChecksumMismatch),
    ],
)
def test_a_damaged_frame_is_named(change: Any, error: type[Exception]) -> None:
    frame = struct.pack(">i", len(GOOD)) + GOOD + struct.pack(">I", zlib.crc32(GOOD))
    assert unframe(frame, len(GOOD), "f") == GOOD
    with pytest.raises(error):
        unframe(change(frame), len(GOOD), "f")


def test_a_negative_size_is_named() -> None:
    with pytest.raises(DeletionVectorSizeMismatch):
        unframe(b"abc", 3 - FRAME_BYTES, "f")


def test_inline_padding_is_cut() -> None:
    padded = INLINE_EXAMPLE.path_or_inline_dv
    assert len(z85_decode(padded)) == 40
    with pytest.raises(DeletionVectorSizeMismatch):
        read_inline(descriptor(path_or_inline_dv=padded, size_in_bytes=41))


@given(st.binary().map(lambda data: data + bytes(-len(data) % 4)))
def test_z85_is_undone(data: bytes) -> None:
    assert z85_decode(z85_encode(data)) == data


def test_z85_of_its_specification() -> None:
    assert z85_encode(bytes([0x86, 0x4F, 0xD2, 0x6F, 0xB5, 0x59, 0xF7, 0x5B])) == "HelloWorld"
