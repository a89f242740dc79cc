"""Transaction ids in the summaries of snapshots, by which the commit of a statement is found again.

Engines keep entries that they do not know. A version without a new snapshot, such as a change of columns, has no place
for an id.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from engine.iceberg.spec.metadata import TableMetadata
from engine.tables.operations import CommitDescription, CommitRecord

TRANSACTION_ID = "gateway.transaction-id"
_OPERATION = "gateway.operation"
_METRICS = "gateway.operation-metrics"


def identifying_entries(transaction_id: str, description: CommitDescription) -> Mapping[str, str]:
    """Returns the summary entries for a commit with an id."""
    metrics = {name: str(value) for name, value in description.metrics.items()}
    return {
        TRANSACTION_ID: transaction_id,
        _OPERATION: description.name,
        _METRICS: json.dumps(metrics, separators=(",", ":")),
    }


def find_record(metadata: TableMetadata, transaction_id: str) -> CommitRecord | None:
    """Returns the commit with an id, on any branch; None if no snapshot has it."""
    for info in metadata.snapshots.values():
        if info.summary.get(TRANSACTION_ID) == transaction_id:
            return CommitRecord(
                version=info.snapshot_id,
                operation=info.summary.get(_OPERATION, ""),
                metrics=_metrics(info.summary.get(_METRICS, "{}")),
            )
    return None


def _metrics(text: str) -> Mapping[str, str]:
    """Parses metrics; another engine may have damaged them."""
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return {name: str(value) for name, value in found.items()} if isinstance(found, dict) else {}
