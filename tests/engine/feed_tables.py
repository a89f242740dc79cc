"""Tables with a change data feed, file by file and action by action, written without product code except deletion
vectors.

Version v is committed v hours after :data:`EPOCH`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import unquote
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from engine.delta.spec.deletion_vectors import inline_deletion_vector
from engine.storage.deletion_vectors import format_file, format_rows, relative_deletion_vector

EPOCH = datetime(2024, 1, 1, tzinfo=UTC)
FEED = {"delta.enableChangeDataFeed": "true"}
LEGACY = {"minReaderVersion": 1, "minWriterVersion": 4}
MAPPED = {"minReaderVersion": 2, "minWriterVersion": 5}
FEATURES = {
    "minReaderVersion": 3,
    "minWriterVersion": 7,
    "readerFeatures": ["deletionVectors", "typeWidening", "timestampNtz"],
    "writerFeatures": ["deletionVectors", "typeWidening", "timestampNtz", "changeDataFeed", "appendOnly", "invariants"],
}
Action = dict[str, Any]
Columns: TypeAlias = Mapping[str, Any] | pa.Table


def time_of(version: int) -> datetime:
    return EPOCH + timedelta(hours=version)


def column(name: str, data_type: Any, **metadata: Any) -> dict[str, Any]:
    return {"name": name, "type": data_type, "nullable": True, "metadata": metadata}


def mapped(name: str, physical: str, number: int, data_type: Any = "long") -> dict[str, Any]:
    keys = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": physical}
    return column(name, data_type, **keys)


def inline(*rows: int) -> dict[str, Any]:
    """Returns a deletion vector in the log itself."""
    found = inline_deletion_vector(np.array(rows, np.int64))
    return found.to_json()


class FeedTable:
    """A table under construction."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.next_version = folder, 0
        (folder / "_delta_log").mkdir(parents=True)

    def commit(self, *actions: Action) -> int:
        version = self.next_version
        path = self.folder / "_delta_log" / f"{version:020}.json"
        path.write_text("".join(json.dumps(action) + "\n" for action in actions))
        stamp = int(time_of(version).timestamp())
        os.utime(path, (stamp, stamp))
        self.next_version += 1
        return version

    @staticmethod
    def metadata(
        *columns: dict[str, Any],
        partitions: Sequence[str] = (),
        configuration: Mapping[str, str] = FEED,
    ) -> Action:
        return {
            "metaData": {
                "id": "table",
                "format": {"provider": "parquet", "options": {}},
                "schemaString": json.dumps({"type": "struct", "fields": columns}),
                "partitionColumns": list(partitions),
                "configuration": dict(configuration),
            }
        }

    def write(self, path: str, columns: Columns) -> int:
        """Writes a data file to a path as spelled in the log; returns its size."""
        target = self.folder / unquote(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(columns if isinstance(columns, pa.Table) else pa.table(dict(columns)), target)
        return target.stat().st_size

    def add(self, path: str, columns: Columns | None = None, **fields: Any) -> Action:
        """Adds a file; writes it first if `columns` are given."""
        if columns is not None:
            self.write(path, columns)
        size = (self.folder / unquote(path)).stat().st_size
        body = {"path": path, "size": size, "modificationTime": 1, "partitionValues": {}, "dataChange": True}
        return {"add": {**body, **fields}}

    def remove(self, path: str, **fields: Any) -> Action:
        size = (self.folder / unquote(path)).stat().st_size
        body = {"path": path, "size": size, "extendedFileMetadata": True, "partitionValues": {}, "dataChange": True}
        return {"remove": {**body, **fields}}

    def cdc(self, path: str, columns: Columns, **fields: Any) -> Action:
        size = self.write(path, columns)
        return {"cdc": {"path": path, "size": size, "partitionValues": {}, "dataChange": False, **fields}}

    def vector_file(self, *vectors: Sequence[int]) -> list[dict[str, Any]]:
        """Returns descriptors for deletion vectors that share one file."""
        name = uuid4()
        pieces = [format_rows(np.array(rows, np.int64)) for rows in vectors]
        data, offsets = format_file(pieces)
        (self.folder / f"deletion_vector_{name}.bin").write_bytes(data)
        return [
            {
                "storageType": "u",
                "pathOrInlineDv": relative_deletion_vector(name),
                "offset": offset,
                "sizeInBytes": len(piece),
                "cardinality": len(rows),
            }
            for piece, offset, rows in zip(pieces, offsets, vectors, strict=True)
        ]
