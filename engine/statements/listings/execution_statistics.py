"""Statistics of a table's columns as its log has them, without opening a data file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.binding.bound import BoundStatement, Outcome
from engine.pruning.metadata_answers import Answer, CountedFiles, count_by_partition, count_rows, count_values, extreme
from engine.pruning.pruning import FilePruning, statistics_leaf
from engine.pruning.table_columns import TableColumn
from engine.pruning.three_valued_logic import Mask
from engine.runtime.results import BIGINT, BOOLEAN, STRING, small_result
from engine.statements.listings.statement import ListColumnStatistics
from engine.tables.operations import TableOperation
from engine.types.schema import ArrayType, MapType, StructField, StructType
from engine.types.sql_types import column_sql_type

_COLUMNS = {
    **dict.fromkeys(("column", "type", "min", "max"), STRING),
    "is_exact": BOOLEAN,
    **dict.fromkeys(("null_count", "table_rows", "table_files"), BIGINT),
}


@dataclass(frozen=True, slots=True)
class _Values:
    """A column's minimum and maximum, whether they are values of rows, and the number of nulls; None if unknown."""

    low: str | None = None
    high: str | None = None
    is_exact: bool = False
    null_count: int | None = None


def list_column_statistics(bound: BoundStatement, _: ListColumnStatistics) -> Outcome:
    """Returns a row for each column, with the number of the table's rows and files in each."""
    snapshot = bound.tables[0].snapshot
    snapshot.ensure_supported(TableOperation.READ)
    counted = snapshot.counted_files(snapshot.schema.names)
    every = np.ones(len(counted), dtype=bool)
    rows = count_rows(counted, every)
    known_rows = rows.value if isinstance(rows, Answer) else None
    cells = []
    for field in snapshot.schema.fields:
        found = _column_values(counted, every, snapshot.pruning(), field, known_rows)
        described = (field.name, column_sql_type(field), found.low, found.high, found.is_exact, found.null_count)
        cells.append((*described, known_rows, len(counted)))
    return Outcome(result=small_result(_COLUMNS, cells))


def _column_values(
    counted: CountedFiles, every: Mask, pruning: FilePruning, field: StructField, rows: int | None
) -> _Values:
    column = pruning.columns.resolve((field.name,))
    if column is None or isinstance(field.data_type, StructType | ArrayType | MapType):
        return _Values()
    if column.is_partition:
        return _partition_values(counted, every, pruning, field.name)
    values = count_values(counted, every, column)
    null_count = rows - values.value if rows is not None and isinstance(values, Answer) else None
    exact = [extreme(counted, every, column, highest=highest) for highest in (False, True)]
    low, high = (_bound(counted, column, highest=highest) for highest in (False, True))
    return _Values(low, high, all(isinstance(each, Answer) for each in exact) and low is not None, null_count)


def _bound(counted: CountedFiles, column: TableColumn, *, highest: bool) -> str | None:
    """Returns the least or greatest bound of the files; None if a file with values has none."""
    statistics = counted.statistics
    bounds = statistics_leaf(statistics, "max_values" if highest else "min_values", column.physical_path)
    nulls = statistics_leaf(statistics, "null_count", column.physical_path)
    if bounds is None or pa.types.is_nested(bounds.type) or not column.has_byte_order:
        return None
    has_values = pa.array(np.ones(len(bounds), dtype=bool))
    if nulls is not None and pa.types.is_integer(nulls.type):
        has_values = pc.invert(pc.equal(nulls, statistics["num_records"]).fill_null(False)).combine_chunks()
    relevant = bounds.filter(has_values)
    if not len(relevant) or relevant.null_count:
        return None
    return _text(pc.max(relevant) if highest else pc.min(relevant))


def _partition_values(counted: CountedFiles, every: Mask, pruning: FilePruning, name: str) -> _Values:
    column = pruning.partition_column((name,))
    found = None if column is None else count_by_partition(counted, every, column)
    if not isinstance(found, Answer):
        return _Values()
    table = found.value
    nulls = pc.sum(table["rows"].filter(pc.is_null(table["value"]))).as_py() or 0
    values = table["value"].drop_null()
    if not len(values) or pa.types.is_nested(values.type):
        return _Values(null_count=nulls)
    return _Values(_text(pc.min(values)), _text(pc.max(values)), True, nulls)


def _text(value: pa.Scalar) -> str | None:
    """Returns a value as SQL shows it; times are those of UTC."""
    text: str | None = value.cast(pa.string()).as_py()
    return text
