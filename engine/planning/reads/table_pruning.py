"""File pruning for a scan over a pinned snapshot: Spark calls it at planning with its pushed filters.

Conditions on the source columns of generated partition columns are translated to the partition columns, if the protocol
guarantees that every writer kept them consistent.

A LIMIT without an order selects only as many files as it needs.
"""

from __future__ import annotations

import threading
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import tzinfo
from functools import cached_property
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from engine.pruning.estimates import Estimate, estimate_columns
from engine.pruning.generation_expressions import GenerationExpression
from engine.pruning.generation_filters import derive
from engine.pruning.predicates import ALWAYS, Predicate, conjunction
from engine.pruning.pruning import FilePruning
from engine.pruning.three_valued_logic import Mask
from engine.sql.generation import parse_generation
from engine.tables.scan import PrunedFiles, TableRead
from engine.tables.snapshot import TableSnapshot

_S = TypeVar("_S", bound=np.generic)

# Estimating more files takes longer than a better plan is likely to save.
_ESTIMATED_FILES_MAX = 50_000


@dataclass(frozen=True)
class TableFilePruning:
    """Prunes one snapshot's files by condition; thread-safe.

    `rows` are the positions of the scan's files, ascending; None: all.
    """

    label: str
    snapshot: TableSnapshot
    rows: pa.Array | None = None
    _prunings: dict[tzinfo | None, FilePruning] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def choose(self, predicate: Predicate, zone: tzinfo | None) -> PrunedFiles:
        """Implements :meth:`Pruning.choose`."""
        if predicate == ALWAYS:
            return PrunedFiles(None, self._table_read(None, len(self._own(self.snapshot.files["size"]))))
        pruning = self._pruning(zone)
        # "Generated Columns": writers guarantee `value <=> expression`, so a condition on
        # the source implies one on the partition.
        derived = derive(predicate, self.snapshot.columns(zone), self._generation_expressions)
        whole = conjunction(tuple(part for part in (predicate, derived) if part != ALWAYS))
        by_partition = int(np.count_nonzero(self._mask_of_rows(pruning.partition_mask(whole).mask)))
        selected = self._mask_of_rows(pruning.prune(whole))
        return PrunedFiles(
            None if selected.all() else pa.array(np.flatnonzero(selected)), self._table_read(selected, by_partition)
        )

    def choose_rows(self, predicate: Predicate, zone: tzinfo | None, rows: int) -> PrunedFiles:
        """Implements :meth:`CountingPruning.choose_rows`."""
        pruned = self.choose(predicate, zone)
        if pruned.read.files < 2:
            return pruned
        live = self.snapshot.counted_files(()).live_rows()
        if predicate != ALWAYS:
            # Only files whose rows all match can satisfy a LIMIT: in others an unknown
            # number of rows remains.
            live = np.where(self._pruning(zone).matches_all(predicate), live, -1)
        live, sizes = self._mask_of_rows(live), self._own(self.snapshot.files["size"]).to_numpy()
        some = enough_files(live, sizes, rows)
        if some is None:
            return pruned
        selected = np.zeros(len(sizes), bool)
        selected[some] = True
        return PrunedFiles(pa.array(some), self._table_read(selected, pruned.read.files_partition), is_part=True)

    def estimate(self, predicate: Predicate, zone: tzinfo | None, columns: Collection[str]) -> Estimate:
        """Implements :meth:`Pruning.estimate`."""
        pruned = self.choose(predicate, zone)
        read = pruned.read
        if self.snapshot.num_files > _ESTIMATED_FILES_MAX:
            return Estimate(files=read.files, bytes=read.bytes)
        selected = pruned.rows if self.rows is None or pruned.rows is None else self.rows.take(pruned.rows)
        selected = self.rows if selected is None else selected
        rows, found = estimate_columns(
            self.snapshot.counted_files(columns),
            self._pruning(zone),
            None if selected is None else selected.to_numpy(zero_copy_only=False),
            columns,
            self.snapshot.distinct_counts,
        )
        return Estimate(files=read.files, bytes=read.bytes, rows=rows, columns=found, largest=self._largest(selected))

    def _largest(self, selected: pa.Array | None) -> str | None:
        """Returns the largest file's path among the positions `selected` (None: all)."""
        files = self.snapshot.files
        sizes = files["size"].to_numpy() if selected is None else files["size"].take(selected).to_numpy()
        if not len(sizes):
            return None
        at = int(np.argmax(sizes))
        path: str = files["path"][at if selected is None else selected[at].as_py()].as_py()
        return path

    def _pruning(self, zone: tzinfo | None) -> FilePruning:
        with self._lock:
            if zone not in self._prunings:
                self._prunings[zone] = self.snapshot.pruning(zone)
            return self._prunings[zone]

    def _table_read(self, selected: Mask | None, by_partition: int) -> TableRead:
        sizes = self._own(self.snapshot.files["size"])
        total = self.snapshot.size_bytes if self.rows is None else pc.sum(sizes).as_py() or 0
        more_files, more_bytes = self.snapshot.left_out if self.rows is None else (0, 0)
        return TableRead(
            label=self.label,
            version=self.snapshot.version,
            files_total=len(sizes) + more_files,
            bytes_total=total + more_bytes,
            files_partition=by_partition,
            files=len(sizes) if selected is None else int(np.count_nonzero(selected)),
            bytes=total if selected is None else pc.sum(sizes.filter(pa.array(selected))).as_py() or 0,
        )

    def _own(self, column: pa.ChunkedArray) -> pa.ChunkedArray:
        return column if self.rows is None else column.take(self.rows)

    def _mask_of_rows(self, mask: npt.NDArray[_S]) -> npt.NDArray[_S]:
        return mask if self.rows is None else mask[self.rows.to_numpy(zero_copy_only=False)]

    @cached_property
    def _generation_expressions(self) -> dict[str, GenerationExpression]:
        """Returns the expressions of generated partition columns."""
        found = {name: parse_generation(text) for name, text in self.snapshot.partition_generations.items()}
        return {name: expression for name, expression in found.items() if expression is not None}


# Row count limit for one file: no other writer's count makes the sum overflow.
_ROWS_MAX = 1 << 40


def enough_files(live: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64], rows: int) -> npt.NDArray[np.int64] | None:
    """Returns positions of files, ascending, that together have `rows` rows: the smallest sufficient file, or the
    fewest files.

    `live` are the row counts (-1: unknown, or excluded), `sizes` the bytes. None: not enough rows are known.
    """
    known = np.flatnonzero(live > 0)
    counts = np.minimum(live[known], _ROWS_MAX)
    # The smallest sufficient file costs least to open and decode.
    alone = known[counts >= rows]
    if len(alone):
        return alone[[np.argmin(sizes[alone])]]
    order = np.argsort(-counts, kind="stable")
    sums = np.cumsum(counts[order])
    if not len(sums) or sums[-1] < rows:
        return None
    return np.sort(known[order[: np.searchsorted(sums, rows) + 1]])
