"""Storage operations for the log, the same on every kind; for writing see `test_put_if_absent`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import fsspec
import pytest

from catalog.discovery.other_tables import OtherTables
from engine.storage.storage import FileStatus, FsspecStorage, LocalStorage, Storage, _status, open_storage

FOLDERS = ["plain", "with space", "[brackets]*", "50%25"]


@pytest.fixture(params=[(kind, folder) for kind in ("local", "memory") for folder in FOLDERS], ids="-".join)
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Storage]:
    kind, folder = request.param
    if kind == "local":
        yield open_storage(str(tmp_path / folder))
        return
    root = f"storage-{os.getpid()}"
    yield open_storage(f"memory://{root}/{folder}")
    memory = fsspec.filesystem("memory")
    for path in memory.find(f"/{root}"):
        memory.rm_file(path)


def fill(storage: Storage) -> None:
    for name in ("log/b", "log/a", "log/c", "log/sub/d", "other"):
        storage.write(name, name.encode())


def test_listings_are_sorted_and_begin_at_start(storage: Storage) -> None:
    fill(storage)
    assert storage.list_names("log") == ["a", "b", "c"]
    assert storage.list_names("log", "b") == ["b", "c"]
    assert storage.list_names("log", "bb") == ["c"]
    assert storage.list_names("nowhere") == []
    assert storage.list_names("other") == []
    statuses = storage.list_files("log", "b")
    assert [(status.name, status.size) for status in statuses] == [("b", 5), ("c", 5)]
    now = time.time() * 1000
    assert all(now - 60_000 < status.modified_ms < now + 60_000 for status in statuses)


def test_a_listing_shows_what_was_written_since(storage: Storage) -> None:
    fill(storage)
    storage.list_names("log")
    storage.write("log/e", b"")
    assert storage.list_names("log", "e") == ["e"]


def test_files_are_read(storage: Storage) -> None:
    fill(storage)
    assert storage.exists("log/a") and not storage.exists("log/x")
    assert storage.read_bytes("log/a") == b"log/a"
    assert storage.read_range("log/a", 1, 3) == b"og/"
    assert storage.read_range("log/a", 3, 99) == b"/a"
    assert storage.stat("log/a") == storage.list_files("log")[0]
    with storage.open_input("log/a") as file:
        file.seek(4)
        assert file.read() == b"a"


def test_many_files_come_in_order(storage: Storage) -> None:
    names = [f"many/{i}" for i in range(150)]
    for name in names:
        storage.write(name, name.encode())
    wanted = names[::-1]
    assert list(storage.read_many(wanted)) == [name.encode() for name in wanted]
    assert list(storage.read_many([])) == []
    assert list(storage.read_many(wanted[:1])) == [b"many/149"]


def test_missing_files_raise_the_same_error(storage: Storage) -> None:
    for read in (storage.read_bytes, storage.stat, storage.open_input, lambda name: storage.read_range(name, 0, 1)):
        with pytest.raises(FileNotFoundError):
            read("log/x")
    with pytest.raises(FileNotFoundError):
        list(storage.read_many(["log/x", "log/y"]))


def test_absolute_names_stand_alone(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(b"x")
    storage = open_storage(str(tmp_path / "table"))
    others = OtherTables((str(tmp_path),))
    storage.find_others = lambda _: others
    assert storage.read_bytes(f"{tmp_path}/elsewhere") == b"x"
    assert storage.read_bytes(f"file:{tmp_path}/elsewhere") == b"x"


def test_a_large_file_is_read_whole(tmp_path: Path) -> None:
    data = os.urandom(3 << 20)
    (tmp_path / "large").write_bytes(data)
    assert open_storage(str(tmp_path)).read_bytes("large") == data


@pytest.mark.parametrize(
    ("path", "kind", "root"),
    [
        ("/a/b/", LocalStorage, "/a/b"),
        ("file:///a/b", LocalStorage, "/a/b"),
        ("file:/a/b", LocalStorage, "/a/b"),
        ("memory://a/b/", FsspecStorage, "memory://a/b"),
    ],
)
def test_the_kind_follows_from_the_path(path: str, kind: type[Storage], root: str) -> None:
    storage = open_storage(path)
    assert type(storage) is kind and storage.root == root


MOMENT = datetime(2024, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)
MOMENT_MS = 1_704_164_645_678


@pytest.mark.parametrize(
    "fields",
    [
        {"mtime": MOMENT.timestamp()},
        {"LastModified": MOMENT},
        {"last_modified": MOMENT},
        {"updated": "2024-01-02T03:04:05.678Z"},
        {"created": MOMENT},
    ],
)
def test_times_of_every_scheme(fields: dict[str, Any]) -> None:
    assert _status({"name": "b/x", "size": 3, **fields}) == FileStatus("x", 3, MOMENT_MS)
    assert _status({"name": "b/x", "size": None}) == FileStatus("x", 0, 0)


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (FileStatus("x", 3, MOMENT_MS), True),
        (FileStatus("x", 3, MOMENT_MS // 1000 * 1000), True),
        (FileStatus("x", 3, MOMENT_MS + 1), False),
        (FileStatus("x", 3, MOMENT_MS // 1000 * 1000 + 1000), False),
        (FileStatus("x", 4, MOMENT_MS), False),
        (FileStatus("y", 3, MOMENT_MS), False),
        (FileStatus("x", 3, MOMENT_MS, "one"), True),
        (FileStatus("x", 3, MOMENT_MS, "two"), False),
        (None, False),
    ],
)
def test_a_file_is_known_again_by_storages_that_tell_whole_seconds(other: FileStatus | None, expected: bool) -> None:
    """An object store's listing has fractional seconds, which a single object's metadata lacks."""
    status = FileStatus("x", 3, MOMENT_MS, "one")
    assert status.may_be(other) is expected
    assert other is None or other.may_be(status) is expected


@pytest.mark.parametrize(("milliseconds", "expected"), [(0, True), (1, False), (999, False)])
def test_exact_times_that_are_whole_seconds_are_compared_exactly(milliseconds: int, expected: bool) -> None:
    second, other = (
        FileStatus("x", 3, MOMENT_MS // 1000 * 1000 + offset, has_exact_time=True) for offset in (0, milliseconds)
    )
    assert second.may_be(other) is other.may_be(second) is expected


def test_a_deleted_tree_is_gone_and_may_be_deleted_again(storage: Storage) -> None:
    for name in ("_delta_log/0.json", "a=1/part.parquet"):
        storage.write(name, b"x")
    for _ in range(2):
        storage.delete_tree()
        assert not storage.exists("_delta_log/0.json") and not storage.exists("a=1/part.parquet")
        assert storage.list_names("_delta_log") == []


def test_a_tree_is_deleted_while_others_write_into_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that comes after the folder was listed is found by the next look."""
    storage = open_storage(str(tmp_path / "table"))
    storage.write("_delta_log/0.json", b"x")
    late, remove = [b"y", b"z"], os.rmdir

    def remove_later(path: Any, **options: Any) -> None:
        if late:
            (tmp_path / "table" / "_delta_log" / "1.json").write_bytes(late.pop())
        remove(path, **options)

    monkeypatch.setattr(os, "rmdir", remove_later)
    storage.delete_tree()
    assert not late and not os.path.lexists(tmp_path / "table")


def test_a_put_in_place_makes_no_folder(tmp_path: Path) -> None:
    storage = open_storage(str(tmp_path / "table"))
    with pytest.raises(FileNotFoundError):
        storage.put_if_absent("_delta_log/1.json", b"x", in_place=True)
    assert not os.path.lexists(tmp_path / "table")
    assert storage.put_if_absent("_delta_log/0.json", b"x")
    assert storage.put_if_absent("_delta_log/1.json", b"x", in_place=True)


def test_a_folder_shows_files_and_folders_but_no_links(storage: Storage) -> None:
    fill(storage)
    if not storage.root.startswith("memory:"):
        os.symlink(storage.path_of("other"), f"{storage.root}/log/link")
    listing = storage.list_folder("log")
    assert sorted(status.name for status in listing.files) == ["a", "b", "c"]
    assert [status.name for status in listing.folders] == ["sub"]
    root = storage.list_folder("")
    assert ([status.name for status in root.files], [status.name for status in root.folders]) == (["other"], ["log"])
    assert storage.list_folder("nowhere").files == ()


def test_only_an_empty_folder_is_removed(storage: Storage) -> None:
    fill(storage)
    storage.delete("log/sub/d")
    is_local = not storage.root.startswith("memory:")
    assert storage.delete_empty_folder("log/sub") is is_local
    assert storage.delete_empty_folder("log/sub") is False
    assert storage.delete_empty_folder("log") is False
    assert storage.list_names("log") == ["a", "b", "c"]


class LostConnection(Exception):
    """Like botocore's errors, it is not an `OSError`."""


class Disconnected:
    """An fsspec file system whose server is unavailable."""

    def __getattr__(self, name: str) -> Any:
        def fail(*_: Any, **__: Any) -> Any:
            raise LostConnection("connection closed")

        return fail


def put_whole(storage: Storage) -> None:
    with storage.open_output("a") as file:
        file.write(b"")


@pytest.mark.parametrize(
    "call",
    [
        lambda it: it.list_names("log"),
        lambda it: it.list_folder("log"),
        lambda it: it.stat("a"),
        lambda it: it.exists("a"),
        lambda it: it.read_bytes("a"),
        lambda it: it.read_range("a", 0, 1),
        lambda it: list(it.read_many(["a", "b"])),
        lambda it: it.open_input("a"),
        lambda it: it.put_if_absent("a", b""),
        lambda it: it.write("a", b""),
        put_whole,
        lambda it: it.delete("a"),
        lambda it: it.delete_tree(),
    ],
)
def test_every_failure_of_a_client_is_an_os_error(call: Callable[[Storage], object]) -> None:
    storage = FsspecStorage("memory://bucket/t")
    storage.fs = Disconnected()
    with pytest.raises(OSError, match="LostConnection: connection closed"):
        call(storage)
