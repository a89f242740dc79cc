"""Parses per-file statistics in bulk: JSON texts in, typed columns out.

A file's statistics are JSON inside JSON. Tens of thousands of texts form a block. If all have the same form, the block
is read by `uniform_stats`; otherwise Arrow parses it as one stream of JSON objects, with the table schema's types::

    num_records: int64
    tight_bounds: bool                       false if a deletion vector made the bounds wide; null means true
    min_values, max_values: struct           by physical name, nested like the schema
    null_count: struct of int64              the same, with a leaf for arrays and maps too

Statistics are optional: a missing value, or one that cannot be parsed as its column's type, is null, which means
unknown. So unusual texts cost time, not correctness. Arrow rejects a block as a whole; `parse_stats` then reads it
again with non-finite numbers as null (Spark writes them as strings), and finally value by value.

Values are as in the log: strings may be truncated, timestamps are truncated to milliseconds. File pruning must widen
them.

`batch_pruning` applies the same rules to files that do not belong to a snapshot, such as other writers' commits.

Protocol: "Per-file Statistics".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, assert_never

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from engine.delta.log.file_table import encode_partition_values, nulls, partition_schema
from engine.delta.snapshot.uniform_stats import read_uniform
from engine.pruning.pruning import FilePruning, Rows
from engine.pruning.table_columns import TableColumns
from engine.types.arrow_types import Array, RecordBatch, arrow_type
from engine.types.schema import ArrayType, DecimalType, MapType, PrimitiveType, StructType

_NO_BOUNDS = frozenset({PrimitiveType.BINARY, PrimitiveType.VARIANT, PrimitiveType.VOID})
_TOP = {
    "num_records": "numRecords",
    "tight_bounds": "tightBounds",
    "min_values": "minValues",
    "max_values": "maxValues",
    "null_count": "nullCount",
}
# The part of a `stats_schema` that row counts need.
COUNTS_SCHEMA: Any = pa.schema([("num_records", pa.int64())])
_LEADING_KEY = '{"numRecords":'
# Eighteen digits fit into 64 bits without a check for overflow.
_DIGITS_MAX = 18
_BLOCK_BYTES = 1 << 24
_NON_FINITE = r':\s*"(-?Infinity|[+-]?Inf|NaN)"'


def stats_schema(schema: StructType, partition_columns: Iterable[str] = ()) -> Any:
    """Returns the `pyarrow.Schema` for parsed statistics.

    Both arguments use physical names; partition columns have no statistics.
    """
    # "Per-file Statistics" cover data columns; a partition column's value is in
    # `partitionValues`.
    left_out = set(partition_columns)
    data = StructType(tuple(field for field in schema.fields if field.name not in left_out))
    bounds = pa.struct(list(_bounds_fields(data)))
    counts = pa.struct(list(_count_fields(data)))
    top = [*COUNTS_SCHEMA, ("tight_bounds", pa.bool_())]
    return pa.schema([*top, ("min_values", bounds), ("max_values", bounds), ("null_count", counts)])


def parse_counts(texts: Array) -> RecordBatch:
    """Returns a `COUNTS_SCHEMA` row for each text, equal to `parse_stats` for JSON that has the key once.

    Writers put the row count first, so the key is known to be at the top level without parsing the object; this takes
    at most a seventh of the time. The function does not check that the rest is JSON, or that the key does not occur
    again. If a text has another beginning, all are parsed.
    """
    counts = _leading_counts(texts.drop_null() if texts.null_count else texts)
    if counts is None:
        return parse_stats(texts, COUNTS_SCHEMA)
    missing = texts.is_null().to_numpy(zero_copy_only=False)
    found = np.zeros(len(texts), np.int64)
    found[~missing] = counts
    return pa.RecordBatch.from_arrays([pa.array(found, mask=missing)], schema=COUNTS_SCHEMA)


def _leading_counts(texts: Array) -> npt.NDArray[np.int64] | None:
    """Parses the numbers after the first keys, digit by digit over all texts; None if a text has another form."""
    if not len(texts):
        return np.empty(0, np.int64)
    if pc.all(pc.and_(pc.starts_with(texts, _LEADING_KEY), pc.ends_with(texts, "}"))).as_py() is not True:
        return None
    _, offsets, buffer = texts.buffers()
    data = np.frombuffer(buffer, np.uint8)
    at = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts)].astype(np.int64)
    at += len(_LEADING_KEY)
    counts = np.zeros(len(texts), np.int64)
    rows = np.arange(len(texts))
    leading_zero = data[at] == ord("0")
    for position in range(_DIGITS_MAX + 1):  # each text ends with a brace, so the loop stops before it
        signs = data[at]
        is_digit = (signs >= ord("0")) & (signs <= ord("9"))
        ends = signs[~is_digit]
        if len(ends):
            # No digit, or a number with fraction or exponent: valid JSON, but for the
            # complete parser.
            if position == 0 or not np.isin(ends, (ord(","), ord("}"))).all():
                return None
            at, rows, signs, leading_zero = at[is_digit], rows[is_digit], signs[is_digit], leading_zero[is_digit]
        if not len(rows):
            return counts
        # JSON forbids leading zeros. The text is no JSON, and the complete parser makes its
        # statistics unknown.
        if position and leading_zero.any():
            return None
        counts[rows] = counts[rows] * 10 + (signs - ord("0"))
        at = at + 1
    return None


def parse_stats(texts: Array, schema: Any) -> RecordBatch:
    """Returns a row with `schema` (a `stats_schema`, or some of its fields) for each JSON text.

    Never raises because of the texts' contents.
    """
    if texts.null_count == len(texts):
        return pa.RecordBatch.from_arrays([nulls(field.type, len(texts)) for field in schema], schema=schema)
    # The explicit schema limits the work to the columns that the query restricts; a file
    # may have statistics for hundreds.
    wire = pa.schema([pa.field(_TOP[field.name], _json_type(field.type)) for field in schema])
    try:
        table = _read_objects(texts, wire)
    except pa.ArrowInvalid:
        try:
            table = _read_objects(pc.replace_substring_regex(texts, _NON_FINITE, ":null"), wire)
        except pa.ArrowInvalid:
            # One text with an unexpected type (a number for a string, say) makes Arrow
            # reject its whole block; value by value, only this value becomes unknown.
            return _parse_slowly(texts, schema)
    columns = [_convert(table.column(_TOP[field.name]), field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _bounds_fields(struct: StructType) -> Iterable[Any]:
    for field in struct.fields:
        match field.data_type:
            case StructType() as nested:
                inner = pa.struct(list(_bounds_fields(nested)))
                if inner.num_fields:
                    yield pa.field(field.name, inner)
            # No order is defined for arrays and maps, so that they have a null count but no
            # bounds.
            case ArrayType() | MapType():
                pass
            case PrimitiveType() | DecimalType() as leaf:
                if leaf not in _NO_BOUNDS:
                    yield pa.field(field.name, arrow_type(leaf))
            case _:
                assert_never(field.data_type)


def _count_fields(struct: StructType) -> Iterable[Any]:
    for field in struct.fields:
        if isinstance(field.data_type, StructType):
            inner = pa.struct(list(_count_fields(field.data_type)))
            if inner.num_fields:
                yield pa.field(field.name, inner)
        else:
            yield pa.field(field.name, pa.int64())


# --- In bulk -------------------------------------------------------------------------------------------------------


def _json_type(data_type: Any) -> Any:
    """Returns the type to request from Arrow's JSON reader: dates and times as text, narrow integers as wide ones."""
    if pa.types.is_struct(data_type):
        return pa.struct([pa.field(field.name, _json_type(field.type)) for field in data_type])
    if pa.types.is_temporal(data_type):
        return pa.string()
    if pa.types.is_integer(data_type):
        return pa.int64()
    return pa.float64() if pa.types.is_floating(data_type) else data_type


def _read_objects(texts: Array, wire: Any) -> Any:
    """Returns a table with a row per text. Raises `ArrowInvalid` if the texts do not match `wire`.

    A string array's values are contiguous in memory, which is the form of a JSON object stream: nothing is copied. A
    null occupies no bytes there; its row is inserted afterwards.
    """
    # The reader accepts any sequence of objects. Each text must be exactly one, or later
    # rows would get an earlier row's statistics; the braces and the row count together show
    # it.
    valid = texts.drop_null() if texts.null_count else texts
    if not pc.all(pc.and_(pc.starts_with(valid, "{"), pc.ends_with(valid, "}"))).as_py():
        raise pa.ArrowInvalid("a text that is no object")
    table = pa.concat_tables([_read_part(part, wire) for part in _parts(valid)])
    if texts.null_count:
        rows = pc.subtract(pc.cumulative_sum(pc.cast(texts.is_valid(), pa.int64())), 1)
        table = table.combine_chunks().take(pc.if_else(texts.is_valid(), rows, None))
    return table


def _parts(texts: Array) -> Iterator[Array]:
    """Yields slices with about `_BLOCK_BYTES` each, at least one."""
    _, offsets, _ = texts.buffers()
    ends = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1].astype(np.int64)
    start = 0
    while True:
        stop = max(start + 1, int(np.searchsorted(ends, ends[start] + _BLOCK_BYTES, side="right")) - 1)
        yield texts.slice(start, stop - start)
        if stop >= len(texts):
            return
        start = stop


def _read_part(texts: Array, wire: Any) -> Any:
    table = read_uniform(texts, wire)
    return _read_block(texts, wire) if table is None else table


def _read_block(texts: Array, wire: Any) -> Any:
    """Reads the objects from texts without nulls.

    The reader gets everything as one block: if one of several blocks begins or ends with something other than an
    object, Arrow may abort the process (`basic_string_view::substr`).
    """
    _, offsets, data = texts.buffers()
    ends = memoryview(offsets).cast("i")
    first, last = ends[texts.offset], ends[texts.offset + len(texts)]
    table = pj.read_json(
        pa.BufferReader(data.slice(first, last - first)),
        read_options=pj.ReadOptions(block_size=last - first, use_threads=False),
        parse_options=pj.ParseOptions(
            explicit_schema=wire, unexpected_field_behavior="ignore", newlines_in_values=True
        ),
    )
    # Two objects in one text, or a text without any, would shift all following rows.
    if table.num_rows != len(texts):
        raise pa.ArrowInvalid("a text that is not one object")
    return table


def _convert(column: Any, data_type: Any) -> Array:
    """Converts a column from the JSON reader to the schema's type."""
    array = pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column
    if array.type == data_type:
        return array
    if pa.types.is_struct(data_type):
        children = [_convert(array.field(i), field.type) for i, field in enumerate(data_type)]
        return pa.StructArray.from_arrays(children, fields=list(data_type), mask=array.is_null())
    try:
        return array.cast(data_type)
    except pa.ArrowInvalid:
        return _leaf_array(array.to_pylist(), data_type)


# --- Value by value ------------------------------------------------------------------------------------------------


def _parse_slowly(texts: Array, schema: Any) -> RecordBatch:
    values = [_parse_text(text) for text in texts.to_pylist()]
    columns = [_slow_column([_get(value, _TOP[field.name]) for value in values], field.type) for field in schema]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _parse_text(text: str | None) -> Any:
    if text is None:
        return None
    try:
        return msgspec.json.decode(text)
    except (msgspec.MsgspecError, RecursionError):
        return None


def _get(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else None


def _slow_column(values: Sequence[Any], data_type: Any) -> Array:
    if not pa.types.is_struct(data_type):
        return _leaf_array(values, data_type)
    children = [_slow_column([_get(value, field.name) for value in values], field.type) for field in data_type]
    absent = pa.array([not isinstance(value, Mapping) for value in values], pa.bool_())
    return pa.StructArray.from_arrays(children, fields=list(data_type), mask=absent)


def _leaf_array(values: Sequence[Any], data_type: Any) -> Array:
    parse = _leaf_parser(data_type)
    return pa.array([None if value is None else _parse_leaf(value, parse, data_type) for value in values], data_type)


def _parse_leaf(value: Any, parse: Callable[[Any], Any], data_type: Any) -> Any:
    """Returns the value if the column's type can represent it, else None."""
    try:
        parsed = parse(value)
        pa.scalar(parsed, data_type)
    except (ValueError, TypeError, OverflowError, InvalidOperation, pa.ArrowException):
        return None
    return parsed


def _leaf_parser(data_type: Any) -> Callable[[Any], Any]:
    if pa.types.is_timestamp(data_type):
        return _parse_timestamp if data_type.tz else _parse_local_timestamp
    if pa.types.is_date(data_type):
        return _parse_date
    if pa.types.is_decimal(data_type):
        return lambda value: Decimal(str(value))
    if pa.types.is_integer(data_type):
        return _parse_integer
    if pa.types.is_floating(data_type):
        return _parse_float
    if pa.types.is_boolean(data_type):
        return _parse_boolean
    return _parse_string


def _parse_timestamp(value: Any) -> datetime:
    parsed = datetime.fromisoformat(value)
    # "Partition Value Serialization" and statistics of other writers disagree about such a
    # text's zone. Unknown is safe, a wrong hour is not.
    if parsed.tzinfo is None:
        raise ValueError("a timestamp without its zone")
    return parsed.astimezone(UTC)


def _parse_local_timestamp(value: Any) -> datetime:
    return datetime.fromisoformat(value).replace(tzinfo=None)


def _parse_date(value: Any) -> date:
    return date.fromisoformat(value)


def _parse_integer(value: Any) -> int:
    # Python's True equals 1, JSON's does not.
    if isinstance(value, bool) or value != int(value):
        raise ValueError("no integer")
    return int(value)


def _parse_float(value: Any) -> float:
    number = float(value)
    # NaN is above all numbers for Spark, but a writer may have left it out of the bounds;
    # an infinite bound says nothing either.
    if isinstance(value, bool) or not math.isfinite(number):
        raise ValueError("no number")
    return number


def _parse_boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("no boolean")
    return value


def _parse_string(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("no string")
    return value


def batch_pruning(batch: RecordBatch, columns: TableColumns) -> FilePruning:
    """Returns file pruning for a `FILES_SCHEMA` batch that does not belong to a snapshot, such as a commit's files."""
    stats = stats_schema(columns.physical_schema or columns.schema, columns.physical_partition_columns)

    def partition_texts(name: str) -> Any:
        encoded = encode_partition_values(batch.column("partition_values"), partition_schema([name]))
        return pa.chunked_array([encoded.column(0)])

    def statistics(rows: Rows | None, columns: Collection[str]) -> Any:
        texts = batch.column("stats")
        return pa.Table.from_batches([parse_stats(texts if rows is None else texts.take(pa.array(rows)), stats)])

    return FilePruning(columns, len(batch), partition_texts, statistics)
