"""LZ4 frames: decoded by the reference implementation, with independent blocks."""

from __future__ import annotations

import os

import lz4.frame
import pyarrow as pa
import pytest

from gateway.results.lz4_frames import lz4_frame

BLOCK = 256 << 10


@pytest.mark.parametrize("is_random", [False, True], ids=["compressible", "random"])
@pytest.mark.parametrize("size", [0, 1, 1000, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 17])
def test_a_frame_is_read_back(size: int, *, is_random: bool) -> None:
    content = os.urandom(size) if is_random else (b"0123456789" * (size // 10 + 1))[:size]
    frame = lz4_frame(pa.py_buffer(content))
    assert lz4.frame.decompress(frame) == content
    assert not lz4.frame.get_frame_info(frame)["block_linked"]
    assert is_random or size < 1000 or len(frame) < size / 10
