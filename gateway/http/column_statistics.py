"""Statistics of one column of a held result."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from engine.runtime.results import sql_type_of
from engine.runtime.value_text import to_text
from engine.types.value_bytes import value_bytes
from gateway.http.result_filters import Condition, page_mask
from gateway.sessions.operation import Operation

_PAGE_BYTES = 4 << 20
# Limit for the distinct values that are held in memory to count them.
_DISTINCT_BYTES_MAX = 256 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnStatistics:
    """Statistics of the rows that satisfy some conditions.

    `distinct_count` counts values that are not null, and is None if they exceed the memory limit. `low` and `high` are
    displayed text, None without values or for types without an order.
    """

    row_count: int
    null_count: int
    distinct_count: int | None
    low: str | None
    high: str | None


def column_statistics(operation: Operation, column: int, conditions: tuple[Condition, ...]) -> ColumnStatistics:
    """Returns the statistics of the column at this position, over the rows that satisfy the conditions.

    The distinct count is None if it takes more than `_DISTINCT_BYTES_MAX` of memory; minimum and maximum are None
    without values.
    """
    field = operation.schema.field(column)
    distinct: pa.Array | None = pa.array([], field.type) if _is_hashable(field.type) else pa.array([], pa.string())
    ends_of_pages: list[pa.Array] = []
    row_count = null_count = 0
    for page in operation.pages(_PAGE_BYTES):
        values = page.column(column).combine_chunks()
        if conditions:
            values = values.filter(page_mask(page, operation, conditions))
        row_count += len(values)
        null_count += values.null_count
        present = values.drop_null()
        ends_of_pages.append(_minimum_and_maximum(present))
        if distinct is not None:
            seen = present if _is_hashable(field.type) else _text(present, field, operation.time_zone)
            distinct = pc.unique(pa.concat_arrays([distinct, pc.unique(seen)]))
            if value_bytes(distinct) > _DISTINCT_BYTES_MAX:
                distinct = None
    ends = _minimum_and_maximum(pa.concat_arrays(ends_of_pages)) if ends_of_pages else pa.array([], field.type)
    low, high = _text(ends, field, operation.time_zone).to_pylist() or (None, None)
    return ColumnStatistics(
        row_count=row_count,
        null_count=null_count,
        distinct_count=None if distinct is None else len(distinct),
        low=low,
        high=high,
    )


def _is_hashable(kind: pa.DataType) -> bool:
    """Returns if Arrow counts distinct values of the type; of others their text is counted."""
    return not (pa.types.is_nested(kind) or pa.types.is_null(kind) or pa.types.is_interval(kind))


def _minimum_and_maximum(present: pa.Array) -> pa.Array:
    """Returns the minimum and the maximum; no values without rows or for types without an order."""
    if not len(present) or not _is_hashable(present.type):
        return present.slice(0, 0)
    if pa.types.is_floating(present.type):  # NaN is larger than other values, as in Spark
        numbers = present.filter(pc.invert(pc.is_nan(present)))
        nan = present.filter(pc.is_nan(present)).slice(0, 1)
        if len(nan):
            low = _minimum_and_maximum(numbers).slice(0, 1) if len(numbers) else nan
            return pa.concat_arrays([low, nan])
    order = pc.select_k_unstable
    return pa.concat_arrays(
        [present.take(order(present, 1, [("", direction)])) for direction in ("ascending", "descending")]
    )


def _text(values: pa.Array, field: pa.Field, time_zone: str) -> pa.StringArray:
    return to_text(values, sql_type_of(field), time_zone)
