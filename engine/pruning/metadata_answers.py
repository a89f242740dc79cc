"""Metadata-only answers: values that the log contains exactly, without opening a data file.

A row count is the sum of `numRecords`, minus rows in deletion vectors: both are exact whenever they are present, with
tight or wide bounds. A column's minimum and maximum require more: tight bounds, no deletion vector (the row with the
value may be deleted), and a type whose bounds are exact values. This excludes strings (truncated), timestamps
(truncated to milliseconds), floating-point numbers (without NaN and the sign of zero) and decimals with more than 15
digits (which some writers pass through a double).

If there is no exact answer, a :class:`NoAnswer` has the reason, for EXPLAIN; it is not an error.

Protocol: "Per-file Statistics", "Deletion Vectors".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from engine.pruning.partition_columns import PartitionColumn
from engine.pruning.predicates import Literal, Predicate
from engine.pruning.pruning import FilePruning, statistics_leaf
from engine.pruning.table_columns import TableColumn
from engine.pruning.three_valued_logic import Mask
from engine.types.schema import DataType, DecimalType, PrimitiveType

T = TypeVar("T")

_EXACT_TYPES = frozenset(
    [
        PrimitiveType.BYTE,
        PrimitiveType.SHORT,
        PrimitiveType.INTEGER,
        PrimitiveType.LONG,
        PrimitiveType.BOOLEAN,
        PrimitiveType.DATE,
    ]
)
_DOUBLE_DIGITS = 15


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    value: T


@dataclass(frozen=True, slots=True)
class NoAnswer:
    reason: str


Result: TypeAlias = Answer[T] | NoAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedFiles:
    """Files with their row counts from the log, the input for the other answers."""

    # As in `TableSnapshot.files`.
    files: pa.Table
    # Statistics with `file_stats.stats_schema`, row for row.
    statistics: pa.Table

    def __len__(self) -> int:
        return int(self.files.num_rows)

    def live_rows(self) -> npt.NDArray[np.int64]:
        """Returns each file's rows that are in no deletion vector; -1 if unknown."""
        physical = self.statistics["num_records"]
        vectors = self.files["deletion_vector"]
        num_deleted = pc.if_else(vectors.is_valid(), pc.struct_field(vectors, "cardinality"), 0)
        live: npt.NDArray[np.int64] = pc.subtract(physical, num_deleted).fill_null(-1).to_numpy()
        return np.maximum(live, -1)

    def has_vector(self) -> Mask:
        """Returns a mask of the files with a deletion vector."""
        return _mask(self.files["deletion_vector"].is_valid())

    def is_tight(self) -> Mask:
        """Returns the files whose bounds are actual values: no deletion vector, and tight bounds."""
        return _mask(self.statistics["tight_bounds"].fill_null(True)) & ~self.has_vector()


def exact_selection(pruning: FilePruning, predicate: Predicate) -> Result[Mask]:
    """Returns the files whose rows all satisfy `predicate`, if no other file has a matching row."""
    selected = pruning.prune(predicate)
    mixed = int(np.count_nonzero(selected & ~pruning.matches_all(predicate)))
    if mixed:
        return NoAnswer(f"the condition may hold for some rows only in {mixed} of {len(selected)} files")
    return Answer(selected)


def count_rows(counted: CountedFiles, selected: Mask) -> Result[int]:
    """Returns the number of rows in the selected files."""
    live = counted.live_rows()[selected]
    return _unknown_rows(live) or Answer(int(live.sum()))


def count_values(counted: CountedFiles, selected: Mask, column: TableColumn) -> Result[int]:
    """Returns the number of non-null values in a data column, in the selected files."""
    nulls = statistics_leaf(counted.statistics, "null_count", column.physical_path)
    if nulls is None or not pa.types.is_integer(nulls.type):
        return NoAnswer("there are no statistics of this column")
    loose = int(np.count_nonzero(selected & ~counted.is_tight()))
    if loose:
        return NoAnswer(f"{loose} files have deletion vectors or counts that are not tight")
    missing = int(np.count_nonzero(selected & ~_mask(nulls.is_valid())))
    if missing:
        return NoAnswer(f"{missing} files have no count of nulls of this column")
    rows = count_rows(counted, selected)
    if isinstance(rows, NoAnswer):
        return rows
    return Answer(rows.value - (pc.sum(nulls.filter(pa.array(selected))).as_py() or 0))


def count_by_partition(counted: CountedFiles, selected: Mask, column: PartitionColumn) -> Result[pa.Table]:
    """Returns a partition column's distinct values and their row counts: a table with `value` and `rows`.

    A value whose files have no rows is not included. Null is a value like others.
    """
    live = counted.live_rows()[selected]
    unknown = _unknown_rows(live)
    if unknown:
        return unknown
    if not column.is_canonical:
        return NoAnswer("values of the partition column cannot be told apart by their texts")
    rows = np.zeros(len(column.texts), np.int64)
    np.add.at(rows, column.codes[selected], live)
    table = pa.table({"value": column.values, "rows": pa.array(rows)})
    return Answer(table.filter(pc.greater(table["rows"], 0)))


def extreme(counted: CountedFiles, selected: Mask, column: TableColumn, *, highest: bool) -> Result[Literal]:
    """Returns a data column's minimum or maximum in the selected files; a null literal without any value."""
    if not _has_exact_bounds(column.data_type):
        return NoAnswer("statistics of this type bound the values and need not be among them")
    statistics = counted.statistics
    values = statistics_leaf(statistics, "max_values" if highest else "min_values", column.physical_path)
    nulls = statistics_leaf(statistics, "null_count", column.physical_path)
    if values is None or nulls is None:
        return NoAnswer("there are no statistics of this column")
    only_nulls = pc.equal(nulls, statistics["num_records"]).fill_null(False)
    relevant = selected & ~_mask(only_nulls)
    loose = int(np.count_nonzero(relevant & ~counted.is_tight()))
    if loose:
        return NoAnswer(f"{loose} files have deletion vectors or bounds that are not tight")
    missing = int(np.count_nonzero(relevant & ~_mask(values.is_valid())))
    if missing:
        return NoAnswer(f"{missing} files have no bound of this column")
    bounds = values.filter(pa.array(relevant))
    found = pc.max(bounds) if highest else pc.min(bounds)
    # Literals represent dates as days.
    value = found.cast(pa.int32()).as_py() if pa.types.is_date(values.type) else found.as_py()
    return Answer(Literal(value, column.data_type))


def _unknown_rows(live: npt.NDArray[np.int64]) -> NoAnswer | None:
    unknown = int(np.count_nonzero(live < 0))
    return NoAnswer(f"{unknown} of {len(live)} files have no count of rows in the log") if unknown else None


def _has_exact_bounds(data_type: DataType) -> bool:
    if isinstance(data_type, DecimalType):
        return data_type.precision <= _DOUBLE_DIGITS
    return isinstance(data_type, PrimitiveType) and data_type in _EXACT_TYPES


def _mask(array: pa.Array | pa.ChunkedArray) -> Mask:
    mask: Mask = array.to_numpy() if isinstance(array, pa.ChunkedArray) else array.to_numpy(zero_copy_only=False)
    return mask
