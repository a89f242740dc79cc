"""Writes position deletes for data files: position delete files (v2), or deletion vectors in a Puffin file (v3).

Afterwards a data file has at most one: the new one includes the rows from an older vector, or from older position
delete files for this data file alone, whose entries are removed. Position delete files for several data files remain; a
vector supersedes them for its own file, and includes their positions.

Vectors in a Puffin file have the same bytes as Delta's (`engine.storage.deletion_vectors`): length, bitmap, checksum.
Manifests have each vector's offset, so that readers do not need the footer; other readers use it nevertheless.

Source: Iceberg table specification, "Position Delete Files", "Deletion Vectors", "Row-level Deletes".
"""

from __future__ import annotations

import json
import struct
import uuid
import zlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from engine.iceberg.manifests.manifest import PARTITION_PREFIX, POSITION_DELETES, SPEC_ID
from engine.iceberg.writing.new_files import PARQUET, encoded_map, entries_of
from engine.storage.deletion_vectors import FRAME_BYTES, Rows, format_rows
from engine.storage.storage import Storage
from engine.tables.row_files import FilesWithDeletedRows

# Field ids in a position delete file.
FILE_PATH_ID, POSITION_ID = 2_147_483_546, 2_147_483_545
# The first format version with deletion vectors; the version before is the last with new position delete files.
VECTORS_VERSION = 3
_IDS = (FILE_PATH_ID, POSITION_ID)
_FOLDER = "data"
_WRITERS_MAX = 8
_COLUMNS = pa.schema(
    [
        pa.field("file_path", pa.string(), nullable=False, metadata={"PARQUET:field_id": str(FILE_PATH_ID)}),
        pa.field("pos", pa.int64(), nullable=False, metadata={"PARQUET:field_id": str(POSITION_ID)}),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergPositionDeletes(FilesWithDeletedRows):
    """`added` are new delete file entries; `removed` are the live ones that they replace."""

    added: pa.Table
    removed: pa.Table


@dataclass(frozen=True, slots=True)
class MarkWriter:
    """Writes position deletes; `location` is the table metadata's."""

    storage: Storage
    location: str
    format_version: int

    def write(self, data: pa.Table, rows: Sequence[Rows]) -> tuple[pa.Table, tuple[str, ...]]:
        """Writes these ascending rows for each data file (a live entry).

        Returns the new delete entries, and the written files' names.
        """
        paths = data["file_path"].to_pylist()
        deleted = dict(zip(paths, rows, strict=True))
        columns, names = self._vectors(deleted) if self.format_version >= VECTORS_VERSION else self._positions(deleted)
        columns |= {
            "content": [POSITION_DELETES] * len(paths),
            "record_count": [len(each) for each in rows],
            "referenced_data_file": paths,
        }
        entries = entries_of(columns, len(paths))
        for name in data.column_names:
            if name == SPEC_ID or (name.startswith(PARTITION_PREFIX) and name[1:].isdecimal()):
                entries = entries.append_column(name, data[name])
        return entries, names

    def _vectors(self, deleted: Mapping[str, Rows]) -> tuple[dict[str, list[object]], tuple[str, ...]]:
        data, places = puffin_file(deleted)
        name = f"{_FOLDER}/{uuid.uuid4()}-deletes.puffin"
        self.storage.write(name, data)
        return {
            "file_path": [f"{self.location}/{name}"] * len(places),
            "file_format": ["PUFFIN"] * len(places),
            "file_size_in_bytes": [len(data)] * len(places),
            "content_offset": [offset for offset, _ in places],
            "content_size_in_bytes": [size for _, size in places],
        }, (name,)

    def _positions(self, deleted: Mapping[str, Rows]) -> tuple[dict[str, list[object]], tuple[str, ...]]:
        token = uuid.uuid4()
        # One file per data file, although the format allows several: the deletes of a data
        # file can then be replaced and removed together with it.
        names = tuple(f"{_FOLDER}/{token}-{number:05}-deletes.parquet" for number in range(len(deleted)))
        with ThreadPoolExecutor(_WRITERS_MAX, "deletes") as threads:
            sizes = list(threads.map(self._write_positions, names, deleted, deleted.values()))
        return {
            "file_path": [f"{self.location}/{name}" for name in names],
            "file_format": [PARQUET] * len(names),
            "file_size_in_bytes": list(sizes),
            "value_counts": [encoded_map({number: len(rows) for number in _IDS}) for rows in deleted.values()],
            "null_value_counts": [encoded_map(dict.fromkeys(_IDS, 0))] * len(names),
            "lower_bounds": [_bounds(path, rows[0]) for path, rows in deleted.items()],
            "upper_bounds": [_bounds(path, rows[-1]) for path, rows in deleted.items()],
        }, names

    def _write_positions(self, name: str, path: str, rows: Rows) -> int:
        # "Position Delete Files" must be sorted by path and position; the rows are
        # ascending.
        columns = pa.table([pa.repeat(path, len(rows)), pa.array(np.asarray(rows, np.int64))], schema=_COLUMNS)
        buffer = pa.BufferOutputStream()
        pq.write_table(columns, buffer, compression="zstd", store_schema=False)
        data = buffer.getvalue().to_pybytes()
        self.storage.write(name, data)
        return len(data)


def _bounds(path: str, row: int) -> bytes | None:
    # The path's bounds are complete: equal bounds tell readers without
    # `referenced_data_file` that the file is for one data file.
    return encoded_map({FILE_PATH_ID: path.encode(), POSITION_ID: struct.pack("<q", row)})


_MAGIC = b"PFA1"
_ROW_POSITION_ID = 2_147_483_645
_NO_FLAGS = bytes(4)


def puffin_file(deleted: Mapping[str, Rows]) -> tuple[bytes, list[tuple[int, int]]]:
    """Returns a file with the data files' vectors, by path as in manifests; and each one's offset and size."""
    pieces = [_MAGIC]
    places = []
    blobs = []
    offset = len(_MAGIC)
    for path, rows in deleted.items():
        bitmap = format_rows(rows)
        size = len(bitmap) + FRAME_BYTES
        # Length and checksum are big-endian, the bitmap itself is little-endian, as in
        # Delta's vector files.
        pieces += (struct.pack(">i", len(bitmap)), bitmap, struct.pack(">I", zlib.crc32(bitmap)))
        places.append((offset, size))
        blobs.append(
            {
                "type": "deletion-vector-v1",
                "fields": [_ROW_POSITION_ID],
                # Puffin, "deletion-vector-v1": both are -1, because they are assigned only
                # by the commit.
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
