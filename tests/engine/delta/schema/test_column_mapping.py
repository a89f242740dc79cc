"""Logical and physical names."""

from __future__ import annotations

import pytest

from engine.delta.schema.column_mapping import column_id, physical_name, physical_names, physical_schema
from engine.types.schema import ArrayType, MapType, PrimitiveType, StructField, StructType, walk_fields


def mapped(name: str, data_type: object, number: int) -> StructField:
    metadata = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": f"col-{number}"}
    return StructField(name, data_type, True, metadata)  # type: ignore[arg-type]


LEAF = StructType((mapped("x", PrimitiveType.LONG, 9),))
SCHEMA = StructType(
    (
        mapped("a", PrimitiveType.LONG, 1),
        mapped("s", LEAF, 2),
        mapped("l", ArrayType(LEAF, False), 3),
        mapped("m", MapType(PrimitiveType.STRING, LEAF, False), 4),
        StructField("plain", PrimitiveType.LONG, False),
    )
)


@pytest.mark.parametrize("mode", ["name", "id"])
def test_physical_names_at_every_level(mode: str) -> None:
    physical = physical_schema(SCHEMA, mode)
    assert [path for path, _ in walk_fields(physical)] == [
        ("col-1",),
        ("col-2",),
        ("col-2", "col-9"),
        ("col-3",),
        ("col-3", "element", "col-9"),
        ("col-4",),
        ("col-4", "value", "col-9"),
        ("plain",),
    ]
    assert physical.fields[2].data_type == ArrayType(
        StructType((StructField("col-9", PrimitiveType.LONG, True, LEAF.fields[0].metadata),)), False
    )
    assert physical_names(SCHEMA, mode) == {"a": "col-1", "s": "col-2", "l": "col-3", "m": "col-4", "plain": "plain"}


def test_without_mapping_the_metadata_counts_for_nothing() -> None:
    assert physical_schema(SCHEMA, "none") is SCHEMA
    assert physical_name(SCHEMA.fields[0], "none") == "a"


def test_ids() -> None:
    assert [column_id(field) for field in SCHEMA.fields] == [1, 2, 3, 4, None]
