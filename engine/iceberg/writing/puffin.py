"""Puffin files of deletion vectors.

Vectors have the bytes of Delta's (`engine.storage.deletion_vectors`): their length, the bitmap, a checksum. Manifests
say where each lies, so that nobody needs the footer to read one; other readers look there all the same.

Source: Puffin specification, "File structure", "`deletion-vector-v1` blob type".
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Mapping

from engine.storage.deletion_vectors import FRAME_BYTES, Rows, format_rows

_MAGIC = b"PFA1"
_ROW_POSITION_ID = 2_147_483_645
_NO_FLAGS = bytes(4)


def puffin_file(deleted: Mapping[str, Rows]) -> tuple[bytes, list[tuple[int, int]]]:
    """A file of the vectors of data files, by their paths in manifests; and offset and size of each."""
    pieces, places, blobs, offset = [_MAGIC], [], [], len(_MAGIC)
    for path, rows in deleted.items():
        bitmap = format_rows(rows)
        size = len(bitmap) + FRAME_BYTES
        pieces += (struct.pack(">i", len(bitmap)), bitmap, struct.pack(">I", zlib.crc32(bitmap)))
        places.append((offset, size))
        blobs.append(
            {
                "type": "deletion-vector-v1",
                "fields": [_ROW_POSITION_ID],
                "snapshot-id": -1,
                "sequence-number": -1,
                "offset": offset,
                "length": size,
                "properties": {"referenced-data-file": path, "cardinality": str(len(rows))},
            }
        )
        offset += size
    footer = json.dumps({"blobs": blobs, "properties": {"created-by": "delta-gateway"}}).encode()
    return b"".join([*pieces, _MAGIC, footer, struct.pack("<i", len(footer)), _NO_FLAGS, _MAGIC]), places
