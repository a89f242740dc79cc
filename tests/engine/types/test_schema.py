"""The schema's JSON both ways."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.conditions import MalformedLogEntry, UnsupportedDataType
from engine.types.schema import (
    ArrayType,
    DataType,
    DecimalType,
    MapType,
    PrimitiveType,
    StructField,
    StructType,
    parse_data_type,
    parse_schema,
    walk_fields,
)

JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=2))
LEAVES: st.SearchStrategy[DataType] = st.one_of(
    st.sampled_from(PrimitiveType),
    st.integers(1, 38).flatmap(lambda p: st.builds(DecimalType, st.just(p), st.integers(0, p))),
)


def structs(inner: st.SearchStrategy[DataType]) -> st.SearchStrategy[StructType]:
    fields = st.builds(
        StructField, st.text(min_size=1), inner, st.booleans(), st.dictionaries(st.text(), JSON, max_size=2)
    )
    return st.builds(StructType, st.lists(fields, max_size=3).map(tuple))


TYPES: st.SearchStrategy[DataType] = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.builds(ArrayType, inner, st.booleans()), st.builds(MapType, inner, inner, st.booleans()), structs(inner)
    ),
    max_leaves=8,
)


@given(structs(TYPES))
def test_written_value_is_read_back(schema: StructType) -> None:
    assert parse_schema(schema.to_json()) == schema


def test_unknown_metadata_is_preserved() -> None:
    text = (
        '{"type":"struct","fields":[{"name":"a","type":"integer","nullable":false,'
        '"metadata":{"delta.columnMapping.id":1,"mine":{"x":[1,null]}}}]}'
    )
    assert json.loads(parse_schema(text).to_json()) == json.loads(text)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("null", PrimitiveType.VOID),
        ("decimal", DecimalType(10, 0)),
        ("decimal(38, 18)", DecimalType(38, 18)),
        ({"type": "array", "elementType": "long"}, ArrayType(PrimitiveType.LONG, True)),
        ({"type": "udt", "class": "x", "sqlType": "double"}, PrimitiveType.DOUBLE),
        (
            {"type": "struct", "fields": [{"name": "a", "type": "byte"}]},
            StructType((StructField("a", PrimitiveType.BYTE),)),
        ),
    ],
)
def test_other_spellings_of_types_are_parsed(value: Any, expected: DataType) -> None:
    assert parse_data_type(value) == expected


@pytest.mark.parametrize(
    "name", ["geometry(OGC:CRS84)", "interval year to month", "decimal(39,0)", "decimal(3,4)", "Long"]
)
def test_an_unknown_type_is_refused_by_name(name: str) -> None:
    with pytest.raises(UnsupportedDataType, match=name.replace("(", r"\(").replace(")", r"\)")):
        parse_data_type(name)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '"long"',
        '{"type":"struct"}',
        '{"type":"struct","fields":{}}',
        '{"type":"struct","fields":[3]}',
        '{"type":"struct","fields":[{"name":"a"}]}',
        '{"type":"struct","fields":[{"name":"a","type":"long","metadata":3}]}',
        '{"type":"map","keyType":"long"}',
    ],
)
def test_invalid_schema_is_rejected(text: str) -> None:
    with pytest.raises(MalformedLogEntry):
        parse_schema(text)


def test_a_schema_that_no_stack_holds_is_named() -> None:
    """By the first finding: no end, or too deep."""
    with pytest.raises((MalformedLogEntry, UnsupportedDataType)):
        parse_schema('{"type":"struct","fields":[{"name":"a","type":' * 3000)


UNUSUAL: list[tuple[str, StructField]] = [
    ('{"name": "a", "type": "long", "nullable": 0, "metadata": null}', StructField("a", PrimitiveType.LONG, False)),
    ('{"name": "a", "type": "long", "nullable": null, "more": [1]}', StructField("a", PrimitiveType.LONG)),
    ('{"name": "x", "name": "a", "type": "long"}', StructField("a", PrimitiveType.LONG)),
    (
        '{"name": "a", "type": "long", "metadata": {"n": NaN}, "metadata": {"n": 123456789012345678901234567890}}',
        StructField("a", PrimitiveType.LONG, metadata={"n": 123456789012345678901234567890}),
    ),
    ('{"name": "\\ud800", "type": "long"}', StructField("\ud800", PrimitiveType.LONG)),
    ('{"name": "\ud800", "type": "long"}', StructField("\ud800", PrimitiveType.LONG)),
    (
        '{"name": "a", "type": {"type": "array", "elementType": "date", "containsNull": false}}',
        StructField("a", ArrayType(PrimitiveType.DATE, False)),
    ),
]


@pytest.mark.parametrize(("text", "expected"), UNUSUAL, ids=range(len(UNUSUAL)))
def test_fields_that_few_writers_write(text: str, expected: StructField) -> None:
    """Also fields that the fast decoder does not accept."""
    assert parse_schema(f'{{"type": "struct", "fields": [{text}]}}') == StructType((expected,))


def test_a_field_is_a_dataclass_to_those_who_take_it_for_one() -> None:
    field = StructField("a", PrimitiveType.LONG)
    assert replace(field, name="b", nullable=False) == StructField("b", PrimitiveType.LONG, False)
    assert [each.name for each in fields(field)] == ["name", "data_type", "nullable", "metadata"]
    with pytest.raises(AttributeError):
        field.name = "c"  # type: ignore[misc]


def test_fields_are_found_as_spark_finds_them() -> None:
    schema = StructType((StructField("Id", PrimitiveType.LONG), StructField("id", PrimitiveType.STRING)))
    assert schema.field("id") is schema.fields[1]
    assert schema.field("ID") is schema.fields[0]
    assert schema.field("x") is None


def test_walking_reaches_every_field() -> None:
    inner = StructType((StructField("x", PrimitiveType.LONG),))
    schema = StructType(
        (
            StructField("s", inner),
            StructField("a", ArrayType(inner)),
            StructField("m", MapType(PrimitiveType.STRING, inner)),
        )
    )
    assert [path for path, _ in walk_fields(schema)] == [
        ("s",),
        ("s", "x"),
        ("a",),
        ("a", "element", "x"),
        ("m",),
        ("m", "value", "x"),
    ]
