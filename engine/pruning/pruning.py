"""Which files of a snapshot may hold a row that satisfies a predicate, and which hold no other.

Partition columns are evaluated on their distinct values, data columns on the files' statistics; both give sets of
possible truth values (`engine.pruning.three_valued_logic`) that combine in one tree, so a condition may mix them.
Guarantees:

1. A file that holds a matching row is never pruned, whatever its statistics lack, as long as they are wrong in no way
   that `engine.pruning.column_ranges` does not know of.
2. A file in `matches_all` holds only matching rows, or none.
3. `partition_mask` says whether it is exact: if so it is the answer and no estimate.

Values of columns with a collation, of `char(n)` and of types without an order are taken as unknown; whether they are
null is known all the same.

Cost: about 5 ms a condition on a million files. Statistics are asked for only when a condition needs them, and when
partition values leave a few files, only for those.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from threading import Lock
from typing import NamedTuple, TypeAlias, assert_never

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from engine.pruning.column_ranges import bounds_of_statistics
from engine.pruning.evaluation import KnownColumn, evaluate
from engine.pruning.partition_columns import PartitionColumn, partition_column
from engine.pruning.predicates import (
    ALWAYS,
    And,
    Compare,
    Constant,
    In,
    IsNotNull,
    IsNull,
    Not,
    Or,
    Path,
    Predicate,
    StartsWith,
    Unknown,
    columns_of,
)
from engine.pruning.table_columns import TableColumn, TableColumns
from engine.pruning.three_valued_logic import ANY, FALSE, NULL, TRUE, Mask, Truths, can_be, conjoin

Rows: TypeAlias = npt.NDArray[np.int64]
StatisticsSource: TypeAlias = Callable[[Rows | None, Collection[str]], pa.Table]
"""Parsed statistics (of `file_stats.stats_schema`) of some of the files, by ascending position, or of all; those of
columns of these physical names of the top level at least.
"""
PartitionSource: TypeAlias = Callable[[str], pa.ChunkedArray]
"""The dictionary-encoded texts of a partition column of all files, by its physical name."""

_FEW_SHARE = 32
"""Statistics are asked for by file where fewer than one in so many files are left."""
_YES: Mask = np.asarray(True)


class PartitionMask(NamedTuple):
    mask: Mask
    """The files whose partition values satisfy the predicate, or may do so."""
    is_exact: bool
    """They do, and no others."""


class FilePruning:
    """The files of one snapshot, ready to be asked about; safe to share between threads.

    Partition columns are prepared when first needed and kept.
    """

    def __init__(
        self,
        columns: TableColumns,
        count: int,
        partition_texts: PartitionSource | None = None,
        statistics: StatisticsSource | None = None,
    ) -> None:
        """`count` files; without `statistics` none of them has any."""
        self.columns = columns
        self._count = count
        self._partition_texts = partition_texts
        self._statistics = statistics
        self._partitions: dict[Path, PartitionColumn] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        return self._count

    def prune(self, predicate: Predicate) -> Mask:
        """A mask over the files: may it hold a row for which `predicate` is true?"""
        return can_be(self._truths(predicate), TRUE)

    def matches_all(self, predicate: Predicate) -> Mask:
        """A mask over the files: is `predicate` true of every row, if it has any?"""
        return ~can_be(self._truths(predicate), FALSE | NULL)

    def partition_mask(self, predicate: Predicate) -> PartitionMask:
        """The files that `predicate` selects by partition values; where it depends on more, that counts as unknown."""
        truths = self._evaluate(predicate, None, None)
        true = can_be(truths, TRUE)
        return PartitionMask(true, not bool(np.any(true & can_be(truths, FALSE | NULL))))

    def partition_column(self, path: Path) -> PartitionColumn | None:
        """The values of a partition column of the files; None when `path` is none."""
        column = self.columns.resolve(path)
        if column is None or not column.is_partition or self._partition_texts is None:
            return None
        with self._lock:
            found = self._partitions.get(column.physical_path)
            if found is None:
                found = partition_column(
                    self._partition_texts(column.physical_path[0]),
                    column.data_type,
                    self.columns.time_zone,
                    is_readable=column.has_byte_order,
                )
                self._partitions[column.physical_path] = found
            return found

    def _truths(self, predicate: Predicate) -> Truths:
        """What `predicate` may be of the rows of each file. Where it cannot be true, the set says no more than that."""
        partition, data = self.columns.split(predicate)
        truths = self._evaluate(partition, None, None)
        if data == ALWAYS:
            return truths
        rows = np.flatnonzero(can_be(truths, TRUE))
        if len(rows) == 0:
            return truths
        asked = frozenset(found.physical_path[0] for path in _paths(data) if (found := self.columns.resolve(path)))
        if self._statistics is None or len(rows) * _FEW_SHARE > len(self):
            statistics = None if self._statistics is None else self._statistics(None, asked)
            return conjoin(truths, self._evaluate(data, None, statistics))
        truths[rows] = conjoin(truths[rows], self._evaluate(data, rows, self._statistics(rows, asked)))
        return truths

    def _evaluate(self, predicate: Predicate, rows: Rows | None, statistics: pa.Table | None) -> Truths:
        """The predicate on `rows` (None: on all files); `statistics` has a row for each of them."""
        files = _Files(self, rows, statistics)
        truths = np.broadcast_to(evaluate(predicate, files), (len(files),)).copy()
        if statistics is not None:
            truths[files.empty()] = 0
        return truths


def _paths(predicate: Predicate) -> frozenset[Path]:
    """Of the columns of which something is asked to evaluate it."""
    match predicate:
        case And(children=children) | Or(children=children):
            return frozenset(path for child in children for path in _paths(child))
        case Not(child=child):
            return _paths(child)
        case Unknown():
            return frozenset()
        case Compare() | In() | StartsWith() | IsNull() | IsNotNull() | Constant():
            return columns_of(predicate) or frozenset()
        case _:
            assert_never(predicate)


class _Files:
    """Files as the source of an evaluation: partition columns by a lookup, data columns from statistics."""

    def __init__(self, pruning: FilePruning, rows: Rows | None, statistics: pa.Table | None) -> None:
        self._pruning = pruning
        self._rows = rows
        self._statistics = statistics
        self._known: dict[Path, KnownColumn | None] = {}

    def __len__(self) -> int:
        return len(self._pruning) if self._rows is None else len(self._rows)

    def shortcut(self, predicate: Predicate) -> Truths | None:
        """A condition on one partition column: evaluated on its distinct values, then looked up."""
        paths = columns_of(predicate)
        if paths is None or len(paths) != 1:
            return None
        (path,) = paths
        partition = self._pruning.partition_column(path)
        if partition is None:
            return None
        truths = np.broadcast_to(evaluate(predicate, _DistinctValues(partition)), (len(partition.texts),))
        if partition.unreadable is not None:
            truths = np.where(partition.unreadable, ANY, truths)
        return np.take(truths, partition.codes if self._rows is None else partition.codes[self._rows])

    def column(self, path: Path) -> KnownColumn | None:
        if path not in self._known:
            column = self._pruning.columns.resolve(path)
            self._known[path] = None if column is None else _known_by_statistics(column, self._statistics)
        return self._known[path]

    def empty(self) -> Mask:
        """Where a file is known to hold no rows."""
        count = None if self._statistics is None else statistics_leaf(self._statistics, "num_records", ())
        return np.asarray(False) if count is None else _counts(count, -1) == 0


class _DistinctValues:
    """The distinct values of one partition column as the source of an evaluation."""

    def __init__(self, partition: PartitionColumn) -> None:
        self._known = partition.known()

    def shortcut(self, predicate: Predicate) -> None:
        return None

    def column(self, path: Path) -> KnownColumn:
        return self._known


def _known_by_statistics(column: TableColumn, statistics: pa.Table | None) -> KnownColumn:
    if statistics is None:
        return KnownColumn(bounds=None, has_value=_YES, has_null=_YES)
    bounds = None
    if column.has_byte_order:
        low = statistics_leaf(statistics, "min_values", column.physical_path)
        high = statistics_leaf(statistics, "max_values", column.physical_path)
        bounds = bounds_of_statistics(low, high, column.data_type, once_float=column.once_float)
    null_count = statistics_leaf(statistics, "null_count", column.physical_path)
    num_records = statistics_leaf(statistics, "num_records", ())
    if null_count is None or num_records is None or not pa.types.is_integer(null_count.type):
        return KnownColumn(bounds=bounds, has_value=_YES, has_null=_YES)
    # Where a deletion vector made statistics wide, a null count says something only when no row or every row is null.
    # Those are the two cases that are asked for here, so wide statistics need no other treatment.
    nulls = _counts(null_count, -1)
    return KnownColumn(bounds=bounds, has_value=nulls != _counts(num_records, -2), has_null=nulls != 0)


def statistics_leaf(statistics: pa.Table, name: str, path: Path) -> pa.Array | None:
    """A column of the statistics, down a path of fields; None where there is none."""
    if name not in statistics.schema.names:
        return None
    level = statistics.schema.field(name).type
    for step in path:
        index = level.get_field_index(step) if pa.types.is_struct(level) else -1
        if index < 0:
            return None
        level = level.field(index).type
    column = statistics.column(name)
    if path:
        column = pc.struct_field(column, list(path))
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _counts(array: pa.Array, missing: int) -> npt.NDArray[np.int64]:
    counts: npt.NDArray[np.int64] = array.fill_null(missing).to_numpy(zero_copy_only=False)
    return counts
