"""Computes a data file's metrics from its Parquet footer, without reading data.

A footer column belongs to the field with its id or, within lists and maps and in files without ids, to the field at its
position. A field has bounds if every row group with values has them. Bounds in lists and maps are omitted, and an upper
bound is unknown if a value is NaN, which Spark's writer treats as the maximum. Footers do not contain NaN counts.

Source: Iceberg table specification, "Data File Fields", "Appendix D"; "Metrics" in the documentation.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from engine.iceberg.spec.single_values import to_bytes, truncated_above, truncated_below
from engine.iceberg.spec.types import IcebergField, IcebergSchema, Kind, ListType, MapOfType, SimpleType, StructOfType
from engine.iceberg.writing.metrics_modes import MetricsMode

_FIELD_ID = b"PARQUET:field_id"
_PHYSICAL: Mapping[Kind, tuple[str, ...]] = {
    Kind.BOOLEAN: ("BOOLEAN",),
    Kind.INT: ("INT32",),
    Kind.LONG: ("INT64", "INT32"),
    Kind.FLOAT: ("FLOAT",),
    Kind.DOUBLE: ("DOUBLE", "FLOAT"),
    Kind.DATE: ("INT32",),
    Kind.TIME: ("INT64",),
    Kind.TIMESTAMP: ("INT64",),
    Kind.TIMESTAMPTZ: ("INT64",),
    Kind.TIMESTAMP_NS: ("INT64",),
    Kind.TIMESTAMPTZ_NS: ("INT64",),
    Kind.DECIMAL: ("INT32", "INT64", "FIXED_LEN_BYTE_ARRAY"),
    Kind.STRING: ("BYTE_ARRAY",),
    Kind.UUID: ("FIXED_LEN_BYTE_ARRAY",),
    Kind.FIXED: ("FIXED_LEN_BYTE_ARRAY",),
    Kind.BINARY: ("BYTE_ARRAY",),
}
# The logical type names in footers; `NONE` for other kinds.
_LOGICAL: Mapping[Kind, tuple[str, ...]] = {
    Kind.DATE: ("DATE",),
    Kind.TIME: ("TIME",),
    Kind.TIMESTAMP: ("TIMESTAMP",),
    Kind.TIMESTAMPTZ: ("TIMESTAMP",),
    Kind.TIMESTAMP_NS: ("TIMESTAMP",),
    Kind.TIMESTAMPTZ_NS: ("TIMESTAMP",),
    Kind.DECIMAL: ("DECIMAL",),
    Kind.STRING: ("STRING",),
    Kind.UUID: ("UUID", "NONE"),
}
_UNITS = {
    Kind.TIME: "microseconds",
    Kind.TIMESTAMP: "microseconds",
    Kind.TIMESTAMPTZ: "microseconds",
    Kind.TIMESTAMP_NS: "nanoseconds",
    Kind.TIMESTAMPTZ_NS: "nanoseconds",
}


@dataclass(frozen=True, slots=True)
class ParquetMetrics:
    """A file's metrics, by field id; bounds are serialized values."""

    record_count: int
    column_sizes: dict[int, int] = field(default_factory=dict)
    value_counts: dict[int, int] = field(default_factory=dict)
    null_value_counts: dict[int, int] = field(default_factory=dict)
    lower_bounds: dict[int, bytes] = field(default_factory=dict)
    upper_bounds: dict[int, bytes] = field(default_factory=dict)
    split_offsets: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Leaf:
    """A footer column that is a table field; `is_repeated`: within a list or a map."""

    position: int
    id: int
    type: SimpleType
    is_repeated: bool


def leaves_of(schema: IcebergSchema, footer: Any) -> tuple[Leaf, ...]:
    """Returns the columns in files with this footer's schema that the table has."""
    found = []
    arrow = footer.schema.to_arrow_schema()
    for position, each in enumerate(_leaves(list(arrow), schema.struct.fields, is_repeated=False)):
        if each is not None:
            found.append(Leaf(position, each[0].id, each[1], each[2]))
    return tuple(found)


_Found = tuple[IcebergField, SimpleType, bool]


def _leaves(
    columns: Sequence[pa.Field], fields: Sequence[IcebergField], *, is_repeated: bool
) -> Iterator[_Found | None]:
    """Yields the matching field for each leaf in the file, in order."""
    by_id = {each.id: each for each in fields}
    by_name = {each.name: each for each in fields}
    for column in columns:
        number = (column.metadata or {}).get(_FIELD_ID)
        known = by_name.get(column.name) if number is None else by_id.get(int(number))
        yield from _below(column.type, known, is_repeated=is_repeated)


def _below(type_: pa.DataType, known: IcebergField | None, *, is_repeated: bool) -> Iterator[_Found | None]:
    kind = None if known is None else known.type
    if pa.types.is_struct(type_):
        inner = kind.fields if isinstance(kind, StructOfType) else ()
        yield from _leaves(list(type_), inner, is_repeated=is_repeated)
    elif pa.types.is_map(type_):
        parts = (kind.key, kind.value) if isinstance(kind, MapOfType) else (None, None)
        for part, found in zip((type_.key_field, type_.item_field), parts, strict=True):
            yield from _below(part.type, found, is_repeated=True)
    elif pa.types.is_list(type_) or pa.types.is_large_list(type_):
        found = kind.element if isinstance(kind, ListType) else None
        yield from _below(type_.value_field.type, found, is_repeated=True)
    else:
        yield (known, kind, is_repeated) if known is not None and isinstance(kind, SimpleType) else None


def metrics_of(footer: Any, leaves: Sequence[Leaf], modes: Mapping[int, MetricsMode]) -> ParquetMetrics:
    """Returns the metrics that `modes` select."""
    groups = [footer.row_group(number) for number in range(footer.num_row_groups)]
    metrics = ParquetMetrics(footer.num_rows, split_offsets=tuple(sorted(_offset(each) for each in groups)))
    for leaf in leaves:
        mode = modes.get(leaf.id)
        if mode is None or not mode.has_counts:
            continue
        chunks = [each.column(leaf.position) for each in groups]
        metrics.column_sizes[leaf.id] = sum(each.total_compressed_size for each in chunks)
        metrics.value_counts[leaf.id] = sum(each.num_values for each in chunks)
        statistics = [each.statistics for each in chunks]
        if all(each is not None and each.has_null_count for each in statistics):
            metrics.null_value_counts[leaf.id] = sum(each.null_count for each in statistics)
        if mode.has_bounds and not leaf.is_repeated and _is_readable(footer.schema.column(leaf.position), leaf.type):
            _add_bounds(metrics, leaf, chunks, mode.length)
    return metrics


def _offset(group: Any) -> int:
    first = group.column(0)
    return int(first.dictionary_page_offset if first.has_dictionary_page else first.data_page_offset)


def _is_readable(column: Any, type_: SimpleType) -> bool:
    """Returns True if the file's column stores values in the type's form."""
    logical = column.logical_type
    name = logical.type if logical.type != "INT" else "NONE"
    if column.physical_type not in _PHYSICAL.get(type_.kind, ()) or name not in _LOGICAL.get(type_.kind, ("NONE",)):
        return False
    if logical.type == "INT" and "isSigned=false" in str(logical):
        return False
    if type_.kind is Kind.DECIMAL:
        return bool(column.scale == type_.scale)
    return _UNITS.get(type_.kind, "") in str(logical)


def _add_bounds(metrics: ParquetMetrics, leaf: Leaf, chunks: Sequence[Any], length: int | None) -> None:
    low, high = [], []
    for chunk in chunks:
        statistics = chunk.statistics
        if statistics is None:
            return
        if not statistics.has_min_max:
            if statistics.null_count == chunk.num_values:
                continue
            return
        low.append(_value(statistics.min_raw, leaf.type))
        high.append(_value(statistics.max_raw, leaf.type))
    if not low or any(map(_is_nan, low)):
        return
    lower = truncated_below(leaf.type, to_bytes(leaf.type, min(low)), length)
    if lower is not None:
        metrics.lower_bounds[leaf.id] = lower
    if not any(map(_is_nan, high)):
        upper = truncated_above(leaf.type, to_bytes(leaf.type, max(high)), length)
        if upper is not None:
            metrics.upper_bounds[leaf.id] = upper


def _value(raw: Any, type_: SimpleType) -> Any:
    if type_.kind is Kind.DECIMAL and isinstance(raw, bytes):
        return int.from_bytes(raw, "big", signed=True)
    return raw


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)
