"""Live files: versions share unchanged parts, and stay consistent with derived data."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from hypothesis import example, given
from hypothesis import strategies as st

from engine.delta.log.commit_reader import make_adds
from engine.delta.log.file_table import FILES_SCHEMA, file_keys, map_array
from engine.delta.snapshot import live_files
from engine.delta.snapshot.live_files import LiveFiles
from engine.delta.spec.actions import DeletionVectorDescriptor
from engine.storage.paths import paths_of
from tests.engine.delta.log_builder import add

SIZES = pa.schema([("twice", pa.int64())])


def batch(paths: list[str], size: int = 1) -> Any:
    return make_adds([add(path, size=size) for path in paths])


def twice(rows: Any) -> Any:
    return pa.RecordBatch.from_arrays([pc.multiply(rows.column("size"), 2)], schema=SIZES)


CHANGES = st.lists(
    st.tuples(
        st.lists(st.integers(0, 60), max_size=25, unique=True), st.lists(st.integers(61, 99), max_size=3, unique=True)
    ),
    max_size=6,
)


@given(CHANGES, st.integers(1, 64), st.integers(0, 2**32 - 1))
def test_changes_are_those_of_a_dictionary(
    changes: list[tuple[list[int], list[int]]], block_rows: int, seed: int
) -> None:
    names = [f"f{i}" for i in range(60)]
    files = LiveFiles.of([batch(names[at : at + block_rows]) for at in range(0, 60, block_rows)])
    expected = dict.fromkeys(names, 1)
    for size, (gone, added) in enumerate(changes, 2):
        removed, new = [f"f{i}" for i in gone], [f"f{i}" for i in added]
        files = files.change(pa.array(removed + new, pa.string()), [batch(new, size)])
        expected = {path: at for path, at in expected.items() if path not in removed} | dict.fromkeys(new, size)
        table = files.table()
        assert table.schema == FILES_SCHEMA and files.num_rows == table.num_rows == len(expected)
        assert dict(zip(table["path"].to_pylist(), table["size"].to_pylist(), strict=True)) == expected
        derived = files.derive(SIZES, twice)
        assert derived["twice"].to_pylist() == [2 * one for one in table["size"].to_pylist()]
        rows = np.flatnonzero(np.random.default_rng(seed).random(len(table)) < 0.3)
        some = files.derive_some(SIZES, twice, rows)
        assert some["twice"].to_pylist() == derived["twice"].take(rows).to_pylist()


VECTOR = DeletionVectorDescriptor(storage_type="u", path_or_inline_dv="x" * 20, size_in_bytes=40, cardinality=6)
TAIL = "-7a8b-4c1d-9e2f-000000000001-c000.snappy.parquet"
# Short ones, and some that are alike but for their beginnings.
PATHS = ["", "a", "é", "f" * 7, "f" * 8, *(f"{head}{TAIL}" for head in ("x", "y", "day=1/x", "day=2/x", "day=1/é"))]
FILES = st.lists(st.tuples(st.sampled_from(PATHS), st.sampled_from([None, 1, 2])), max_size=8, unique=True)


@example([("a", 1)], [("a", None)])
@given(FILES, FILES)
def test_rows_are_found_by_the_whole_of_their_keys(files: list[Any], gone: list[Any]) -> None:
    """Scans many rows or few; deletion vectors are part of the key."""

    def rows_of(some: list[Any]) -> Any:
        vectors = (None if offset is None else replace(VECTOR, offset=offset) for _, offset in some)
        paths = [path for path, _ in some]
        return make_adds([add(path, deletion_vector=each) for path, each in zip(paths, vectors, strict=True)])

    others = [(f"other-{number}", None) for number in range(80)]
    for all_files in (files, [*others, *files], [*files, *others]):
        found = live_files.find_rows(rows_of(all_files), file_keys(rows_of(gone)))
        assert found.tolist() == [at for at, each in enumerate(all_files) if each in gone]
        before = LiveFiles.of([rows_of(all_files[:5]), rows_of(all_files[5:])])
        after = before.change(file_keys(rows_of(gone)), [])
        assert keys_of(after) == keys_of(LiveFiles.of([rows_of([each for each in all_files if each not in gone])]))


def keys_of(files: LiveFiles) -> list[Any]:
    return [key for run in files.runs for key in file_keys(run.batch).to_pylist()]


def test_file_that_is_added_again_replaces_the_older_one() -> None:
    files = LiveFiles.of([batch([f"a{i}" for i in range(100)])])
    for size in (2, 3):
        files = files.change(pa.array(["a50"]), [batch(["a50"], size)])
        table = files.table().filter(pc.field("path") == "a50")
        assert files.num_rows == 100 and table["size"].to_pylist() == [size]


def test_paths_of_a_block_are_hashed_once() -> None:
    files = LiveFiles.of([batch([f"a{i}" for i in range(1000)])])
    before, sizes = files.num_bytes, []
    for name in ("b", "c", "a7"):
        files = files.change(pa.array([name]), [])
        sizes.append(files.num_bytes)
    assert sizes == [before + 8 * 1000] * 3


def test_remaining_files_share_memory() -> None:
    before = LiveFiles.of([batch([f"a{i}" for i in range(1000)]), batch(["b"])])
    after = before.change(pa.array(["a500", "new"]), [batch(["new"])])
    assert [(run.start, run.stop) for run in after.runs] == [(0, 500), (501, 1000), (0, 1), (0, 1)]
    assert after.runs[0].block is after.runs[1].block is before.runs[0].block
    assert after.runs[2].block is before.runs[1].block
    assert before.num_rows == 1001


def test_fragments_are_joined() -> None:
    names = [f"f{i}" for i in range(1000)]
    files = LiveFiles.of([batch(names), batch(["other"])])
    files = files.change(pa.array(names[::100]), [])
    assert [run.num_rows for run in files.runs] == [990, 1]
    assert files.table()["path"].to_pylist() == [name for name in [*names, "other"] if name not in names[::100]]


def test_derived_values_are_cached_per_schema() -> None:
    calls: list[int] = []

    def counting(rows: Any) -> Any:
        calls.append(len(rows))
        return twice(rows)

    files = LiveFiles.of([batch(["a", "b"]), batch(["c"])])
    files.derive(SIZES, counting)
    later = files.change(pa.array(["b"]), [batch(["d"])])
    later.derive(SIZES, counting)
    assert calls == [2, 1, 1]
    later.derive_some(SIZES, counting, np.array([0, 2]))
    assert calls == [2, 1, 1]
    other = SIZES.with_metadata({"other": "schema"}).append(pa.field("more", pa.int8()))
    later.derive(
        other, lambda rows: pa.RecordBatch.from_arrays([pa.nulls(len(rows), f.type) for f in other], schema=other)
    )
    assert later.num_bytes > 0


def test_small_lookup_does_not_sort_files() -> None:
    parsed: list[int] = []

    def counting(rows: Any) -> Any:
        parsed.append(len(rows))
        return twice(rows)

    files = LiveFiles.of([batch([f"{block}-{i}" for i in range(10)]) for block in range(3)])
    table = files.derive_some(SIZES, counting, np.array([3, 4, 25]))
    assert table.num_rows == 3 and parsed == [2, 1]
    assert files.derive_some(SIZES, counting, np.array([], np.int64)).num_rows == 0


def test_fragmentation_is_bounded() -> None:
    """However many rows are removed one at a time, runs stay few."""
    names = [f"f{i}" for i in range(3000)]
    files = LiveFiles.of([batch(names)])
    for name in names[::2]:
        files = files.change(pa.array([name]), [])
        assert len(files.runs) <= live_files._RUNS_MIN + 3000 // live_files._RUN_ROWS_MIN
    assert files.table()["path"].to_pylist() == names[1::2]


def test_long_rows_are_not_copied() -> None:
    """Runs with few long rows stay unchanged, in one block or in many."""
    names = [f"f{i}" for i in range(600)]
    long = live_files._RUN_BYTES_MIN // 4
    rows = make_adds([add(name, stats="x" * long) for name in names])
    blocks = [rows.slice(start, 60) for start in range(0, 600, 60)]
    files = LiveFiles.of(blocks).change(pa.array(names[::6]), [])
    assert len(files.runs) == 100 > live_files._SMALL_RUNS_MAX
    assert all(any(run.block.batch is block for block in blocks) for run in files.runs)
    assert files.table()["path"].to_pylist() == [name for i, name in enumerate(names) if i % 6]
    shorter = files.change(pa.array(names[::2]), [])  # now each run is one row or two
    assert len(shorter.runs) < len(names) // 6
    assert shorter.table()["path"].to_pylist() == [name for i, name in enumerate(names) if i % 6 and i % 2]


def test_many_small_commits_do_not_make_many_blocks() -> None:
    files, names = LiveFiles(), [f"f{i}" for i in range(1500)]
    for name in names:
        files = files.change(pa.array([name]), [batch([name])])
        assert len(files.runs) <= 3 + live_files._SMALL_RUNS_MAX
    assert files.table()["path"].to_pylist() == names


def test_keys_tell_files_apart() -> None:
    paths = pa.array(["a", "b%20c", "file:///x", None])
    assert paths_of(paths).to_pylist() == ["a", "b c", "/x", None]
    plain = pa.array(["a", "b"])
    assert paths_of(plain) is plain
    assert file_keys(batch(["a", "b%20c"])).to_pylist() == ["a", "b c"]


@given(st.lists(st.none() | st.dictionaries(st.text(max_size=3), st.none() | st.text(max_size=3), max_size=3)))
def test_maps_are_made_in_bulk(maps: list[dict[str, str | None] | None]) -> None:
    array = map_array(maps)
    array.validate(full=True)
    assert [None if one is None else dict(one) for one in array.to_pylist()] == maps
