"""Checksums written commit by commit equal those from counting the files."""

from __future__ import annotations

import json
from typing import Any

import pytest

from engine.delta.commit.transaction import Committed, Transaction
from engine.delta.maintenance.checksum_writer import checksum_after, checksum_of, write_checksum
from engine.delta.snapshot.checksum import ensure_checksum, format_checksum, load_checksum, parse_checksum
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.actions import Add, DeletionVectorDescriptor, DomainMetadata, Remove, SetTransaction
from engine.tables.operations import TableOperation
from tests.engine.delta.committing import add, create, describe, metadata
from tests.interleave.storages import DictStorage

VECTOR = DeletionVectorDescriptor(storage_type="u", path_or_inline_dv="v", offset=1, size_in_bytes=2, cardinality=5)
OTHER = DeletionVectorDescriptor(storage_type="u", path_or_inline_dv="w", offset=1, size_in_bytes=2, cardinality=7)


def remove(one: Add, **fields: Any) -> Remove:
    return Remove(
        **{
            "path": one.path,
            "deletion_timestamp": 1,
            "size": one.size,
            "deletion_vector": one.deletion_vector,
            **fields,
        }
    )


def commit(storage: DictStorage, *actions: Any) -> Committed:
    transaction = Transaction.on(Snapshot.load(storage), describe(TableOperation.METADATA))
    transaction.stage(*actions)
    return transaction.commit()


A, B = add("a", size=7), add("b", size=11)
MASKED = add("a", size=7, deletion_vector=VECTOR)

HISTORY: list[tuple[Any, ...]] = [
    (A, B),
    (),
    (MASKED, remove(A)),
    (add("a", size=7, deletion_vector=OTHER, data_change=False), remove(MASKED, data_change=False)),
    (SetTransaction(app_id="x", version=1), SetTransaction(app_id="y", version=1)),
    (SetTransaction(app_id="x", version=2), DomainMetadata(domain="d", configuration="{}")),
    (DomainMetadata(domain="d", configuration="{}", removed=True),),
    (remove(B),),
    (metadata(configuration={"delta.enableInCommitTimestamps": "true", "delta.enableDeletionVectors": "true"}),),
    (add("c"),),
]


def test_a_commit_added_to_the_checksum_before_is_the_count() -> None:
    storage = DictStorage()
    features = frozenset({"deletionVectors", "domainMetadata", "inCommitTimestamp"})
    previous = checksum_after(None, create(storage, metadata(), features))
    for actions in HISTORY:
        committed = commit(storage, *actions)
        added, counted = checksum_after(previous, committed), checksum_of(Snapshot.load(storage))
        assert added == counted
        assert added is not None
        assert write_checksum(storage, committed.version, added)
        assert ensure_checksum(Snapshot.load(storage))
        previous = added


@pytest.mark.parametrize(
    "actions",
    [
        pytest.param((remove(A, size=None),), id="a removed file of unknown size"),
        pytest.param((add("a", size=7, data_change=False),), id="a file that is there already"),
    ],
)
def test_a_guess_is_declined(actions: tuple[Any, ...]) -> None:
    storage = DictStorage()
    create(storage)
    commit(storage, A, B)
    previous = checksum_of(Snapshot.load(storage))
    assert checksum_after(previous, commit(storage, *actions)) is None


def test_without_the_checksum_before_nothing_can_be_added() -> None:
    storage = DictStorage()
    create(storage)
    assert checksum_after(None, commit(storage, A)) is None


def test_a_checksum_is_never_overwritten() -> None:
    storage = DictStorage()
    create(storage)
    checksum = checksum_of(Snapshot.load(storage))
    assert write_checksum(storage, 0, checksum)
    before = storage.files["_delta_log/00000000000000000000.crc"]
    assert not write_checksum(storage, 0, checksum)
    assert storage.files["_delta_log/00000000000000000000.crc"] == before


def test_the_file_has_the_names_of_the_protocol() -> None:
    storage = DictStorage()
    committed = create(storage, metadata(configuration={"delta.enableInCommitTimestamps": "true"}))
    checksum = checksum_after(None, committed)
    assert checksum is not None
    written = json.loads(format_checksum(checksum))
    assert parse_checksum(format_checksum(checksum), "x") == checksum
    assert set(written) == {
        "txnId",
        "tableSizeBytes",
        "numFiles",
        "numMetadata",
        "numProtocol",
        "inCommitTimestampOpt",
        "setTransactions",
        "domainMetadata",
        "numDeletedRecordsOpt",
        "numDeletionVectorsOpt",
        "metadata",
        "protocol",
    }
    assert written["inCommitTimestampOpt"] == committed.timestamp_ms
    assert load_checksum(storage, 0) is None
