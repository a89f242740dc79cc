"""LZ4 frames with independent blocks (the LZ4 frame format, version 1.6).

Java's library reads no others, and Arrow's own codec for frames creates dependent blocks.
"""

from __future__ import annotations

from struct import Struct

import pyarrow as pa

_BLOCK_BYTES = 256 << 10
# The magic number; version 1 with independent blocks and no checksums; a block size of at most 256 KB; these two bytes'
# checksum.
_HEAD = bytes.fromhex("04224d18 60 50 fb")
# Flag for an uncompressed block, added to its length.
_STORED = 1 << 31
_LENGTH = Struct("<I")
_END = _LENGTH.pack(0)


def lz4_frame(content: pa.Buffer | bytes) -> bytes:
    """Returns `content` as one frame."""
    view = memoryview(content)
    pieces = [_HEAD]
    for start in range(0, len(view), _BLOCK_BYTES):
        block = view[start : start + _BLOCK_BYTES]
        compressed = pa.compress(block, "lz4_raw", asbytes=True)
        # An incompressible block is stored as it is, so that no block exceeds the declared
        # maximum.
        if len(compressed) < len(block):
            pieces += (_LENGTH.pack(len(compressed)), compressed)
        else:
            pieces += (_LENGTH.pack(len(block) | _STORED), bytes(block))
    pieces.append(_END)
    return b"".join(pieces)
