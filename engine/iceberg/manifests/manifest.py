"""A manifest as an Arrow table: one row an entry, as it is in the file, without what it inherits.

Metrics stay lists of (field id, value), since only few columns are asked about: `metric` takes one out of them. Values
of partitions are the numbers and bytes that Avro stores, in a column `p<field id>` each.

Source: Iceberg table specification, "Manifests".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from engine.iceberg.manifests.avro import AvroBlocks, read_blocks, rows_of
from engine.iceberg.manifests.avro_walk import Column, NotWalked, Values, columns_of, walk
from engine.iceberg.spec.errors import MalformedIcebergFile

EXISTING, ADDED, DELETED = 0, 1, 2
"""The status of an entry."""
DATA, POSITION_DELETES, EQUALITY_DELETES = 0, 1, 2
"""The content of a file."""

_COUNTS = pa.list_(pa.struct([("key", pa.int32()), ("value", pa.int64())]))
_BOUNDS = pa.list_(pa.struct([("key", pa.int32()), ("value", pa.binary())]))
_ENTRY_COLUMNS: Mapping[str, Any] = {
    "status": pa.int8(),
    "snapshot_id": pa.int64(),
    "sequence_number": pa.int64(),
    "file_sequence_number": pa.int64(),
}
_FILE_COLUMNS: Mapping[str, Any] = {
    "content": pa.int8(),
    "file_path": pa.string(),
    "file_format": pa.string(),
    "record_count": pa.int64(),
    "file_size_in_bytes": pa.int64(),
    "key_metadata": pa.binary(),
    "sort_order_id": pa.int32(),
    "first_row_id": pa.int64(),
    "referenced_data_file": pa.string(),
    "content_offset": pa.int64(),
    "content_size_in_bytes": pa.int64(),
    "equality_ids": pa.list_(pa.int32()),
    "split_offsets": pa.list_(pa.int64()),
}
_METRICS: Mapping[str, Any] = {
    "column_sizes": _COUNTS,
    "value_counts": _COUNTS,
    "null_value_counts": _COUNTS,
    "nan_value_counts": _COUNTS,
    "lower_bounds": _BOUNDS,
    "upper_bounds": _BOUNDS,
}
ENTRIES = pa.schema([*_ENTRY_COLUMNS.items(), *_FILE_COLUMNS.items(), *_METRICS.items()])
"""The columns of every manifest; those of its partitions follow them."""
_REQUIRED = ("status", "content", "file_path", "file_format", "record_count", "file_size_in_bytes")
PARTITION_PREFIX = "p"
SPEC_ID = "spec_id"
"""A column beside those of a manifest: its partition spec."""
_FILE = "data_file."


def decode_manifest(data: bytes, source: str) -> pa.Table:
    """Raises `MalformedIcebergFile`."""
    blocks = read_blocks(data, source)
    try:
        try:
            return _checked(_walked(blocks), source)
        except NotWalked:
            return _checked(_table(rows_of(blocks, source)), source)
    except (pa.ArrowException, LookupError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise MalformedIcebergFile(source, f"no manifest ({type(error).__name__}: {str(error)[:100]})") from error


def spec_id_of(data: bytes, source: str) -> int:
    """The partition spec that the manifest itself names, where no manifest list does."""
    text = read_blocks(data, source).metadata.get("partition-spec-id", b"0")
    if not text.isdigit():
        raise MalformedIcebergFile(source, f"its partition spec is {text[:20]!r}")
    return int(text)


def _walked(blocks: AvroBlocks) -> pa.Table:
    """The columns, without a row for each entry. Raises `NotWalked` for a schema that has to be decoded otherwise."""
    columns = columns_of(blocks.schema)
    base, count = 0, 0
    for records, block in blocks.blocks:
        walk(columns, block, records, base)
        base += len(block)
        count += records
    values = Values.of([block for _, block in blocks.blocks])
    found = {column.name: column for column in columns}
    table: dict[str, Any] = {}
    for name, kind in _ENTRY_COLUMNS.items():
        table[name] = _cast(values, found.get(name), kind, count)
    for name, kind in (*_FILE_COLUMNS.items(), *_METRICS.items()):
        table[name] = _cast(values, found.get(f"{_FILE}{name}"), kind, count)
    for name, column in found.items():
        if name.startswith(f"{_FILE}partition."):
            table[name.rpartition(".")[2]] = values.column(column)
    return pa.table(table)


def _cast(values: Values, column: Column | None, kind: pa.DataType, count: int) -> pa.Array:
    if column is None:
        return pa.array([[]] * count, kind) if pa.types.is_list(kind) else pa.nulls(count, kind)
    found = values.column(column)
    if pa.types.is_string(kind):
        return _utf8(found)
    return found.cast(kind)


def _table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """As `_walked`, of decoded rows."""
    files = [row["data_file"] for row in rows]
    columns: dict[str, Any] = {}
    for name, kind in _ENTRY_COLUMNS.items():
        columns[name] = pa.array([row.get(name) for row in rows], kind)
    for name, kind in _FILE_COLUMNS.items():
        values = [file.get(name) for file in files]
        if pa.types.is_string(kind):
            columns[name] = _utf8(pa.array(values, pa.binary()))
        elif pa.types.is_list(kind):
            columns[name] = pa.array([value or [] for value in values], kind)
        else:
            columns[name] = pa.array(values, kind)
    for name, kind in _METRICS.items():
        columns[name] = _metrics([file.get(name) for file in files], kind)
    partitions = [file.get("partition") or {} for file in files]
    for name in partitions[0] if partitions else ():
        columns[name] = _partition_values([values.get(name) for values in partitions])
    return pa.table(columns)


def _checked(entries: pa.Table, source: str) -> pa.Table:
    content = entries["content"]
    if content.null_count:  # v1 has no such field
        entries = entries.set_column(entries.schema.get_field_index("content"), "content", content.fill_null(DATA))
    for name in _REQUIRED:
        if entries[name].null_count:
            raise MalformedIcebergFile(source, f"an entry has no {name}")
    return entries


def _utf8(values: pa.Array) -> pa.Array:
    """Raises `ArrowInvalid` for what is no UTF-8."""
    found = values.cast(pa.string())
    found.validate(full=True)
    return found


def _metrics(lists: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Lists of {key, value}; some writers use maps of Avro, whose keys are texts."""
    sizes = [len(each) if each else 0 for each in lists]
    pairs = [pair for each in lists if each for pair in _pairs(each)]
    keys = pa.array([pair["key"] for pair in pairs], pa.int32())
    values = pa.array([pair["value"] for pair in pairs], kind.value_type.field("value").type)
    offsets = pa.array(np.concatenate(([0], np.cumsum(sizes))), pa.int32())
    items = pa.StructArray.from_arrays([keys, values], fields=list(kind.value_type))
    return pa.ListArray.from_arrays(offsets, items)


def _pairs(found: Any) -> Sequence[Mapping[str, Any]]:
    if isinstance(found, dict):
        return [{"key": int(key), "value": value} for key, value in found.items()]
    pairs: Sequence[Mapping[str, Any]] = found
    return pairs


def _partition_values(values: Sequence[Any]) -> pa.Array:
    some = next((value for value in values if value is not None), None)
    match some:
        case None:
            return pa.nulls(len(values))
        case bool():
            return pa.array(values, pa.bool_())
        case int():
            return pa.array(values, pa.int64())
        case float():
            return pa.array(values, pa.float64())
        case _:
            return pa.array(values, pa.binary())


def metric(entries: pa.Table, name: str, field_id: int) -> pa.Array:
    """The metric of one column in each entry; null where there is none."""
    lists = entries[name].combine_chunks()
    if isinstance(lists, pa.ChunkedArray):  # of no rows at all
        lists = pa.concat_arrays(lists.chunks) if lists.num_chunks else pa.array([], lists.type)
    items = lists.flatten()
    keys = items.field("key").to_numpy(zero_copy_only=False)
    found = np.flatnonzero(keys == field_id)
    ends = np.cumsum(lists.value_lengths().fill_null(0).to_numpy(zero_copy_only=False))
    places = np.full(len(lists), -1)
    places[np.searchsorted(ends, found, side="right")] = found
    return items.field("value").take(pa.array(places, mask=places < 0))
