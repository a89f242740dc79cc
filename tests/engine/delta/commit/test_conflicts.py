"""Conflict rules that the interleavings do not reach: metadata, protocol, domains, isolation levels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest

from catalog.conditions import (
    ConcurrentAppend,
    ConcurrentDeleteDelete,
    ConcurrentTransaction,
    FeatureDropConflict,
    MetadataChanged,
    ProtocolChanged,
    UnsupportedWriterFeatures,
)
from engine.delta.commit.conflicts import is_tolerable_change, row_id_high_water_mark
from engine.delta.commit.transaction import Transaction
from engine.delta.definition.clustering import format_clustering
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.actions import Action, DomainMetadata, Metadata, Protocol, Remove, SetTransaction
from engine.delta.spec.protocols import add_features, remove_feature
from engine.tables.operations import TableOperation
from engine.types.schema import PrimitiveType, StructField, StructType
from tests.engine.delta.committing import add, append, change_metadata, create, describe, metadata
from tests.interleave.storages import DictStorage


def column(**column_metadata: object) -> str:
    return StructType((StructField("id", PrimitiveType.LONG, True, column_metadata),)).to_json()


def table(schema_string: str = column(), **more: Any) -> Metadata:
    return Metadata(**{"id": "x", "schema_string": schema_string, **more})


MAPPED = column(**{"delta.columnMapping.id": 1, "delta.columnMapping.physicalName": "id"})
IDENTITY = {"delta.identity.start": 1, "delta.identity.step": 1, "delta.identity.allowExplicitInsert": False}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (table(), table(), True),
        (table(), table(configuration={"delta.enableDeletionVectors": "true"}), True),
        (table(), table(configuration={"delta.checkpointPolicy": "v2"}), True),
        (table(), table(configuration={"delta.enableRowTracking": "true"}), True),
        (table(), table(configuration={"delta.enableInCommitTimestamps": "true"}), True),
        (
            table(),
            table(MAPPED, configuration={"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "1"}),
            True,
        ),
        (
            table(column(**IDENTITY, **{"delta.identity.highWaterMark": 5})),
            table(column(**IDENTITY, **{"delta.identity.highWaterMark": 9})),
            True,
        ),
        (table(column(**IDENTITY)), table(column(**IDENTITY, **{"delta.identity.highWaterMark": 9})), True),
        (table(), table(column(comment="new")), False),
        (table(), table(MAPPED), False),
        (table(), table(configuration={"owner": "me"}), False),
        (table(), table(configuration={"delta.appendOnly": "true"}), False),
        (table(), table(configuration={"delta.enableDeletionVectors": "false"}), False),
        (table(configuration={"delta.enableDeletionVectors": "true"}), table(), False),
        (table(), table(MAPPED, configuration={"delta.columnMapping.mode": "id"}), False),
        (
            table(MAPPED, configuration={"delta.columnMapping.mode": "id"}),
            table(MAPPED, configuration={"delta.columnMapping.mode": "name"}),
            False,
        ),
        (table(), table(partition_columns=("id",)), False),
        (table(), table(description="new"), False),
        (table(), replace(table(), id="y"), False),
    ],
)
def test_changes_of_metadata_that_leave_other_commits_valid(before: Metadata, after: Metadata, expected: bool) -> None:
    assert is_tolerable_change(before, after) is expected


def begin(storage: DictStorage, operation: TableOperation = TableOperation.APPEND) -> Transaction:
    return Transaction.on(Snapshot.load(storage), describe(operation))


def race(storage: DictStorage, winner: tuple[Action, ...], loser: tuple[Action, ...], **options: Any) -> Transaction:
    """Both begin at the same version; the winner commits."""
    first, second = (
        begin(storage, TableOperation.METADATA),
        begin(storage, options.pop("operation", TableOperation.APPEND)),
    )
    first.stage(*winner)  # type: ignore[arg-type]
    first.commit()
    second.stage(*loser)  # type: ignore[arg-type]
    return second


def new_table(configuration: dict[str, str] | None = None, features: str = "") -> DictStorage:
    storage = DictStorage()
    create(storage, metadata(configuration=configuration), frozenset(features.split()))
    return storage


PLAIN = Protocol(min_reader_version=1, min_writer_version=2)


def test_an_upgrade_that_this_release_supports_is_taken_up() -> None:
    storage = new_table()
    race(storage, (Protocol(min_reader_version=1, min_writer_version=3),), (add("a"),)).commit()
    assert Snapshot.load(storage).version == 2


def test_an_upgrade_beyond_this_release_ends_the_transaction() -> None:
    storage = new_table()
    late = begin(storage)
    late.stage(add("a"))
    storage.write(
        "_delta_log/00000000000000000001.json",
        b'{"protocol":{"minReaderVersion":1,"minWriterVersion":7,'
        b'"writerFeatures":["appendOnly","invariants","fromTheFuture"]}}\n',
    )
    with pytest.raises(UnsupportedWriterFeatures, match="fromTheFuture"):
        late.commit()


def test_an_upgrade_to_a_feature_that_the_loser_ignored_conflicts() -> None:
    storage = new_table()
    late = race(storage, (add_features(PLAIN, {"clustering"}),), (add("a"),))
    with pytest.raises(ProtocolChanged):
        late.commit()


def test_upgrade_that_drops_nothing_is_rebased_on_an_append() -> None:
    storage = new_table(features="domainMetadata")
    late = begin(storage, TableOperation.METADATA)
    late.stage(add_features(late.config.protocol, {"deletionVectors"}))  # type: ignore[union-attr]
    append(storage, "a")
    assert late.commit().version == 2
    assert Snapshot.load(storage).config.is_supported("deletionVectors")


def test_two_upgrades_conflict() -> None:
    storage = new_table()
    upgrade = add_features(PLAIN, {"domainMetadata"})
    with pytest.raises(ProtocolChanged):
        race(storage, (upgrade,), (upgrade,), operation=TableOperation.METADATA).commit()


def test_concurrent_create_of_same_table_is_a_conflict() -> None:
    storage = DictStorage()
    late = Transaction.create(storage, describe(TableOperation.METADATA))
    late.stage(PLAIN, metadata())
    create(storage)
    with pytest.raises(ProtocolChanged, match="created"):
        late.commit()
    assert Snapshot.load(storage).version == 0


def test_dropping_a_feature_conflicts_with_whoever_may_have_used_it() -> None:
    storage = new_table(features="domainMetadata")
    late = begin(storage, TableOperation.METADATA)
    late.stage(remove_feature(late.config.protocol, "domainMetadata"))  # type: ignore[union-attr]
    late.drop_feature("domainMetadata")
    append(storage, "a")
    with pytest.raises(FeatureDropConflict):
        late.commit()


def test_a_tolerated_change_governs_the_commit_that_took_it_up() -> None:
    storage = new_table()
    late = begin(storage)
    late.stage(add("a"))
    change_metadata(storage, {"delta.enableRowTracking": "true"})
    committed = late.commit()
    assert committed.adds.column("base_row_id").to_pylist() == [0]
    assert committed.config.is_enabled("rowTracking")


def test_a_commit_that_changes_nothing_is_valid_on_any_table() -> None:
    """For example the end of a VACUUM, which has already removed its files."""
    storage = new_table()
    late = begin(storage, TableOperation.VACUUM)
    change_metadata(storage, {"owner": "me"})
    upgrade = begin(storage, TableOperation.METADATA)
    upgrade.stage(add_features(PLAIN, {"clustering"}))
    upgrade.commit()
    assert late.commit().version == 3


def test_metadata_against_metadata_is_never_tolerated() -> None:
    storage = new_table()
    winner = metadata(configuration={"delta.checkpointPolicy": "v2"})
    upgrade = add_features(PLAIN, {"v2Checkpoint"})
    late = begin(storage, TableOperation.METADATA)
    late.stage(metadata(configuration={"owner": "me"}))
    first = begin(storage, TableOperation.METADATA)
    first.stage(winner, upgrade)
    first.commit()
    with pytest.raises(MetadataChanged):
        late.commit()


@pytest.mark.parametrize(
    ("winner", "loser", "expected"),
    [
        (DomainMetadata(domain="a", configuration="{}"), DomainMetadata(domain="a", configuration="{}"), True),
        (DomainMetadata(domain="a", configuration="{}"), DomainMetadata(domain="b", configuration="{}"), False),
        (
            DomainMetadata(domain="a", configuration="{}", removed=True),
            DomainMetadata(domain="a", configuration="{}"),
            True,
        ),
        (SetTransaction(app_id="a", version=1), SetTransaction(app_id="a", version=2), True),
        (SetTransaction(app_id="a", version=1), SetTransaction(app_id="b", version=1), False),
    ],
    ids=str,
)
def test_domains_and_applications_are_written_by_one_at_a_time(winner: Action, loser: Action, expected: bool) -> None:
    late = race(new_table(features="domainMetadata"), (winner,), (loser,))
    if expected:
        with pytest.raises(ConcurrentTransaction):
            late.commit()
    else:
        assert late.commit().version == 2


def everything(batch: Any) -> Any:
    return pa.repeat(True, batch.num_rows)


@pytest.mark.parametrize(
    ("level", "is_blind", "expected"),
    [
        ("Serializable", True, ConcurrentAppend),
        ("Serializable", False, ConcurrentAppend),
        ("WriteSerializable", True, None),
        ("WriteSerializable", False, ConcurrentAppend),
        ("SnapshotIsolation", False, None),
    ],
)
def test_isolation_levels(level: str, is_blind: bool, expected: type[Exception] | None) -> None:
    storage = new_table({"delta.isolationLevel": level})
    late = begin(storage)
    late.read(everything)
    late.stage(add("late"))
    winner = begin(storage)
    if not is_blind:
        winner.read(everything)
    winner.stage(add("winner"))
    winner.commit()
    if expected is None:
        late.commit()
    else:
        with pytest.raises(expected):
            late.commit()


@pytest.mark.parametrize(
    ("winner", "expected"),
    [(add("a"), ConcurrentAppend), (metadata(configuration={"owner": "me"}), MetadataChanged)],
    ids=["append", "metadata"],
)
def test_an_overwrite_without_actions_conflicts(winner: Action, expected: type[Exception]) -> None:
    """A REPLACE of an empty table by an equal one has no action, and still no row may come before it and stay."""
    late = race(new_table(), (winner,), (), operation=TableOperation.OVERWRITE)
    late.read_whole_table()
    with pytest.raises(expected):
        late.commit()


def test_two_removes_of_a_file_that_nobody_read_conflict() -> None:
    for other, expected in (("a", ConcurrentDeleteDelete), ("b", None)):
        storage = new_table()
        append(storage, "a", "b")
        late = race(storage, (Remove(path="a", deletion_timestamp=1),), (Remove(path=other, deletion_timestamp=2),))
        if expected is None:
            assert late.commit().version == 3
        else:
            with pytest.raises(expected, match=r"\ba\b"):
                late.commit()


def test_a_predicate_that_does_not_know_conflicts() -> None:
    storage = new_table()
    late = begin(storage)
    late.read(lambda batch: pa.nulls(batch.num_rows, pa.bool_()))
    late.stage(add("late"))
    append(storage, "winner")
    with pytest.raises(ConcurrentAppend, match=r"day=2026-01-31"):
        late.commit()


@pytest.mark.parametrize(
    ("domain", "expected"),
    [
        (None, -1),
        (DomainMetadata(domain="delta.rowTracking", configuration='{"rowIdHighWaterMark":7}'), 7),
        (DomainMetadata(domain="delta.rowTracking", configuration='{"rowIdHighWaterMark":7}', removed=True), -1),
        (DomainMetadata(domain="delta.rowTracking", configuration="{}"), -1),
        (DomainMetadata(domain="delta.rowTracking", configuration="[]"), -1),
        (DomainMetadata(domain="delta.rowTracking", configuration="nonsense"), -1),
    ],
    ids=str,
)
def test_the_row_id_mark_of_a_domain(domain: DomainMetadata | None, expected: int) -> None:
    assert row_id_high_water_mark(domain) == expected


# --- Clustering columns ----------------------------------------------------------------------------------------------

BY_ID, BY_NAME = format_clustering([("id",)]), format_clustering([("name",)])


def clustered() -> DictStorage:
    storage = DictStorage()
    create(storage, metadata(partition_columns=()), frozenset({"clustering"}))
    return storage


def unpartitioned(path: str) -> Action:
    return add(path, partition_values={})


@pytest.mark.parametrize(
    ("winner", "loser", "operation", "expected"),
    [
        (BY_ID, unpartitioned("a"), TableOperation.APPEND, None),
        (unpartitioned("a"), BY_ID, TableOperation.METADATA, None),
        (BY_ID, BY_NAME, TableOperation.METADATA, ConcurrentTransaction),
        (BY_ID, replace(metadata(partition_columns=()), description="new"), TableOperation.METADATA, MetadataChanged),
        (replace(metadata(partition_columns=()), description="new"), BY_ID, TableOperation.METADATA, MetadataChanged),
    ],
    ids=["append after", "append before", "clustered twice", "defined after", "defined before"],
)
def test_rows_come_while_clustering_changes_and_definitions_do_not(
    winner: Action, loser: Action, operation: TableOperation, expected: type[Exception] | None
) -> None:
    storage = clustered()
    late = race(storage, (winner,), (loser,), operation=operation)
    if expected is not None:
        with pytest.raises(expected):
            late.commit()
        return
    committed = late.commit()
    assert committed.config.clustering == BY_ID
    after = Snapshot.load(storage)
    assert after.config.clustering == BY_ID
    assert after.num_files == 1


def test_a_table_that_is_no_longer_clustered_has_no_domain() -> None:
    storage = clustered()
    begun = begin(storage, TableOperation.METADATA)
    begun.stage(BY_ID)
    begun.commit()
    late = race(storage, (replace(BY_ID, removed=True),), (unpartitioned("a"),))
    assert late.commit().config.clustering is None
    assert Snapshot.load(storage).config.clustering is None
