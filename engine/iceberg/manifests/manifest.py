"""Decodes a manifest into an Arrow table: one row per entry, as in the file, without inherited values.

Metrics remain encoded bytes, since few columns are needed (`engine.iceberg.manifests.metrics`). Partition values are
Avro's numbers and bytes, in a column `p<field id>` each. Decimals are unscaled values in the fewest bytes: manifests
store them as wide as their type, which may have been promoted between manifests.

Two decoders exist, and tests compare their tables: a walk over many blocks together, and fastavro, which handles few
rows and unsupported schemas, and determines the error in a file.

Source: Iceberg table specification, "Manifests".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, assert_never

import numpy as np
import pyarrow as pa

from catalog.conditions import MalformedIcebergFile
from engine.iceberg.manifests.avro import AvroBlocks, decimal_fields, read_blocks, rows_of
from engine.iceberg.manifests.avro_values import PADDING, Bytes, numbers_at, slices
from engine.iceberg.manifests.avro_walk import Column, Found, Kind, NotWalked, Op, columns_of, walk
from engine.iceberg.manifests.metrics import METRICS, encode_map, numbers
from engine.iceberg.spec.transforms import unscaled_bytes

# Entry status.
EXISTING, ADDED, DELETED = 0, 1, 2
# File content.
DATA, POSITION_DELETES, EQUALITY_DELETES = 0, 1, 2

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
# The columns in every manifest; partition columns follow.
ENTRIES = pa.schema([*_ENTRY_COLUMNS.items(), *_FILE_COLUMNS.items(), *((name, pa.binary()) for name in METRICS)])
_REQUIRED = ("status", "content", "file_path", "file_format", "record_count", "file_size_in_bytes")
PARTITION_PREFIX = "p"
# An additional column: the manifest's partition spec.
SPEC_ID = "spec_id"
_FILE = "data_file."
_BLOCKS_MIN, _ENTRIES_MIN = 4, 200
# A manifest with at least this many entries gets its own table.
_LARGE = 500


def decode_manifests(manifests: Sequence[tuple[AvroBlocks, str]]) -> list[pa.Table]:
    """Returns a table for each manifest; those with equal schemas are decoded together. File names are for messages.

    Raises `MalformedIcebergFile`.
    """
    found: list[pa.Table | None] = [None] * len(manifests)
    alike: dict[tuple[Column, ...] | None, list[int]] = {}
    for position, (blocks, _) in enumerate(manifests):
        alike.setdefault(_columns(blocks), []).append(position)
    for columns, positions in alike.items():
        together = [manifests[position][0] for position in positions]
        tables = None if columns is None else _walk(columns, together)
        for number, position in enumerate(positions):
            found[position] = _check_entries(manifests[position], None if tables is None else tables[number])
    return [table for table in found if table is not None]


def decode_manifest(data: bytes, source: str) -> pa.Table:
    """Decodes one manifest. Raises `MalformedIcebergFile`."""
    return decode_manifests([(read_blocks(data, source), source)])[0]


def spec_id_of(data: bytes, source: str) -> int:
    """Returns the partition spec in the manifest's own header, for use without a manifest list."""
    text = read_blocks(data, source).metadata.get("partition-spec-id", b"0")
    if not text.isdigit():
        raise MalformedIcebergFile(source, f"its partition spec is {text[:20]!r}")
    return int(text)


def _columns(blocks: AvroBlocks) -> tuple[Column, ...] | None:
    """Returns the columns; None if the walk does not support the schema."""
    try:
        return tuple(columns_of(blocks.schema))
    except (NotWalked, LookupError, TypeError, ValueError, RecursionError):
        return None


def _walk(columns: Sequence[Column], manifests: Sequence[AvroBlocks]) -> list[pa.Table] | None:
    """Returns the entries, decoded without a Python row each; None if fastavro should decode them, or report the
    error.
    """
    blocks = [block for each in manifests for block in each.blocks]
    if len(blocks) < _BLOCKS_MIN and sum(count for count, _ in blocks) < _ENTRIES_MIN:
        return None  # the setup takes longer than decoding a few rows
    data = np.frombuffer(b"".join((*(block for _, block in blocks), PADDING)), np.uint8)
    counts = [sum(count for count, _ in each.blocks) for each in manifests]
    ends = [int(end) for end in np.cumsum(counts)]
    ranges = [(end - count, end) for count, end in zip(counts, ends, strict=True)]
    try:
        values = Values(data, columns, walk(columns, data, [(count, len(block)) for count, block in blocks]))
        if len(manifests) == 1 or ends[-1] > _LARGE * len(manifests):
            return [_columnar(values, *each) for each in ranges]
        table = _columnar(values, 0, ends[-1])
    except (pa.ArrowException, LookupError, ValueError, OverflowError):
        return None
    # Copies, so that a cached table does not hold the others' memory.
    return [table.take(pa.array(np.arange(*each))) for each in ranges]


def _columnar(values: Values, start: int, end: int) -> pa.Table:
    def column(name: str) -> pa.Array | None:
        return values.column(name, start, end)

    table: dict[str, Any] = {}
    for name, kind in _ENTRY_COLUMNS.items():
        table[name] = _cast(column(name), kind, end - start)
    for name, kind in _FILE_COLUMNS.items():
        table[name] = _cast(column(f"{_FILE}{name}"), kind, end - start)
    for name in METRICS:
        found = column(f"{_FILE}{name}")
        table[name] = pa.nulls(end - start, pa.binary()) if found is None else found
    for name in values.names:
        if name.startswith(f"{_FILE}partition."):
            table[name.rpartition(".")[2]] = column(name)
    return pa.table(table)


def _cast(found: pa.Array | None, kind: pa.DataType, count: int) -> pa.Array:
    if pa.types.is_list(kind):
        return numbers(pa.nulls(count, pa.binary()) if found is None else found, kind)
    if found is None:
        return pa.nulls(count, kind)
    return _utf8(found) if pa.types.is_string(kind) else found.cast(kind)


def table_of_rows(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Returns the same table as `_walk`, from decoded rows."""
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
    for name in METRICS:
        columns[name] = pa.array([encode_map(_pairs(file.get(name))) for file in files], pa.binary())
    partitions = [file.get("partition") or {} for file in files]
    for name in partitions[0] if partitions else ():
        columns[name] = _partition_values([values.get(name) for values in partitions])
    return pa.table(columns)


def _check_entries(manifest: tuple[AvroBlocks, str], table: pa.Table | None) -> pa.Table:
    """Checks the table, decoding rows first if None."""
    blocks, source = manifest
    try:
        entries = table_of_rows(rows_of(blocks, source)) if table is None else table
    except (pa.ArrowException, LookupError, TypeError, ValueError, OverflowError, AttributeError) as error:
        raise MalformedIcebergFile(source, f"no manifest ({type(error).__name__}: {str(error)[:100]})") from error
    content = entries["content"]
    if content.null_count:  # absent in v1
        entries = entries.set_column(entries.schema.get_field_index("content"), "content", content.fill_null(DATA))
    for name in _REQUIRED:
        if entries[name].null_count:
            raise MalformedIcebergFile(source, f"an entry has no {name}")
    for name in decimal_fields(blocks.schema).intersection(entries.column_names):
        if pa.types.is_binary(entries[name].type):
            entries = entries.set_column(entries.schema.get_field_index(name), name, _shortest(entries[name]))
    return entries


def _shortest(unscaled: pa.ChunkedArray) -> pa.Array:
    values = unscaled.to_pylist()
    known = {None: None} | {
        each: unscaled_bytes(int.from_bytes(each, "big", signed=True)) for each in set(values) - {None}
    }
    return pa.array([known[each] for each in values], pa.binary())


def _utf8(values: pa.Array) -> pa.Array:
    """Casts to text. Raises `ArrowInvalid` for invalid UTF-8."""
    found = values.cast(pa.string())
    found.validate(full=True)
    return found


def _pairs(found: Any) -> Sequence[Mapping[str, Any]] | None:
    """Returns a map's pairs; some writers use Avro maps, whose keys are text."""
    if isinstance(found, dict):
        return [{"key": int(key), "value": value} for key, value in found.items()]
    pairs: Sequence[Mapping[str, Any]] | None = found
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
        case _:  # any other Avro type
            return pa.array(values, pa.binary())


class Values:
    """Value positions. `data` contains all blocks in sequence, and padding."""

    def __init__(self, data: Bytes, columns: Sequence[Column], found: Sequence[Found]) -> None:
        self._data = data
        self._found = {column.name: (column, noted) for column, noted in zip(columns, found, strict=True)}

    @property
    def names(self) -> list[str]:
        """Returns the names of the decoded columns, in the order in which they were found."""
        return list(self._found)

    def column(self, name: str, start: int, end: int) -> pa.Array | None:
        """Returns a column for a record range: numbers as int64; bytes, maps and lists as binary; None if absent.

        Raises `ValueError`.
        """
        if name not in self._found:
            return None
        column, noted = self._found[name]
        found = Found(noted.starts[start:end], noted.ends[start:end])
        if column.op is Op.NUMBER:
            missing = found.starts < 0
            places = np.where(missing, len(self._data) - len(PADDING), found.starts)
            return pa.array(numbers_at(self._data, places)[0], mask=missing)
        if column.op is Op.FIXED:
            return self._fixed_size(column, found)
        return slices(self._data, found.starts, found.ends)

    def _fixed_size(self, column: Column, found: Found) -> pa.Array:
        missing = found.starts < 0
        if column.kind is Kind.BYTES:
            return slices(self._data, found.starts, np.where(missing, found.starts, found.starts + column.size))
        rows = self._data[np.where(missing, 0, found.starts)[:, None] + np.arange(column.size)]
        match column.kind:
            case Kind.FLAG:
                return pa.array(rows[:, 0] != 0, mask=missing)
            case Kind.FLOAT:
                return pa.array(rows.copy().view("<f4")[:, 0].astype(np.float64), mask=missing)
            case Kind.DOUBLE:
                return pa.array(rows.copy().view("<f8")[:, 0], mask=missing)
            case _:
                assert_never(column.kind)
