"""Put-if-absent has one winner, on each kind of file system that may hold a catalog."""

from __future__ import annotations

import threading
import uuid
from pathlib import Path

import pytest

from catalog.store.files import Files
from catalog.store.remote import open_files


@pytest.fixture(params=["local", "fsspec"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Files:
    return open_files(str(tmp_path / "a" / "b") if request.param == "local" else f"memory://{uuid.uuid4().hex}/a")


def test_create_read_list_delete(files: Files) -> None:
    assert files.names("x/y") == []
    assert files.create("x/y/one", b"1")
    assert files.create("x/y/z/two", b"2")
    assert not files.create("x/y/one", b"another")
    assert files.read("x/y/one") == b"1"
    assert files.names("x/y") == ["one"]  # folders are not files
    files.delete("x/y/one")
    files.delete("x/y/one")
    assert files.names("x/y") == []
    with pytest.raises(FileNotFoundError):
        files.read("x/y/one")


def test_of_racing_creators_one_wins_and_its_bytes_stay(files: Files) -> None:
    threads, rounds = 8, 25
    barrier = threading.Barrier(threads)
    wins: list[tuple[int, int]] = []

    def race(who: int) -> None:
        for number in range(rounds):
            barrier.wait()
            if files.create(f"{number:020}.json", str(who).encode() * 1000):
                wins.append((number, who))

    racers = [threading.Thread(target=race, args=(who,)) for who in range(threads)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join()
    assert sorted(number for number, _ in wins) == list(range(rounds))
    for number, who in wins:
        assert files.read(f"{number:020}.json") == str(who).encode() * 1000
    assert len(files.names("")) == rounds  # no temporary file stays
