"""fastavro reads records that are encoded by column."""

from __future__ import annotations

import io
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from engine.iceberg.manifests.avro import read_rows
from engine.iceberg.writing.avro_file import CODECS, encode_blocks, file_bytes

_PAIR = {
    "type": "record",
    "name": "pair",
    "fields": [{"name": "key", "type": "int", "field-id": 117}, {"name": "value", "type": "bytes", "field-id": 118}],
}
_FIELDS: list[tuple[str, Any, pa.DataType]] = [
    ("number", "long", pa.int64()),
    ("text", ["null", "string"], pa.string()),
    (
        "pairs",
        ["null", {"type": "array", "items": _PAIR}],
        pa.list_(pa.struct([("key", pa.int32()), ("value", "binary")])),
    ),
    ("real", ["null", "double"], pa.float64()),
    ("single", "float", pa.float32()),
    ("flag", ["boolean", "null"], pa.bool_()),
    ("two", {"type": "fixed", "name": "two", "size": 2}, pa.binary()),
    ("longs", {"type": "array", "items": "long"}, pa.list_(pa.int64())),
]
_SCHEMA = {"type": "record", "name": "row", "fields": [{"name": name, "type": type_} for name, type_, _ in _FIELDS]}
_EDGES = [0, -1, 1, 63, 64, -64, -65, 2**31, -(2**63), 2**63 - 1]


def _rows(count: int) -> list[dict[str, Any]]:
    return [
        {
            "number": _EDGES[i % len(_EDGES)],
            "text": None if i % 3 == 0 else "é" * (i % 70),
            "pairs": None if i % 5 == 0 else [{"key": k, "value": b"z" * k} for k in range(i % 4)],
            "real": None if i % 2 else i / 3,
            "single": float(i),
            "flag": None if i % 7 == 0 else i % 2 == 0,
            "two": bytes([i % 256, 1]),
            "longs": _EDGES[: i % 3],
        }
        for i in range(count)
    ]


def _column(rows: list[dict[str, Any]]) -> pa.StructArray:
    columns = [pa.array([row[name] for row in rows], type_) for name, _, type_ in _FIELDS]
    return pa.StructArray.from_arrays(columns, [name for name, _, _ in _FIELDS])


@pytest.mark.parametrize("count", [0, 1, 3000])
def test_fastavro_reads_what_is_encoded(count: int) -> None:
    rows, codec = _rows(count), CODECS["gzip"]
    data = file_bytes(_SCHEMA, encode_blocks(_SCHEMA, _column(rows), codec), codec, {"note": "é"})
    reader = fastavro.reader(io.BytesIO(data))
    assert list(reader) == rows
    assert reader.metadata["note"] == "é"


def test_rows_of_a_slice_are_its_own() -> None:
    rows, codec = _rows(60), CODECS["uncompressed"]
    blocks = encode_blocks(_SCHEMA, _column(rows).slice(20, 30), codec)
    assert list(fastavro.reader(io.BytesIO(file_bytes(_SCHEMA, blocks, codec, {})))) == rows[20:50]


@pytest.mark.parametrize("name", sorted(CODECS))
def test_every_codec_is_read_back(name: str) -> None:
    schema = {"type": "record", "name": "r", "fields": [{"name": "path", "type": "string", "field-id": 500}]}
    column = pa.StructArray.from_arrays([pa.array(["a" * 1000] * 300)], ["path"])
    data = file_bytes(schema, encode_blocks(schema, column, CODECS[name]), CODECS[name], {})
    assert read_rows(data, "a file") == [{"manifest_path": b"a" * 1000}] * 300


def test_values_that_a_schema_does_not_have_are_refused() -> None:
    for type_, column, reason in (
        ("long", pa.array([None], pa.int64()), "a value of long is null"),
        ({"type": "fixed", "name": "f", "size": 2}, pa.array([b"abc"]), "a value does not have 2 bytes"),
        ({"type": "enum", "name": "e", "symbols": ["a"]}, pa.array(["a"]), "is no type of manifests"),
    ):
        schema = {"type": "record", "name": "r", "fields": [{"name": "x", "type": type_}]}
        with pytest.raises(ValueError, match=reason):
            encode_blocks(schema, pa.StructArray.from_arrays([column], ["x"]), CODECS["gzip"])
