"""Partition columns as dictionaries: the few distinct values, parsed once, and for each file an index into them.

A condition on one partition column is evaluated on its distinct values and mapped to the files by index, so that a
million files cost one lookup each.

A text that is not clearly valid for its column's type is *unreadable*: its value is unknown and prunes nothing. So the
interpretation of unusual texts (`1e3` for an integer, a timestamp in an unknown zone) is left to the reader. Null and
the empty text both denote null, and so does a missing key.

Protocol: "Partition Value Serialization".
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, timedelta, timezone, tzinfo
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from catalog.conditions import PartitionValueNotCastable
from engine.pruning.column_ranges import bounds_of_values
from engine.pruning.evaluation import KnownColumn
from engine.pruning.three_valued_logic import Mask
from engine.types.arrow_types import arrow_type
from engine.types.partition_values import PartitionValue, parse_partition_value
from engine.types.schema import DataType, DecimalType, PrimitiveType

Codes: TypeAlias = npt.NDArray[np.int32]

_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_FLOATING = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?|NaN|[+-]?Infinity", re.ASCII)
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d{1,6})?(Z|[+-]\d\d:\d\d)?", re.ASCII)
# Texts that every reader parses to the same value.
_PLAIN: Mapping[object, re.Pattern[str]] = {
    PrimitiveType.BOOLEAN: re.compile("true|false"),
    PrimitiveType.BYTE: _INTEGER,
    PrimitiveType.SHORT: _INTEGER,
    PrimitiveType.INTEGER: _INTEGER,
    PrimitiveType.LONG: _INTEGER,
    PrimitiveType.FLOAT: _FLOATING,
    PrimitiveType.DOUBLE: _FLOATING,
    DecimalType: re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)", re.ASCII),
    PrimitiveType.DATE: re.compile(r"\d{4}-\d\d-\d\d", re.ASCII),
    PrimitiveType.TIMESTAMP: _TIMESTAMP,
    PrimitiveType.TIMESTAMP_NTZ: _TIMESTAMP,
    PrimitiveType.BINARY: re.compile(r"[\x01-\x7f]*", re.ASCII),
}
_ELSEWHERE = timezone(timedelta(hours=1))


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionColumn:
    """One partition column over n files."""

    # The distinct values as written in the log, with one null at the end (and one instead of an empty text).
    texts: pa.Array
    # For each file the index into `texts`.
    codes: Codes
    data_type: DataType
    # The distinct values in the column's type; None if they cannot be compared.
    values: pa.Array | None = None
    # True if `values` is null only because the text was not understood; None: never.
    unreadable: Mask | None = None

    @property
    def null(self) -> npt.NDArray[np.bool_]:
        """Returns a mask for null values."""
        mask: npt.NDArray[np.bool_] = self.texts.is_null().to_numpy(zero_copy_only=False)
        return mask

    @property
    def is_canonical(self) -> bool:
        """Returns whether different texts are different values, unlike a column with both `1` and `01`."""
        if self.values is None or self.unreadable is not None or pa.types.is_floating(self.values.type):
            return False
        values = self.values.drop_null()
        return len(values.unique()) == len(values)

    def statistics(self) -> KnownColumn:
        """Returns statistics for the distinct values."""
        null = self.null
        bounds = None if self.values is None else bounds_of_values(self.values, self.data_type)
        return KnownColumn(bounds=bounds, has_value=~null, has_null=null)


def partition_column(
    texts: pa.ChunkedArray, data_type: DataType, time_zone: tzinfo | None, *, is_readable: bool = True
) -> PartitionColumn:
    """Returns the column for dictionary-encoded texts, as `partition_texts` produces them.

    `time_zone` applies to timestamps without an offset; None: they are unreadable. A column that is not `is_readable`
    has no comparable values, for any text.
    """
    codes, distinct = _encode(texts)
    column = PartitionColumn(texts=distinct, codes=codes, data_type=data_type)
    if not is_readable:
        return column
    if data_type is PrimitiveType.STRING:
        return replace(column, values=distinct)
    plain = _PLAIN.get(DecimalType if isinstance(data_type, DecimalType) else data_type)
    if plain is None:
        return column
    values = [_value(text, plain, data_type, time_zone) for text in distinct.to_pylist()]
    array = pa.array(values, arrow_type(data_type))
    unreadable = np.asarray(array.is_null().to_numpy(zero_copy_only=False) & ~column.null)
    return replace(column, values=array, unreadable=unreadable if unreadable.any() else None)


def _encode(texts: pa.ChunkedArray) -> tuple[Codes, pa.Array]:
    """Returns codes and distinct texts; null and "" become the last code."""
    encoded = texts.combine_chunks() if texts.num_chunks else pa.array([], texts.type)
    distinct = encoded.dictionary.to_pylist()
    null_code = len(distinct)
    codes: Codes = encoded.indices.fill_null(null_code).to_numpy(zero_copy_only=False)
    if "" in distinct:
        codes = np.where(codes == distinct.index(""), np.int32(null_code), codes)
    return codes, pa.array([*(text or None for text in distinct), None], pa.string())


def _value(
    text: str | None, plain: re.Pattern[str], data_type: DataType, time_zone: tzinfo | None
) -> PartitionValue | None:
    if text is None or not plain.fullmatch(text):
        return None
    try:
        value = parse_partition_value(text, data_type, time_zone or UTC)
        if time_zone is None and value != parse_partition_value(text, data_type, _ELSEWHERE) and value == value:
            return None  # it depends on an unknown zone
    except PartitionValueNotCastable:
        return None
    return value
