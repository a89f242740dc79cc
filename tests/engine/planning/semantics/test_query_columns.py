"""A query's columns as a table's columns."""

from __future__ import annotations

import pytest

from catalog.errors import SqlError
from engine.planning.plans.reads import QueryColumn
from engine.planning.semantics.query_columns import table_fields, table_type
from engine.types.schema import ArrayType, DecimalType, MapType, PrimitiveType, StructField, StructType

INT, STRING = PrimitiveType.INTEGER, PrimitiveType.STRING


def test_everything_may_be_null() -> None:
    given = StructType(
        (
            StructField("a", ArrayType(INT, contains_null=False), nullable=False, metadata={"comment": "c"}),
            StructField("m", MapType(STRING, StructType((StructField("x", INT, False),)), value_contains_null=False)),
            StructField("d", DecimalType(9, 2), nullable=False),
        )
    )
    assert table_type(given) == StructType(
        (
            StructField("a", ArrayType(INT)),
            StructField("m", MapType(STRING, StructType((StructField("x", INT),)))),
            StructField("d", DecimalType(9, 2)),
        )
    )


def test_fields() -> None:
    struct = {"type": "struct", "fields": [{"name": "x", "type": "integer", "nullable": False, "metadata": {}}]}
    found = table_fields(
        [QueryColumn("a", "int", "a comment", "integer"), QueryColumn("s", "struct<x:int>", None, struct)]
    )
    assert found == (StructField("a", INT), StructField("s", StructType((StructField("x", INT),))))


def test_a_type_that_no_table_has() -> None:
    with pytest.raises(SqlError) as caught:
        table_fields([QueryColumn("i", "interval day", None, "interval day")])
    assert caught.value.condition == "DELTA_UNSUPPORTED_DATA_TYPES"
