"""File selection and bin packing for compaction: by size, partition, deleted rows and cube."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from engine.delta.commit.staged_commit import adds_of
from engine.delta.maintenance import zcubes
from engine.delta.maintenance.file_packing import pack_files, worth_merging, worth_purging
from engine.delta.spec.actions import Add, DeletionVectorDescriptor
from engine.tables.compaction import (
    BINS_MAX,
    JOINT_BYTES_MAX,
    STEP_BYTES,
    Bin,
    Considered,
    Job,
    Moved,
    in_steps,
    merging_jobs,
    sorting_jobs,
)

GB = 1 << 30


def _vector(cardinality: int) -> DeletionVectorDescriptor:
    return DeletionVectorDescriptor(
        storage_type="u",
        path_or_inline_dv="ab^-aqEH.-t@S}K{vb[*k^",
        offset=1,
        size_in_bytes=40,
        cardinality=cardinality,
    )


def _add(path: str, size: int, p: str | None = None, **fields: Any) -> Add:
    return Add(path=path, size=size, partition_values={"p": p}, **fields)


def _files(*adds: Add) -> pa.Table:
    return pa.Table.from_batches([adds_of(adds)])


def _deleted(path: str, size: int, deleted: int, rows: int | None) -> Add:
    stats = None if rows is None else json.dumps({"numRecords": rows})
    return _add(path, size, stats=stats, deletion_vector=_vector(deleted))


def test_small_files_and_files_with_many_deleted_rows_are_worth_it() -> None:
    files = _files(
        _add("small", 9),
        _add("large", 10),
        _deleted("few", 10, 5, 100),
        _deleted("many", 10, 6, 100),
        _deleted("unknown", 10, 1, None),
    )
    assert worth_merging(files, 10).tolist() == [True, False, False, True, True]
    assert worth_purging(files, 0.0).tolist() == [False, False, True, True, True]


PACKINGS: list[tuple[str, list[tuple[str, int, str | None]], int | None, list[set[str]]]] = [
    ("together", [("a", 3, None), ("b", 2, None)], 10, [{"a", "b"}]),
    ("one alone stays", [("a", 3, None)], 10, []),
    ("by size, until it is full", [("a", 6, None), ("b", 5, None), ("c", 4, None)], 10, [{"b", "c"}]),
    ("exactly full", [("a", 6, None), ("b", 4, None), ("c", 10, None)], 10, [{"a", "b"}]),
    ("by partition", [("a", 1, "x"), ("b", 1, "y"), ("c", 1, "x"), ("d", 1, "y")], 10, [{"a", "c"}, {"b", "d"}]),
    ("null and the empty text", [("a", 1, None), ("b", 1, ""), ("c", 1, "x")], 10, [{"a", "b"}]),
    ("without a limit", [("a", 6, "x"), ("b", 50, "x"), ("c", 4, "y"), ("d", 5, "y")], None, [{"a", "b"}, {"c", "d"}]),
    ("none", [], 10, []),
]


@pytest.mark.parametrize(
    ("files", "limit", "bins"), [case[1:] for case in PACKINGS], ids=[case[0] for case in PACKINGS]
)
def test_bins(files: list[tuple[str, int, str | None]], limit: int | None, bins: list[set[str]]) -> None:
    table = _files(*(_add(path, size, p) for path, size, p in files))
    found = pack_files(table, limit, np.zeros(len(files), np.bool_))
    assert [set(each.keys) for each in found] == bins
    sizes = {path: size for path, size, _ in files}
    assert [each.num_bytes for each in found] == [sum(sizes[path] for path in each) for each in bins]
    assert len({each.partition for each in found}) == len(bins)


def test_a_file_that_may_be_alone_is() -> None:
    table = _files(_add("a", 1, "x"), _add("b", 1, "y"))
    assert [each.keys for each in pack_files(table, 10, np.array([True, False]))] == [("a",)]


def test_a_vector_is_part_of_what_a_file_is() -> None:
    ((plain,), (with_deletes,)) = (
        pack_files(_files(add), 10, np.ones(1, np.bool_)) for add in (_add("a", 1), _deleted("a", 1, 1, 9))
    )
    assert plain.keys != with_deletes.keys


def _bin(num_bytes: int, partition: int) -> Bin:
    return Bin(keys=(f"{partition}-{num_bytes}",), num_bytes=num_bytes, partition=partition)


def test_small_bins_of_partitions_share_a_job_and_large_ones_have_tasks() -> None:
    small, large = [_bin(1, 0), _bin(2, 1)], [_bin(JOINT_BYTES_MAX, n) for n in range(2, 3 + BINS_MAX)]
    jobs = merging_jobs([*small, *large])
    assert [(job.is_joint, len(job.bins)) for job in jobs] == [(True, 2), (False, BINS_MAX), (False, 1)]
    assert [each for job in jobs for each in job.bins] == [*small, *large]


def test_single_small_bin_is_written_without_shuffle() -> None:
    assert merging_jobs([_bin(1, 0)]) == [Job((_bin(1, 0),))]
    assert sorting_jobs([_bin(1, 0)], 10) == [Job((_bin(1, 0),))]


def test_sorted_bins_of_more_than_a_file_have_jobs_of_their_own() -> None:
    jobs = sorting_jobs([_bin(1, 0), _bin(20, 1), _bin(2, 2)], 10)
    assert jobs == [Job((_bin(1, 0), _bin(2, 2)), is_joint=True), Job((_bin(20, 1),))]


def test_steps_have_so_many_bytes() -> None:
    half = Job((_bin(STEP_BYTES // 2, 0),))
    assert in_steps([half, half, half]) == ((half, half), (half,))
    assert in_steps([Job((_bin(3 * STEP_BYTES, 0),))]) == ((Job((_bin(3 * STEP_BYTES, 0),)),),)
    assert in_steps([]) == ()


def test_the_metrics_of_a_version() -> None:
    moved = Moved(added=(5, 1, 3, 2), removed=(10, 2)) + Moved(vectors=1, vector_rows=7, vector_bytes=40)
    assert moved.metrics == {
        "numAddedFiles": "4",
        "numAddedBytes": "11",
        "numRemovedFiles": "2",
        "numRemovedBytes": "12",
        "minFileSize": "1",
        "p25FileSize": "2",
        "p50FileSize": "3",
        "p75FileSize": "5",
        "maxFileSize": "5",
        "numDeletionVectorsRemoved": "1",
        "numDeletionVectorRowsRemoved": "7",
        "numDeletionVectorBytesRemoved": "40",
    }
    assert "minFileSize" not in Moved().metrics


# --- Cubes ------------------------------------------------------------------------------------------------------------


def _cube(name: str, *columns: str) -> Mapping[str, str]:
    return {"ZCUBE_ID": name, "ZCUBE_ZORDER_BY": json.dumps(columns), "ZCUBE_ZORDER_CURVE": "hilbert"}


def _clustered(path: str, size: int, cube: str, *columns: str, **fields: Any) -> Add:
    return Add(path=path, size=size, tags=_cube(cube, *columns), clustering_provider="liquid", **fields)


def _new(path: str, size: int = GB) -> Add:
    return Add(path=path, size=size)


FULL_CUBE = [_clustered("full1", 60 * GB, "full", "a"), _clustered("full2", 40 * GB, "full", "a")]
CUBES: list[tuple[str, list[Add], bool, list[set[str]]]] = [
    ("new files", [_new("x"), _new("y")], False, [{"x", "y"}]),
    ("one new file", [_new("x")], False, [{"x"}]),
    ("a small cube takes new files", [_clustered("c", GB, "small", "a"), _new("x")], False, [{"c", "x"}]),
    ("a full cube stays", [*FULL_CUBE, _new("x")], False, [{"x"}]),
    ("one small cube alone stays", [_clustered("c", GB, "small", "a"), _clustered("d", GB, "small", "a")], False, []),
    ("two small cubes", [_clustered("c", GB, "one", "a"), _clustered("d", GB, "two", "a")], False, [{"c", "d"}]),
    ("other columns stay", [_clustered("c", GB, "old", "b"), _new("x")], False, [{"x"}]),
    ("other columns, in full", [_clustered("c", GB, "old", "b"), _new("x")], True, [{"c", "x"}]),
    ("in full, with nothing else", [*FULL_CUBE, _clustered("c", GB, "old", "b")], True, [{"c"}]),
    ("in full, and all is as it is to be", [_clustered("c", GB, "small", "a")], True, []),
    ("another provider", [Add(path="p", size=GB, clustering_provider="else"), _new("x")], False, [{"x"}]),
    (
        "what is deleted does not fill a cube",
        [_clustered("c", 100 * GB, "full", "a", stats='{"numRecords":10}', deletion_vector=_vector(9)), _new("x")],
        False,
        [{"c", "x"}],
    ),
    ("no tags that can be read", [Add(path="t", size=1, tags={"ZCUBE_ID": "x", "ZCUBE_ZORDER_BY": "["})], False, []),
    ("packed into cubes", [_new("x", 100 * GB), _new("y", 100 * GB)], False, [{"x"}, {"y"}]),
    ("no files", [], False, []),
]


@pytest.mark.parametrize(("files", "full", "bins"), [case[1:] for case in CUBES], ids=[case[0] for case in CUBES])
def test_files_selected_for_clustering(files: list[Add], full: bool, bins: list[set[str]]) -> None:
    found, considered = zcubes.to_cluster(_files(*files), ["a"], is_full=full)
    assert [{key.split("\0")[0] for key in each.keys} for each in found] == bins
    assert considered.selected[0] == sum(map(len, bins))
    assert considered.clustered[0] + considered.others[0] == len(files)


def test_the_numbers_of_cubes() -> None:
    files = _files(*FULL_CUBE, _clustered("c", 3, "old", "b"), _new("x", 7))
    _, considered = zcubes.to_cluster(files, ["a"], is_full=False)
    assert considered == Considered(clustered=(2, 100 * GB), others=(2, 10), num_cubes=1, selected=(1, 7))


def test_a_new_cube_is_tagged_as_delta_spark_reads_it() -> None:
    first, second = (zcubes.new_cube(["a", "s.b"]) for _ in range(2))
    assert first["ZCUBE_ID"] != second["ZCUBE_ID"]
    assert (first["ZCUBE_ZORDER_BY"], first["ZCUBE_ZORDER_CURVE"]) == ('["a","s.b"]', "hilbert")
