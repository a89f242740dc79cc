"""Encoding from Arrow tables to TRowSet for FetchResults, as bytes in Thrift's binary protocol.

From protocol V6 on a row set has columns, and a Thrift column is similar to an Arrow column: numbers in the other byte
order, strings with interleaved lengths, the validity bitmap inverted. So numpy builds the bytes directly from Arrow's
buffers, some fifteen times as fast as through Python values; the test compares them with the Thrift runtime's encoding
of the same struct. Clients before V6 receive rows with tagged values, which are rare and slow anyway: the runtime
encodes them.

    TRowSet  = i64 startRowOffset (1), list<TRow> rows (2), list<TColumn> columns (3),
               list<TSparkArrowBatch> arrowBatches (1281)
    TColumn  = one member of the union: struct { list<T> values (1), binary nulls (2) }
    TSparkArrowBatch = binary batch (1), i64 rowCount (2)

Fields are a type byte, an i16 id and the value; a struct ends with a zero byte; lists are a type byte and an i32 count.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from thrift.Thrift import TType

from engine.runtime.results import sql_type_of
from engine.runtime.value_text import to_text
from gateway.hs2.gen.ttypes import TColumnValue, TGetResultSetMetadataResp, TRow, TRowSet, TSparkDirectResults, TStatus
from gateway.hs2.messages import encode_struct
from gateway.hs2.types import ColumnType, Slot, column_type

_FIELD = struct.Struct(">bh")
_LIST = struct.Struct(">bi")
_LENGTH = struct.Struct(">i")
_STOP = b"\x00"
_ONE_LENGTH_MAX = 1 << 16


def encode_arrow(batches: Sequence[tuple[bytes, int]], row_offset: int) -> Iterator[bytes]:
    """Encodes a TRowSet with Arrow batches, each with its number of rows."""
    yield _field(TType.I64, 1) + struct.pack(">q", row_offset)
    yield _field(TType.LIST, 2) + _list(TType.STRUCT, 0)
    yield _field(TType.LIST, 1281) + _list(TType.STRUCT, len(batches))
    for message, row_count in batches:
        yield _field(TType.STRING, 1) + _LENGTH.pack(len(message))
        yield message
        yield _field(TType.I64, 2) + struct.pack(">q", row_count) + _STOP
    yield _STOP


def encode_columns(rows: pa.Table, row_offset: int, time_zone: str, *, has_bare_keys: bool = False) -> Iterator[bytes]:
    """Encodes a TRowSet with columns, in pieces; the schema of `rows` has SQL types, timestamps are shown in
    `time_zone`. `has_bare_keys` as in `to_text`.
    """
    yield _field(TType.I64, 1) + struct.pack(">q", row_offset)
    yield _field(TType.LIST, 2) + _list(TType.STRUCT, 0)
    yield _field(TType.LIST, 3) + _list(TType.STRUCT, rows.num_columns)
    for field_, column in zip(rows.schema, rows.columns, strict=True):
        sql_type = sql_type_of(field_)
        slot = column_type(sql_type).slot
        values = wire_values(column, slot, sql_type, time_zone, has_bare_keys=has_bare_keys)
        yield _field(TType.STRUCT, slot.value.field_id)
        yield _field(TType.LIST, 1) + _list(slot.value.element, len(values))
        yield _encode_values(values, slot)
        nulls = null_bitmap(values)
        yield _field(TType.STRING, 2) + _LENGTH.pack(len(nulls)) + nulls
        yield _STOP + _STOP
    yield _STOP


def encode_rows(rows: pa.Table, row_offset: int, time_zone: str, *, has_bare_keys: bool = False) -> Iterator[bytes]:
    """Encodes a TRowSet with rows, for clients before V6; a null is a value that is not set."""
    columns = [
        _cells(column, column_type(sql_type_of(field_)), sql_type_of(field_), time_zone, has_bare_keys=has_bare_keys)
        for field_, column in zip(rows.schema, rows.columns, strict=True)
    ]
    yield encode_struct(TRowSet(row_offset, [TRow(list(cells)) for cells in zip(*columns, strict=True)]))


def encode_fetch_response(
    status: TStatus, has_more: bool, row_set: Iterable[bytes], metadata: TGetResultSetMetadataResp | None = None
) -> Iterator[bytes]:
    """Encodes a TFetchResultsResp around a row set."""
    yield _field(TType.STRUCT, 1) + encode_struct(status)
    yield _field(TType.BOOL, 2) + bytes([has_more])
    yield _field(TType.STRUCT, 3)
    yield from row_set
    if metadata is not None:
        yield _field(TType.STRUCT, 1281) + encode_struct(metadata)
    yield _STOP


def encode_with_results(response: Any, results: TSparkDirectResults, fetched: Iterable[bytes]) -> Iterator[bytes]:
    """Encodes `response` with `results` as its directResults, in which the bytes `fetched` are the resultSet."""
    yield encode_struct(response).removesuffix(_STOP)
    yield _field(TType.STRUCT, 1281) + encode_struct(results).removesuffix(_STOP)
    yield _field(TType.STRUCT, 3)
    yield from fetched
    yield _STOP + _STOP


def wire_values(column: pa.ChunkedArray, slot: Slot, sql_type: str, time_zone: str, *, has_bare_keys: bool) -> pa.Array:
    """Returns the column as one array with the slot's kind: numbers and bytes unchanged, everything else as text."""
    values = column.combine_chunks()
    match slot:
        case Slot.STRING:
            return to_text(values, sql_type, time_zone, has_bare_keys=has_bare_keys)
        case Slot.BINARY:
            return values.cast(pa.binary())
        case Slot.DOUBLE if pa.types.is_float32(values.type):
            # Hive's double is the one that prints like the float: 17.604954; widening would give 17.60495376586914.
            return values.cast(pa.string()).cast(pa.float64())
        case Slot.BOOL | Slot.BYTE | Slot.I16 | Slot.I32 | Slot.I64 | Slot.DOUBLE:
            return values
        case _:
            assert_never(slot)


def null_bitmap(values: pa.Array) -> bytes:
    """Returns one bit per row, least significant first, set for null; without trailing zero bytes."""
    if not values.null_count:
        return b""
    is_null = values.is_null().to_numpy(zero_copy_only=False)
    return np.packbits(is_null, bitorder="little").tobytes().rstrip(b"\x00")


def _encode_values(values: pa.Array, slot: Slot) -> bytes:
    if values.null_count:
        values = pc.fill_null(values, slot.value.zero)
    if not slot.value.dtype:
        return _encode_strings(values)
    return bytes(values.to_numpy(zero_copy_only=False).astype(slot.value.dtype).tobytes())


def _encode_strings(values: pa.Array) -> bytes:
    """Encodes each string after its length: Arrow joins both, and the joined strings' bytes are the list.

    Strings with equal lengths (dates, codes, numbers with equally many digits) take a third of that time.
    """
    count = len(values)
    if not count:
        return b""
    offsets = np.frombuffer(values.buffers()[1], np.int32)[values.offset : values.offset + count + 1]
    lengths = np.diff(offsets)
    width = int(lengths[0])
    if 0 < width <= _ONE_LENGTH_MAX and (lengths == width).all():
        records = np.empty(count, np.dtype([("length", ">i4"), ("text", f"V{width}")]))
        records["length"] = width
        records["text"] = np.frombuffer(values.buffers()[2], records.dtype["text"], count, int(offsets[0]))
        return records.tobytes()
    head_offsets = pa.py_buffer(np.arange(0, 4 * count + 1, 4, dtype=np.int32))
    heads = pa.Array.from_buffers(pa.binary(), count, [None, head_offsets, pa.py_buffer(lengths.astype(">i4"))])
    joined = pc.binary_join_element_wise(heads, values.cast(pa.binary()), b"")
    _, ends, content = joined.buffers()
    return bytes(content[: np.frombuffer(ends, np.int32)[count]])


def _cells(
    column: pa.ChunkedArray, kind: ColumnType, sql_type: str, time_zone: str, *, has_bare_keys: bool
) -> Iterable[TColumnValue]:
    spec = kind.slot.value
    values = wire_values(column, kind.slot, sql_type, time_zone, has_bare_keys=has_bare_keys).to_pylist()
    if kind.slot is Slot.BINARY:
        values = [None if value is None else value.decode("utf-8", "replace") for value in values]
        spec = Slot.STRING.value
    make: Callable[..., TColumnValue] = TColumnValue
    return (make(**{spec.member: spec.value(value)}) for value in values)


def _field(kind: int, field_id: int) -> bytes:
    return _FIELD.pack(kind, field_id)


def _list(kind: int, count: int) -> bytes:
    return _LIST.pack(kind, count)
