"""A table's history: one row per commit, newest first, as DESCRIBE HISTORY shows it.

The rows come from the commits' `commitInfo`. Any JSON is legal there and writers differ (metrics as strings or numbers,
parameters as texts or objects), so a value that is not text is shown as its JSON. A commit without `commitInfo` has a
row with its version and time only. Commits that have been cleaned up are not in the history.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from engine.delta.log.commit_reader import parse_commit_info
from engine.delta.snapshot.commit_times import LogVersion, load_commit_info, load_commit_times
from engine.delta.spec.actions import CommitInfo
from engine.delta.spec.paths import LOG_DIR, commit_name
from engine.tables.operations import HISTORY_SCHEMA, JOB, NOTEBOOK, CommitRecord, CommitSearch

# The number of commits that a search reads together, after the newest one.
_COMMITS_READ = 16


def load_history(snapshot: LogVersion, limit: int | None = None) -> Any:
    """Loads the newest `limit` commits (default: all) up to the snapshot's version as a `HISTORY_SCHEMA` table.

    Raises `LogFileNotFound`, `MalformedLogEntry`.
    """
    times = load_commit_times(snapshot)
    oldest = times.first_version if limit is None else max(times.first_version, snapshot.version - limit + 1)
    rows = []
    for version in range(snapshot.version, oldest - 1, -1):
        info = load_commit_info(snapshot.storage, version)
        stamp = info.in_commit_timestamp if info and times.is_in_commit(version) else None
        rows.append(_row(version, times.timestamp_ms(version) if stamp is None else stamp, info))
    return pa.Table.from_pylist(rows, HISTORY_SCHEMA)


def record_of(version: int, info: CommitInfo) -> CommitRecord:
    """Returns the operation and the metrics of a commit."""
    metrics = {name: text for name, text in _texts(info.operation_metrics) or () if text is not None}
    return CommitRecord(version=version, operation=info.operation or "", metrics=metrics)


def find_commit(snapshot: LogVersion, transaction_id: str, since_ms: int) -> CommitSearch:
    """Implements `TableSnapshot.find_commit`: reads the commits, newest first. Raises `MalformedLogEntry`."""
    newest, size = snapshot.version, 1
    while newest >= 0:
        versions = range(newest, max(-1, newest - size), -1)
        names = [f"{LOG_DIR}/{commit_name(version)}" for version in versions]
        try:
            for version, name, data in zip(versions, names, snapshot.storage.read_many(names), strict=True):
                info = parse_commit_info(data, name)
                if info is None:
                    continue
                if info.txn_id == transaction_id:
                    return CommitSearch(record=record_of(version, info))
                stamp = info.timestamp if info.in_commit_timestamp is None else info.in_commit_timestamp
                if stamp is not None and stamp < since_ms:
                    return CommitSearch()
        except FileNotFoundError:  # the older commits were cleaned up
            return CommitSearch(is_complete=False)
        newest, size = newest - size, _COMMITS_READ
    return CommitSearch()


def _row(version: int, timestamp_ms: int, info: CommitInfo | None) -> dict[str, Any]:
    row: dict[str, Any] = {"version": version, "timestamp": timestamp_ms}
    if info is not None:
        row.update(
            userId=info.user_id,
            userName=info.user_name,
            operation=info.operation,
            operationParameters=_texts(info.operation_parameters),
            job=_struct(info.job, JOB),
            notebook=_struct(info.notebook, NOTEBOOK),
            clusterId=info.cluster_id,
            readVersion=info.read_version,
            isolationLevel=info.isolation_level,
            isBlindAppend=info.is_blind_append,
            operationMetrics=_texts(info.operation_metrics),
            userMetadata=info.user_metadata,
            engineInfo=info.engine_info,
        )
    return row


def _texts(value: Any) -> list[tuple[str, str | None]] | None:
    if not isinstance(value, Mapping):
        return None
    return [(name, None if item is None else _text(item)) for name, item in value.items()]


def _struct(value: Any, data_type: Any) -> dict[str, str] | None:
    if not isinstance(value, Mapping):
        return None
    return {field.name: _text(value[field.name]) for field in data_type if value.get(field.name) is not None}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
