"""Columns that no file stores."""

from __future__ import annotations

import pytest

from catalog.conditions import NothingToStore
from catalog.errors import SqlError
from engine.enforcement.stored_values import ensure_storable, stored_columns
from engine.types.schema import ArrayType, PrimitiveType, StructType
from tests.engine.enforcement.write_plans import column, plan

VOID = PrimitiveType.VOID


def test_void_columns_are_not_stored() -> None:
    write = plan(column("a"), column("v", VOID))
    assert ensure_storable(write) is write
    assert stored_columns(write.schema).names == ("a",)


def test_something_has_to_be() -> None:
    with pytest.raises(NothingToStore):
        ensure_storable(plan(column("v", VOID)))


@pytest.mark.parametrize("inside", [ArrayType(VOID, True), StructType((column("x", VOID),))], ids=str)
def test_void_inside_of_other_types_is_refused(inside: ArrayType | StructType) -> None:
    with pytest.raises(SqlError) as caught:
        ensure_storable(plan(column("a"), column("b", inside)))
    assert caught.value.condition == "DELTA_COMPLEX_TYPE_COLUMN_CONTAINS_NULL_TYPE"
