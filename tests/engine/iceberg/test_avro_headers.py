"""Avro data file columns, from the schemas in their headers."""

from __future__ import annotations

import io
import json
from typing import Any

import fastavro
import pyarrow as pa
import pytest

from catalog.conditions import MalformedIcebergFile
from engine.iceberg.snapshot.avro_files import read_avro_columns
from tests.engine.iceberg.handmade import optional, required

POINT = {"type": "record", "name": "point", "fields": [{"name": "x", "type": "int"}]}
STRUCT = pa.struct([pa.field("x", pa.null())])


def header(schema: Any) -> io.BytesIO:
    """Returns a file header whose schema may be invalid."""
    file = io.BytesIO(b"Obj\x01")
    file.seek(4)
    text = schema if isinstance(schema, bytes) else json.dumps(schema).encode()
    fastavro.schemaless_writer(file, {"type": "map", "values": "bytes"}, {"avro.schema": text})
    file.seek(0)
    return file


def columns(*fields: Any, **more: Any) -> pa.Schema:
    return read_avro_columns(header({"type": "record", "name": "t", "fields": list(fields), **more}), "a.avro")


@pytest.mark.parametrize(
    ("definition", "reference", "space"),
    [
        (POINT, "point", ""),
        (POINT, {"type": "point"}, ""),
        (POINT, ["null", "point"], ""),
        (POINT, "point", "geo"),
        (POINT, "geo.point", "geo"),
        ({**POINT, "namespace": "other"}, "other.point", "geo"),
        ({**POINT, "name": "other.point"}, "other.point", ""),
        ({**POINT, "namespace": ""}, "point", "geo"),
    ],
)
def test_a_record_may_be_used_again_by_its_name(definition: Any, reference: Any, space: str) -> None:
    more = {"namespace": space} if space else {}
    again = columns(optional(1, "a", definition), {"name": "b", "type": reference}, **more)
    assert again.field("a").type == again.field("b").type == STRUCT


def test_named_type_is_reused_in_lists_maps_and_unions() -> None:
    found = columns(
        {"name": "u", "type": ["null", "int", POINT]},
        {"name": "l", "type": {"type": "array", "items": "point"}},
        {"name": "m", "type": {"type": "map", "values": ["null", "point"]}},
        {"name": "f", "type": {"type": "fixed", "name": "four", "size": 4}},
        {"name": "g", "type": "four"},
    )
    assert found.field("l").type.value_type == STRUCT and found.field("m").type.item_type == STRUCT
    assert found.field("u").type == found.field("f").type == found.field("g").type == pa.null()


def nested(count: int) -> list[Any]:
    """Returns nested records with two fields each: few bytes, many fields."""
    first = {"type": "record", "name": "r0", "fields": [{"name": "x", "type": "int"}]}
    fields = [{"name": "c0", "type": first}]
    for at in range(1, count):
        inner = [{"name": name, "type": f"r{at - 1}"} for name in "ab"]
        fields.append({"name": f"c{at}", "type": {"type": "record", "name": f"r{at}", "fields": inner}})
    return fields


TREE = {"type": "record", "name": "tree", "fields": [{"name": "left", "type": ["null", "tree"]}]}


@pytest.mark.parametrize(
    "schema",
    [
        b"{",
        b"\xff",
        7,
        "string",
        [],
        {"type": "record", "name": "t"},
        {"type": "record", "name": "t", "fields": 3},
        {"type": "record", "name": "t", "fields": [3]},
        {"type": "record", "name": "t", "fields": [{"type": "int"}]},
        {"type": "record", "name": "t", "fields": [{"name": 3, "type": "int"}]},
        {"type": "record", "name": "t", "fields": [{"name": "a"}]},
        {"type": "record", "name": "t", "fields": [required(1, "a", "unheard")]},
        {"type": "record", "name": "t", "fields": [{"name": "a", "type": "int", "field-id": "no"}]},
        {"type": "record", "name": "t", "fields": [required(1, "a", TREE)]},
        {"type": "record", "name": "t", "fields": nested(60)},
    ],
    ids=lambda schema: str(schema)[:60],
)
def test_inconsistent_header_is_a_malformed_file(schema: Any) -> None:
    with pytest.raises(MalformedIcebergFile, match=r"a\.avro"):
        read_avro_columns(header(schema), "a.avro")


@pytest.mark.parametrize(
    "data", [b"", b"PAR1", b"Obj\x01", b"Obj\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", b"Obj\x01\0"]
)
def test_malformed_header_is_rejected_with_the_file_name(data: bytes) -> None:
    with pytest.raises(MalformedIcebergFile, match=r"a\.avro"):
        read_avro_columns(io.BytesIO(data), "a.avro")
