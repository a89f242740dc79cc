"""The snapshots that one was made from, as DESCRIBE HISTORY shows the commits of any table."""

from __future__ import annotations

from itertools import islice
from typing import Any

import pyarrow as pa

from engine.iceberg.snapshot.metadata_tables import ancestry
from engine.iceberg.spec.metadata import SnapshotInfo, TableMetadata
from engine.tables.history import HISTORY_SCHEMA


def snapshot_history(metadata: TableMetadata, newest: SnapshotInfo | None, limit: int | None) -> pa.Table:
    """As `TableSnapshot.history`. Ids and parents that no BIGINT holds are null."""
    rows: list[dict[str, Any]] = [
        {
            "version": info.snapshot_id if info.snapshot_id < 1 << 63 else None,
            "timestamp": info.timestamp_ms,
            "operation": (info.operation or "").upper() or None,
            "readVersion": info.parent_id if (info.parent_id or 0) < 1 << 63 else None,
            "operationMetrics": [(key, value) for key, value in info.summary.items() if key != "operation"],
        }
        for info in islice(ancestry(metadata, newest), limit)
    ]
    return pa.Table.from_pylist(rows, HISTORY_SCHEMA)
