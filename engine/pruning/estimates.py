"""Scan estimates for Spark's cost model: row counts and value statistics of the files after pruning.

All estimates refer to the remaining files, not to the table, and rows in deletion vectors are not counted. They do not
affect a query's result: wrong or missing statistics cost only time. A value that is unknown for one file is unknown.

The log does not contain distinct value counts. For a partition column they are counted; for others they may have been
collected (`engine.pruning.estimates`), and whole numbers, decimals and dates cannot have more values than the range
between minimum and maximum, nor more than rows. If the row count is the lower bound, nothing is known: Java looks into
a file before it treats a join by this column as one that does not multiply rows (`DictionarySizes.java`).

Distinct counts are collected by ANALYZE, or by another engine, at some table version. They only help planning: a count
is valid while the table has a similar number of rows, and grows with it if nearly each row had its own value. Once the
table has ten times or a tenth of the counted rows, it is ignored.

Protocol: "Per-file Statistics", "Deletion Vectors".
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from engine.pruning.metadata_answers import CountedFiles
from engine.pruning.partition_columns import PartitionColumn
from engine.pruning.pruning import FilePruning, Rows, statistics_leaf
from engine.pruning.table_columns import TableColumn
from engine.pruning.value_ranges import INTEGRAL_DIGITS
from engine.types.schema import DataType, DecimalType, PrimitiveType

# A whole number; a date as days, a timestamp as microseconds since 1970; a decimal as text.
Bound: TypeAlias = int | str

# Row count limit for one file: no other writer's count makes the sum overflow.
_ROWS_MAX = 1 << 40
_BOUNDED = frozenset([*INTEGRAL_DIGITS, PrimitiveType.DATE, PrimitiveType.TIMESTAMP])
_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnEstimate:
    """A column estimate. None: unknown. Either both bounds are set or none, in supported types."""

    nulls: int | None = None
    low: Bound | None = None
    high: Bound | None = None
    distinct: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A scan estimate. `rows` None: unknown, and nothing is known about columns. `largest` is one file's path, as in
    the log, for a reader that needs information that the log does not contain.
    """

    files: int
    bytes: int
    rows: int | None = None
    columns: Mapping[str, ColumnEstimate] = field(default_factory=dict)
    largest: str | None = None


def estimate_columns(
    counted: CountedFiles,
    pruning: FilePruning,
    selected: Rows | None,
    names: Iterable[str],
    distinct: DistinctCounts | None = None,
) -> tuple[int | None, dict[str, ColumnEstimate]]:
    """Returns the row count for the files at the positions `selected` (None: all) and estimates for top-level
    columns."""
    live = np.minimum(counted.live_rows(), _ROWS_MAX)
    rows_in_all = -1 if (live < 0).any() else int(live.sum())
    live = live if selected is None else live[selected]
    if (live < 0).any():
        return None, {}
    rows = int(live.sum())
    positions = None if selected is None else pa.array(selected)
    statistics = counted.statistics if positions is None else counted.statistics.take(positions)
    columns: dict[str, ColumnEstimate] = {}
    for name in names:
        column = pruning.columns.resolve((name,))
        if column is None or not isinstance(column.data_type, PrimitiveType | DecimalType):
            continue
        partition = pruning.partition_column((name,))
        if partition is not None:
            columns[name] = _of_partitions(partition, live, selected)
        elif not column.is_partition:
            found = _of_statistics(column, statistics, rows)
            known = None if distinct is None else distinct.columns.get(name)
            columns[name] = _with_count(found, None if known is None else known.among(rows_in_all), rows)
    return rows, columns


def _with_count(found: ColumnEstimate, distinct: int | None, rows: int) -> ColumnEstimate:
    """Returns the lower of two bounds, for the remainder of a table in which `distinct` values were counted."""
    bounds = [bound for bound in (distinct, found.distinct) if bound is not None]
    return replace(found, distinct=max(1, min(*bounds, rows))) if distinct is not None else found


def _of_partitions(column: PartitionColumn, live: npt.NDArray[np.int64], selected: Rows | None) -> ColumnEstimate:
    codes = column.codes if selected is None else column.codes[selected]
    null = column.null
    used = np.unique(codes)
    used = used[~null[used]]
    low, high = (None, None)
    if column.values is not None:
        low, high = _range(column.values.take(pa.array(used)), column.data_type)
    return ColumnEstimate(nulls=int(live[null[codes]].sum()), low=low, high=high, distinct=len(used))


def _of_statistics(column: TableColumn, statistics: pa.Table, rows: int) -> ColumnEstimate:
    counts = statistics_leaf(statistics, "null_count", column.physical_path)
    nulls = None
    if counts is not None and pa.types.is_integer(counts.type) and counts.null_count == 0:
        nulls = min(max(pc.sum(counts.cast(pa.float64())).as_py() or 0, 0), rows)
        nulls = int(nulls)
    lows, highs = (statistics_leaf(statistics, name, column.physical_path) for name in ("min_values", "max_values"))
    if lows is None or highs is None or not column.has_byte_order:
        return ColumnEstimate(nulls=nulls)
    if counts is not None and pa.types.is_integer(counts.type):  # files with only nulls have no bounds
        whole = pc.fill_null(pc.less(counts, statistics["num_records"].combine_chunks()), True)
        lows, highs = lows.filter(whole), highs.filter(whole)
    if lows.null_count or highs.null_count:
        return ColumnEstimate(nulls=nulls)
    low, high = _range(pa.concat_arrays([lows, highs]), column.data_type)
    return ColumnEstimate(nulls=nulls, low=low, high=high, distinct=_distinct(low, high, column.data_type, rows))


def _range(values: pa.Array, data_type: DataType) -> tuple[Bound, Bound] | tuple[None, None]:
    if not isinstance(data_type, DecimalType) and data_type not in _BOUNDED:
        return None, None
    found = pc.min_max(values).as_py()
    if found["min"] is None:
        return None, None
    return _to_bound(found["min"]), _to_bound(found["max"])


def _to_bound(value: Any) -> Bound:
    match value:
        case datetime():
            return int(pa.scalar(value, pa.timestamp("us", tz=None if value.tzinfo is None else "UTC")).value)
        case date():
            return (value - _EPOCH).days
        case Decimal():
            return str(value)
        case _:  # Arrow's other minimums and maximums are whole numbers
            return int(value)


def _distinct(low: Bound | None, high: Bound | None, data_type: DataType, rows: int) -> int | None:
    if low is None or high is None:
        return None
    width = Decimal(high) - Decimal(low)
    if isinstance(data_type, DecimalType):
        width = width.scaleb(data_type.scale)
    return max(1, min(rows, int(width) + 1))


# Maximum factor between the current and the counted number of rows.
_CHANGE_MAX = 10
# With more distinct values per row than this, the count grows with the table.
_KEY_SHARE = 0.5


@dataclass(frozen=True, slots=True)
class DistinctCount:
    """A count: `distinct` values, excluding null, in `rows` rows."""

    distinct: int
    rows: int

    def among(self, rows: int) -> int | None:
        """Returns the expected count in a table that now has `rows` rows; None if it cannot be estimated."""
        if self.rows <= 0 or rows <= 0 or not 1 / _CHANGE_MAX <= rows / self.rows <= _CHANGE_MAX:
            return None
        if self.distinct > self.rows * _KEY_SHARE:
            return min(rows, round(self.distinct * rows / self.rows))
        return min(rows, self.distinct)


@dataclass(frozen=True, slots=True)
class DistinctCounts:
    """Counts by logical top-level column name, in the schema's spelling."""

    columns: Mapping[str, DistinctCount] = field(default_factory=dict)
