"""Mapping from the query's columns to the table's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from catalog.conditions import ColumnNotFound, DuplicateColumns, NoPartitionColumn, PartitionColumnListed
from catalog.errors import SqlError
from engine.enforcement.columns import match_columns
from engine.planning.plans.write_plan import WritePlan
from tests.engine.enforcement.write_plans import DATE, column, plan


def table(**parts: Any) -> WritePlan:
    return plan(column("a"), column("b"), column("Day", DATE), table_config={"partition_columns": ("Day",)}, **parts)


@pytest.mark.parametrize(
    ("parts", "names"),
    [
        ({}, "a b Day"),
        ({"insert_columns": ("B", "a")}, "b a"),
        ({"insert_columns": ("DAY",)}, "Day"),
        ({"source_columns": ("B", "a")}, "a b"),
        ({"source_columns": ("day", "other")}, "Day"),
        ({"source_columns": ()}, ""),
        ({"static_partitions": {"DAY": "'2024-01-01'"}}, "a b"),
        ({"static_partitions": {"day": "'2024-01-01'"}, "source_columns": ("a", "day")}, "a"),
        ({"static_partitions": {"day": "'2024-01-01'"}, "insert_columns": ("b",)}, "b"),
    ],
    ids=str,
)
def test_columns_are_matched(parts: Mapping[str, Any], names: str) -> None:
    matched = match_columns(table(**parts))
    assert [item.name for item in matched.target_columns] == names.split()


def test_a_static_partition_is_a_constant() -> None:
    """Store assignment casts it to its column's type."""
    matched = match_columns(table(static_partitions={"DAY": "'2024-01-01'"}))
    assert matched.constants == {"Day": "('2024-01-01'\n)"}


@pytest.mark.parametrize(
    ("parts", "error"),
    [
        ({"insert_columns": ("c",)}, ColumnNotFound),
        ({"insert_columns": ("a", "A")}, DuplicateColumns),
        ({"insert_columns": ("day",), "static_partitions": {"day": "NULL"}}, PartitionColumnListed),
        ({"static_partitions": {"a": "1"}}, NoPartitionColumn),
        ({"static_partitions": {"nope": "1"}}, NoPartitionColumn),
    ],
    ids=str,
)
def test_unmatched_columns_are_rejected(parts: Mapping[str, Any], error: type[SqlError]) -> None:
    with pytest.raises(error):
        match_columns(table(**parts))
