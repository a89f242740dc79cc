"""Which files of a clustered table are clustered, and which OPTIMIZE has to cluster.

Files that were sorted together are a cube, which their tags name, with the columns they were sorted by. New files are
in none. OPTIMIZE merges them with cubes that are still small; a cube that has reached its size is left alone, so that
the cost of clustering grows with what is new. Cubes of other columns, and files of other clustering providers, are left
alone too, but for OPTIMIZE FULL.

The tags and the sizes are those of delta-spark, whose OPTIMIZE goes on where this one ended. Protocol: "Clustered
Table", "Writer Requirements for Clustered Table".
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from engine.delta.maintenance.file_packing import live_keys
from engine.delta.snapshot.row_files import num_records
from engine.tables.rearrangement import Bin, Considered

PROVIDER = "liquid"
CUBE_BYTES_MIN = 100 << 30
"""A cube of this size is left alone."""
CUBE_BYTES = 150 << 30
"""What files are packed to."""

_ID, _COLUMNS, _CURVE = "ZCUBE_ID", "ZCUBE_ZORDER_BY", "ZCUBE_ZORDER_CURVE"


def new_cube(columns: Sequence[str]) -> Mapping[str, str]:
    """The tags of the files of a new cube."""
    return {_ID: str(uuid.uuid4()), _COLUMNS: json.dumps(list(columns), separators=(",", ":")), _CURVE: "hilbert"}


@dataclass(frozen=True, slots=True)
class _File:
    position: int
    size: int
    live_size: int
    """In proportion to the rows that are not deleted."""
    cube: str | None
    is_foreign: bool
    """Of another provider, or sorted by other columns."""


def to_cluster(files: pa.Table, columns: Sequence[str], *, is_full: bool) -> tuple[tuple[Bin, ...], Considered]:
    """The bins of files that become cubes, each in one."""
    found = sorted(_described(files, list(columns)), key=lambda file: file.cube or "")
    own, foreign = [f for f in found if not f.is_foreign], [f for f in found if f.is_foreign]
    sizes = dict[str, int]()
    for file in own:
        if file.cube is not None:
            sizes[file.cube] = sizes.get(file.cube, 0) + file.live_size
    chosen = [f for f in own if f.cube is None or sizes[f.cube] < CUBE_BYTES_MIN]
    if is_full and foreign:
        chosen += foreign
    elif len({file.cube for file in chosen}) == 1 and chosen[0].cube is not None:
        chosen = []  # one cube, and nothing to merge it with
    considered = Considered(
        clustered=_total(f for f in own if f.cube is not None),
        others=_total(f for f in found if f.is_foreign or f.cube is None),
        num_cubes=len(sizes),
        chosen=_total(chosen),
    )
    return tuple(_packed(files, chosen)), considered


def _described(files: pa.Table, columns: list[str]) -> Iterable[_File]:
    names = ("size", "tags", "clustering_provider", "stats", "deletion_vector")
    sizes, tags, providers, stats, vectors = (files[name].to_pylist() for name in names)
    counts = num_records(pa.array(stats, pa.string())).to_pylist()
    for position, (size, pairs, provider, vector, count) in enumerate(
        zip(sizes, tags, providers, vectors, counts, strict=True)
    ):
        tag = dict(pairs or ())
        live = size if vector is None or not count else size * max(0, count - vector["cardinality"]) // count
        cube = tag.get(_ID)
        is_foreign = provider not in (None, PROVIDER) or (cube is not None and _listed(tag.get(_COLUMNS)) != columns)
        yield _File(position, size, live, cube, is_foreign)


def _listed(text: str | None) -> list[str] | None:
    try:
        found = json.loads(text or "")
    except ValueError:
        return None
    return found if isinstance(found, list) else None


def _packed(files: pa.Table, chosen: Sequence[_File]) -> Iterable[Bin]:
    keys, end = live_keys(files).to_pylist(), 0
    cubes: dict[int, list[_File]] = {}
    for file in chosen:
        end += file.size
        cubes.setdefault((end - 1) // CUBE_BYTES, []).append(file)
    for cube in cubes.values():
        yield Bin(
            keys=tuple(keys[file.position] for file in cube), num_bytes=sum(file.size for file in cube), partition=0
        )


def _total(files: Iterable[_File]) -> tuple[int, int]:
    sizes = [file.size for file in files]
    return len(sizes), sum(sizes)
