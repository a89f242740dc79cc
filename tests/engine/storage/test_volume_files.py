"""Volume files on each kind of storage: bytes in and out, no partial file, and no path out of the volume."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import fsspec
import pytest

from catalog.conditions import FileInStagingPathExists, VolumeFileNotAllowed, VolumeFileNotFound, VolumeFolderNotEmpty
from catalog.names import TableName
from catalog.volumes.paths import VolumePath
from engine.storage.volume_files import VolumeFile

Open = Callable[[str], VolumeFile]
NAMES = ["a", "in/a b.csv", "[x]*?.csv", "50%25", "é/日本"]


class _Broken(io.BytesIO):
    """A client that is gone after some bytes."""

    def read(self, size: int | None = -1) -> bytes:
        if self.tell():
            raise ConnectionResetError
        return super().read(3)


@pytest.fixture(params=["local", "memory"])
def open_file(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    root = str(tmp_path / "v") if request.param == "local" else f"memory://volumes-{os.getpid()}/{tmp_path.name}"
    yield lambda file: VolumeFile(VolumePath(TableName("c", "s", "v"), file), root, (root,))
    memory = fsspec.filesystem("memory")
    for path in memory.find(f"/volumes-{os.getpid()}"):
        memory.rm_file(path)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_is_written_read_listed_and_removed(open_file: Open, name: str) -> None:
    file = open_file(name)
    assert not file.exists()
    file.write(io.BytesIO(b"content"), overwrite=False)
    with file.open() as content:
        assert content.read() == b"content"
    assert file.exists() and file.status().size == 7
    folder, _, base = name.rpartition("/")
    assert [(entry.name, entry.size, entry.is_folder) for entry in open_file(folder).entries()] == [(base, 7, False)]
    file.remove()
    for use in (file.open, file.status, file.remove, file.entries):
        with pytest.raises(VolumeFileNotFound):
            use()


def test_a_file_is_replaced_by_overwrite_alone(open_file: Open) -> None:
    file = open_file("a")
    file.write(io.BytesIO(b"1"), overwrite=False)
    with pytest.raises(FileInStagingPathExists):
        file.write(io.BytesIO(b"2"), overwrite=False)
    with file.open() as content:
        assert content.read() == b"1"
    file.write(io.BytesIO(b"3"), overwrite=True)
    with file.open() as content:
        assert content.read() == b"3"
    assert [entry.name for entry in open_file("").entries()] == ["a"]


@pytest.mark.parametrize("overwrite", [True, False])
def test_a_transfer_that_breaks_off_leaves_what_was_there(open_file: Open, overwrite: bool) -> None:
    file = open_file("in/a")
    if overwrite:
        file.write(io.BytesIO(b"before"), overwrite=False)
    with pytest.raises(ConnectionResetError):
        file.write(_Broken(b"0123456789"), overwrite=overwrite)
    assert file.exists() is overwrite
    if overwrite:
        assert [entry.name for entry in open_file("in").entries()] == ["a"]
        with file.open() as content:
            assert content.read() == b"before"


def test_a_folder_is_removed_when_it_is_empty(open_file: Open) -> None:
    open_file("in/a").write(io.BytesIO(b"1"), overwrite=False)
    with pytest.raises(VolumeFolderNotEmpty):
        open_file("in").remove_folder()
    open_file("in/a").remove()
    folder = open_file("in")
    if folder.has_folders:
        folder.remove_folder()
        assert not folder.is_folder()


def test_a_folder_is_no_file(open_file: Open) -> None:
    open_file("in/a").write(io.BytesIO(b"1"), overwrite=False)
    for name in ("in", ""):
        with pytest.raises(VolumeFileNotFound):
            open_file(name).open()
        with pytest.raises(VolumeFileNotAllowed):
            open_file(name).write(io.BytesIO(b"2"), overwrite=True)


def test_links_stay_in_the_volume(tmp_path: Path) -> None:
    root = tmp_path / "v"
    (root / "in").mkdir(parents=True)
    (root / "in" / "a").write_bytes(b"inside")
    secret = tmp_path / "secret"
    secret.write_bytes(b"secret")
    (root / "inner").symlink_to(root / "in" / "a")
    (root / "outer").symlink_to(secret)
    (root / "above").symlink_to(tmp_path)

    def file(name: str) -> VolumeFile:
        return VolumeFile(VolumePath(TableName("c", "s", "v"), name), str(root), (str(tmp_path),))

    with file("inner").open() as content:
        assert content.read() == b"inside"
    uses: list[Callable[[], object]] = [
        lambda: file("outer").open(),
        lambda: file("outer").status(),
        lambda: file("above/secret").open(),
        lambda: file("above/secret").remove(),
        lambda: file("above/new").write(io.BytesIO(b"x"), overwrite=True),
        lambda: file("above/new").make_folder(),
        lambda: file("above").entries(),
        lambda: file("above/v").entries(),
    ]
    for use in uses:
        with pytest.raises((VolumeFileNotAllowed, VolumeFileNotFound)):
            use()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["secret", "v"] and secret.read_bytes() == b"secret"
    file("outer").write(io.BytesIO(b"own"), overwrite=True)  # the link is removed, and not its target
    assert secret.read_bytes() == b"secret" and (root / "outer").read_bytes() == b"own"
