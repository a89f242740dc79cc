"""Files that VACUUM would remove: only those in the table's folder that no retained version references."""

from __future__ import annotations

import os
from pathlib import Path
from uuid import UUID

import pytest

from catalog.conditions import LogPathNotAllowed, VacuumLiteImpossible
from engine.delta.commit.transaction import Transaction
from engine.delta.maintenance.needed_files import NeededFiles, Retained
from engine.delta.maintenance.unused_files import (
    find_removed,
    find_unused,
    last_expired,
    note_vacuum,
    read_last_vacuum,
    remove_files,
)
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.actions import DeletionVectorDescriptor, Remove
from engine.delta.spec.deletion_vectors import deletion_vector_path
from engine.delta.spec.paths import LOG_DIR, commit_name
from engine.storage.deletion_vectors import ABSOLUTE, RELATIVE, relative_deletion_vector
from engine.storage.storage import Storage, open_storage
from engine.tables.operations import TableOperation
from tests.engine.delta.committing import append, change_metadata, create, describe, metadata

DAY_S = 86_400
# Seconds ago: most files' age, the retention, and the age of retained files.
OLD_S, CUT_S, YOUNG_S = 10 * DAY_S, 7 * DAY_S, DAY_S


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return open_storage(str(tmp_path / "a table"), allowed_roots=(str(tmp_path),))


def age(storage: Storage, name: str, seconds: float, now: float) -> None:
    os.utime(f"{storage.root}/{name}", (now - seconds, now - seconds))


def write(storage: Storage, now: float, names: dict[str, float]) -> None:
    for name, seconds in names.items():
        path = Path(storage.root) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"12345")
        age(storage, name, seconds, now)


def age_commit(storage: Storage, version: int, seconds: float, now: float) -> None:
    age(storage, f"{LOG_DIR}/{commit_name(version)}", seconds, now)


def remove(storage: Storage, path: str, removed_s: float, now: float, **more: object) -> int:
    transaction = Transaction.on(Snapshot.load(storage), describe(TableOperation.DML, "DELETE"))
    fields = {"deletion_timestamp": int((now - removed_s) * 1000), "data_change": True, **more}
    transaction.stage(Remove(path=path, **fields))  # type: ignore[arg-type]
    return transaction.commit().version


def unused(storage: Storage, now: float, *versions: int) -> set[str]:
    snapshot = Snapshot.load(storage)
    retained = Retained(since_ms=int((now - CUT_S) * 1000), versions=frozenset(versions))
    needed = NeededFiles(storage)
    needed.add_own(snapshot, retained)
    return set(find_unused(snapshot, needed, retained.since_ms, lambda: None).files)


NOW = 1_800_000_000.0

NAMES = {
    # name below the root: whether it goes when it is old and nobody needs it
    "stray.parquet": True,
    "stray.txt": True,
    "day=2026-01-31/stray.parquet": True,
    "a/b/c/stray": True,
    "deletion_vector_00000000-0000-0000-0000-000000000001.bin": True,
    "_change_data/cdc-stray.parquet": True,
    "_change_data/day=1/cdc-stray.parquet": True,
    "_delta_index/stray": True,
    "_hidden/stray.parquet": False,
    ".hidden/stray.parquet": False,
    "_SUCCESS": False,
    "a/_temporary/0/task/stray.parquet": False,
    "a/.stray": False,
    "_delta_log/_commits/stray": False,
    "_delta_log/stray.parquet": False,
    "_part=1/stray.parquet": True,
    "_part=__HIVE_DEFAULT_PARTITION__/x%20y/stray.parquet": True,
    "_partition=1/stray.parquet": False,
    "inner/_delta_log/00000000000000000000.json": False,
    "inner/stray.parquet": False,
    "metadata/v1.metadata.json": True,
    "w\u00fc#? %41/stray ?.parquet": True,
}


def test_file_of_no_version_may_be_newer_than_its_modification_time(storage: Storage) -> None:
    """A statement that began after the cutoff may have written it, if its clock is slow."""
    create(storage, metadata(configuration={}))
    append(storage, "removed")
    write(storage, NOW, dict.fromkeys(("removed", "stray"), CUT_S + 0.002) | {"old": CUT_S + 61})
    version = remove(storage, "removed", CUT_S + 0.001, NOW)
    for each in range(version + 1):
        age_commit(storage, each, CUT_S + 0.001, NOW)
    assert unused(storage, NOW) == {"removed", "old"}


@pytest.mark.parametrize("name", NAMES)
def test_hidden_names_stay_and_partition_folders_are_not_hidden(storage: Storage, name: str) -> None:
    create(storage, metadata(partition_columns=("day",), configuration={}))
    write(storage, NOW, {name: OLD_S})
    if name.startswith("inner/stray"):
        write(storage, NOW, {"inner/_delta_log/00000000000000000000.json": OLD_S})
    shown = unused_of_columns(storage, "_part") if name.startswith("_part") else unused(storage, NOW)
    assert shown == ({name} if NAMES[name] else set())


def unused_of_columns(storage: Storage, column: str) -> set[str]:
    """Returns unused files as if the table were partitioned by `column`, whose name begins like a hidden one's."""
    log = Path(storage.root) / LOG_DIR / commit_name(0)
    log.write_text(log.read_text().replace('\\"day\\"', f'\\"{column}\\"').replace('["day"]', f'["{column}"]'))
    return unused(storage, NOW)


def test_the_metadata_folder_belongs_to_iceberg_where_the_table_is_read_as_such(storage: Storage) -> None:
    create(storage, metadata(partition_columns=()), features=frozenset({"icebergCompatV2"}))
    write(storage, NOW, {"metadata/v1.metadata.json": OLD_S, "stray": OLD_S})
    assert unused(storage, NOW) == {"stray"}


@pytest.mark.parametrize(
    ("written_s", "removed_s", "committed_s", "goes"),
    [
        (OLD_S, None, OLD_S, False),  # live
        (OLD_S, OLD_S, OLD_S, True),
        (OLD_S, YOUNG_S, YOUNG_S, False),
        (OLD_S, OLD_S, YOUNG_S, False),  # the remove was made long before it was committed
        (OLD_S, 2000 * DAY_S, YOUNG_S, False),  # by a clock that is years slow
        (OLD_S, YOUNG_S, OLD_S, False),  # the log was copied, so its files have the copy's age
        (YOUNG_S, OLD_S, OLD_S, False),  # too young to be anything
    ],
)
def test_a_file_goes_when_it_was_removed_before_the_retention(
    storage: Storage, written_s: float, removed_s: float | None, committed_s: float, goes: bool
) -> None:
    create(storage)
    append(storage, "part")
    write(storage, NOW, {"part": written_s})
    if removed_s is not None:
        remove(storage, "part", removed_s, NOW)
    for version in range(Snapshot.load(storage).version + 1):
        age_commit(storage, version, committed_s, NOW)
    assert unused(storage, NOW) == ({"part"} if goes else set())


PATHS = {
    # path in the log: the file it means
    "p/x%20y.parquet": "p/x y.parquet",
    "p%3D1/x.parquet": "p=1/x.parquet",
    "./x.parquet": "x.parquet",
    "p//x.parquet": "p/x.parquet",
    "p/./x.parquet": "p/x.parquet",
    "{root}/p/x.parquet": "p/x.parquet",
    "file:{root}/p/x.parquet": "p/x.parquet",
    "file://{root}/p/x.parquet": "p/x.parquet",
    "x%2525y.parquet": "x%25y.parquet",
    "not%encoded.parquet": "not%encoded.parquet",
    "not%20encoded.parquet": "not%20encoded.parquet",
}


@pytest.mark.parametrize("path", PATHS)
def test_live_file_is_retained_for_every_path_spelling(storage: Storage, path: str) -> None:
    create(storage)
    append(storage, path.format(root=storage.root.replace(" ", "%20")))
    write(storage, NOW, {PATHS[path]: OLD_S, "stray": OLD_S})
    assert unused(storage, NOW) == {"stray"}


def test_a_log_that_leads_upwards_is_refused(storage: Storage) -> None:
    create(storage)
    append(storage, "p/../stray")
    write(storage, NOW, {"stray": OLD_S})
    with pytest.raises(LogPathNotAllowed):
        unused(storage, NOW)


def vector(storage: Storage, kind: str) -> DeletionVectorDescriptor:
    text = relative_deletion_vector(UUID(int=7), "ab")
    if kind == ABSOLUTE:
        text = f"file:{storage.root}/moved/vector.bin"
    return DeletionVectorDescriptor(storage_type=kind, path_or_inline_dv=text, offset=1, size_in_bytes=4, cardinality=1)


@pytest.mark.parametrize("kind", [RELATIVE, ABSOLUTE])
@pytest.mark.parametrize(("removed_s", "goes"), [(None, False), (YOUNG_S, False), (OLD_S, True)])
def test_vectors_live_as_long_as_their_files(storage: Storage, kind: str, removed_s: float | None, goes: bool) -> None:
    create(storage, metadata(configuration={"delta.enableDeletionVectors": "true"}))
    with_deletes = vector(storage, kind)
    append(storage, "part", deletion_vector=with_deletes)
    place = deletion_vector_path(with_deletes).removeprefix(f"{storage.root}/")
    write(storage, NOW, {"part": OLD_S, place: OLD_S})
    if removed_s is not None:
        remove(storage, "part", removed_s, NOW, deletion_vector=with_deletes)
        append(storage, "part")
        for version in range(4):
            age_commit(storage, version, removed_s, NOW)
    assert unused(storage, NOW) == ({place} if goes else set())


def old_history(storage: Storage) -> None:
    """Writes versions 1 to 4 long ago: a file is added, removed, another added, a third one added."""
    create(storage)
    append(storage, "first")
    remove(storage, "first", OLD_S, NOW)
    append(storage, "second")
    append(storage, "third")
    write(storage, NOW, {"first": OLD_S, "second": OLD_S, "third": OLD_S})
    for version in range(5):
        age_commit(storage, version, OLD_S - version, NOW)


def test_files_of_a_pinned_version_are_retained(storage: Storage) -> None:
    old_history(storage)
    assert unused(storage, NOW) == {"first"}
    assert unused(storage, NOW, 1) == set()
    assert unused(storage, NOW, 2) == set()  # a change feed reads this commit's removed files
    assert unused(storage, NOW, 3) == {"first"}
    assert unused(storage, NOW, 17) == {"first"}


def test_files_that_another_table_names_stay(storage: Storage, tmp_path: Path) -> None:
    old_history(storage)
    clone = open_storage(str(tmp_path / "clone"), allowed_roots=(str(tmp_path),))
    create(clone)
    append(clone, f"file:{storage.root.replace(' ', '%20')}/first", f"{storage.root}/nothing", "own")
    retained = Retained(since_ms=int((NOW - CUT_S) * 1000))
    snapshot, needed = Snapshot.load(storage), NeededFiles(storage)
    needed.add_own(snapshot, retained)
    own = needed.count
    needed.add_other(Snapshot.load(clone), retained)
    assert needed.count > own
    assert find_unused(snapshot, needed, retained.since_ms, lambda: None).files == ()


def test_links_are_left_alone_and_lead_nowhere(storage: Storage, tmp_path: Path) -> None:
    create(storage)
    write(storage, NOW, {"kept/x": OLD_S})
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").write_bytes(b"x")
    os.utime(tmp_path / "outside" / "file", (0, 0))
    os.symlink(tmp_path / "outside", f"{storage.root}/folder")
    os.symlink(tmp_path / "outside" / "file", f"{storage.root}/file")
    assert unused(storage, NOW) == {"kept/x"}


def test_empty_folders_go_when_they_are_old_and_checksums_with_their_files(storage: Storage) -> None:
    create(storage)
    now = os.stat(storage.root).st_mtime + 2 * CUT_S
    write(storage, now, {"p=1/.stray.crc": OLD_S, "p=1/stray": OLD_S, "p=1/.other.crc": OLD_S, "p=2/stray": OLD_S})
    for name, seconds in (("old", OLD_S), ("young", YOUNG_S), ("_hidden", OLD_S), ("p=2", OLD_S)):
        (Path(storage.root) / name).mkdir(exist_ok=True)
        age(storage, name, seconds, now)
    snapshot = Snapshot.load(storage)
    since_ms = int((now - CUT_S) * 1000)
    needed = NeededFiles(storage)
    needed.add_own(snapshot, Retained(since_ms=since_ms))
    found = find_unused(snapshot, needed, since_ms, lambda: None)
    assert (set(found.files), found.empty_folders) == ({"p=1/stray", "p=2/stray"}, ("old",))
    assert (found.checksums, found.num_bytes, found.num_folders) == (("p=1/.stray.crc",), 10, 5)
    removed = remove_files(storage, found, lambda: None)
    assert (removed.count, removed.failed) == (3, ())
    left = {path.relative_to(storage.root).as_posix() for path in Path(storage.root).rglob("*")}
    assert {name for name in left if not name.startswith(LOG_DIR)} == {
        "p=1",
        "p=1/.other.crc",
        "p=2",
        "young",
        "_hidden",
    }


def test_a_folder_that_is_used_again_stays(storage: Storage) -> None:
    create(storage)
    (Path(storage.root) / "p=1").mkdir()
    age(storage, "p=1", OLD_S, NOW)
    snapshot = Snapshot.load(storage)
    found = find_unused(snapshot, NeededFiles(storage), int((NOW - CUT_S) * 1000), lambda: None)
    write(storage, NOW, {"p=1/new": 0})
    assert found.empty_folders == ("p=1",)
    assert remove_files(storage, found, lambda: None).count == 0
    assert storage.exists("p=1/new")


class Cancelled(Exception):
    pass


def test_a_cancelled_removal_stops_between_batches(storage: Storage) -> None:
    create(storage)
    write(storage, NOW, {f"stray-{number}": OLD_S for number in range(1500)})
    found = find_unused(Snapshot.load(storage), NeededFiles(storage), int(NOW * 1000), lambda: None)
    looks = iter([None, Cancelled()])

    def check() -> None:
        error = next(looks)
        if error is not None:
            raise error

    with pytest.raises(Cancelled):
        remove_files(storage, found, check)
    assert sum(storage.exists(name) for name in found.files) == 500


def lite(storage: Storage, now: float, *versions: int) -> tuple[set[str], int | None]:
    snapshot = Snapshot.load(storage)
    retained = Retained(since_ms=int((now - CUT_S) * 1000), versions=frozenset(versions))
    needed = NeededFiles(storage)
    needed.add_own(snapshot, retained)
    return set(find_removed(snapshot, needed, retained.since_ms, lambda: None).files), last_expired(snapshot, retained)


def test_the_log_alone_tells_what_was_removed_long_ago(storage: Storage) -> None:
    old_history(storage)
    write(storage, NOW, {"stray": OLD_S})
    assert lite(storage, NOW) == ({"first"}, 4)
    assert lite(storage, NOW, 1) == (set(), 1)
    remove(storage, "second", OLD_S, NOW)
    age_commit(storage, 5, YOUNG_S, NOW)
    assert lite(storage, NOW) == ({"first"}, 4)
    note_vacuum(storage, 4)
    note_vacuum(storage, 2)
    assert read_last_vacuum(storage) == 4
    age_commit(storage, 5, OLD_S - 5, NOW)
    assert lite(storage, NOW) == ({"second"}, 5)
    storage.delete("second")
    assert lite(storage, NOW) == (set(), 5)


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"{}", b'{"latestCommitVersionOutsideOfRetentionWindow":"x"}'])
def test_a_note_that_says_nothing_is_none(storage: Storage, text: bytes) -> None:
    old_history(storage)
    storage.write(f"{LOG_DIR}/_last_vacuum_info", text)
    assert read_last_vacuum(storage) is None
    assert lite(storage, NOW) == ({"first"}, 4)


def test_the_log_must_be_there_from_where_the_last_one_ended(storage: Storage) -> None:
    old_history(storage)
    change_metadata(storage, {"delta.appendOnly": "false"})
    age_commit(storage, 5, OLD_S - 5, NOW)
    snapshot = Snapshot.load(storage)
    storage.delete(f"{LOG_DIR}/{commit_name(0)}")
    retained = Retained(since_ms=int((NOW - CUT_S) * 1000))
    with pytest.raises(VacuumLiteImpossible):
        find_removed(snapshot, NeededFiles(storage), retained.since_ms, lambda: None)
    note_vacuum(storage, 0)
    needed = NeededFiles(storage)
    assert set(find_removed(snapshot, needed, retained.since_ms, lambda: None).files) == {"first"}
