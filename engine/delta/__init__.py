"""The Delta transaction log, read and written; usable without Spark, SQL text or the catalog."""

from engine.delta.log.file_table import FILES_SCHEMA, TOMBSTONES_SCHEMA
from engine.delta.snapshot.snapshot import Snapshot, load_snapshot

__all__ = ["FILES_SCHEMA", "TOMBSTONES_SCHEMA", "Snapshot", "load_snapshot"]
