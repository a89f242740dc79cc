"""Avro object container files: a header with the schema, and compressed blocks of records.

Source: Apache Avro specification, "Object Container Files".
"""

from __future__ import annotations

import json
import uuid
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from engine.iceberg.writing.avro_columns import encode, varints

_MAGIC = b"Obj\x01"
_BLOCK_BYTES = 1 << 16
_DEFLATE_LEVEL = 6


@dataclass(frozen=True, slots=True)
class Block:
    """A block with encoded and compressed records."""

    num_rows: int
    data: bytes


@dataclass(frozen=True, slots=True)
class Codec:
    """A codec; `name` is Avro's."""

    name: str
    compress: Callable[[bytes], bytes]


def _deflate(data: bytes) -> bytes:
    deflater = zlib.compressobj(_DEFLATE_LEVEL, zlib.DEFLATED, -15)
    return deflater.compress(data) + deflater.flush()


def _snappy(data: bytes) -> bytes:
    return bytes(pa.compress(data, codec="snappy", asbytes=True)) + zlib.crc32(data).to_bytes(4, "big")


def _zstd(data: bytes) -> bytes:
    return bytes(pa.compress(data, codec="zstd", asbytes=True))


# By their names in the table property `write.manifest.compression-codec`.
CODECS: Mapping[str, Codec] = {
    "gzip": Codec("deflate", _deflate),
    "uncompressed": Codec("null", bytes),
    "snappy": Codec("snappy", _snappy),
    "zstd": Codec("zstandard", _zstd),
}


def encode_blocks(schema: Mapping[str, Any], records: pa.StructArray, codec: Codec) -> list[Block]:
    """Encodes the records in blocks with about 64 KB each before compression."""
    pieces = encode(schema, records)
    ends = np.cumsum(pieces.sizes)
    blocks, first, start = [], 0, 0
    while first < len(ends):
        last = max(int(np.searchsorted(ends, start + _BLOCK_BYTES, side="right")), first + 1)
        end = int(ends[last - 1])
        blocks.append(Block(last - first, codec.compress(pieces.data[start:end].tobytes())))
        first, start = last, end
    return blocks


def file_bytes(schema: Mapping[str, Any], blocks: Sequence[Block], codec: Codec, metadata: Mapping[str, str]) -> bytes:
    """Returns a complete file. `metadata` has the header's entries besides Avro's own."""
    header = {"avro.schema": json.dumps(schema), "avro.codec": codec.name, **metadata}
    sync = uuid.uuid4().bytes
    pieces = [_MAGIC, _long(len(header))]
    for key, text in header.items():
        pieces += (_bytes(key.encode()), _bytes(text.encode()))
    pieces += (_long(0), sync)
    for block in blocks:
        pieces += (_long(block.num_rows), _bytes(block.data), sync)
    return b"".join(pieces)


def _long(number: int) -> bytes:
    return varints(np.array([number], np.int64)).data.tobytes()


def _bytes(data: bytes) -> bytes:
    return _long(len(data)) + data
