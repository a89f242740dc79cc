"""A table is dropped, or recreated under its name, during a transaction: no partial table remains."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from catalog.conditions import ConcurrentDrop
from engine.delta.commit.transaction import Transaction
from engine.delta.maintenance.checkpoint_writer import write_checkpoint
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.paths import LOG_DIR
from engine.storage.storage import FileStatus, Storage, open_storage
from tests.engine.delta.committing import NOW_MS, add, append, create, describe, metadata
from tests.interleave.storages import DictStorage, Interposed


def begin(storage: Storage) -> Transaction:
    late = Transaction.on(Snapshot.load(storage), describe())
    late.stage(add("late"))
    return late


def drop(storage: Storage) -> None:
    storage.delete_tree()


def drop_and_make(storage: Storage) -> None:
    storage.delete_tree()
    create(storage, metadata(configuration={"owner": "another"}))


def drop_and_fill(storage: Storage) -> None:
    """Fills as far as the dropped table went."""
    drop_and_make(storage)
    append(storage, "another")


@pytest.fixture(params=["dictionary", "local"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    return DictStorage() if request.param == "dictionary" else open_storage(str(tmp_path / "table"))


def left(storage: Storage) -> list[str]:
    return storage.list_names(LOG_DIR)


def before_the_look(storage: Storage, event: Callable[[Storage], None]) -> None:
    late = begin(storage)
    event(storage)
    with pytest.raises(ConcurrentDrop):
        late.commit()


def before_the_put(storage: Storage, event: Callable[[Storage], None]) -> None:
    """After the transaction has seen that its table is there."""

    def around(method: str, name: str, do: Callable[[], object]) -> object:
        if method == "put":
            event(storage)
        return do()

    late = begin(Interposed(storage, around))
    with pytest.raises(ConcurrentDrop):
        late.commit()


@pytest.mark.parametrize("when", [before_the_look, before_the_put])
@pytest.mark.parametrize(
    ("event", "versions"), [(drop, 0), (drop_and_make, 1), (drop_and_fill, 2)], ids=["drop", "make", "fill"]
)
def test_a_commit_goes_into_no_other_table(
    storage: Storage,
    when: Callable[[Storage, Callable[[Storage], None]], None],
    event: Callable[[Storage], None],
    versions: int,
) -> None:
    create(storage)
    when(storage, event)
    assert left(storage) == [f"{version:020}.json" for version in range(versions)]
    if versions:
        after = Snapshot.load(storage)
        assert after.metadata.configuration == {"owner": "another"}
        assert after.files.column("path").to_pylist() == ["another"][: versions - 1]
    elif not isinstance(storage, DictStorage):
        assert not os.path.lexists(storage.root)


def test_version_with_later_commits_is_not_removed() -> None:
    """The new table's log would have a gap, and could not be read."""
    storage = DictStorage()
    create(storage)

    def around(method: str, name: str, do: Callable[[], object]) -> object:
        if method != "put":
            return do()
        drop_and_make(storage)
        done = do()
        append(storage, "upon")
        return done

    late = begin(Interposed(storage, around))
    with pytest.raises(ConcurrentDrop):
        late.commit()
    assert sorted(Snapshot.load(storage).files.column("path").to_pylist()) == ["late", "upon"]


def test_a_version_that_lost_its_commit_by_age_is_written_upon() -> None:
    """Its state is undecidable, but that does not justify rejecting rows."""
    storage = DictStorage()
    create(storage)
    write_checkpoint(Snapshot.load(storage), now_ms=NOW_MS)
    storage.delete(f"{LOG_DIR}/{0:020}.json")
    assert begin(storage).commit().version == 1


def test_a_version_that_loses_its_commit_while_rows_are_written_is_written_upon() -> None:
    """Others continued, and cleaned up the log: neither their versions nor ours may be lost."""
    storage = DictStorage()
    create(storage)
    late = begin(storage)
    append(storage, "other")
    write_checkpoint(Snapshot.load(storage), now_ms=NOW_MS)
    storage.delete(f"{LOG_DIR}/{0:020}.json")
    assert late.commit().version == 2
    assert sorted(Snapshot.load(storage).files.column("path").to_pylist()) == ["late", "other"]


class WholeSeconds(DictStorage):
    """Reports times as object stores do for one object."""

    def __init__(self) -> None:
        super().__init__()
        self.read: list[str] = []

    def stat(self, name: str) -> FileStatus:
        status = super().stat(name)
        return replace(status, modified_ms=status.modified_ms // 1000 * 1000)

    def read_bytes(self, name: str) -> bytes:
        self.read.append(name)
        return super().read_bytes(name)


def test_times_in_whole_seconds_are_no_sign_of_another_table() -> None:
    """Versions are written in sequence without reading any: the writer has its own."""
    storage = WholeSeconds()
    create(storage)
    snapshot = Snapshot.load(storage)
    for version in (1, 2, 3):
        late = Transaction.on(snapshot, describe())
        late.stage(add(f"late {version}"))
        assert late.commit().version == version
        storage.read.clear()
        snapshot = snapshot.advance()
        assert not storage.read
        assert snapshot.num_files == version
