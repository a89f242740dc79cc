"""Links are followed as the standard library follows them, in fewer steps."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engine.storage import confinement
from engine.storage.confinement import real_path

PLACES = (
    ".",
    "there",
    "there/file",
    "link",
    "link/file",
    "link/../there",
    "./link//file",
    "of_link/file",
    "link/missing/too",
    "missing",
    "broken",
    "circle/x",
    "file (deleted)",
    "ü\udcff",
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "there").mkdir()
    for name in ("there/file", "file (deleted)", "ü\udcff"):
        (tmp_path / name).touch()
    for name, target in {"link": "there", "of_link": "link", "broken": "nowhere", "circle": "circle"}.items():
        (tmp_path / name).symlink_to(target)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("files", ["/proc/self/fd", "/no/such/folder"])
def test_links_are_followed_as_by_the_standard_library(
    folder: Path, place: str, files: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(confinement, "_OWN_FILES", files)
    for path in (place, f"{folder}/{place}"):
        assert real_path(path) == os.path.realpath(path)


def test_a_folder_that_is_removed_meanwhile_keeps_its_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = os.open

    def open_and_remove(path: str, flags: int) -> int:
        descriptor = opened(path, flags)
        os.rename(path, f"{path}.gone")
        os.remove(f"{path}.gone/file")
        os.rmdir(f"{path}.gone")
        return descriptor

    monkeypatch.setattr(os, "open", open_and_remove)
    assert real_path(f"{folder}/there") == f"{folder}/there"


def test_descriptors_are_closed(folder: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    for place in PLACES:
        real_path(place)
    assert len(os.listdir("/proc/self/fd")) == before
