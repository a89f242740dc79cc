"""A version's live files: an immutable list of Arrow row ranges, which the next version shares.

A commit changes few files in a table with a million files, so the next version must not copy the others. `LiveFiles` is
a tuple of runs. A run is a row range in a block, and a block is a `FILES_SCHEMA` batch with the values derived from it
(its keys, its parsed statistics). Removing a row splits its run in two, without copying; adding rows appends a block.
If splitting leaves a block in many small runs, or many small blocks are adjacent, they are copied into one new block.
This bounds the number of runs, and amortizes the copying over the changes that caused it.

Values are derived from blocks in parallel, a thread per block: Arrow's own parallelism within a block loses more to
waiting than it gains.

Cost of `change`: a look for each changed path in the blocks' sorted hashes, plus work proportional to the change. A
block's hashes are made at its first change (about 50 ms per million files, and 8 bytes per file).
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

from engine.delta.checkpoint.unique_keys import FIRST_LOOK, Hashes, hash_texts
from engine.delta.log.file_table import FILES_SCHEMA, file_keys
from engine.storage.confinement import Confinement
from engine.types.arrow_types import Array, RecordBatch
from engine.types.value_bytes import value_bytes

# Positions in the table of live files.
Rows: TypeAlias = npt.NDArray[np.int64]

# If a block's runs are shorter on average, they are copied together.
_RUN_ROWS_MIN = 512
# Runs with more bytes do not count as short: copying long statistics costs more than having many runs.
_RUN_BYTES_MIN = 1 << 19
_RUNS_MIN = 8
# If more adjacent runs are short, they are copied together, even from different blocks: each change visits each run,
# which costs more than copying a few runs' rows.
_SMALL_RUNS_MAX = 8

# If rows outnumber keys by this factor, hashes are compared first.
_FEW_KEYS = 8
# Up to this many keys are looked up in the blocks' sorted hashes; a look takes longer than comparing a row.
_INDEXED_KEYS_MAX = 1000


class Block:
    """A batch of files with the values derived from it once."""

    __slots__ = ("batch", "verified_by", "num_bytes", "short_rows", "_derived", "_hashes", "_lock")

    def __init__(self, batch: RecordBatch, *, verified_by: Confinement | None = None) -> None:
        self.batch = batch
        self.verified_by = verified_by
        # A run with fewer rows is short.
        self.short_rows = _short_rows(batch)
        # Includes derived values. Each snapshot load reads this for all cached snapshots.
        self.num_bytes = _size(batch)
        self._derived: dict[tuple[str, ...], RecordBatch] = {}
        # Sorted hashes of the paths.
        self._hashes: Hashes | None = None
        self._lock = Lock()

    def may_contain(self, hashes: Hashes) -> bool:
        """Returns False if no row's path has one of these hashes (`hash_texts` at `FIRST_LOOK`)."""
        with self._lock:
            if self._hashes is None:
                self._hashes = np.sort(hash_texts(self.batch.column("path"), FIRST_LOOK))
                self.num_bytes += self._hashes.itemsize * len(self._hashes)
        return bool(len(_places_in(self._hashes, hashes)))

    def derive(self, schema: Any, make: Callable[[RecordBatch], RecordBatch]) -> RecordBatch:
        """Returns `make(batch)`, a `schema` batch. For schemas with equal names the latest result is cached."""
        names = tuple(schema.names)
        with self._lock:
            derived = self._derived.get(names)
            # After a schema change only the latest form is kept: the old form belongs to
            # snapshots that are about to be dropped.
            if derived is None or derived.schema != schema:
                former, derived = derived, make(self.batch)
                self._derived[names] = derived
                self.num_bytes += _size(derived) - _size(former)
            return derived

    def has_derived(self, schema: Any) -> bool:
        """Returns True if values with exactly this schema are cached; `derive` then computes nothing."""
        derived = self.derived_schema(tuple(schema.names))
        return derived is not None and derived == schema

    def derived_schema(self, names: tuple[str, ...]) -> Any | None:
        """Returns the schema cached under these names."""
        derived = self._derived.get(names)
        return None if derived is None else derived.schema

    def derive_some(self, schema: Any, make: Callable[[RecordBatch], RecordBatch], rows: Array) -> RecordBatch:
        """Returns `derive` for some rows: from the cached result, or computed for these rows only and not cached."""
        derived = self._derived.get(tuple(schema.names))
        if derived is not None and derived.schema == schema:
            return derived.take(rows)
        return make(self.batch.take(rows))


def _short_rows(batch: RecordBatch) -> int:
    # An upper bound of the values' size, which is enough for most blocks: small ones are
    # made at each commit. Columns without values share memory.
    held = sum(column.get_total_buffer_size() for column in batch.columns if column.null_count < len(batch))
    if held * _RUN_ROWS_MIN <= _RUN_BYTES_MIN * len(batch):
        return _RUN_ROWS_MIN
    return min(_RUN_ROWS_MIN, _RUN_BYTES_MIN * len(batch) // max(value_bytes(batch), 1))


def _size(batch: RecordBatch | None) -> int:
    return 0 if batch is None else int(batch.get_total_buffer_size())


@dataclass(frozen=True, slots=True)
class Run:
    """Rows [start, stop) in a block."""

    block: Block
    start: int
    stop: int

    @property
    def num_rows(self) -> int:
        """Returns the number of files in the run."""
        return self.stop - self.start

    @property
    def batch(self) -> RecordBatch:
        """Returns the run's rows as a slice of the block, without copying."""
        return self.block.batch.slice(self.start, self.num_rows)


@dataclass(frozen=True, slots=True)
class LiveFiles:
    runs: tuple[Run, ...] = ()

    @property
    def num_rows(self) -> int:
        """Returns the number of live files."""
        return sum(run.num_rows for run in self.runs)

    @classmethod
    def of(cls, batches: Iterable[RecordBatch]) -> LiveFiles:
        """Returns the files in these batches, each as one run; empty batches are left out."""
        return cls(tuple(Run(Block(batch), 0, len(batch)) for batch in batches if len(batch)))

    def verify(self, confinement: Confinement) -> None:
        """Verifies the blocks that `confinement` has not verified yet, in this version or in one that shares them."""
        for run in self.runs:
            # The check belongs to a set of allowed locations: the same block must be
            # checked again for a table with other locations.
            if run.block.verified_by is not confinement:
                confinement.ensure_files(run.block.batch)
                run.block.verified_by = confinement

    def table(self) -> Any:
        """Returns a `FILES_SCHEMA` `pyarrow.Table`, without copying."""
        return pa.Table.from_batches([run.batch for run in self.runs], FILES_SCHEMA)

    def derive(self, schema: Any, make: Callable[[RecordBatch], RecordBatch]) -> Any:
        """Returns a `schema` table with a row per file; `make` computes it block by block, and the blocks cache it."""
        # A block is derived as a whole even if a run only has a part: its other rows are
        # usually in a neighboring run, and the next version shares the result.
        blocks = dict.fromkeys(run.block for run in self.runs)
        missing = [block for block in blocks if not block.has_derived(schema)]
        if len(missing) > 1:
            with ThreadPoolExecutor(min(len(missing), pa.cpu_count()), "derive") as threads:
                list(threads.map(lambda block: block.derive(schema, make), missing))
        batches = [run.block.derive(schema, make).slice(run.start, run.num_rows) for run in self.runs]
        return pa.Table.from_batches(batches, schema)

    def derived_schemas(self, schema: Any) -> list[Any]:
        """Returns the distinct cached schemas with the names in `schema`."""
        found: list[Any] = []
        for run in self.runs:
            derived = run.block.derived_schema(tuple(schema.names))
            if derived is not None and not any(derived.equals(each) for each in found):
                found.append(derived)
        return found

    def derive_some(self, schema: Any, make: Callable[[RecordBatch], RecordBatch], rows: Rows) -> Any:
        """Returns the rows at `rows` (ascending positions) from `derive`, without computing the others."""
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
        """Returns the blocks' memory in bytes, including derived values."""
        return sum(block.num_bytes for block in {run.block for run in self.runs})

    def change(self, gone: Array, added: Sequence[RecordBatch]) -> LiveFiles:
        """Returns the files without the keys (`file_keys`) in `gone`, plus the rows in `added`."""
        remaining: Iterable[Run] = self.runs
        if len(gone):
            hashes = hash_texts(_paths(gone), FIRST_LOOK) if len(gone) <= _INDEXED_KEYS_MAX else None
            remaining = _join_fragments(piece for run in self.runs for piece in _split(run, gone, hashes))
        return LiveFiles(tuple(_join_small((*remaining, *LiveFiles.of(added).runs))))


def drop_rows(batch: RecordBatch, keys: Array) -> RecordBatch:
    """Returns the batch's rows whose keys are not in `keys`; the same batch if no key matches."""
    hits = find_rows(batch, keys)
    if not len(hits):
        return batch
    mask = np.ones(len(batch), np.bool_)
    mask[hits] = False
    return batch.filter(pa.array(mask))


def without_files(files: pa.Table, others: pa.Table) -> pa.Table:
    """Returns the rows in `files` whose keys are not in `others`; both have `FILES_SCHEMA`."""
    keys = pa.chunked_array([file_keys(batch) for batch in others.to_batches()], pa.string()).combine_chunks()
    return pa.Table.from_batches([drop_rows(batch, keys) for batch in files.to_batches()], FILES_SCHEMA)


def find_rows(batch: RecordBatch, keys: Array) -> Any:
    """Returns the indices of rows whose keys are in `keys`, ascending."""
    if not len(keys) or not len(batch):
        return np.empty(0, np.int64)
    # A path's hash narrows the rows down; the complete key, with the deletion vector's id,
    # decides. Hashing first pays only for few keys.
    rows = None if len(keys) * _FEW_KEYS > len(batch) else _rows_like(batch, keys)
    if rows is not None and not len(rows):
        return rows
    requested = batch if rows is None else batch.select(["path", "deletion_vector"]).take(pa.array(rows))
    mask = pc.is_in(file_keys(requested), value_set=keys)
    if not pc.any(mask).as_py():
        return np.empty(0, np.int64)
    found = np.flatnonzero(mask.to_numpy(zero_copy_only=False))
    return found if rows is None else rows[found]


def _rows_like(batch: RecordBatch, keys: Array) -> Rows:
    """Returns candidate rows by path hash; a hash table with complete texts takes several times as long."""
    wanted = np.sort(hash_texts(_paths(keys), FIRST_LOOK))
    hashes = hash_texts(batch.column("path"), FIRST_LOOK)
    return _places_in(wanted, hashes)


def _places_in(ordered: Hashes, hashes: Hashes) -> Rows:
    """Returns the positions in `hashes` whose values occur in `ordered`, which has a value."""
    places = np.minimum(np.searchsorted(ordered, hashes), len(ordered) - 1)
    return np.flatnonzero(ordered[places] == hashes)


def _paths(keys: Array) -> Array:
    if pc.all(pc.less(pc.find_substring(keys, "\0"), 0)).as_py():
        return keys
    return pa.array([key.partition("\0")[0] for key in keys.to_pylist()], pa.string())


def _split(run: Run, gone: Array, hashes: Hashes | None) -> list[Run]:
    """Returns the run without the keys in `gone`; `hashes` are their paths' hashes, None for many keys."""
    # "Action Reconciliation": an add replaces the file with its key, so that each commit is
    # looked up in all blocks, though nearly always in vain.
    if hashes is not None and not run.block.may_contain(hashes):
        return [run]
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
    """Copies each fragmented block's runs into one new block."""
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
    """Copies adjacent small runs, if they are many, into one new block."""
    for is_small, group in groupby(runs, key=lambda run: run.num_rows < run.block.short_rows):
        pieces = list(group)
        if is_small and len(pieces) > _SMALL_RUNS_MAX:
            yield _concat(pieces)
        else:
            yield from pieces


def _concat(runs: Sequence[Run]) -> Run:
    whole = pa.concat_batches([run.batch for run in runs])
    # The copy counts as verified only if all its rows are, under the same confinement.
    verified_by = {run.block.verified_by for run in runs}
    return Run(Block(whole, verified_by=verified_by.pop() if len(verified_by) == 1 else None), 0, len(whole))
