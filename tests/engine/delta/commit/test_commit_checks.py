"""The protocol's requirements for a commit: each with a commit that breaks it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from catalog import conditions
from catalog.conditions import CannotModifyAppendOnly
from engine.delta.commit.transaction import Transaction
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.actions import DeletionVectorDescriptor, DomainMetadata, Protocol, Remove, SetTransaction
from engine.tables.operations import TableOperation
from tests.engine.delta.committing import add, append, create, describe, metadata
from tests.interleave.storages import DictStorage

VECTOR = DeletionVectorDescriptor(storage_type="i", path_or_inline_dv="x", size_in_bytes=1, cardinality=1)
DOMAIN = DomainMetadata(domain="mine", configuration="{}")


def remove(path: str, **fields: Any) -> Remove:
    return Remove(**{"path": path, "deletion_timestamp": 5, **fields})


def begin(configuration: dict[str, str] | None = None, features: str = "") -> Transaction:
    storage = DictStorage()
    create(storage, metadata(configuration=configuration), frozenset(features.split()))
    append(storage, "old")
    return Transaction.on(Snapshot.load(storage), describe(TableOperation.METADATA))


BROKEN: list[tuple[str, dict[str, str], str, tuple[Any, ...], type[Exception]]] = [
    ("two adds of a file", {}, "", (add("a"), add("a")), conditions.DuplicateActions),
    ("two spellings of a file", {}, "", (add("a b"), add("a%20b")), conditions.DuplicateActions),
    ("an add and a remove of a file", {}, "", (add("a"), remove("a")), conditions.DuplicateActions),
    ("two removes of a file", {}, "", (remove("a"), remove("a")), conditions.DuplicateActions),
    (
        "two adds that differ by their vector",
        {},
        "deletionVectors",
        (add("a"), add("a", deletion_vector=VECTOR)),
        conditions.DuplicateActions,
    ),
    (
        "two versions of an application",
        {},
        "",
        (SetTransaction(app_id="a", version=1), SetTransaction(app_id="a", version=2)),
        conditions.DuplicateActions,
    ),
    ("a domain twice", {}, "domainMetadata", (DOMAIN, DOMAIN), conditions.DuplicateDomainMetadata),
    ("a domain without its feature", {}, "", (DOMAIN,), conditions.DomainMetadataNotSupported),
    ("two metadata", {}, "", (metadata(), metadata(configuration={"a": "b"})), conditions.DuplicateActions),
    (
        "a removal from an append-only table",
        {"delta.appendOnly": "true"},
        "",
        (remove("old"),),
        CannotModifyAppendOnly,
    ),
    ("no partition values", {}, "", (add("a", partition_values={}),), conditions.MissingPartitionColumn),
    ("other partition values", {}, "", (add("a", partition_values={"month": "1"}),), conditions.MissingPartitionColumn),
    (
        "more partition values",
        {},
        "",
        (add("a"), add("b", partition_values={"day": "1", "month": "1"})),
        conditions.MissingPartitionColumn,
    ),
    ("a vector without its feature", {}, "", (add("a", deletion_vector=VECTOR),), conditions.DeletionVectorsDisallowed),
    (
        "a vector without a row count",
        {},
        "deletionVectors",
        (add("a", deletion_vector=VECTOR, stats=None),),
        conditions.DeletionVectorWithoutRowCount,
    ),
    (
        "metadata that the protocol cannot carry",
        {},
        "",
        (metadata(configuration={"delta.enableDeletionVectors": "true"}),),
        conditions.FeaturesProtocolMismatch,
    ),
    (
        "a weaker protocol",
        {},
        "deletionVectors",
        (Protocol(min_reader_version=1, min_writer_version=2),),
        conditions.InvalidProtocolDowngrade,
    ),
    (
        "tombstones that outlive the log",
        {},
        "",
        (metadata(configuration={"delta.logRetentionDuration": "1 day"}),),
        conditions.InvalidTableProperty,
    ),
]


@pytest.mark.parametrize(
    ("configuration", "features", "actions", "expected"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN]
)
def test_a_commit_that_does_not_pass_a_check_is_refused(
    configuration: dict[str, str], features: str, actions: tuple[Any, ...], expected: type[Exception]
) -> None:
    transaction = begin(configuration, features)
    transaction.stage(*actions)
    with pytest.raises(expected):
        transaction.commit()
    assert Snapshot.load(transaction.storage).version == 1


LEGAL: list[tuple[str, dict[str, str], str, tuple[Any, ...]]] = [
    ("nothing at all", {}, "", ()),
    ("a file gets a vector", {}, "deletionVectors", (add("old", deletion_vector=VECTOR), remove("old"))),
    ("a null partition value", {}, "", (add("a", partition_values={"day": None}),)),
    (
        "a rearrangement of an append-only table",
        {"delta.appendOnly": "true"},
        "",
        (add("new", data_change=False), remove("old", data_change=False)),
    ),
    ("an append to an append-only table", {"delta.appendOnly": "true"}, "", (add("new"),)),
    ("a domain", {}, "domainMetadata", (DOMAIN,)),
    ("the same metadata again", {}, "", (metadata(),)),
]


@pytest.mark.parametrize(
    ("configuration", "features", "actions"), [row[1:] for row in LEGAL], ids=[row[0] for row in LEGAL]
)
def test_similar_legal_commits_are_accepted(
    configuration: dict[str, str], features: str, actions: tuple[Any, ...]
) -> None:
    transaction = begin(configuration, features)
    transaction.stage(*actions)
    assert transaction.commit().version == 2


def test_a_feature_is_dropped_on_purpose_only() -> None:
    transaction = begin({}, "domainMetadata")
    transaction.stage(Protocol(min_reader_version=1, min_writer_version=2))
    transaction.drop_feature("domainMetadata")
    transaction.commit()
    assert Snapshot.load(transaction.storage).protocol == Protocol(min_reader_version=1, min_writer_version=2)


@pytest.mark.parametrize("stage", [lambda _: None, lambda transaction: transaction.stage(metadata())])
def test_a_table_begins_with_protocol_and_metadata(stage: Callable[[Transaction], None]) -> None:
    transaction = Transaction.create(DictStorage(), describe(TableOperation.METADATA))
    stage(transaction)
    with pytest.raises(conditions.NoMetadata):
        transaction.commit()


def test_metadata_that_does_not_change_is_not_written_again() -> None:
    transaction = begin()
    transaction.stage(replace(metadata()))
    transaction.commit()
    assert b"metaData" not in transaction.storage.read_bytes("_delta_log/00000000000000000002.json")
