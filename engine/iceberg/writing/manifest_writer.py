"""Writes manifests for added and existing files from Arrow tables.

Entries are tables like decoded manifests (`engine.iceberg.manifests.manifest.ENTRIES`, with a column `p<field id>` for
each partition field), so entries that were read can be written unchanged. Added files have the status `ADDED` and no
sequence numbers: they inherit the numbers that the manifest list assigns their manifest. Therefore a commit retry
rewrites its list, and no manifests.

Deleted entries come last: a reader assigns first row ids by counting the preceding entries' rows, and assigns none to
removed files.

Source: Iceberg table specification, "Manifests", "Sequence Number Inheritance", "First Row ID Inheritance".
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.iceberg.manifests.manifest import ADDED, DATA, DELETED, EXISTING, PARTITION_PREFIX
from engine.iceberg.manifests.manifest_list import FieldSummary, Manifest
from engine.iceberg.spec.partitions import PartitionField
from engine.iceberg.spec.single_values import to_bytes
from engine.iceberg.spec.types import Kind, SimpleType
from engine.iceberg.writing.avro_file import Block, encode_blocks, file_bytes
from engine.iceberg.writing.manifest_schemas import avro_type, decimal_bytes, entry_schema, partition_field
from engine.iceberg.writing.written_table import WrittenTable
from engine.storage.storage import METADATA_FOLDER, Storage

# The sequence number before a manifest is in a list.
UNASSIGNED = -1
# Required by v1, and read by nobody.
_BLOCK_BYTES_V1 = 64 << 20
_NULL_WHERE_EMPTY = ("split_offsets", "equality_ids")


def write_manifests(
    storage: Storage, table: WrittenTable, entries: pa.Table, spec_id: int, snapshot_id: int, name: str
) -> list[Manifest]:
    """Writes entries with one spec and one content kind, in manifests near the target size in the table's properties:
    `metadata/<name>-<k>.avro`. Returns the manifests' list entries; empty without entries.
    """
    if not entries.num_rows:
        return []
    entries = _sort_entries(_resize_decimals(entries, table, spec_id), table, spec_id)
    fields, partitions = _partitions(entries, table, spec_id)
    schema = entry_schema(table.format_version, fields)
    blocks = encode_blocks(schema, _records(schema, entries, partitions), table.codec)
    header = table.header(spec_id, has_deletes=_has_deletes(entries))
    written, first = [], 0
    for number, group in enumerate(_groups(blocks, table.manifest_target_bytes)):
        file = f"{METADATA_FOLDER}/{name}-{number}.avro"
        data = file_bytes(schema, group, table.codec, header)
        storage.write(file, data)
        count = sum(block.num_rows for block in group)
        place = f"{table.location}/{file}", len(data)
        written.append(_manifest_list_entry(place, entries.slice(first, count), table, spec_id, snapshot_id))
        first += count
    return written


def _has_deletes(entries: pa.Table) -> bool:
    return bool(entries["content"][0].as_py() != DATA)


def _groups(blocks: Sequence[Block], target_bytes: int) -> list[list[Block]]:
    groups: list[list[Block]] = [[]]
    size = 0
    for block in blocks:
        if groups[-1] and size + len(block.data) > target_bytes:
            groups.append([])
            size = 0
        groups[-1].append(block)
        size += len(block.data)
    return groups


def _sort_entries(entries: pa.Table, table: WrittenTable, spec_id: int) -> pa.Table:
    """Sorts removed files last, and others by partition, so that manifest summaries allow pruning."""
    gone = pc.equal(entries["status"], DELETED)
    names = [_column(field) for field in table.specs[spec_id].fields]
    keys = [(name, "ascending") for name in names if name in entries.column_names and _sorts(entries[name].type)]
    if not keys and not pc.any(gone).as_py():
        return entries
    # The position keeps the order of equal rows, on which inherited row ids depend.
    keyed = entries.append_column("_gone", gone).append_column("_at", pa.array(np.arange(entries.num_rows)))
    order = pc.sort_indices(keyed, sort_keys=[("_gone", "ascending"), *keys, ("_at", "ascending")])
    return entries.take(order)


def _sorts(type_: pa.DataType) -> bool:
    return not pa.types.is_null(type_)


def _column(field: PartitionField) -> str:
    return f"{PARTITION_PREFIX}{field.field_id}"


def _records(schema: Mapping[str, Any], entries: pa.Table, partitions: pa.StructArray) -> pa.StructArray:
    inner = next(each["type"]["fields"] for each in schema["fields"] if each["name"] == "data_file")
    columns = {}
    for field in inner:
        name = field["name"]
        if name == "partition":
            columns[name] = partitions
        elif name == "block_size_in_bytes":
            columns[name] = pa.repeat(_BLOCK_BYTES_V1, entries.num_rows)
        else:
            columns[name] = _one(entries[name])
            if name in _NULL_WHERE_EMPTY:
                # Optional lists are null rather than empty, as Java writes them.
                columns[name] = _null_where_empty(columns[name])
    files = pa.StructArray.from_arrays(list(columns.values()), list(columns))
    outer = [files if each["name"] == "data_file" else _one(entries[each["name"]]) for each in schema["fields"]]
    return pa.StructArray.from_arrays(outer, [each["name"] for each in schema["fields"]])


def _one(column: pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)


def _null_where_empty(lists: pa.Array) -> pa.Array:
    return pc.if_else(pc.equal(pc.fill_null(pc.list_value_length(lists), 0), 0), pa.scalar(None, lists.type), lists)


# --- Partition tuples -------------------------------------------------------------------------------------------------


def _partitions(entries: pa.Table, table: WrittenTable, spec_id: int) -> tuple[list[dict[str, Any]], pa.StructArray]:
    """Returns the partition tuples' Avro fields, and the tuples, by Avro field names."""
    fields, columns = [], []
    for field in table.specs[spec_id].fields:
        name = _column(field)
        type_ = table.result_type(field)
        found = _one(entries[name]) if name in entries.column_names else pa.nulls(entries.num_rows)
        avro: Any = _avro_of(found.type) if type_ is None else avro_type(type_, field.field_id)
        if pa.types.is_null(found.type):
            found = found.cast(pa.binary())
        fields.append(partition_field(field.field_id, field.name, avro))
        columns.append(found)
    names = [each["name"] for each in fields]
    if not columns:
        return fields, pa.array([{}] * entries.num_rows, pa.struct([]))
    return fields, pa.StructArray.from_arrays(columns, names)


def _avro_of(type_: pa.DataType) -> str:
    """Returns the Avro type for values with an unknown transform: the type in their manifest, as far as a reader can
    detect.
    """
    if pa.types.is_boolean(type_):
        return "boolean"
    if pa.types.is_integer(type_):
        return "long"
    return "double" if pa.types.is_floating(type_) else "bytes"


def _resize_decimals(entries: pa.Table, table: WrittenTable, spec_id: int) -> pa.Table:
    """Widens unscaled decimals to their type's byte count."""
    for field in table.specs[spec_id].fields:
        name = _column(field)
        type_ = table.result_type(field)
        if type_ is None or type_.kind is not Kind.DECIMAL or name not in entries.column_names:
            continue
        size = decimal_bytes(type_.precision)
        wide = [
            None if value is None else int.from_bytes(value, "big", signed=True).to_bytes(size, "big", signed=True)
            for value in entries[name].to_pylist()
        ]
        column = pa.array(wide, entries[name].type)
        entries = entries.set_column(entries.schema.get_field_index(name), name, column)
    return entries


# --- List entries -----------------------------------------------------------------------------------------------------


def _manifest_list_entry(
    place: tuple[str, int], entries: pa.Table, table: WrittenTable, spec_id: int, snapshot_id: int
) -> Manifest:
    """Returns the manifest list's entry; `place` is the manifest's path, and its length in bytes."""
    status, rows = entries["status"].to_numpy(), entries["record_count"].to_numpy()
    counts = {each: (int((status == each).sum()), int(rows[status == each].sum())) for each in _STATES}
    live = entries.filter(pc.not_equal(entries["status"], DELETED))
    minimum = pc.min(live["sequence_number"]).as_py()
    return Manifest(
        path=place[0],
        length=place[1],
        spec_id=spec_id,
        has_deletes=_has_deletes(entries),
        sequence_number=UNASSIGNED,
        added_snapshot_id=snapshot_id,
        first_row_id=None,
        added=counts[ADDED],
        existing=counts[EXISTING],
        deleted=counts[DELETED],
        partitions=tuple(_summary(entries, field, table) for field in table.specs[spec_id].fields),
        min_sequence_number=UNASSIGNED if minimum is None else minimum,
    )


_STATES = (EXISTING, ADDED, DELETED)


def _summary(entries: pa.Table, field: PartitionField, table: WrittenTable) -> FieldSummary:
    name = _column(field)
    type_ = table.result_type(field)
    if name not in entries.column_names or pa.types.is_null(entries[name].type):
        return FieldSummary(contains_null=True, contains_nan=False, lower=None, upper=None)
    found = entries[name].combine_chunks().unique()
    values = [value for value in found.to_pylist() if value is not None]
    has_null = len(values) < len(found)
    if type_ is None:
        return FieldSummary(contains_null=has_null, contains_nan=None, lower=None, upper=None)
    # "Manifest Lists": bounds exclude nulls and NaN, which have flags of their own.
    known = [_value(value, type_) for value in values if not _is_nan(value)]
    has_nan = len(known) < len(values)
    if not known:
        return FieldSummary(contains_null=has_null, contains_nan=has_nan, lower=None, upper=None)
    return FieldSummary(
        contains_null=has_null,
        contains_nan=has_nan,
        lower=to_bytes(type_, min(known, key=_order)),
        upper=to_bytes(type_, max(known, key=_order)),
    )


def _value(value: Any, type_: SimpleType) -> Any:
    return int.from_bytes(value, "big", signed=True) if type_.kind is Kind.DECIMAL else value


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _order(value: Any) -> Any:
    """Returns a sort key: -0.0 is below 0.0."""
    return (value, math.copysign(1, value)) if isinstance(value, float) else value
