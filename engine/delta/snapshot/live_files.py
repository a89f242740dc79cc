"""The live files of a version: an immutable list of runs of Arrow rows that the next version shares.

A table of a million files changes by a handful per commit, so the next version must not copy what stayed. `LiveFiles`
is a tuple of runs; a run is a range of rows of a block, and a block is a batch of `FILES_SCHEMA` with whatever was
computed from it (its keys, its parsed statistics). Removing a row splits its run in two, without copying; adding rows
appends a block. When splitting has left a block in many small runs, or many small blocks are side by side, those are
copied into one new block, so that the number of runs stays bounded and the cost of copying is spread over the changes
that caused it.

What is derived from blocks is made in parallel, a block per thread: Arrow's own parallelism inside of one block loses
more to waiting than it wins.

Cost of `change`: one look at the blocks' paths (some 20 ms a million files), plus work in proportion to the change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import groupby
from threading import Lock
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from engine.delta.checkpoint.unique_keys import FIRST_LOOK, hash_texts
from engine.delta.log.file_table import FILES_SCHEMA, file_keys
from engine.storage.confinement import Confinement
from engine.types.arrow_types import Array, RecordBatch
from engine.types.value_bytes import value_bytes

Rows: TypeAlias = npt.NDArray[np.int64]
"""Positions in the table of files."""

_RUN_ROWS_MIN = 512
"""Runs of one block that are shorter on average are copied together."""
_RUN_BYTES_MIN = 1 << 19
"""Nor are runs short that hold more than that: to copy long statistics costs more than many runs do."""
_RUNS_MIN = 8
_SMALL_RUNS_MAX = 8
"""So many runs in a row that are shorter than that are copied together, whatever their blocks: each change looks at
each run, which costs more than to copy the rows of a few.
"""

_FEW_KEYS = 8
"""So many times as many rows as keys are worth a look at hashes before."""


class Block:
    """A batch of files, and what was derived from it once."""

    __slots__ = ("batch", "verified_by", "num_bytes", "short_rows", "_derived", "_lock")

    def __init__(self, batch: RecordBatch, *, verified_by: Confinement | None = None) -> None:
        self.batch = batch
        self.verified_by = verified_by
        self.short_rows = min(_RUN_ROWS_MIN, _RUN_BYTES_MIN * len(batch) // max(value_bytes(batch), 1))
        """A run of fewer is short."""
        self.num_bytes = _size(batch)
        """With what was derived; asked for by each load of a snapshot, of all that are kept."""
        self._derived: dict[tuple[str, ...], RecordBatch] = {}
        self._lock = Lock()

    def derive(self, schema: Any, make: Callable[[RecordBatch], RecordBatch]) -> RecordBatch:
        """`make(batch)`, a batch of `schema`; of schemas with the same names the latest is remembered."""
        names = tuple(schema.names)
        with self._lock:
            derived = self._derived.get(names)
            if derived is None or derived.schema != schema:
                former, derived = derived, make(self.batch)
                self._derived[names] = derived
                self.num_bytes += _size(derived) - _size(former)
            return derived

    def has_derived(self, schema: Any) -> bool:
        derived = self.derived_schema(tuple(schema.names))
        return derived is not None and derived == schema

    def derived_schema(self, names: tuple[str, ...]) -> Any | None:
        """That of what is remembered under these names."""
        derived = self._derived.get(names)
        return None if derived is None else derived.schema

    def derive_some(self, schema: Any, make: Callable[[RecordBatch], RecordBatch], rows: Array) -> RecordBatch:
        """`derive` for some rows: taken from what is remembered, else made for these alone and not remembered."""
        derived = self._derived.get(tuple(schema.names))
        if derived is not None and derived.schema == schema:
            return derived.take(rows)
        return make(self.batch.take(rows))


def _size(batch: RecordBatch | None) -> int:
    return 0 if batch is None else int(batch.get_total_buffer_size())


@dataclass(frozen=True, slots=True)
class Run:
    """Rows [start, stop) of a block."""

    block: Block
    start: int
    stop: int

    @property
    def num_rows(self) -> int:
        return self.stop - self.start

    @property
    def batch(self) -> RecordBatch:
        return self.block.batch.slice(self.start, self.num_rows)


@dataclass(frozen=True, slots=True)
class LiveFiles:
    runs: tuple[Run, ...] = ()

    @property
    def num_rows(self) -> int:
        return sum(run.num_rows for run in self.runs)

    @classmethod
    def of(cls, batches: Iterable[RecordBatch]) -> LiveFiles:
        return cls(tuple(Run(Block(batch), 0, len(batch)) for batch in batches if len(batch)))

    def verify(self, confinement: Confinement) -> None:
        """Checks the blocks that `confinement` has not checked yet, in this version or in one that shares them."""
        for run in self.runs:
            if run.block.verified_by is not confinement:
                confinement.ensure_files(run.block.batch)
                run.block.verified_by = confinement

    def table(self) -> Any:
        """A `pyarrow.Table` of `FILES_SCHEMA`; nothing is copied."""
        return pa.Table.from_batches([run.batch for run in self.runs], FILES_SCHEMA)

    def derive(self, schema: Any, make: Callable[[RecordBatch], RecordBatch]) -> Any:
        """A table of `schema` with a row for each file, made block by block by `make` and remembered there."""
        blocks = dict.fromkeys(run.block for run in self.runs)
        missing = [block for block in blocks if not block.has_derived(schema)]
        if len(missing) > 1:
            with ThreadPoolExecutor(min(len(missing), pa.cpu_count()), "derive") as threads:
                list(threads.map(lambda block: block.derive(schema, make), missing))
        batches = [run.block.derive(schema, make).slice(run.start, run.num_rows) for run in self.runs]
        return pa.Table.from_batches(batches, schema)

    def derived_schemas(self, schema: Any) -> list[Any]:
        """The different ones, with the names of `schema`, of what blocks remember."""
        found: list[Any] = []
        for run in self.runs:
            derived = run.block.derived_schema(tuple(schema.names))
            if derived is not None and not any(derived.equals(each) for each in found):
                found.append(derived)
        return found

    def derive_some(self, schema: Any, make: Callable[[RecordBatch], RecordBatch], rows: Rows) -> Any:
        """The rows at `rows` (ascending) of what `derive` gives, without making the others."""
        stops = np.cumsum([run.num_rows for run in self.runs], dtype=np.int64)
        cuts = np.searchsorted(rows, stops)
        batches, first, before = [], 0, 0
        for run, stop, cut in zip(self.runs, stops.tolist(), cuts.tolist(), strict=True):
            if cut > first:
                wanted = pa.array(rows[first:cut] - before + run.start)
                batches.append(run.block.derive_some(schema, make, wanted))
            first, before = cut, stop
        return pa.Table.from_batches(batches, schema)

    @property
    def num_bytes(self) -> int:
        """Memory held by the blocks, with what was derived from them."""
        return sum(block.num_bytes for block in {run.block for run in self.runs})

    def change(self, gone: Array, added: Sequence[RecordBatch]) -> LiveFiles:
        """Without the files whose keys (`file_keys`) are in `gone`, with the rows of `added`."""
        kept: Iterable[Run] = self.runs
        if len(gone):
            kept = _join_fragments(piece for run in self.runs for piece in _split(run, gone))
        return LiveFiles(tuple(_join_small((*kept, *LiveFiles.of(added).runs))))


def drop_rows(batch: RecordBatch, keys: Array) -> RecordBatch:
    """The rows of a batch whose keys are not in `keys`; the batch itself where none is."""
    hits = find_rows(batch, keys)
    if not len(hits):
        return batch
    mask = np.ones(len(batch), np.bool_)
    mask[hits] = False
    return batch.filter(pa.array(mask))


def without_files(files: pa.Table, others: pa.Table) -> pa.Table:
    """The rows of `files` whose keys are not among those of `others`; both are of `FILES_SCHEMA`."""
    keys = pa.chunked_array([file_keys(batch) for batch in others.to_batches()], pa.string()).combine_chunks()
    return pa.Table.from_batches([drop_rows(batch, keys) for batch in files.to_batches()], FILES_SCHEMA)


def find_rows(batch: RecordBatch, keys: Array) -> Any:
    """Indices of the rows whose keys are in `keys`, ascending."""
    if not len(keys) or not len(batch):
        return np.empty(0, np.int64)
    rows = None if len(keys) * _FEW_KEYS > len(batch) else _rows_like(batch, keys)
    if rows is not None and not len(rows):
        return rows
    asked = batch if rows is None else batch.select(["path", "deletion_vector"]).take(pa.array(rows))
    mask = pc.is_in(file_keys(asked), value_set=keys)
    if not pc.any(mask).as_py():
        return np.empty(0, np.int64)
    found = np.flatnonzero(mask.to_numpy(zero_copy_only=False))
    return found if rows is None else rows[found]


def _rows_like(batch: RecordBatch, keys: Array) -> Rows:
    """The rows whose paths look like those of some keys: a hash table of whole texts takes several times as long."""
    wanted = np.sort(hash_texts(_paths(keys), FIRST_LOOK))
    hashes = hash_texts(batch.column("path"), FIRST_LOOK)
    places = np.minimum(np.searchsorted(wanted, hashes), len(wanted) - 1)
    return np.flatnonzero(wanted[places] == hashes)


def _paths(keys: Array) -> Array:
    if pc.all(pc.less(pc.find_substring(keys, "\0"), 0)).as_py():
        return keys
    return pa.array([key.partition("\0")[0] for key in keys.to_pylist()], pa.string())


def _split(run: Run, gone: Array) -> list[Run]:
    hits = find_rows(run.batch, gone)
    if not len(hits):
        return [run]
    pieces, start = [], run.start
    for hit in hits.tolist():
        if run.start + hit > start:
            pieces.append(Run(run.block, start, run.start + hit))
        start = run.start + hit + 1
    if start < run.stop:
        pieces.append(Run(run.block, start, run.stop))
    return pieces


def _join_fragments(runs: Iterable[Run]) -> list[Run]:
    """Copies the runs of each block that has become fragmented into one new block."""
    result: list[Run] = []
    for _, group in groupby(runs, key=lambda run: run.block):
        pieces = list(group)
        rows = sum(piece.num_rows for piece in pieces)
        if len(pieces) < _RUNS_MIN or rows >= pieces[0].block.short_rows * len(pieces):
            result.extend(pieces)
            continue
        result.append(_concat(pieces))
    return result


def _join_small(runs: Iterable[Run]) -> Iterator[Run]:
    """Copies stretches of many small runs into one new block each."""
    for is_small, group in groupby(runs, key=lambda run: run.num_rows < run.block.short_rows):
        pieces = list(group)
        if is_small and len(pieces) > _SMALL_RUNS_MAX:
            yield _concat(pieces)
        else:
            yield from pieces


def _concat(runs: Sequence[Run]) -> Run:
    whole = pa.concat_batches([run.batch for run in runs])
    verified_by = {run.block.verified_by for run in runs}
    return Run(Block(whole, verified_by=verified_by.pop() if len(verified_by) == 1 else None), 0, len(whole))
