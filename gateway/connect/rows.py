"""Result rows as Spark Connect sends them: one Arrow IPC stream with one batch for each response. Pure.

Columns have the Arrow types of Spark's own results. A variant, which is JSON text in results, is sent as a struct of
its two binaries.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import pyarrow as pa
from pyspark.sql.variant_utils import VariantUtils

from engine.runtime.results import ResultStream, sql_type_of
from gateway.connect.proto import pb2
from gateway.connect.types import field_type

_TIME = pa.time64("ns")
# The client recognizes a variant by the metadata of this field.
_VARIANT = pa.struct(
    [
        pa.field("value", pa.binary(), nullable=False),
        pa.field("metadata", pa.binary(), nullable=False, metadata={"variant": "true"}),
    ]
)
# Bytes of rows in one response, about: gRPC's clients accept 4 MiB by default, PySpark 128 MiB.
PAGE_BYTES = 3 << 20
PAGE_ROWS = 1 << 20
# Bytes of a chunk, for a row that is larger than a response may be.
CHUNK_BYTES = 64 << 20


def encode_rows(rows: pa.Table) -> bytes:
    """Returns an IPC stream with one batch; the same bytes for the same rows."""
    kinds = [field_type(field) if "variant" in sql_type_of(field) else None for field in rows.schema]
    fields = [
        pa.field(field.name, _sent_type(_distinct_fields(field.type), kind), field.nullable)
        for field, kind in zip(rows.schema, kinds, strict=True)
    ]
    schema = pa.schema(fields)
    columns = [
        column.cast(field.type) if kind is None else _with_variants(column, kind, field.type)
        for column, kind, field in zip(map(_with_distinct_fields, rows.columns), kinds, fields, strict=True)
    ]
    if not fields:  # only the number of rows is left
        batches = [pa.RecordBatch.from_struct_array(pa.array([{}] * rows.num_rows, pa.struct([])))]
    else:
        batches = pa.table(columns, schema=schema).combine_chunks().to_batches()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, schema) as writer:
        writer.write_batch(batches[0] if batches else _empty_batch(schema))
    content: bytes = sink.getvalue().to_pybytes()
    return content


def last_rows(number: int, stream: ResultStream) -> ResultStream:
    """Returns the last rows of a stream, in their order; not more of them are in memory than one batch adds."""
    return replace(stream, source=_last_batches(number, stream.batches()), on_close=stream.close, rows_made=None)


def _last_batches(number: int, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    last, rows = deque[pa.RecordBatch](), 0
    for batch in batches:
        last.append(batch)
        rows += batch.num_rows
        while rows - last[0].num_rows >= number and len(last) > 1:
            rows -= last.popleft().num_rows
    for batch in last:
        yield batch.slice(max(0, rows - number))
        rows -= batch.num_rows


def split_chunks(data: bytes, chunk_bytes: int) -> Iterator[bytes]:
    """Yields parts of at most `chunk_bytes` bytes; empty data is one empty part."""
    for start in range(0, max(1, len(data)), chunk_bytes):
        yield data[start : start + chunk_bytes]


def _empty_batch(schema: pa.Schema) -> pa.RecordBatch:
    return pa.record_batch([pa.nulls(0, field.type) for field in schema], schema=schema)


def _with_distinct_fields(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = _distinct_fields(column.type)
    # A cast would match fields by their names.
    return column if kind == column.type else pa.chunked_array([chunk.view(kind) for chunk in column.chunks], kind)


def _distinct_fields(arrow: pa.DataType) -> pa.DataType:
    """Returns a type in which equal names of a struct's fields are numbered, as Spark's server sends them: a client
    reads a struct as a dict.
    """
    if pa.types.is_list(arrow):
        return pa.list_(arrow.value_field.with_type(_distinct_fields(arrow.value_type)))
    if pa.types.is_map(arrow):
        key = arrow.key_field.with_type(_distinct_fields(arrow.key_type))
        return pa.map_(key, arrow.item_field.with_type(_distinct_fields(arrow.item_type)))
    if pa.types.is_struct(arrow):
        names = _distinct_names([field.name for field in arrow])
        return pa.struct(
            [
                field.with_name(name).with_type(_distinct_fields(field.type))
                for field, name in zip(arrow, names, strict=True)
            ]
        )
    return arrow


def _distinct_names(names: Sequence[str]) -> Iterator[str]:
    number_of, numbers = Counter(names), defaultdict[str, Iterator[int]](count)
    for name in names:
        yield f"{name}_{next(numbers[name])}" if number_of[name] > 1 else name


def _sent_type(arrow: pa.DataType, kind: pb2.DataType | None) -> pa.DataType:
    """Returns the type in which values are sent; `kind` is None for a type without variants."""
    if kind is not None and kind.HasField("variant"):
        return _VARIANT
    if pa.types.is_time(arrow):
        return _TIME
    if pa.types.is_list(arrow):
        return pa.list_(_sent_field(arrow.value_field, kind and kind.array.element_type))
    if pa.types.is_map(arrow):
        key = _sent_field(arrow.key_field, kind and kind.map.key_type)
        return pa.map_(key, _sent_field(arrow.item_field, kind and kind.map.value_type))
    if pa.types.is_struct(arrow):
        inner = [None] * arrow.num_fields if kind is None else [one.data_type for one in kind.struct.fields]
        return pa.struct([_sent_field(field, one) for field, one in zip(arrow, inner, strict=True)])
    return arrow


def _sent_field(field: pa.Field, kind: pb2.DataType | None) -> pa.Field:
    return pa.field(field.name, _sent_type(field.type, kind), field.nullable)


def _with_variants(column: pa.ChunkedArray, kind: pb2.DataType, sent: pa.DataType) -> pa.Array:
    convert = _converter(kind)
    return pa.array([None if value is None else convert(value) for value in column.to_pylist()], sent)


def _converter(kind: pb2.DataType) -> Callable[[Any], Any]:
    """Returns the conversion of a value that is not null."""
    match kind.WhichOneof("kind"):
        case "variant":
            return _variant
        case "array":
            element = _nullable(_converter(kind.array.element_type))
            return lambda values: [element(value) for value in values]
        case "map":
            key, item = _converter(kind.map.key_type), _nullable(_converter(kind.map.value_type))
            return lambda pairs: [(key(name), item(value)) for name, value in pairs]
        case "struct":
            names = _distinct_names([field.name for field in kind.struct.fields])
            converters = [_nullable(_converter(field.data_type)) for field in kind.struct.fields]
            fields = dict(zip(names, converters, strict=True))
            return lambda row: {name: convert(row[name]) for name, convert in fields.items()}
        case _:  # a member of a protobuf oneof, or none
            return lambda value: value


def _nullable(convert: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: None if value is None else convert(value)


def _variant(text: str) -> dict[str, bytes]:
    value, metadata = VariantUtils.parse_json(text)
    return {"value": value, "metadata": metadata}
