"""Files on an S3-like store: read, opened, listed and removed by few requests, and as on every other storage."""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from catalog.store.credentials import options_for
from engine.storage.storage import UNLISTED_MARK, FsspecStorage
from tests.stores.s3_lake import BUCKET, S3Server, s3_server

MIB = 1 << 20
NAMES = ("plain", "a b", "[x]*", "a&b<c>", "50%25", "é", "folder/inner")


@pytest.fixture(scope="module")
def store() -> Iterator[S3Server]:
    with s3_server() as server:
        yield server


_numbers = itertools.count()


def opened(root: str, kind: type[FsspecStorage] = FsspecStorage) -> FsspecStorage:
    return kind(root, options_for(root))


@pytest.fixture
def storage(store: S3Server) -> FsspecStorage:
    store.fail()
    return opened(f"s3://{BUCKET}/table{next(_numbers)}")


@pytest.mark.parametrize(
    ("size", "requests"), [(0, None), (10, 1), (MIB - 1, 1), (MIB, 1), (MIB + 5, 2), (53 * MIB, 3)], ids=str
)
def test_file_is_opened_whatever_its_size(
    storage: FsspecStorage, store: S3Server, size: int, requests: int | None
) -> None:
    data = (bytes(range(251)) * (size // 251 + 1))[:size]
    storage.write("x", data)
    store.requests()
    with storage.open_input("x") as file:
        assert file.read() == data
        file.seek(max(0, size - 3))
        assert file.read() == data[-3:]
    sent = store.requests()
    if requests is not None:
        assert [method for method, _, _ in sent] == ["GET"] * requests


def test_footer_of_a_large_file_is_read_by_one_request(storage: FsspecStorage, store: S3Server) -> None:
    table = pa.table({"id": range(400_000)})
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, compression="none", use_dictionary=False)
    storage.write("x", sink.getvalue().to_pybytes())
    assert storage.stat("x").size > 3 * MIB
    store.requests()
    with storage.open_input("x") as file:
        assert pq.read_metadata(file).num_rows == 400_000
    assert [method for method, _, _ in store.requests()] == ["GET"]
    with storage.open_input("x") as file:
        assert pq.read_table(file).equals(table)
    assert {method for method, _, _ in store.requests()} == {"GET"}


@pytest.mark.parametrize("kind", ["cut", "lose", "reset", "503"])
@pytest.mark.parametrize("skip", [0, 1])
def test_large_file_has_all_bytes_after_a_failed_request(
    storage: FsspecStorage, store: S3Server, kind: str, skip: int
) -> None:
    data = random.Random(kind).randbytes(9 * MIB)
    storage.write("x", data)
    store.fail({"method": "GET", "path": "x$", "kind": kind, "count": 1, "skip": skip})
    with storage.open_input("x") as file:
        assert file.read() == data


def test_each_look_at_a_file_is_one_request(storage: FsspecStorage, store: S3Server) -> None:
    storage.write("log/a", b"abc")
    store.requests()
    assert storage.read_bytes("log/a") == b"abc"
    assert storage.exists("log/a") and not storage.exists("log/b")
    assert storage.stat("log/a").size == 3
    assert storage.list_names("log") == ["a"]
    assert storage.list_names("nowhere") == []
    assert [folder.name for folder in storage.list_folder("").folders] == ["log"]
    assert len(store.requests()) == 7
    for read in (storage.read_bytes, storage.stat, storage.open_input):
        with pytest.raises(FileNotFoundError):
            read("log/b")
    assert len(store.requests()) == 3


def test_many_files_are_removed_by_one_request(storage: FsspecStorage, store: S3Server) -> None:
    for name in (*NAMES, "stays"):
        storage.write(name, b"x")
    store.requests()
    assert storage.delete_many([*NAMES, "missing"]) == {}
    assert [method for method, _, _ in store.requests()] == ["POST"]
    assert [status.name for status in storage.list_folder("").files] == ["stays"]


def test_store_that_removes_no_files_at_once_removes_each(storage: FsspecStorage, store: S3Server) -> None:
    for name in NAMES:
        storage.write(name, b"x")
    store.fail(
        {"method": "POST", "path": ".", "kind": "403", "count": 100},
        {"method": "DELETE", "path": "plain", "kind": "403", "count": 100},
    )
    failures = storage.delete_many(NAMES)
    assert list(failures) == ["plain"]
    assert isinstance(failures["plain"], OSError)
    store.fail()
    assert [status.name for status in storage.list_folder("").files] == ["plain"]


def test_folder_is_removed_with_all_that_is_in_it(storage: FsspecStorage, store: S3Server) -> None:
    for name in (*NAMES, UNLISTED_MARK, "_delta_log/0", "metadata/v1"):
        storage.write(name, b"x")
    beside = opened(f"{storage.root}-beside")
    beside.write("x", b"x")
    store.requests()
    storage.delete_tree()
    assert len(store.requests()) <= 5
    assert storage.list_folder("") == opened(f"{storage.root}-nothing").list_folder("")
    assert beside.exists("x")


class MadeAnew(FsspecStorage):
    """Into whose folder another server puts a new table as soon as the old one's mark is gone."""

    is_first = True

    def _delete(self, paths: Sequence[str]) -> None:
        super()._delete(paths)
        if self.is_first and any(path.endswith(UNLISTED_MARK) for path in paths):
            self.is_first = False
            for name in (UNLISTED_MARK, "_delta_log/0", "part"):
                self.write(name, b"new")


def test_new_table_that_is_made_during_a_removal_stays(storage: FsspecStorage) -> None:
    for name in ("part", "_delta_log/0", "_delta_log/1", UNLISTED_MARK):
        storage.write(name, b"old")
    opened(storage.root, MadeAnew).delete_tree()
    assert [storage.read_bytes(name) for name in (UNLISTED_MARK, "_delta_log/0", "part")] == [b"new"] * 3
    assert not storage.exists("_delta_log/1")


class WrittenTo(FsspecStorage):
    """Into whose folder a statement on the old table puts a file after all was removed."""

    is_first = True

    def _delete(self, paths: Sequence[str]) -> None:
        super()._delete(paths)
        if self.is_first and any(path.endswith(UNLISTED_MARK) for path in paths):
            self.is_first = False
            self.write("late", b"late")


def test_file_that_is_put_during_a_removal_goes_too(storage: FsspecStorage) -> None:
    for name in ("part", "_delta_log/0", UNLISTED_MARK):
        storage.write(name, b"old")
    opened(storage.root, WrittenTo).delete_tree()
    assert not storage.exists("late")
