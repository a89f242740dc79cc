"""Columns that have statistics."""

from __future__ import annotations

import pytest

from engine.delta.schema.stats_columns import stats_columns
from engine.types.column_paths import parse_name
from engine.types.schema import ArrayType, DataType, PrimitiveType, StructField, StructType, walk_fields

LONG = PrimitiveType.LONG


def struct(**fields: DataType) -> StructType:
    return StructType(tuple(StructField(name.replace("_dot_", "."), kind) for name, kind in fields.items()))


SCHEMA = struct(a=LONG, s=struct(x=LONG, t=struct(y=LONG, z=LONG)), day=LONG, l=ArrayType(LONG), w_dot_d=LONG)


@pytest.mark.parametrize(
    ("configuration", "expected"),
    [
        ({}, "a s.x s.t.y s.t.z l w.d"),
        ({"delta.dataSkippingNumIndexedCols": "-1"}, "a s.x s.t.y s.t.z l w.d"),
        ({"delta.dataSkippingNumIndexedCols": "0"}, ""),
        ({"delta.dataSkippingNumIndexedCols": "1"}, "a"),
        ({"delta.dataSkippingNumIndexedCols": "3"}, "a s.x s.t.y"),
        ({"delta.dataSkippingNumIndexedCols": "5"}, "a s.x s.t.y s.t.z l"),
        ({"delta.dataSkippingStatsColumns": "a"}, "a"),
        ({"delta.dataSkippingStatsColumns": "s.t, l"}, "s.t.y s.t.z l"),
        ({"delta.dataSkippingStatsColumns": "S.T.Y,`w.d`"}, "s.t.y w.d"),
        ({"delta.dataSkippingStatsColumns": "nothing"}, ""),
        ({"delta.dataSkippingStatsColumns": "l", "delta.dataSkippingNumIndexedCols": "0"}, "l"),
    ],
)
def test_statistics_are_of_the_first_leaves_or_the_named_ones(configuration: dict[str, str], expected: str) -> None:
    selected = stats_columns(SCHEMA, {"day"}, configuration)
    leaves = [".".join(path) for path, field in walk_fields(selected) if not isinstance(field.data_type, StructType)]
    assert " ".join(leaves) == expected


def test_only_the_first_32_leaves_by_default() -> None:
    wide = struct(**{f"c{number}": LONG for number in range(40)})
    assert stats_columns(wide, (), {}).names == tuple(f"c{number}" for number in range(32))


@pytest.mark.parametrize(
    ("text", "expected"),
    [("a", ("a",)), ("a.b", ("a", "b")), ("`a.b`.c", ("a.b", "c")), ("`a``b`", ("a`b",)), (" a . b ", ("a", "b"))],
)
def test_dotted_names(text: str, expected: tuple[str, ...]) -> None:
    assert parse_name(text) == expected
