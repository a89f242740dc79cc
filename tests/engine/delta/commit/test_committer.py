"""Commits that won a version, and taking back a commit from a log that belongs to another table."""

from __future__ import annotations

import json

import pytest

from engine.delta.commit.committer import read_winners, take_back
from engine.delta.commit.conflicts import WinningCommit
from engine.delta.log.commit_reader import parse_commits
from engine.delta.spec.paths import LOG_DIR, commit_name
from tests.interleave.storages import DictStorage


def commit(**info: object) -> bytes:
    return json.dumps({"commitInfo": info}).encode() + b"\n"


@pytest.mark.parametrize(
    ("data", "next_exists", "is_removed"),
    [
        (commit(txnId="m"), False, True),
        (commit(txnId="m"), True, False),
        (commit(txnId="a"), False, False),
        (commit(txnId="z"), False, False),
        (commit(operation="WRITE"), False, False),
        (b'{"txn":{"appId":"a","version":1}}\n', False, False),
        (b"not JSON\n", False, False),
    ],
    ids=str,
)
def test_only_the_own_last_commit_is_taken_back(data: bytes, next_exists: bool, is_removed: bool) -> None:
    storage = DictStorage()
    name = f"{LOG_DIR}/{commit_name(3)}"
    storage.write(name, data)
    if next_exists:
        storage.write(f"{LOG_DIR}/{commit_name(4)}", commit(txnId="other"))
    take_back(storage, 3, "m")
    assert storage.exists(name) is not is_removed


def test_taking_back_a_missing_commit_does_nothing() -> None:
    take_back(DictStorage(), 3, "m")


def test_winning_commits_are_contiguous_commits_alone() -> None:
    storage = DictStorage()
    others = ("00000000000000000004.crc", "00000000000000000004.checkpoint.parquet", "00000000000000000005.txt")
    for name in (*map(commit_name, (2, 3, 4, 6)), *others):
        storage.write(f"{LOG_DIR}/{name}", commit(operation=name))
    found = read_winners(storage, 3)
    assert [(winner.version, winner.operation) for winner in found] == [(3, commit_name(3)), (4, commit_name(4))]
    assert read_winners(storage, 5) == []
    assert [winner.version for winner in read_winners(storage, 6)] == [6]


@pytest.mark.parametrize(
    ("data", "operation", "is_blind", "timestamp_ms"),
    [
        (commit(operation="MERGE", isBlindAppend=False, inCommitTimestamp=7), "MERGE", False, 7),
        (commit(operation="WRITE", isBlindAppend=True), "WRITE", True, 5),
        (commit(), "write", False, 5),
        (b'{"txn":{"appId":"a","version":1}}\n', "write", False, 5),
    ],
    ids=str,
)
def test_winning_commit_is_described_by_its_commit_info(
    data: bytes, operation: str, is_blind: bool, timestamp_ms: int
) -> None:
    winner = WinningCommit(version=3, actions=parse_commits([("3.json", data)]), modified_ms=5)
    assert (winner.operation, winner.is_blind_append, winner.timestamp_ms) == (operation, is_blind, timestamp_ms)
