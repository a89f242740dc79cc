"""Open an Iceberg table in a folder: its newest metadata, and the snapshot that is current there."""

from __future__ import annotations

from engine.iceberg.commit.metadata_files import load_newest
from engine.iceberg.manifests.decoded import Decoded
from engine.iceberg.snapshot.snapshot import IcebergSnapshot
from engine.iceberg.spec.metadata import parse_metadata
from engine.storage.storage import FileStatus, open_storage

_DECODED_BYTES_MAX = 64 << 20


def load_snapshot(path: str) -> IcebergSnapshot:
    """The current snapshot of the table in the folder `path`.

    Raises `IcebergTableNotFound`, `MalformedIcebergFile`. Specification: "Table Metadata", "Snapshots".
    """
    storage = open_storage(path)

    def read(name: str, status: FileStatus | None) -> IcebergSnapshot:
        metadata = parse_metadata(storage.read_bytes(name), name, storage.root)
        current = metadata.current_snapshot_id
        return IcebergSnapshot(
            storage=storage,
            metadata_name=name,
            metadata=metadata,
            info=None if current is None else metadata.snapshots[current],
            iceberg_schema=metadata.schemas[metadata.current_schema_id],
            decoded=Decoded(_DECODED_BYTES_MAX),
        )

    return load_newest(storage, read)
