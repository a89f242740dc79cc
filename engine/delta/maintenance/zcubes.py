"""Clustered tables: the files that are already clustered, and the files that OPTIMIZE must cluster.

Files that were sorted together form a ZCube, which their tags identify, including the columns they were sorted by. New
files are not in a ZCube. OPTIMIZE merges them with ZCubes that are still small. A ZCube that has reached its size is
skipped, so that the cost of clustering is proportional to new data. ZCubes for other columns, and files from other
clustering providers, are skipped too, except by OPTIMIZE FULL.

Tags and sizes follow delta-spark, whose OPTIMIZE can continue this one's work. Protocol: "Clustered Table", "Writer
Requirements for Clustered Table".
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from engine.delta.maintenance.file_packing import live_keys
from engine.delta.snapshot.row_files import num_records
from engine.tables.compaction import Bin, Considered

PROVIDER = "liquid"
# A ZCube with this size is skipped.
CUBE_BYTES_MIN = 100 << 30
# Target size for packing files.
CUBE_BYTES = 150 << 30

_ID, _COLUMNS, _CURVE = "ZCUBE_ID", "ZCUBE_ZORDER_BY", "ZCUBE_ZORDER_CURVE"


def new_cube(columns: Sequence[str]) -> Mapping[str, str]:
    """Returns tags for a new ZCube's files."""
    return {_ID: str(uuid.uuid4()), _COLUMNS: json.dumps(list(columns), separators=(",", ":")), _CURVE: "hilbert"}


@dataclass(frozen=True, slots=True)
class _File:
    position: int
    size: int
    # Proportional to the rows that are not deleted.
    live_size: int
    cube: str | None
    # True if the files have another provider, or are sorted by other columns.
    is_foreign: bool


def to_cluster(files: pa.Table, columns: Sequence[str], *, is_full: bool) -> tuple[tuple[Bin, ...], Considered]:
    """Returns bins of files, each of which becomes one ZCube."""
    found = sorted(_describe_files(files, list(columns)), key=lambda file: file.cube or "")
    own, foreign = [f for f in found if not f.is_foreign], [f for f in found if f.is_foreign]
    sizes = dict[str, int]()
    for file in own:
        if file.cube is not None:
            sizes[file.cube] = sizes.get(file.cube, 0) + file.live_size
    selected = [f for f in own if f.cube is None or sizes[f.cube] < CUBE_BYTES_MIN]
    if is_full and foreign:
        selected += foreign
    elif len({file.cube for file in selected}) == 1 and selected[0].cube is not None:
        selected = []  # a single ZCube without new files to merge
    considered = Considered(
        clustered=_total(f for f in own if f.cube is not None),
        others=_total(f for f in found if f.is_foreign or f.cube is None),
        num_cubes=len(sizes),
        selected=_total(selected),
    )
    return tuple(_pack_cubes(files, selected)), considered


def _describe_files(files: pa.Table, columns: list[str]) -> Iterable[_File]:
    names = ("size", "tags", "clustering_provider", "stats", "deletion_vector")
    sizes, tags, providers, stats, vectors = (files[name].to_pylist() for name in names)
    counts = num_records(pa.array(stats, pa.string())).to_pylist()
    for position, (size, pairs, provider, vector, count) in enumerate(
        zip(sizes, tags, providers, vectors, counts, strict=True)
    ):
        tag = dict(pairs or ())
        # A file whose rows are mostly deleted makes its ZCube small again, so that OPTIMIZE
        # takes it up.
        live = size if vector is None or not count else size * max(0, count - vector["cardinality"]) // count
        cube = tag.get(_ID)
        is_foreign = provider not in (None, PROVIDER) or (
            cube is not None and _parse_list(tag.get(_COLUMNS)) != columns
        )
        yield _File(position, size, live, cube, is_foreign)


def _parse_list(text: str | None) -> list[str] | None:
    try:
        found = json.loads(text or "")
    except ValueError:
        return None
    return found if isinstance(found, list) else None


def _pack_cubes(files: pa.Table, selected: Sequence[_File]) -> Iterable[Bin]:
    keys, end = live_keys(files).to_pylist(), 0
    cubes: dict[int, list[_File]] = {}
    for file in selected:
        end += file.size
        # The bins follow the running total in ZCube order, as in delta-spark, so that a
        # ZCube's files stay together rather than being spread by size.
        cubes.setdefault((end - 1) // CUBE_BYTES, []).append(file)
    for cube in cubes.values():
        yield Bin(
            keys=tuple(keys[file.position] for file in cube), num_bytes=sum(file.size for file in cube), partition=0
        )


def _total(files: Iterable[_File]) -> tuple[int, int]:
    sizes = [file.size for file in files]
    return len(sizes), sum(sizes)
