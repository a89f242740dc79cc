"""LZ4 frames whose blocks do not depend on each other (the LZ4 frame format, version 1.6).

Java's library reads no others, and Arrow's own codec for frames makes blocks that go on from the former one.
"""

from __future__ import annotations

from struct import Struct

import pyarrow as pa

_BLOCK_BYTES = 256 << 10
_HEAD = bytes.fromhex("04224d18 60 50 fb")
"""The magic number; version 1 with independent blocks and no checksums; blocks of at most 256 KB; the checksum of these
two bytes."""
_STORED = 1 << 31
"""Of a block that is not compressed, added to its length."""
_LENGTH = Struct("<I")
_END = _LENGTH.pack(0)


def lz4_frame(content: pa.Buffer | bytes) -> bytes:
    """`content` as one frame."""
    view = memoryview(content)
    pieces = [_HEAD]
    for start in range(0, len(view), _BLOCK_BYTES):
        block = view[start : start + _BLOCK_BYTES]
        compressed = pa.compress(block, "lz4_raw", asbytes=True)
        if len(compressed) < len(block):
            pieces += (_LENGTH.pack(len(compressed)), compressed)
        else:
            pieces += (_LENGTH.pack(len(block) | _STORED), bytes(block))
    pieces.append(_END)
    return b"".join(pieces)
