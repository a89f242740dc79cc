"""The search for a commit by its transaction id: bounded by time, and incomplete if older commits are gone."""

from __future__ import annotations

import json

import pytest

from engine.delta.snapshot.history import find_commit
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.paths import LOG_DIR, commit_name
from engine.tables.operations import CommitRecord, CommitSearch
from tests.interleave import histories
from tests.interleave.storages import DictStorage

# Version -> the time of its commit in ms; some commits have no provenance.
TIMES = {version: 1_000 * version for version in range(1, 41)}
WITHOUT_INFO = (17, 39)


def log_with_commits() -> DictStorage:
    storage = histories.table_in_memory()
    for version, time_ms in TIMES.items():
        info = {"timestamp": time_ms, "operation": "WRITE", "txnId": f"id-{version}"}
        info["operationMetrics"] = {"numOutputRows": "3", "numFiles": 1}
        action = {"txn": {"appId": "a", "version": version}} if version in WITHOUT_INFO else {"commitInfo": info}
        storage.write(f"{LOG_DIR}/{commit_name(version)}", json.dumps(action).encode())
    return storage


def found(version: int) -> CommitSearch:
    metrics = {"numOutputRows": "3", "numFiles": "1"}
    return CommitSearch(record=CommitRecord(version=version, operation="WRITE", metrics=metrics))


@pytest.mark.parametrize(
    ("transaction_id", "since_ms", "expected"),
    [
        ("id-40", 0, found(40)),
        ("id-38", 0, found(38)),
        ("id-18", 18_000, found(18)),
        ("id-1", 0, found(1)),
        ("id-18", 18_001, found(18)),  # the first commit before the bound is read too
        ("id-18", 19_001, CommitSearch()),
        ("id-17", 0, CommitSearch()),
        ("another", 0, CommitSearch()),
    ],
)
def test_search_reads_back_to_the_first_commit_before_the_bound(
    transaction_id: str, since_ms: int, expected: CommitSearch
) -> None:
    assert find_commit(Snapshot.load(log_with_commits()), transaction_id, since_ms) == expected


def test_later_versions_are_not_searched() -> None:
    assert find_commit(Snapshot.load(log_with_commits(), 30), "id-31", 0) == CommitSearch()


@pytest.mark.parametrize(("since_ms", "is_complete"), [(0, False), (29_500, True)])
def test_search_is_incomplete_if_commits_after_the_bound_were_cleaned_up(since_ms: int, is_complete: bool) -> None:
    storage = log_with_commits()
    snapshot = Snapshot.load(storage)
    for version in range(25):
        storage.delete(f"{LOG_DIR}/{commit_name(version)}")
    assert find_commit(snapshot, "id-3", since_ms) == CommitSearch(is_complete=is_complete)
    assert find_commit(snapshot, "id-30", since_ms) == found(30)
