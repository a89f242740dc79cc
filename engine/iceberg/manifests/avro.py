"""Parses Avro files, with our field names for Iceberg's field ids; optionally decodes rows into Python values.

Writers differ in field names and order, so a field is identified by the `field-id` in the file's own schema. The schema
is rewritten for the decoder: fields get the names in :data:`NAMES`, and types lose their logical types, so that a
decoder does not convert them (invalid UTF-8, dates beyond Python's years). Values remain as Avro stores them: numbers
and bytes. Only the fact that fixed bytes are a decimal is kept, under a key that a decoder ignores.

For small files, rows are decoded by fastavro with one call per block, as an Avro array with its records. Manifest
entries have their own decoder (`engine.iceberg.manifests.avro_walk`). Blocks are decompressed here, so that the codecs
are Arrow's.

Source: Apache Avro specification, "Object Container Files"; Iceberg table specification, "Manifests", "Appendix A".
"""

from __future__ import annotations

import io
import json
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

import pyarrow as pa
from fastavro import parse_schema, schemaless_reader

from catalog.conditions import MalformedIcebergFile
from engine.iceberg.manifests.avro_values import as_number

_MAGIC = b"Obj\x01"
_SYNC_BYTES = 16
_BLOCK_BYTES_MAX = 1 << 30
_HEADER = parse_schema({"type": "map", "values": "bytes"})
_SNAPPY_CHECKSUM_BYTES = 4

# Row keys by field id; `key` and `value` belong to maps.
NAMES: Mapping[int, str] = {
    0: "status",
    1: "snapshot_id",
    2: "data_file",
    3: "sequence_number",
    4: "file_sequence_number",
    100: "file_path",
    101: "file_format",
    102: "partition",
    103: "record_count",
    104: "file_size_in_bytes",
    108: "column_sizes",
    109: "value_counts",
    110: "null_value_counts",
    125: "lower_bounds",
    128: "upper_bounds",
    131: "key_metadata",
    132: "split_offsets",
    134: "content",
    135: "equality_ids",
    137: "nan_value_counts",
    140: "sort_order_id",
    142: "first_row_id",
    143: "referenced_data_file",
    144: "content_offset",
    145: "content_size_in_bytes",
    500: "manifest_path",
    501: "manifest_length",
    502: "partition_spec_id",
    503: "added_snapshot_id",
    504: "added_files_count",
    505: "existing_files_count",
    506: "deleted_files_count",
    507: "partitions",
    509: "contains_null",
    510: "lower_bound",
    511: "upper_bound",
    512: "added_rows_count",
    513: "existing_rows_count",
    514: "deleted_rows_count",
    515: "sequence_number",
    516: "min_sequence_number",
    517: "content",
    518: "contains_nan",
    519: "key_metadata",
    520: "first_row_id",
}
# The key on a fixed type that holds unscaled decimals.
_DECIMAL = "decimal"
_KEYS = frozenset([117, 119, 121, 126, 129, 138])
_VALUES = frozenset([118, 120, 122, 127, 130, 139])


@dataclass(frozen=True, slots=True, kw_only=True)
class AvroBlocks:
    """A parsed file: `schema` is a record's, with our names; `blocks` are record counts with bytes.

    `metadata` is the file header's. Partition fields are called `p<field id>`.
    """

    schema: dict[str, Any]
    metadata: Mapping[str, bytes]
    blocks: list[tuple[int, bytes]]


def read_rows(data: bytes, source: str) -> list[dict[str, Any]]:
    """Returns a file's records. Raises `MalformedIcebergFile`."""
    blocks = read_blocks(data, source)
    return rows_of(blocks, source)


def rows_of(blocks: AvroBlocks, source: str) -> list[dict[str, Any]]:
    """Returns the records, with our field names. Raises `MalformedIcebergFile`."""
    with no_avro(source):
        schema = parse_schema({"type": "array", "items": blocks.schema})
        rows: list[dict[str, Any]] = []
        for count, block in blocks.blocks:
            found: list[dict[str, Any]] = schemaless_reader(io.BytesIO(as_number(count) + block + b"\0"), schema, None)
            if len(found) != count:
                raise ValueError(f"a block has {len(found)} records and says {count}")
            rows += found
        return rows


@contextmanager
def no_avro(source: str) -> Iterator[None]:
    """Converts any Python error on invalid bytes into `MalformedIcebergFile`."""
    try:
        yield
    except (MalformedIcebergFile, MemoryError):
        raise
    except Exception as error:  # decoders may raise any error
        raise MalformedIcebergFile(source, f"no Avro file ({type(error).__name__}: {str(error)[:100]})") from error


def read_blocks(data: bytes, source: str) -> AvroBlocks:
    """Parses a file. Raises only `MalformedIcebergFile` and `MemoryError`, for any bytes."""
    with no_avro(source):
        return _read(data, source)


def read_schema(file: BinaryIO, source: str) -> Any:
    """Returns the records' schema as in the file, reading only its header. Raises like `read_blocks`."""
    with no_avro(source):
        if file.read(len(_MAGIC)) != _MAGIC:
            raise ValueError("other bytes at its front")
        metadata: dict[str, bytes] = schemaless_reader(file, _HEADER, None)
        return json.loads(metadata["avro.schema"])


def _read(data: bytes, source: str) -> AvroBlocks:
    if data[:4] != _MAGIC:
        raise ValueError("other bytes at its front")
    stream = io.BytesIO(data)
    stream.seek(len(_MAGIC))
    metadata: dict[str, bytes] = schemaless_reader(stream, _HEADER, None)
    sync = stream.read(_SYNC_BYTES)
    codec = metadata.get("avro.codec", b"null").decode()
    blocks = []
    while stream.tell() < len(data):
        count, size = _read_long(stream), _read_long(stream)
        if count < 0 or not 0 <= size <= len(data) - stream.tell():
            raise ValueError("a block ends behind the file")
        block = _decompress(stream.read(size), codec, source)
        if count > len(block):
            raise ValueError("a block has more records than bytes")
        blocks.append((count, block))
        if stream.read(_SYNC_BYTES) != sync:
            raise ValueError("a block does not end with the marker of the file")
    return AvroBlocks(schema=_rename_fields(json.loads(metadata["avro.schema"])), metadata=metadata, blocks=blocks)


def _decompress(block: bytes, codec: str, source: str) -> bytes:
    match codec:
        case "null":
            return block
        case "deflate":
            inflater = zlib.decompressobj(-15)
            found = inflater.decompress(block, _BLOCK_BYTES_MAX)
            if not inflater.eof:
                raise MalformedIcebergFile(source, "a compressed block is cut off, or larger than a gigabyte")
            return found
        case "snappy":
            block = block[:-_SNAPPY_CHECKSUM_BYTES]
            return bytes(pa.decompress(block, _snappy_size(block), codec="snappy"))
        case "zstandard":
            stream = pa.CompressedInputStream(pa.BufferReader(block), "zstd")
            return bytes(stream.read(_BLOCK_BYTES_MAX))
        case _:  # text from a file
            raise MalformedIcebergFile(source, f"its codec {codec!r} is not known")


def _snappy_size(block: bytes) -> int:
    """Returns a Snappy block's uncompressed size, the varint at its start."""
    size = shift = 0
    for byte in block[:5]:
        size |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            break
    if size > _BLOCK_BYTES_MAX:
        raise ValueError("a block is larger than a gigabyte")
    return size


def _read_long(stream: io.BytesIO) -> int:
    number = shift = 0
    while True:
        (byte,) = stream.read(1)
        number |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return (number >> 1) ^ -(number & 1)
        shift += 7
        if shift > 63:
            raise ValueError("a number of more than 64 bits")


def _rename_fields(schema: Any, in_partition: bool = False) -> Any:
    """Returns the schema with our field names, and without logical types."""
    if isinstance(schema, list):
        return [_rename_fields(branch, in_partition) for branch in schema]
    if not isinstance(schema, dict):
        return "bytes" if schema == "string" else schema
    match schema.get("type"):
        case "record":
            fields = [_rename_field(field, in_partition) for field in schema["fields"]]
            return {"type": "record", "name": schema["name"], "fields": fields}
        case "array":
            return {"type": "array", "items": _rename_fields(schema["items"])}
        case "map":
            return {"type": "map", "values": _rename_fields(schema["values"])}
        case "fixed":
            decimal = {_DECIMAL: True} if schema.get("logicalType") == "decimal" else {}
            return {"type": "fixed", "name": schema["name"], "size": schema["size"], **decimal}
        case "enum":
            return {"type": "enum", "name": schema["name"], "symbols": schema["symbols"]}
        case inner:  # JSON from a file
            return _rename_fields(inner, in_partition)


def _rename_field(field: dict[str, Any], in_partition: bool) -> dict[str, Any]:
    number = field.get("field-id")
    is_partition = not in_partition and number == 102
    if in_partition:
        name = f"p{number}" if isinstance(number, int) else f"x_{field['name']}"
    elif number in _KEYS:
        name = "key"
    elif number in _VALUES:
        name = "value"
    elif number is None:
        name = f"x_{field['name']}"
    else:
        name = NAMES.get(number, f"x{number}")
    return {"name": name, "type": _rename_fields(field["type"], is_partition)}


def decimal_fields(schema: Any) -> frozenset[str]:
    """Returns the names for fields with unscaled decimals, at any depth in a schema with our names."""
    types: set[str] = set()
    found: set[str] = set()

    def visit(kind: Any, field: str) -> None:
        match kind:
            case list():
                for branch in kind:
                    visit(branch, field)
            case str() if kind in types:
                found.add(field)
            case {"type": "fixed", "name": str(name), "decimal": True}:
                types.add(name)
                found.add(field)
            case {"type": "record", "fields": fields}:
                for each in fields:
                    visit(each["type"], each["name"])
            case _:  # JSON from a file
                pass

    visit(schema, "")
    return frozenset(found)
