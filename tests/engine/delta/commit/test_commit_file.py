"""A commit's bytes: commitInfo, time, row ids."""

from __future__ import annotations

import json
from typing import Any

import pytest

from catalog.conditions import RowIdsWithoutStatistics
from engine.delta.commit.staged_commit import adds_of
from engine.delta.commit.transaction import Transaction
from engine.delta.snapshot.row_files import num_records
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.actions import AddCdcFile, DeletionVectorDescriptor, DomainMetadata, Remove, SetTransaction
from engine.delta.spec.paths import LOG_DIR, commit_name
from engine.storage.storage import Storage
from engine.tables.operations import TableOperation
from tests.engine.delta.committing import NOW_MS, add, append, change_metadata, create, describe, metadata
from tests.interleave.storages import DictStorage


def lines(storage: Storage, version: int) -> list[dict[str, Any]]:
    return [json.loads(line) for line in storage.read_bytes(f"{LOG_DIR}/{commit_name(version)}").splitlines()]


def info(storage: Storage, version: int) -> dict[str, Any]:
    first: dict[str, Any] = lines(storage, version)[0]["commitInfo"]
    return first


def test_a_commit_says_who_did_what() -> None:
    storage = DictStorage()
    create(storage)
    description = describe(
        parameters={"mode": "Append", "partitionBy": ["day", "é"], "flag": True},
        metrics={"numFiles": 1, "numOutputRows": "3"},
        user_id="7",
        user_name="ada",
        user_metadata="note",
    )
    transaction = Transaction.on(Snapshot.load(storage), description, clock=lambda: NOW_MS, txn_id="mine")
    transaction.stage(add("a.parquet"))
    transaction.commit()
    said = info(storage, 1)
    assert said == {
        "timestamp": NOW_MS,
        "userId": "7",
        "userName": "ada",
        "operation": "WRITE",
        "operationParameters": {"mode": "Append", "partitionBy": '["day","é"]', "flag": "true"},
        "readVersion": 0,
        "isolationLevel": "Serializable",
        "isBlindAppend": True,
        "operationMetrics": {"numFiles": "1", "numOutputRows": "3"},
        "userMetadata": "note",
        "engineInfo": "delta-gateway",
        "txnId": "mine",
    }


def test_actions_stand_in_a_fixed_order_without_nulls() -> None:
    storage = DictStorage()
    create(storage, metadata(configuration={"delta.enableDeletionVectors": "true"}), frozenset({"domainMetadata"}))
    transaction = Transaction.on(Snapshot.load(storage), describe(TableOperation.APPEND))
    vector = DeletionVectorDescriptor(
        storage_type="u", path_or_inline_dv="ab^-aqEH.-t@S}K{vb[*k^", offset=4, size_in_bytes=40, cardinality=6
    )
    transaction.stage(
        add("a.parquet", deletion_vector=vector, tags={"k": "v", "n": None}, partition_values={"day": None}),
        Remove(path="a.parquet", deletion_timestamp=5, data_change=True),
        AddCdcFile(path="_change_data/c.parquet", size=1, partition_values={"day": None}),
        SetTransaction(app_id="app", version=1),
        DomainMetadata(domain="mine", configuration="{}"),
    )
    transaction.commit()
    written = lines(storage, 1)
    assert [next(iter(line)) for line in written] == ["commitInfo", "txn", "domainMetadata", "remove", "add", "cdc"]
    assert written[3]["remove"] == {"path": "a.parquet", "deletionTimestamp": 5, "dataChange": True}
    assert written[4]["add"] == {
        "path": "a.parquet",
        "partitionValues": {"day": None},
        "size": 100,
        "modificationTime": NOW_MS,
        "dataChange": True,
        "stats": add("x").stats,
        "tags": {"k": "v", "n": None},
        "deletionVector": {
            "storageType": "u",
            "pathOrInlineDv": "ab^-aqEH.-t@S}K{vb[*k^",
            "offset": 4,
            "sizeInBytes": 40,
            "cardinality": 6,
        },
    }


def test_a_commit_that_reads_is_no_blind_append() -> None:
    storage = DictStorage()
    create(storage)
    transaction = Transaction.on(Snapshot.load(storage), describe())
    transaction.read_whole_table()
    transaction.stage(add("a"))
    transaction.commit()
    assert info(storage, 1)["isBlindAppend"] is False


# --- In-commit timestamps --------------------------------------------------------------------------------------------


def test_a_table_that_begins_with_timestamps_records_no_enablement() -> None:
    storage = DictStorage()
    create(storage, metadata(configuration={"delta.enableInCommitTimestamps": "true"}))
    assert info(storage, 0)["inCommitTimestamp"] == info(storage, 0)["timestamp"]
    assert Snapshot.load(storage).metadata.configuration == {"delta.enableInCommitTimestamps": "true"}


def test_timestamps_increase_whatever_the_clock_says() -> None:
    storage = DictStorage()
    create(storage, metadata(configuration={"delta.enableInCommitTimestamps": "true"}))
    before = info(storage, 0)["inCommitTimestamp"]
    for version in (1, 2):
        transaction = Transaction.on(Snapshot.load(storage), describe(), clock=lambda: 1000)
        transaction.stage(add(f"{version}"))
        committed = transaction.commit()
        assert info(storage, version)["inCommitTimestamp"] == before + version == committed.timestamp_ms


def test_a_rebased_commit_comes_after_the_winner() -> None:
    storage = DictStorage()
    create(storage, metadata(configuration={"delta.enableInCommitTimestamps": "true"}))
    late = Transaction.on(Snapshot.load(storage), describe(), clock=lambda: 1000)
    late.stage(add("late"))
    winner = Transaction.on(Snapshot.load(storage), describe(), clock=lambda: NOW_MS * 2)
    winner.stage(add("winner"))
    winner.commit()
    late.commit()
    assert info(storage, 2)["inCommitTimestamp"] == NOW_MS * 2 + 1


def test_enabling_timestamps_records_since_when() -> None:
    storage = DictStorage()
    create(storage)
    append(storage, "a")
    committed = change_metadata(storage, {"delta.enableInCommitTimestamps": "true"}, clock=lambda: 1000)
    after = Snapshot.load(storage)
    assert committed.timestamp_ms > storage.stat(f"{LOG_DIR}/{commit_name(1)}").modified_ms
    assert after.metadata.configuration == {
        "delta.enableInCommitTimestamps": "true",
        "delta.inCommitTimestampEnablementVersion": "2",
        "delta.inCommitTimestampEnablementTimestamp": str(committed.timestamp_ms),
    }
    change_metadata(storage, {"owner": "me"})
    remaining = Snapshot.load(storage).metadata.configuration
    assert remaining["delta.inCommitTimestampEnablementVersion"] == "2"


# --- Row tracking ----------------------------------------------------------------------------------------------------

TRACKED = metadata(configuration={"delta.enableRowTracking": "true"})


def added(storage: Storage, version: int) -> list[tuple[str, int, int]]:
    adds = [line["add"] for line in lines(storage, version) if "add" in line]
    return [(one["path"], one["baseRowId"], one["defaultRowCommitVersion"]) for one in adds]


def high_water_mark(storage: Storage) -> int:
    configuration = Snapshot.load(storage).domain_metadata["delta.rowTracking"].configuration
    return int(json.loads(configuration)["rowIdHighWaterMark"])


def test_row_ids_continue_from_commit_to_commit() -> None:
    storage = DictStorage()
    create(storage, TRACKED)
    append(storage, "a", "b")
    append(storage, "c")
    assert added(storage, 1) == [("a", 0, 1), ("b", 3, 1)]
    assert added(storage, 2) == [("c", 6, 2)]
    assert high_water_mark(storage) == 8
    assert info(storage, 2)["tags"] == {"delta.rowTracking.preserved": "true"}


@pytest.mark.parametrize("keeps_row_ids", [True, False])
def test_rewrite_declares_whether_it_keeps_row_ids(keeps_row_ids: bool) -> None:
    storage = DictStorage()
    create(storage, TRACKED)
    append(storage, "a")
    transaction = Transaction.on(Snapshot.load(storage), describe(TableOperation.DML, keeps_row_ids=keeps_row_ids))
    transaction.stage(Remove(path="a", deletion_timestamp=1), add("b"))
    transaction.commit()
    assert info(storage, 2)["tags"] == {"delta.rowTracking.preserved": str(keeps_row_ids).lower()}


def test_a_rebased_commit_gets_row_ids_above_the_winner() -> None:
    storage = DictStorage()
    create(storage, TRACKED)
    late = Transaction.on(Snapshot.load(storage), describe())
    late.stage(add("late"))
    append(storage, "winner")
    late.commit()
    assert added(storage, 2) == [("late", 3, 2)]
    assert high_water_mark(storage) == 5


def test_a_file_that_comes_with_ids_keeps_them() -> None:
    storage = DictStorage()
    create(storage, metadata(), frozenset({"rowTracking"}))
    append(storage, "old", base_row_id=70, default_row_commit_version=0)
    append(storage, "new")
    assert added(storage, 1) == [("old", 70, 0)]
    assert added(storage, 2) == [("new", 0, 2)]


def test_row_ids_require_row_counts() -> None:
    storage = DictStorage()
    create(storage, TRACKED)
    with pytest.raises(RowIdsWithoutStatistics):
        append(storage, "a", stats=None)


@pytest.mark.parametrize(
    ("stats", "expected"),
    [
        ('{"numRecords":3}', 3),
        (' { "numRecords" : 12 , "x": 1}', 12),
        ('{"minValues":{"numRecords":7},"numRecords":4}', 4),
        ('{"minValues":{"numRecords":7}}', None),
        ('{"numRecords":"many"}', None),
        ("no json", None),
        ("[]", None),
        (None, None),
    ],
)
def test_the_number_of_records_is_that_of_the_top(stats: str | None, expected: int | None) -> None:
    batch = adds_of([add("a", stats=stats), add("b")])
    assert num_records(batch.column("stats")).to_pylist() == [expected, 3]
