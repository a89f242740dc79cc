"""Confinement of log paths: single paths, columns of paths, and links when files are opened."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from uuid import UUID

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from catalog.conditions import LogPathNotAllowed, MalformedLogEntry
from catalog.discovery.other_tables import NO_OTHER_TABLES, OtherTables
from engine.delta.log.commit_reader import make_adds
from engine.delta.snapshot.row_files import read_deletion_vector
from engine.delta.snapshot.snapshot import Snapshot, load_snapshot
from engine.delta.spec.actions import Action, CheckpointMetadata, DeletionVectorDescriptor, Sidecar
from engine.delta.spec.paths import LOG_DIR, checkpoint_v2_name
from engine.storage.confinement import FILE_BYTES_MAX, Confinement
from engine.storage.deletion_vectors import VECTOR_BYTES_MAX, relative_deletion_vector
from engine.storage.storage import LocalStorage, open_storage
from tests.engine.delta.log_builder import METADATA, PROTOCOL, LogBuilder, add, json_lines, parquet_bytes
from tests.interleave.storages import DictStorage

UUID_TEXT = "3a0d65cd-4a56-49a8-937b-95f9e3ee90e5"
LOCAL = Confinement("/lake/t", ("/lake",), OtherTables(("/lake/shared", "s3://bucket/shared"), ("/lake/t/inner",)))
REMOTE = Confinement(
    "s3a://bucket/lake/t",
    ("s3://bucket",),
    OtherTables(("s3://bucket/shared", "/mnt/shared"), ("s3://bucket/lake/t/inner", "s3a://bucket/shared/inner")),
)

ALLOWED: dict[str, tuple[Confinement, str, str]] = {
    "a name": (LOCAL, "a.parquet", "/lake/t/a.parquet"),
    "below a folder": (LOCAL, "day=1/a", "/lake/t/day=1/a"),
    "dots in names": (LOCAL, "..a/b../c..d/...", "/lake/t/..a/b../c..d/..."),
    "encoded twice": (LOCAL, "%2e%2e/a", "/lake/t/%2e%2e/a"),
    "a colon": (LOCAL, "a:b", "/lake/t/a:b"),
    "a scheme in a folder": (LOCAL, "u=http://x", "/lake/t/u=http://x"),
    "absolute, below the root": (LOCAL, "/lake/t/a", "/lake/t/a"),
    "doubled slashes": (LOCAL, "//lake//t/a", "/lake/t/a"),
    "file:": (LOCAL, "file:/lake/t/a", "/lake/t/a"),
    "FILE://": (LOCAL, "FILE:///lake/t/a", "/lake/t/a"),
    "beside an inner table": (LOCAL, "inner2/a", "/lake/t/inner2/a"),
    "below a source": (LOCAL, "/lake/shared/x/a", "/lake/shared/x/a"),
    "of another storage": (LOCAL, "s3a://bucket/shared/a", "s3a://bucket/shared/a"),
    "remote, a name": (REMOTE, "a", "s3a://bucket/lake/t/a"),
    "remote, another spelling": (REMOTE, "s3://bucket/lake/t/a", "s3://bucket/lake/t/a"),
    "remote, from the bucket on": (REMOTE, "/lake/t/a", "s3a://bucket/lake/t/a"),
    "remote, a source": (REMOTE, "s3n://bucket/shared/a", "s3n://bucket/shared/a"),
}
REFUSED: dict[str, tuple[Confinement, str]] = {
    "nothing": (LOCAL, ""),
    "up": (LOCAL, "../a"),
    "up at the end": (LOCAL, "a/.."),
    "up in between": (LOCAL, "a/../b"),
    "up and back": (LOCAL, "../t/a"),
    "just up": (LOCAL, ".."),
    "a null character": (LOCAL, "a\0b"),
    "the root itself": (LOCAL, "/lake/t"),
    "a source itself": (LOCAL, "/lake/shared"),
    "beside": (LOCAL, "/lake/table/a"),
    "absolute, up": (LOCAL, "/lake/t/../x"),
    "absolute, elsewhere": (LOCAL, "/etc/passwd"),
    "file: elsewhere": (LOCAL, "file:/etc/passwd"),
    "file: of another machine": (LOCAL, "FILE://host/lake/t/a"),
    "http": (LOCAL, "http://127.0.0.1/a"),
    "http, one slash": (LOCAL, "http:/lake/t/a"),
    "ftp": (LOCAL, "ftp://lake/t/a"),
    "hdfs": (LOCAL, "hdfs:///lake/t/a"),
    "another bucket": (LOCAL, "s3://bucket2/shared/a"),
    "beside a source": (LOCAL, "s3://bucket/shared2/a"),
    "of another table, where tables may be": (LOCAL, "/lake/u/a"),
    "an inner table's": (LOCAL, "inner/a"),
    "an inner table's, with a dot": (LOCAL, "./inner/a"),
    "an inner table's, doubled slashes": (LOCAL, "x//..a/../inner/a"),
    "an inner table's, absolute": (LOCAL, "file:///lake/t//inner/./a"),
    "an inner table's, remote": (REMOTE, "inner/a"),
    "an inner table's, remote, doubled slashes": (REMOTE, ".//inner/a"),
    "an inner table's of a source": (REMOTE, "s3n://bucket/shared/inner/a"),
    "chained": (LOCAL, "filecache::s3://bucket/shared/../a"),
    "remote, up": (REMOTE, "../a"),
    "remote, another bucket": (REMOTE, "s3a://other/lake/t/a"),
    "remote, from the bucket on, beside": (REMOTE, "/lake/u/a"),
    "remote, local": (REMOTE, "/etc/passwd"),
    "remote, another scheme": (REMOTE, "gs://bucket/lake/t/a"),
}


@pytest.mark.parametrize("case", ALLOWED)
def test_allowed_path_is_resolved(case: str) -> None:
    confinement, path, place = ALLOWED[case]
    assert confinement.resolve(path) == place
    confinement.ensure_paths(pa.array(["a", path]))


@pytest.mark.parametrize("case", REFUSED)
def test_path_outside_the_root_is_rejected(case: str) -> None:
    confinement, path = REFUSED[case]
    with pytest.raises(LogPathNotAllowed):
        confinement.resolve(path)
    for paths in ([path], ["a", path, "b"], ["/lake/t/a", path]):
        with pytest.raises(LogPathNotAllowed):
            confinement.ensure_paths(pa.array(["x", *paths]).slice(1))


PIECES = st.sampled_from(["a", "..", ".", "/", "//", ":", "s3:", "s3://bucket/shared", "/lake/t", "/lake", "%2e", "\0"])


@given(st.lists(st.lists(PIECES, max_size=5).map("".join), max_size=4))
@example(["a", ""])
@example(["a/", "..", "b"])
def test_a_column_is_decided_as_its_rows_are(paths: list[str]) -> None:
    def is_refused(decide: Callable[[], object]) -> bool:
        try:
            decide()
        except LogPathNotAllowed:
            return True
        return False

    expected = any(is_refused(partial(LOCAL.resolve, path)) for path in paths)
    assert is_refused(lambda: LOCAL.ensure_paths(pa.array(paths, pa.string()))) == expected


def _vector(kind: str, text: str, size: int = 4, offset: int | None = 1, rows: int = 1) -> DeletionVectorDescriptor:
    return DeletionVectorDescriptor(
        storage_type=kind, path_or_inline_dv=text, offset=offset, size_in_bytes=size, cardinality=rows
    )


def _below(prefix: str) -> str:
    return relative_deletion_vector(UUID(UUID_TEXT), prefix)


VECTORS: dict[str, tuple[DeletionVectorDescriptor, type[Exception] | None]] = {
    "below a folder": (_vector("u", _below("ab/c")), None),
    "without a folder, offset or rows": (_vector("u", _below(""), offset=None, rows=0), None),
    "absolute": (_vector("p", "file:///lake/t/a%2520b.bin"), None),
    "inline": (_vector("i", "../..", 4), None),
    "as large as can be": (_vector("u", _below(""), VECTOR_BYTES_MAX), None),
    "u, up": (_vector("u", _below("../x")), LogPathNotAllowed),
    "u, absolute": (_vector("u", _below("/etc")), LogPathNotAllowed),
    "u, absolute below the root": (_vector("u", _below("/lake/t")), LogPathNotAllowed),
    "u, a scheme": (_vector("u", _below("http://x")), LogPathNotAllowed),
    "p, elsewhere": (_vector("p", "/etc/x.bin"), LogPathNotAllowed),
    "p, up by encoding": (_vector("p", "/lake/t/%2e%2e/x.bin"), LogPathNotAllowed),
    "p, http": (_vector("p", "http://x/x.bin"), LogPathNotAllowed),
    "too large": (_vector("u", _below(""), VECTOR_BYTES_MAX + 1), MalformedLogEntry),
    "too small": (_vector("u", _below(""), -1), MalformedLogEntry),
    "before the file": (_vector("u", _below(""), offset=-1), MalformedLogEntry),
    "fewer rows than none": (_vector("u", _below(""), rows=-1), MalformedLogEntry),
}


@pytest.mark.parametrize("case", VECTORS)
def test_vectors_of_files(case: str) -> None:
    vector, refusal = VECTORS[case]
    files = make_adds([add("a"), add("b", deletion_vector=vector)])
    if refusal is None:
        LOCAL.ensure_files(files)
        return
    with pytest.raises(refusal):
        LOCAL.ensure_files(files)
    storage = DictStorage("/lake/t")
    with pytest.raises((refusal, MalformedLogEntry)):
        read_deletion_vector(storage, vector)


@pytest.mark.parametrize("size", [-1, FILE_BYTES_MAX + 1, 2**63 - 1])
def test_sizes_of_files(size: int) -> None:
    LOCAL.ensure_files(make_adds([add("a", size=0), add("b", size=FILE_BYTES_MAX)]))
    with pytest.raises(MalformedLogEntry, match="entry of b"):
        LOCAL.ensure_files(make_adds([add("a"), add("b", size=size)]))


def test_a_version_is_described_but_its_files_are_refused() -> None:
    log = LogBuilder(storage=DictStorage("dict://lake/t"))
    log.create(add("a"))
    first = Snapshot.load(log.storage)
    first.ensure_files_allowed()
    log.commit(add("../b"))
    for snapshot in (Snapshot.load(log.storage), first.advance()):
        assert (snapshot.metadata, snapshot.num_files) == (METADATA, 2)
        for _ in range(2):
            with pytest.raises(LogPathNotAllowed):
                snapshot.ensure_files_allowed()


@pytest.mark.parametrize(
    "path",
    ["../../x.parquet", "..%2f..%2fx.parquet", "/etc/x.parquet", "http://x/x.parquet", "dict://lake/u/x.parquet"],
)
@pytest.mark.parametrize("extension", ["json", "parquet"])
def test_a_sidecar_elsewhere_is_refused_though_commits_could_stand_in(path: str, extension: str) -> None:
    log = LogBuilder(storage=DictStorage("dict://lake/t"))
    log.create(add("a"))
    top: list[Action] = [CheckpointMetadata(version=0), PROTOCOL, METADATA, Sidecar(path=path, size_in_bytes=10)]
    data = json_lines(top) if extension == "json" else parquet_bytes(top)
    log.put(checkpoint_v2_name(0, UUID_TEXT, extension), data)
    with pytest.raises(LogPathNotAllowed):
        assert Snapshot.load(log.storage).files


def test_an_encoded_sidecar_is_found() -> None:
    log = LogBuilder()
    log.create(add("a"))
    log.sidecar("a b%.parquet", [add("a")])
    sidecar = Sidecar(path="a%20b%25.parquet", size_in_bytes=10)
    top: list[Action] = [CheckpointMetadata(version=0), PROTOCOL, METADATA, sidecar]
    log.put(checkpoint_v2_name(0, UUID_TEXT, "json"), json_lines(top))
    log.drop(f"{0:020}.json")
    assert Snapshot.load(log.storage).files["path"].to_pylist() == ["a"]


# --- Links ------------------------------------------------------------------------------------------------------------


def _table(root: Path) -> None:
    (root / LOG_DIR / "_sidecars").mkdir(parents=True)
    (root / LOG_DIR / f"{0:020}.json").write_bytes(json_lines([PROTOCOL, METADATA, add("a")]))
    (root / "data").mkdir()
    (root / "data" / "x").write_bytes(b"0123456789")


LINKS = {
    "the log": LOG_DIR,
    "a commit": f"{LOG_DIR}/{0:020}.json",
    "a folder": "data",
    "a file": "data/x",
}


@pytest.mark.parametrize("case", LINKS)
@pytest.mark.parametrize("target", ["lake/other", "outside", "shared"])
def test_links_are_followed_to_sources_only(tmp_path: Path, case: str, target: str) -> None:
    root = tmp_path / "lake" / "t"
    _table(root)
    (tmp_path / target).mkdir(parents=True)
    link = root / LINKS[case]
    link.rename(tmp_path / target / "linked")
    link.symlink_to(tmp_path / target / "linked")
    storage = open_storage(str(root), allowed_roots=[str(tmp_path)])
    others = OtherTables((str(tmp_path / "shared"),))
    storage.find_others = lambda _: others
    reads: list[Callable[[], object]] = (
        [lambda: Snapshot.load(storage).files, lambda: storage.read_bytes(f"{LOG_DIR}/{0:020}.json")]
        if LOG_DIR in LINKS[case]
        else [
            lambda: storage.read_bytes("data/x"),
            lambda: storage.read_range("data/x", 2, 2),
            lambda: storage.open_input("data/x").close(),
            lambda: storage.stat("data/x"),
        ]
    )
    for read in reads:
        if target == "shared":
            read()
        else:
            with pytest.raises(LogPathNotAllowed):
                read()


@pytest.mark.parametrize("target", ["outside", "lake"])
def test_writes_and_deletes_through_links_are_rejected(tmp_path: Path, target: str) -> None:
    root, elsewhere = tmp_path / "lake" / "t", tmp_path / target / "linked"
    _table(root)
    elsewhere.parent.mkdir(exist_ok=True)
    (root / LOG_DIR).rename(elsewhere)
    (root / LOG_DIR).symlink_to(elsewhere)
    before = sorted(elsewhere.rglob("*"))
    storage = open_storage(str(root), allowed_roots=[str(tmp_path / "lake")])
    name = f"{LOG_DIR}/{1:020}.json"
    writes: list[Callable[[], object]] = [
        storage.ensure_writable,
        lambda: storage.put_if_absent(name, b"x"),
        lambda: storage.write(name, b"x"),
        lambda: storage.open_output(name).__enter__(),
        lambda: storage.delete(f"{LOG_DIR}/{0:020}.json"),
        storage.delete_tree,
    ]
    for write in writes:
        with pytest.raises(LogPathNotAllowed):
            write()
    assert sorted(elsewhere.rglob("*")) == before


def test_a_table_that_is_a_link_itself(tmp_path: Path) -> None:
    _table(tmp_path / "outside" / "t")
    (tmp_path / "lake").mkdir()
    root = tmp_path / "lake" / "t"
    root.symlink_to(tmp_path / "outside" / "t")
    with pytest.raises(LogPathNotAllowed):
        Snapshot.load(open_storage(str(root), allowed_roots=[str(tmp_path / "lake")]))
    with pytest.raises(LogPathNotAllowed):
        open_storage(str(root), allowed_roots=[str(tmp_path / "lake")]).delete_tree()
    both = [str(tmp_path / "lake"), str(tmp_path / "outside")]
    assert Snapshot.load(open_storage(str(root), allowed_roots=both)).num_files == 1
    assert load_snapshot(str(root)).num_files == 1


HARD_LINKS: dict[str, tuple[str, bool, bool]] = {
    # the second name, whether hard links are accepted, whether the file is read
    "none": ("", False, True),
    "beside it": ("t/data/second", False, True),
    "in another folder of the table": ("t/second", False, True),
    "in another table": ("u/second", False, False),
    "in another table, accepted": ("u/second", True, True),
}


@pytest.mark.parametrize("case", HARD_LINKS)
@pytest.mark.parametrize("name", ["data/x", f"{LOG_DIR}/{0:020}.json"])
def test_file_with_a_name_outside_of_the_table_is_rejected(tmp_path: Path, case: str, name: str) -> None:
    second, accepts, is_read = HARD_LINKS[case]
    _table(tmp_path / "t")
    (tmp_path / "u").mkdir()
    if second:
        os.link(tmp_path / "t" / name, tmp_path / second)
    storage = LocalStorage(str(tmp_path / "t"))
    others = OtherTables(accepts_hard_links=accepts)
    storage.find_others = lambda _: others
    storage.list_names(LOG_DIR)
    if is_read:
        assert storage.read_bytes(name)
        return
    for read in (storage.read_bytes, storage.open_input, lambda name: storage.read_range(name, 0, 1)):
        with pytest.raises(LogPathNotAllowed):
            read(name)


def test_confinement_follows_the_catalog(tmp_path: Path) -> None:
    """A folder that becomes a source is read, one that belongs to another table is not, without opening anew."""
    _table(tmp_path / "t")
    storage = LocalStorage(str(tmp_path / "t"))
    found = [NO_OTHER_TABLES]
    storage.find_others = lambda _: found[0]
    inner, outer = str(tmp_path / "t/inner/x"), str(tmp_path / "u/x")
    assert storage.path_of(inner) == inner and storage.confinement is storage.confinement
    with pytest.raises(LogPathNotAllowed):
        storage.path_of(outer)
    found[0] = OtherTables((str(tmp_path / "u"),), (str(tmp_path / "t/inner"),))
    assert storage.path_of(outer) == outer
    with pytest.raises(LogPathNotAllowed):
        storage.path_of(inner)


def test_a_log_that_becomes_a_link_is_noticed_by_the_next_listing(tmp_path: Path) -> None:
    root = tmp_path / "t"
    _table(root)
    storage = LocalStorage(str(root))
    snapshot = Snapshot.load(storage)
    (root / LOG_DIR).rename(tmp_path / "elsewhere")
    (root / LOG_DIR).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(LogPathNotAllowed):
        snapshot.advance()


def test_range_buffer_fits_available_bytes(tmp_path: Path) -> None:
    _table(tmp_path)
    storage = LocalStorage(str(tmp_path))
    assert storage.read_range("data/x", 8, 1 << 60) == b"89"
    assert storage.read_range("data/x", 1 << 40, 1 << 60) == b""


def test_the_message_names_the_path_and_the_setting() -> None:
    error = LogPathNotAllowed("t", "../x")
    assert "'../x'" in error.full_message and "lake.trusted_roots" in error.hint and json.dumps(error.message)
