"""Data skipping: the files in a snapshot that may contain a row that satisfies a predicate, and the files that contain
no other rows.

Partition columns are evaluated on their distinct values, data columns on the files' statistics; both return sets of
possible truth values (`engine.pruning.three_valued_logic`) that combine in one tree, so a condition may mix them.
Guarantees:

1. A file with a matching row is never pruned, even with missing statistics, as long as their only defects are the ones
that `engine.pruning.column_ranges` handles.
2. A file in `matches_all` contains only matching rows, or none.
3. `partition_mask` reports whether it is exact: if so it is the answer and not an estimate.

Values with a collation, with `char(n)` and with types without an order are treated as unknown; their null counts are
used all the same.

Cost: about 5 ms per condition for a million files. Statistics are requested only if a condition needs them, and if
partition values leave a few files, only for these files.
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
# Parsed statistics (with `file_stats.stats_schema`) for some files, by ascending position, or for all; at least for the
# top-level columns with these physical names.
StatisticsSource: TypeAlias = Callable[[Rows | None, Collection[str]], pa.Table]
# A partition column's dictionary-encoded texts for all files, by physical name.
PartitionSource: TypeAlias = Callable[[str], pa.ChunkedArray]

# Statistics are requested for individual files if fewer than one in this many files is left.
_FEW_SHARE = 32
_YES: Mask = np.asarray(True)


class PartitionMask(NamedTuple):
    # Files whose partition values satisfy the predicate, or may satisfy it.
    mask: Mask
    # True if the mask contains exactly the satisfying files.
    is_exact: bool


class FilePruning:
    """One snapshot's files, ready for pruning; thread-safe.

    Partition columns are prepared on first use and cached.
    """

    def __init__(
        self,
        columns: TableColumns,
        count: int,
        partition_texts: PartitionSource | None = None,
        statistics: StatisticsSource | None = None,
    ) -> None:
        """Prepares `count` files; without `statistics` none has any."""
        self.columns = columns
        self._count = count
        self._partition_texts = partition_texts
        self._statistics = statistics
        self._partitions: dict[Path, PartitionColumn] = {}
        self._lock = Lock()

    def __len__(self) -> int:
        return self._count

    def prune(self, predicate: Predicate) -> Mask:
        """Returns a mask over the files: true if a row may satisfy `predicate`."""
        return can_be(self._truths(predicate), TRUE)

    def matches_all(self, predicate: Predicate) -> Mask:
        """Returns a mask over the files: true if every row, if any, satisfies `predicate`."""
        return ~can_be(self._truths(predicate), FALSE | NULL)

    def partition_mask(self, predicate: Predicate) -> PartitionMask:
        """Returns the files that `predicate` selects by partition values; other dependencies count as unknown."""
        truths = self._evaluate(predicate, None, None)
        true = can_be(truths, TRUE)
        return PartitionMask(true, not bool(np.any(true & can_be(truths, FALSE | NULL))))

    def partition_column(self, path: Path) -> PartitionColumn | None:
        """Returns a partition column's values for the files; None if `path` is not a partition column."""
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
        """Returns the possible truth values of `predicate` for each file. If it cannot be true, the set is not
        precise.
        """
        # Partition values first: they need no statistics, and often leave so few files that
        # statistics are parsed for these alone.
        partition, data = self.columns.split(predicate)
        truths = self._evaluate(partition, None, None)
        if data == ALWAYS:
            return truths
        rows = np.flatnonzero(can_be(truths, TRUE))
        if len(rows) == 0:
            return truths
        requested = frozenset(found.physical_path[0] for path in _paths(data) if (found := self.columns.resolve(path)))
        if self._statistics is None or len(rows) * _FEW_SHARE > len(self):
            statistics = None if self._statistics is None else self._statistics(None, requested)
            return conjoin(truths, self._evaluate(data, None, statistics))
        truths[rows] = conjoin(truths[rows], self._evaluate(data, rows, self._statistics(rows, requested)))
        return truths

    def _evaluate(self, predicate: Predicate, rows: Rows | None, statistics: pa.Table | None) -> Truths:
        """Evaluates the predicate on `rows` (None: all files); `statistics` has a row for each."""
        files = _Files(self, rows, statistics)
        truths = np.broadcast_to(evaluate(predicate, files), (len(files),)).copy()
        if statistics is not None:
            # No row has any truth value in an empty file, so it neither matches nor fails
            # to match.
            truths[files.empty()] = 0
        return truths


def _paths(predicate: Predicate) -> frozenset[Path]:
    """Returns the paths of the columns whose statistics are needed for the evaluation."""
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
    """Files as an evaluation's source: partition columns by a lookup, data columns from statistics."""

    def __init__(self, pruning: FilePruning, rows: Rows | None, statistics: pa.Table | None) -> None:
        self._pruning = pruning
        self._rows = rows
        self._statistics = statistics
        self._known: dict[Path, KnownColumn | None] = {}

    def __len__(self) -> int:
        return len(self._pruning) if self._rows is None else len(self._rows)

    def shortcut(self, predicate: Predicate) -> Truths | None:
        """Evaluates a condition on one partition column on its distinct values, then maps it to the files."""
        paths = columns_of(predicate)
        if paths is None or len(paths) != 1:
            return None
        (path,) = paths
        partition = self._pruning.partition_column(path)
        if partition is None:
            return None
        truths = np.broadcast_to(evaluate(predicate, _DistinctValues(partition)), (len(partition.texts),))
        if partition.unreadable is not None:
            # A value that cannot be parsed as the column's type makes the file a candidate;
            # Spark then raises the error, or not, as it does without pruning.
            truths = np.where(partition.unreadable, ANY, truths)
        return np.take(truths, partition.codes if self._rows is None else partition.codes[self._rows])

    def column(self, path: Path) -> KnownColumn | None:
        if path not in self._known:
            column = self._pruning.columns.resolve(path)
            self._known[path] = None if column is None else _known_by_statistics(column, self._statistics)
        return self._known[path]

    def empty(self) -> Mask:
        """Returns a mask for files that are known to be empty."""
        count = None if self._statistics is None else statistics_leaf(self._statistics, "num_records", ())
        return np.asarray(False) if count is None else _counts(count, -1) == 0


class _DistinctValues:
    """One partition column's distinct values as an evaluation's source."""

    def __init__(self, partition: PartitionColumn) -> None:
        self._known = partition.statistics()

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
    # A struct has null counts for its fields and none for itself.
    if null_count is None or num_records is None or not pa.types.is_integer(null_count.type):
        return KnownColumn(bounds=bounds, has_value=_YES, has_null=_YES)
    # With a deletion vector (wide bounds), a null count is meaningful only if no row or every row is null. Only these
    # two cases are used here, so wide bounds need no other treatment.
    nulls = _counts(null_count, -1)
    return KnownColumn(bounds=bounds, has_value=nulls != _counts(num_records, -2), has_null=nulls != 0)


def statistics_leaf(statistics: pa.Table, name: str, path: Path) -> pa.Array | None:
    """Returns a statistics column, along a path of fields; None if absent."""
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
