"""File pruning for MERGE: the files that it can change, derived from the source's keys.

One query, over the source that is read once anyway, returns each key's distinct values. A file whose statistics or
partition values exclude all of them contains no matching row. If there are too many values for a list, ranges are used:
values are grouped by their distance from the lowest, each group is one range, and the widest gaps between ranges are
kept. For any grouping, the ranges contain all values.

Materialized rows (`engine.execution.writes.materialized_source`), up to a limit, are read here: that takes no job. The
ranges then lie between the widest gaps among all values.

Nothing is computed if the table has few files, or if the source is so small that Spark broadcasts it: then the scan
receives the keys while the join runs.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any, assert_never, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from catalog.names import quote
from engine.binding.bound import BoundTable
from engine.execution.writes.materialized_source import count_materialized, materialized_column
from engine.planning.plans.reads import ReadPlan
from engine.planning.plans.writes import MatchedKey
from engine.pruning.predicates import (
    ALWAYS,
    Column,
    Compare,
    Constant,
    In,
    Literal,
    Operator,
    Or,
    Predicate,
    conjunction,
)
from engine.spark.execution_context import ExecutionContext
from engine.storage.storage import Storage
from engine.tables.scan import Scan
from engine.types.arrow_types import Array
from engine.types.schema import ArrayType, DataType, DecimalType, MapType, PrimitiveType, StructType

FILES_MIN = 16
_BROADCAST = "spark.sql.autoBroadcastJoinThreshold"
# Far below Spark's own threshold, since the size of compressed files says little about the
# size of a hash table.
_BROADCAST_BYTES = 64 << 10
_LISTED_MAX = 20_000
# Maximum number of rows that are read without Spark.
_LOOKED_AT_MAX = 5_000_000
_GROUPS = 10_000
# Maximum number of ranges in a predicate; for materialized rows also per file, because each range is compared with each
# file.
_RANGES_MAX, _RANGES_PER_FILE = 256, 4

Range = tuple[Any, Any]


def source_keys(
    table: BoundTable,
    keys: Sequence[MatchedKey],
    source: Scan,
    context: ExecutionContext,
    materialized_in: Storage | None = None,
) -> Predicate:
    """Returns a predicate that is true for each row of `table` that matches a row of `source`, whose files are
    materialized rows if they are in the storage `materialized_in`.
    """
    if not keys or table.snapshot.num_files < FILES_MIN or _is_broadcast(source, context):
        return ALWAYS
    columns = None if materialized_in is None else _materialized_columns(keys, source, materialized_in)
    if columns is not None:
        ranges_max = min(_RANGES_MAX, _RANGES_PER_FILE * table.snapshot.num_files)
        found = (_among_ranges(key, column, ranges_max) for key, column in zip(keys, columns, strict=True))
        return conjunction(tuple(found))
    lists = _distinct_values(keys, source, context)
    return conjunction(
        tuple(
            _among(key, values) if len(values) <= _LISTED_MAX else _within(key, _ranges(key, source, context))
            for key, values in zip(keys, lists, strict=True)
        )
    )


def _is_broadcast(source: Scan, context: ExecutionContext) -> bool:
    """Returns whether the join will send its keys to the scan, as a list, while it runs (`DynamicFilePruning`)."""
    num_bytes = pc.sum(source.files["size"]).as_py() or 0
    return num_bytes <= _BROADCAST_BYTES and not (context.executor.get_setting(_BROADCAST) or "").startswith("-")


def _materialized_columns(
    keys: Sequence[MatchedKey], source: Scan, materialized_in: Storage
) -> list[pa.ChunkedArray] | None:
    """Returns each key's values; None for nested fields, and for too many rows."""
    assert source.layout is not None
    fields = zip(source.schema.fields, source.layout.schema.fields, strict=True)
    stored = {f"{source.relation}.{quote(field.name)}": of_file.name for field, of_file in fields}
    if any(key.of_source not in stored for key in keys) or count_materialized(materialized_in, source) > _LOOKED_AT_MAX:
        return None
    return [materialized_column(materialized_in, source, stored[key.of_source]) for key in keys]


def _among_ranges(key: MatchedKey, column: pa.ChunkedArray, ranges_max: int) -> Predicate:
    values = pc.unique(column.drop_null())
    if len(values) <= _LISTED_MAX:
        return _among(key, _values(values, key.data_type))
    return _within(key, _ranges_of(values, key.data_type, ranges_max))


def _ranges_of(values: pa.Array, data_type: DataType, ranges_max: int) -> list[Range]:
    """Returns at most `ranges_max` ranges for distinct values that are not null."""
    ends = [0, len(values)]
    values = values.take(pc.array_sort_indices(values))
    if data_type is not PrimitiveType.STRING:
        gaps = np.diff(_numbers(values, data_type))
        num_reused = min(ranges_max - 1, len(gaps))
        # Only the order of doubles matters here: rounding may move a boundary, but each
        # range's ends are real values.
        ends[1:1] = (np.sort(np.argsort(gaps)[len(gaps) - num_reused :]) + 1).tolist()
    lows = _values(values.take(pa.array(ends[:-1])), data_type)
    highs = _values(values.take(pa.array([end - 1 for end in ends[1:]])), data_type)
    return list(zip(lows, highs, strict=True))


def _numbers(values: pa.Array, data_type: DataType) -> Array:
    """Returns doubles in the values' order."""
    if isinstance(data_type, DecimalType):
        return np.asarray(values.cast(pa.float64()))
    whole = values.cast(pa.int32()) if data_type is PrimitiveType.DATE else values
    return np.asarray(whole.cast(pa.int64())).astype(np.float64)


def _distinct_values(keys: Sequence[MatchedKey], source: Scan, context: ExecutionContext) -> list[list[Any]]:
    """Returns each key's distinct values, at most one more than a list may have."""
    selects = []
    for number, key in enumerate(keys):
        columns = [key.of_source if at == number else "NULL" for at in range(len(keys))]
        items = ", ".join(f"{column} AS k{at}" for at, column in enumerate(columns))
        selects.append(
            f"(SELECT DISTINCT {number} AS n, {items} FROM {source.relation} "
            # NULL matches nothing in an equality, and one value beyond the limit shows that
            # there are more.
            f"WHERE {key.of_source} IS NOT NULL LIMIT {_LISTED_MAX + 1})"
        )
    found = _read(" UNION ALL ".join(selects), source, context)
    return [
        _values(found.column(number + 1).filter(pc.equal(found.column(0), number)), key.data_type)
        for number, key in enumerate(keys)
    ]


def _ranges(key: MatchedKey, source: Scan, context: ExecutionContext) -> list[Range]:
    number = _number(key.data_type)
    text = f"SELECT min(k), max(k) FROM (SELECT {key.of_source} AS k FROM {source.relation}) WHERE k IS NOT NULL"
    if number is not None:
        key_range = f"(SELECT min({key.of_source}) AS low, max({key.of_source}) AS high FROM {source.relation})"
        low, high, at = (number.format(name) for name in ("low", "high", "k"))
        # `try_divide`, because a source with a single value has no width, and ANSI mode
        # would raise an error for the division.
        group = f"floor(try_divide({at} - {low}, {high} - {low}) * {_GROUPS})"
        text = (
            f"SELECT min(k), max(k) FROM (SELECT {key.of_source} AS k FROM {source.relation}) CROSS JOIN {key_range} "
            f"WHERE k IS NOT NULL GROUP BY {group}"
        )
    found = _read(text, source, context)
    lows, highs = (_values(column, key.data_type) for column in found.columns)
    return _merge_ranges(sorted(zip(lows, highs, strict=True)))


def _number(data_type: DataType) -> str | None:
    """Returns SQL for a double in the values' order; None for a text."""
    match data_type:
        case PrimitiveType.STRING:
            return None
        case PrimitiveType.DATE:
            return "CAST(unix_date({}) AS DOUBLE)"
        case PrimitiveType.TIMESTAMP:
            return "CAST(unix_micros({}) AS DOUBLE)"
        case PrimitiveType.TIMESTAMP_NTZ:
            return "CAST(unix_micros(CAST({} AS TIMESTAMP)) AS DOUBLE)"
        case PrimitiveType() | DecimalType() | StructType() | ArrayType() | MapType():
            return "CAST({} AS DOUBLE)"
        case _:
            assert_never(data_type)


def _merge_ranges(ranges: Sequence[Range]) -> list[Range]:
    """Merges ranges, sorted by their lower bounds, into fewer ones, with the widest gaps between them."""
    if len(ranges) <= _RANGES_MAX:
        return list(ranges)
    highs = list(accumulate((high for _, high in ranges), max))
    gaps = range(1, len(ranges))
    widest_gaps = sorted(heapq.nlargest(_RANGES_MAX - 1, gaps, key=lambda at: ranges[at][0] - highs[at - 1]))
    starts, ends = [0, *widest_gaps], [*widest_gaps, len(ranges)]
    return [(ranges[start][0], highs[end - 1]) for start, end in zip(starts, ends, strict=True)]


def _among(key: MatchedKey, values: Sequence[Any]) -> Predicate:
    # Without a source value no target row matches, so no file is read at all.
    return In(Column(key.path), tuple(_literals(key, values))) if values else Constant(False)


def _within(key: MatchedKey, ranges: Sequence[Range]) -> Predicate:
    column = Column(key.path)
    return Or(
        tuple(
            conjunction(
                (
                    Compare(Operator.GREATER_OR_EQUAL, column, low),
                    Compare(Operator.LESS_OR_EQUAL, column, high),
                )
            )
            for low, high in (tuple(_literals(key, pair)) for pair in ranges)
        )
    )


def _literals(key: MatchedKey, values: Sequence[Any]) -> Iterator[Literal]:
    return (Literal(value, key.data_type) for value in values)


def _read(text: str, source: Scan, context: ExecutionContext) -> pa.Table:
    result = context.executor.run_query(ReadPlan(text=text, scans=(source,)), context.request, ())
    try:
        return pa.Table.from_batches(result.batches(), result.schema)
    finally:
        result.close()


def _values(column: Any, data_type: DataType) -> list[Any]:
    """Returns values as :class:`Literal` represents them."""
    if data_type is PrimitiveType.DATE:
        column = column.cast(pa.int32())
    elif data_type in (PrimitiveType.TIMESTAMP, PrimitiveType.TIMESTAMP_NTZ):
        column = column.cast(pa.int64())
    return cast(list[Any], column.to_pylist())
