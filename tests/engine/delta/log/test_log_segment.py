"""Log segments: the files that define a version, from tables of listings."""

from __future__ import annotations

import json

import pytest

from catalog.conditions import (
    DeltaError,
    DeltaTableNotFound,
    LogTruncated,
    MissingPartFiles,
    VersionNotFound,
    VersionsNotContiguous,
)
from engine.delta.log.log_segment import LogSegment, earliest_version, extend_segment, find_segment, select_segment
from engine.delta.spec.paths import (
    LAST_CHECKPOINT,
    LOG_DIR,
    LogFileKind,
    LogPath,
    checkpoint_name,
    checkpoint_part_name,
    checkpoint_v2_name,
    checksum_name,
    commit_name,
    compaction_name,
    parse_log_path,
)
from engine.storage.storage import FileStatus
from tests.engine.delta.log_builder import LogBuilder
from tests.interleave.storages import DictStorage

UUID = "3a0d65cd-4a56-49a8-937b-95f9e3ee90e5"


def listing(text: str) -> list[LogPath]:
    """`0 1 2 c1 p2.1/2 u3 4-6 k7`: commits, checkpoints (classic, part, v2), compactions, checksums."""
    paths = []
    for item in text.split():
        kind, rest = (item[0], item[1:]) if item[0].isalpha() else ("", item)
        match kind:
            case "c":
                name = checkpoint_name(int(rest))
            case "p":
                version, part, parts = map(int, rest.replace("/", ".").split("."))
                name = checkpoint_part_name(version, part, parts)
            case "u":
                name = checkpoint_v2_name(int(rest), UUID, "json")
            case "k":
                name = checksum_name(int(rest))
            case _ if "-" in rest:
                name = compaction_name(*map(int, rest.split("-")))
            case _:
                name = commit_name(int(rest))
        path = parse_log_path(name)
        assert path is not None
        paths.append(path)
    return paths


def shown(segment: LogSegment) -> str:
    """Returns a segment in `listing`'s notation."""
    items = []
    if segment.checkpoint is not None:
        first = segment.checkpoint.files[0]
        letter = "p" if first.kind is LogFileKind.CHECKPOINT_PART else "u" if UUID in first.name else "c"
        items.append(f"{letter}{first.version}")
    for delta in segment.deltas:
        items.append(f"{delta.version}-{delta.version_to}" if delta.version_to > delta.version else f"{delta.version}")
    return " ".join(items)


@pytest.mark.parametrize(
    ("files", "version", "expected"),
    [
        ("0", None, "0"),
        ("0 1 2", None, "0 1 2"),
        ("0 1 2", 1, "0 1"),
        ("0 1 c1 2", None, "c1 2"),
        ("0 1 c1 2", 1, "c1"),
        ("0 1 c1 2", 0, "0"),
        ("c5", None, "c5"),
        ("c5 6", None, "c5 6"),
        ("4 c5 6", None, "c5 6"),
        ("0 c3 5 c7 8", None, "c7 8"),
        ("0 1 2 p2.1/2 p2.2/2", None, "p2"),
        ("0 1 2 p2.1/2", None, "0 1 2"),
        ("0 1 c1 2 p2.2/2", None, "c1 2"),
        ("0 1 2 p2.1/3 p2.2/2 p2.1/2 p2.3/3", None, "p2"),
        ("0 1 2 c2 u2", None, "u2"),
        ("0 1 2 c2 p2.1/1", None, "c2"),
        ("0 1 2 3 1-3", None, "0 1-3"),
        ("0 1 2 3 1-3", 2, "0 1 2"),
        ("0 1 2 3 4 0-1 2-3", None, "0-1 2-3 4"),
        ("0 1 2 3 4 0-1 0-3", None, "0-3 4"),
        ("0 1 2 3 4 1-2 2-4", None, "0 1-2 3 4"),
        ("0 1 2 3 c1 0-3 2-3", None, "c1 2-3"),
        ("0 3 1-2", None, "0 1-2 3"),
        ("0 1 3", 1, "0 1"),
    ],
)
def test_selected_log_files(files: str, version: int | None, expected: str) -> None:
    assert shown(select_segment(listing(files), version, "t")) == expected


@pytest.mark.parametrize(
    ("files", "version", "error"),
    [
        ("", None, DeltaTableNotFound("t")),
        ("k0", None, DeltaTableNotFound("t")),
        ("0 1", 2, VersionNotFound("t", 2, 0, 1)),
        ("0 1", -1, VersionNotFound("t", -1, 0, 1)),
        ("c5 6", 3, LogTruncated("t", 3, 5)),
        ("c5 6", 9, VersionNotFound("t", 9, 5, 6)),
        ("0 2", None, VersionsNotContiguous("t", 0, 2)),
        ("0 1 4 5", 4, VersionsNotContiguous("t", 1, 4)),
        ("c5 7", None, VersionsNotContiguous("t", 5, 7)),
        ("3 4", None, LogTruncated("t", 4, 3)),
        ("3 4 c9", 4, LogTruncated("t", 4, 9)),
        ("p2.1/2", None, MissingPartFiles("t", 2)),
        ("p2.1/2 2 3", None, MissingPartFiles("t", 2)),
        ("0 1 5 c5", 3, VersionNotFound("t", 3, 0, 1)),
    ],
)
def test_missing_log_files_are_reported(files: str, version: int | None, error: DeltaError) -> None:
    with pytest.raises(type(error)) as caught:
        select_segment(listing(files), version, "t")
    assert vars(caught.value) == vars(error)


def test_corrupt_checkpoints_are_skipped() -> None:
    files = listing("0 1 c1 2 c2 3 1-3")
    assert shown(select_segment(files, None, "t")) == "c2 3"
    assert shown(select_segment(files, None, "t", {checkpoint_name(2)})) == "c1 2 3"
    assert shown(select_segment(files, None, "t", {checkpoint_name(2), checkpoint_name(1)})) == "0 1-3"
    assert shown(select_segment(files, None, "t", {checkpoint_name(2), compaction_name(1, 3)})) == "c1 2 3"


def test_the_newest_checksum_is_known() -> None:
    assert select_segment(listing("0 1 2 k0 k1"), None, "t").checksum_version == 1
    assert select_segment(listing("0 1 2 k0 k1"), 0, "t").checksum_version == 0
    assert select_segment(listing("0 1"), None, "t").checksum_version is None


@pytest.mark.parametrize(
    ("files", "oldest", "expected"),
    [("0 1", 0, 0), ("3 c5", 3, 5), ("3 c2 c5", 3, 2), ("3 c1", 3, None), ("3 p5.1/2", 3, None)],
)
def test_the_earliest_version(files: str, oldest: int, expected: int | None) -> None:
    assert earliest_version(listing(files), oldest) == expected


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ("0 1", "1", "0 1"),
        ("0 1", "1 2 3", "0 1 2 3"),
        ("0 1", "1 2 c2 3", "c2 3"),
        ("0 1", "1 c1 2 3", "c1 2 3"),
        ("0 1", "1 2 p2.1/2 3", "0 1 2 3"),
        ("0 1", "3 c3 4", None),
        ("0 1", "1 3", None),
        ("0 1", "c4", None),
        ("c1 2", "2 3 3-4 4", "c1 2 3 4"),
    ],
)
def test_advancing(before: str, after: str, expected: str | None) -> None:
    segment = select_segment(listing(before), None, "t")
    extended = extend_segment(segment, listing(after))
    assert (extended and shown(extended[0])) == expected
    if extended:
        assert [path.version for path in extended[1]] == list(range(segment.version + 1, extended[0].version + 1))


class ListingLog(DictStorage):
    """Records where listings begin."""

    def __init__(self, other: DictStorage) -> None:
        super().__init__(other.root)
        self.files = other.files
        self.starts: list[str] = []

    def list_files(self, directory: str, start: str = "") -> list[FileStatus]:
        self.starts.append(start)
        return super().list_files(directory, start)


@pytest.mark.parametrize(
    ("hint", "listings", "expected"),
    [
        (b'{"version":4,"size":1}', 1, "c4 5"),
        (None, 1, "c4 5"),
        (b"", 1, "c4 5"),
        (b"garbage", 1, "c4 5"),
        (b'{"version":2,"size":1}', 1, "c4 5"),
        (b'{"version":5,"size":1}', 2, "c4 5"),
        (b'{"version":99,"size":1}', 2, "c4 5"),
        (b'{"version":-1,"size":1}', 1, "c4 5"),
    ],
)
def test_the_hint_is_only_a_hint(hint: bytes | None, listings: int, expected: str) -> None:
    log = LogBuilder()
    for path in listing("0 1 2 c2 3 4 c4 5"):
        log.put(path.name, b"")
    if hint is not None:
        log.put(LAST_CHECKPOINT, hint)
    storage = ListingLog(log.storage)
    assert shown(find_segment(storage)) == expected
    assert len(storage.starts) == listings
    if hint == b'{"version":4,"size":1}':
        assert int(storage.starts[0]) == 4


class ListedAtOnce(ListingLog):
    """Lists like a local folder; concurrent puts come between the listing and the hint."""

    LISTS_WHOLE_FOLDERS = True
    meanwhile: tuple[str, ...] = ()

    def __init__(self, storage: DictStorage) -> None:
        super().__init__(storage)
        self.reads: list[str] = []

    def list_names(self, directory: str, start: str = "") -> list[str]:
        names = super().list_names(directory, start)
        for name in self.meanwhile:
            self.write(name, b'{"version":6,"size":1}' if name.endswith(LAST_CHECKPOINT) else b"")
        return names

    def read_bytes(self, name: str) -> bytes:
        self.reads.append(name)
        return super().read_bytes(name)


@pytest.mark.parametrize("hint", [None, 2, 4, 5, 99])
def test_missing_hint_is_not_requested_from_listed_folder(hint: int | None) -> None:
    log = LogBuilder()
    for path in listing("0 1 2 c2 3 4 c4 5"):
        log.put(path.name, b"")
    if hint is not None:
        log.put(LAST_CHECKPOINT, json.dumps({"version": hint, "size": 1}).encode())
    storage = ListedAtOnce(log.storage)
    assert shown(find_segment(storage)) == "c4 5"
    assert shown(find_segment(storage, 3)) == "c2 3"
    assert (storage.reads == []) is (hint is None)


def test_a_hint_may_be_newer_than_the_listing() -> None:
    log = LogBuilder()
    for path in listing("0 1 2 c2 3"):
        log.put(path.name, b"")
    log.put(LAST_CHECKPOINT, json.dumps({"version": 2, "size": 1}).encode())
    storage = ListedAtOnce(log.storage)
    later = [path.name for path in listing("4 5 6 c6 7")]
    storage.meanwhile = tuple(f"{LOG_DIR}/{name}" for name in (*later, LAST_CHECKPOINT))
    assert shown(find_segment(storage)) == "c6 7"


def test_an_old_version_does_not_begin_at_a_later_hint() -> None:
    log = LogBuilder()
    for path in listing("0 1 2 c2 3"):
        log.put(path.name, b"")
    log.put(LAST_CHECKPOINT, json.dumps({"version": 2, "size": 1}).encode())
    assert shown(find_segment(log.storage, 1)) == "0 1"
    assert shown(find_segment(log.storage, 2)) == "c2"
