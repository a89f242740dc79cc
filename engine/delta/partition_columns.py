"""Partition columns as dictionaries: the few distinct values, parsed once, and for each file an index into them.

A condition on one partition column is evaluated on its distinct values and spread over the files by index, so that a
million files cost one lookup each. The log keeps partition values as texts in a map; here each column is taken out of
the maps in bulk.

A text that is not plainly of its column's type is *unreadable*: its value is unknown and prunes nothing. So what a
reader would make of odd texts (`1e3` for an integer, a timestamp in a zone that nobody knows) is left to the reader.
Null and the empty text both mean null, and so does a missing key.

Protocol: "Partition Value Serialization".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, tzinfo
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from engine.delta.arrow_types import arrow_type
from engine.delta.column_bounds import bounds_of_values
from engine.delta.evaluation import KnownColumn
from engine.delta.spec.schema import DataType, DecimalType, PrimitiveType
from engine.delta.truth import Mask

Codes: TypeAlias = npt.NDArray[np.int32]

_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_DECIMAL = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)", re.ASCII)
_FLOATING = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|NaN|[+-]?Infinity", re.ASCII)
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)
_TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}:\d{2}(\.\d{1,6})?(Z|[+-]\d{2}:\d{2})?", re.ASCII)
_BOOLEANS = {"true": True, "false": False}


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionColumn:
    """One partition column of n files."""

    texts: pa.Array
    """The distinct values as the log has them, with one null at the end."""
    codes: Codes
    """For each file the index of its value in `texts`."""
    values: pa.Array | None = None
    """The distinct values in the type of the column; None when they cannot be compared."""
    data_type: DataType = PrimitiveType.VOID
    unreadable: Mask | None = None
    """Where `values` is null only because the text was not understood; None: nowhere."""

    @property
    def null(self) -> npt.NDArray[np.bool_]:
        """Where the distinct value is null."""
        mask: npt.NDArray[np.bool_] = self.texts.is_null().to_numpy(zero_copy_only=False)
        return mask

    def known(self) -> KnownColumn:
        """What is known of the distinct values."""
        null = self.null
        bounds = None if self.values is None else bounds_of_values(self.values, self.data_type)
        return KnownColumn(bounds=bounds, has_value=~null, has_null=null)


def partition_texts(maps: pa.ChunkedArray, names: tuple[str, ...]) -> Mapping[str, PartitionColumn]:
    """The columns of these physical names out of a column of maps, not yet parsed."""
    array = maps.combine_chunks() if isinstance(maps, pa.ChunkedArray) else maps
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks)
    count = len(array)
    offsets = array.offsets.to_numpy()
    first, last = int(offsets[0]), int(offsets[-1])
    keys = array.keys.slice(first, last - first).dictionary_encode()
    items = array.items.slice(first, last - first)
    key_codes = keys.indices.to_numpy()
    distinct = keys.dictionary.to_pylist()
    columns = {}
    for name in names:
        if name not in distinct:
            columns[name] = _encode(pa.nulls(count, pa.string()))
            continue
        positions = np.flatnonzero(key_codes == distinct.index(name))
        columns[name] = _encode(_aligned(items, positions, offsets - first, count))
    return columns


def _aligned(items: pa.Array, positions: npt.NDArray[np.int64], offsets: npt.NDArray[Any], count: int) -> pa.Array:
    """The items at `positions`, one for each map; null for a map that has none."""
    width = len(items) // max(count, 1)
    if width and len(items) == width * count and np.array_equal(offsets, np.arange(count + 1) * width):
        rows = positions // width
    else:
        rows = np.searchsorted(offsets, positions, "right") - 1
    if len(rows) == count and np.array_equal(rows, np.arange(count)):
        return items.take(pa.array(positions))
    index = np.full(count, -1, np.int64)
    index[rows] = positions
    return items.take(pa.array(index, mask=index < 0))


def _encode(values: pa.Array) -> PartitionColumn:
    """Null and "" become the last code."""
    encoded = values.dictionary_encode()
    texts = encoded.dictionary.to_pylist()
    null_code = len(texts)
    codes: Codes = encoded.indices.fill_null(null_code).to_numpy(zero_copy_only=False)
    if "" in texts:
        codes = np.where(codes == texts.index(""), np.int32(null_code), codes)
    return PartitionColumn(texts=pa.array([*(text or None for text in texts), None], pa.string()), codes=codes)


def parse_partition_column(column: PartitionColumn, data_type: DataType, time_zone: tzinfo | None) -> PartitionColumn:
    """The column with its values. `time_zone` is that of timestamps without an offset; None: they are unreadable."""
    if data_type is PrimitiveType.STRING:
        return replace(column, values=column.texts, data_type=data_type)
    parse = _parser(data_type, time_zone)
    if parse is None:
        return replace(column, data_type=data_type)
    target = arrow_type(data_type)
    values = [None if text is None else _parse(text, parse, target) for text in column.texts.to_pylist()]
    array = pa.array(values, target)
    unreadable = array.is_null().to_numpy(zero_copy_only=False) & ~column.null
    return replace(
        column, values=array, data_type=data_type, unreadable=np.asarray(unreadable) if unreadable.any() else None
    )


def _parse(text: str, parse: Callable[[str], Any], target: Any) -> Any:
    try:
        value = parse(text)
        if value is not None:
            pa.scalar(value, target)
    except (ValueError, OverflowError, pa.ArrowException):
        return None
    return value


def _parser(data_type: DataType, time_zone: tzinfo | None) -> Callable[[str], Any] | None:
    """From a text to a value that Arrow takes for the type, or None; may raise `ValueError`."""
    match data_type:
        case PrimitiveType.BOOLEAN:
            return lambda text: _BOOLEANS.get(text.lower())
        case PrimitiveType.BYTE | PrimitiveType.SHORT | PrimitiveType.INTEGER | PrimitiveType.LONG:
            return lambda text: int(text) if _INTEGER.fullmatch(text) else None
        case PrimitiveType.FLOAT | PrimitiveType.DOUBLE:
            return lambda text: float(text) if _FLOATING.fullmatch(text) else None
        case DecimalType(scale=scale):
            return lambda text: _decimal(text, scale)
        case PrimitiveType.DATE:
            return lambda text: date.fromisoformat(text) if _DATE.fullmatch(text) else None
        case PrimitiveType.TIMESTAMP:
            return lambda text: _timestamp(text, time_zone)
        case PrimitiveType.TIMESTAMP_NTZ:
            return lambda text: _local_timestamp(text)
        case _:
            return None


def _decimal(text: str, scale: int) -> Decimal | None:
    if not _DECIMAL.fullmatch(text):
        return None
    value = Decimal(text)
    exponent = value.as_tuple().exponent
    return value if isinstance(exponent, int) and -exponent <= scale else None


def _timestamp(text: str, time_zone: tzinfo | None) -> datetime | None:
    if not _TIMESTAMP.fullmatch(text):
        return None
    value = datetime.fromisoformat(text)
    if value.tzinfo is None:
        # A time that occurs twice is the first, one that a change of the clocks skips lies after the gap: as in Spark.
        return None if time_zone is None else value.replace(tzinfo=time_zone).astimezone(UTC)
    return value.astimezone(UTC)


def _local_timestamp(text: str) -> datetime | None:
    if not _TIMESTAMP.fullmatch(text):
        return None
    value = datetime.fromisoformat(text)
    return value if value.tzinfo is None else None
