"""Own appends are added to the snapshot without reading them back; everything else is read from the log."""

from __future__ import annotations

from typing import Any

import pytest

from engine.delta.commit.transaction import Transaction
from engine.delta.maintenance.checkpoint_writer import write_checkpoint
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.actions import SetTransaction
from engine.delta.spec.paths import LOG_DIR, commit_name
from engine.storage.storage import LocalStorage, Storage
from tests.engine.delta.committing import NOW_MS, add, append, change_metadata, create, describe, metadata
from tests.interleave.storages import DictStorage


class Reading(LocalStorage):
    """A folder that counts the commits that are read from it."""

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.reads = 0

    def read_bytes(self, name: str) -> bytes:
        self.reads += name.endswith(".json")
        return super().read_bytes(name)


@pytest.fixture(name="storage")
def _storage(tmp_path: Any) -> Reading:
    return Reading(str(tmp_path / "t"))


def append_on(snapshot: Snapshot, *actions: Any) -> None:
    transaction = Transaction.on(snapshot, describe(metrics={"numFiles": "1"}, user_metadata='{"a": 1}'))
    transaction.stage(*actions)
    transaction.commit()


def ensure_equal_to_log(snapshot: Snapshot) -> None:
    loaded = Snapshot.load(snapshot.storage)
    assert snapshot.version == loaded.version and snapshot.stamp == loaded.stamp
    assert snapshot.files.schema == loaded.files.schema
    assert by_path(snapshot) == by_path(loaded)
    assert snapshot.commit_info == loaded.commit_info and snapshot.timestamp_ms == loaded.timestamp_ms
    assert (snapshot.protocol, snapshot.metadata) == (loaded.protocol, loaded.metadata)
    assert snapshot.set_transactions == loaded.set_transactions
    assert snapshot.domain_metadata == loaded.domain_metadata
    assert snapshot.tombstones.to_pylist() == loaded.tombstones.to_pylist()


def by_path(snapshot: Snapshot) -> list[Any]:
    return sorted(snapshot.files.to_pylist(), key=lambda file: str(file["path"]))


@pytest.mark.parametrize(
    "actions",
    [
        (add("a"),),
        (add("day=2026-01-31/%C3%A4 b%25.parquet"), add("b", partition_values={"day": None})),
        (add("c", stats=None), add("d", tags={"k": "v", "none": None}), add("e", data_change=False)),
        (add("f", clustering_provider="liquid"), SetTransaction(app_id="app", version=7, last_updated=NOW_MS)),
        (add("g"), SetTransaction(app_id="app", version=7)),
    ],
)
@pytest.mark.parametrize("properties", [{}, {"delta.enableInCommitTimestamps": "true"}])
def test_own_append_is_equal_to_the_log(storage: Reading, properties: dict[str, str], actions: tuple[Any, ...]) -> None:
    create(storage, metadata(configuration=properties))
    snapshot = Snapshot.load(storage)
    assert snapshot.num_files == 0
    append_on(snapshot, *actions)
    storage.reads = 0
    newest = snapshot.advance()
    assert newest.num_files and storage.reads == 0
    ensure_equal_to_log(newest)


def test_commits_with_row_ids_are_read_from_the_log(storage: Reading) -> None:
    create(storage, features=frozenset({"rowTracking"}))
    snapshot = Snapshot.load(storage)
    append_on(snapshot, add("a"), add("b"))
    assert [file["base_row_id"] for file in by_path(snapshot.advance())] == [0, 3]
    ensure_equal_to_log(snapshot.advance())


def test_foreign_commits_between_own_ones_are_read(storage: Reading) -> None:
    create(storage)
    snapshot = Snapshot.load(storage)
    for number in range(20):
        append_on(snapshot, add(f"own{number}"))
        if number % 3 == 1:
            append(storage, f"foreign{number}")
        if number % 7 == 2:
            append(storage, f"other{number}")
            change_metadata(storage, {"user.number": str(number)})
        snapshot = snapshot.advance()
        ensure_equal_to_log(snapshot)
    assert snapshot.num_files == 20 + 7 + 3


def test_commit_that_lost_its_version_is_read_with_the_winner(storage: Reading) -> None:
    create(storage)
    snapshot = Snapshot.load(storage)
    append(storage, "winner")
    append_on(snapshot, add("own"))
    newest = snapshot.advance()
    assert newest.version == 2 and newest.num_files == 2
    ensure_equal_to_log(newest)


def test_only_the_transaction_that_got_the_version_is_noted(storage: Reading) -> None:
    """Two transactions on one snapshot: the second one gets version 2."""
    create(storage)
    snapshot = Snapshot.load(storage)
    for name in ("first", "second"):
        append_on(snapshot, add(name))
    newest = snapshot.advance()
    assert newest.version == 2 and newest.num_files == 2
    ensure_equal_to_log(newest)


def test_file_that_is_added_again_replaces_its_older_entry(storage: Reading) -> None:
    create(storage)
    snapshot = Snapshot.load(storage)
    for size in (1, 2, 3):
        append_on(snapshot, add("same", size=size, data_change=False))
        snapshot = snapshot.advance()
        assert [file["size"] for file in by_path(snapshot)] == [size]
        ensure_equal_to_log(snapshot)


def test_another_commit_in_place_of_the_own_one_is_read(storage: Reading) -> None:
    create(storage)
    snapshot = Snapshot.load(storage)
    append_on(snapshot, add("own"))
    storage.delete(f"{LOG_DIR}/{commit_name(1)}")
    append(storage, "a-longer-name")
    newest = snapshot.advance()
    assert [file["path"] for file in by_path(newest)] == ["a-longer-name"]


def test_another_table_in_the_same_place_is_read(storage: Reading) -> None:
    create(storage)
    snapshot = Snapshot.load(storage)
    append_on(snapshot, add("own"))
    storage.delete_tree()
    create(storage, metadata(configuration={"user.other": "table"}))
    append(storage, "new")
    newest = snapshot.advance()
    assert [file["path"] for file in by_path(newest)] == ["new"]
    ensure_equal_to_log(newest)


def test_own_appends_continue_over_checkpoints(storage: Reading) -> None:
    create(storage)
    snapshot = Snapshot.load(storage)
    for number in range(40):
        append_on(snapshot, add(f"f{number}"))
        snapshot = snapshot.advance()
        assert snapshot.num_files == number + 1
        if number % 10 == 9:
            write_checkpoint(snapshot, NOW_MS)
    assert snapshot.log_segment.checkpoint is not None
    # Files in a checkpoint have no data change.
    loaded = [{**file, "data_change": True} for file in by_path(Snapshot.load(storage))]
    assert by_path(snapshot) == loaded and len(loaded) == 40


def test_removes_are_read_from_the_log(storage: Reading) -> None:
    create(storage)
    append(storage, "a", "b")
    snapshot = Snapshot.load(storage)
    transaction = Transaction.on(snapshot, describe())
    transaction.remove_all_files()
    transaction.stage(add("c"))
    transaction.commit()
    newest = snapshot.advance()
    assert [file["path"] for file in by_path(newest)] == ["c"]
    ensure_equal_to_log(newest)


def test_own_append_on_an_object_store_is_not_read_again() -> None:
    storage: Storage = DictStorage("dict://noted")
    create(storage)
    snapshot = Snapshot.load(storage)
    append_on(snapshot, add("a"))
    newest = snapshot.advance()
    assert newest.recent is not None and newest.recent.find(commit_name(1)) is not None
    ensure_equal_to_log(newest)
