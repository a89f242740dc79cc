"""Put-if-absent and whole-file writes on every kind of storage."""

from __future__ import annotations

import errno
import os
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from catalog.conditions import StorageNotWritable
from engine.storage.put_if_absent import put_fsspec
from engine.storage.storage import FsspecStorage, Storage, open_storage

NAME = "_delta_log/00000000000000000000.json"


@pytest.fixture(params=["local", "memory"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Storage]:
    if request.param == "local":
        yield open_storage(str(tmp_path))
    else:
        root = f"/put-{id(tmp_path)}"
        yield open_storage(f"memory:/{root}")
        memory = fsspec.filesystem("memory")
        for path in memory.find(root):
            memory.rm_file(path)


def test_the_first_put_stays(storage: Storage) -> None:
    storage.ensure_writable()
    assert storage.put_if_absent(NAME, b"first")
    assert not storage.put_if_absent(NAME, b"second")
    assert storage.read_bytes(NAME) == b"first"


def test_a_put_that_fails_leaves_nothing(tmp_path: Path) -> None:
    """A full disk in the middle: here, no file may exceed ten bytes."""
    storage = open_storage(str(tmp_path))
    storage.put_if_absent(NAME, b"short")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, before[1]))
    try:
        with pytest.raises(OSError):
            storage.put_if_absent("_delta_log/00000000000000000001.json", b"more than ten bytes")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert [path.name for path in (tmp_path / "_delta_log").iterdir()] == [NAME.rpartition("/")[2]]


def test_a_write_replaces_and_a_delete_is_idempotent(storage: Storage) -> None:
    storage.write(NAME, b"first")
    storage.write(NAME, b"second")
    assert storage.read_bytes(NAME) == b"second"
    storage.delete(NAME)
    storage.delete(NAME)
    assert not storage.exists(NAME)


def test_a_stream_appears_when_it_ends(storage: Storage) -> None:
    with storage.open_output(NAME) as file:
        file.write(b"ab")
        assert not storage.exists(NAME)
        file.write(b"c")
    assert storage.read_bytes(NAME) == b"abc"


def test_a_stream_that_fails_leaves_what_was_there(storage: Storage) -> None:
    storage.write(NAME, b"old")
    with pytest.raises(RuntimeError, match="half way"):
        with storage.open_output(NAME) as file:
            file.write(b"new")
            raise RuntimeError("half way")
    assert storage.read_bytes(NAME) == b"old"
    assert storage.list_names("_delta_log") == [NAME.rpartition("/")[2]]


def test_no_temporary_file_is_left(tmp_path: Path) -> None:
    storage = open_storage(str(tmp_path))
    storage.put_if_absent(NAME, b"x")
    storage.put_if_absent(NAME, b"y")
    storage.write(f"{NAME}.other", b"z")
    assert sorted(os.listdir(tmp_path / "_delta_log")) == [Path(NAME).name, f"{Path(NAME).name}.other"]


def test_a_link_whose_answer_is_lost_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NFS may do this: the link was made, and the repetition reports that it exists."""
    link = os.link

    def link_and_fail(source: str, target: str) -> None:
        link(source, target)
        raise FileExistsError(errno.EEXIST, "File exists")

    monkeypatch.setattr("engine.storage.put_if_absent.os.link", link_and_fail)
    assert open_storage(str(tmp_path)).put_if_absent(NAME, b"x")


def test_a_file_system_without_links_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(source: str, target: str) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr("engine.storage.put_if_absent.os.link", no_links)
    with pytest.raises(StorageNotWritable, match="hard links"):
        open_storage(str(tmp_path)).put_if_absent(NAME, b"x")
    assert os.listdir(tmp_path / "_delta_log") == []


class ObjectStore(MemoryFileSystem):
    """Conditional puts as called in s3fs, gcsfs and adlfs."""

    store: dict[str, Any] = {}
    cachable = False

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", overwrite: bool = True, **_: Any) -> None:
        if (mode == "create" or not overwrite) and self.exists(path):
            raise FileExistsError(path)
        super().pipe_file(path, value)


@pytest.mark.parametrize("scheme", ["s3", "s3a", "gs", "gcs", "abfs", "abfss", "az"])
def test_object_stores_get_conditional_put(scheme: str) -> None:
    store = ObjectStore()
    path = f"{scheme}://bucket/table/{NAME}"
    assert put_fsspec(store, scheme, path, b"first")
    assert not put_fsspec(store, scheme, path, b"second")
    assert store.cat_file(path) == b"first"


@pytest.mark.parametrize("url", ["zip://table", "ftp://host/table", "webhdfs://host/table"])
def test_a_scheme_without_put_if_absent_is_refused_by_name(url: str) -> None:
    storage = object.__new__(FsspecStorage)
    storage.root, storage.scheme = url, url.partition(":")[0]
    with pytest.raises(StorageNotWritable, match=storage.scheme):
        storage.ensure_writable()


def test_a_file_that_has_its_name_is_put(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later failure, for example when opening a write-only folder, is not a rejection."""
    opened = os.open

    def open_files_alone(path: str, flags: int, mode: int = 0o777) -> int:
        if os.path.isdir(path):
            raise PermissionError(errno.EACCES, "Permission denied")
        return opened(path, flags, mode)

    monkeypatch.setattr(os, "open", open_files_alone)
    assert open_storage(str(tmp_path)).put_if_absent(NAME, b"first")
