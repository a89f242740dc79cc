"""Assignments in UPDATE and MERGE: each column in a changed row."""

from __future__ import annotations

import pytest

from catalog.errors import SqlError
from engine.planning.plans.expression_checks import Dependency
from engine.planning.semantics.assignments import NewValues, assigned_values, assignment_refusals, path_in_table
from engine.planning.semantics.query_columns import table_fields
from engine.sql.query.values import Assignment
from engine.types.schema import PrimitiveType, StructField, StructType
from tests.engine.planning.lake import PlanningLake, bound_table, query_columns


def values(planning: PlanningLake, table: str, *paths: str, alias: str | None = None) -> NewValues:
    """`path` is assigned an expression, `path=` DEFAULT."""
    assignments = [
        Assignment(path=tuple(path.removesuffix("=").split(".")), text="e", is_default=path.endswith("="))
        for path in paths
    ]
    bound = bound_table(planning, table)
    return assigned_values(bound, bound.snapshot.table_config, assignments, alias)


def items(found: NewValues) -> list[str]:
    """Returns items with `v0`, `v1`, … for assigned values, and `o.<name>` for old ones."""
    return found.items([f"v{number}" for number in range(9)], [f"o.{column.name}" for column in found.old_columns])


ITEMS = {
    "plain": [
        (("a",), "a b", ["v0", "o.b"]),
        (("B", "a"), "a b", ["v1", "v0"]),
        (("plain.a",), "a b", ["v0", "o.b"]),
        (("default.plain.a", "spark_catalog.default.plain.b"), "a b", ["v0", "v1"]),
        (("a=",), "b", ["o.b"]),
    ],
    "nested": [
        (("place",), "id place tags m", ["o.id", "v0", "o.tags", "o.m"]),
        (
            ("PLACE.zip",),
            "id place tags m",
            ["o.id", "named_struct('city', o.place.`city`, 'zip', v0)", "o.tags", "o.m"],
        ),
        (
            ("place.zip", "id", "place.city"),
            "id place tags m",
            ["v1", "named_struct('city', v2, 'zip', v0)", "o.tags", "o.m"],
        ),
    ],
    "ruled": [
        (("note",), "id at amount note", ["o.id", "o.at", "o.amount", "v0"]),
        (("day",), "id at day amount note", ["o.id", "o.at", "v0", "o.amount", "o.note"]),
        (("day=", "amount="), "id at note", ["o.id", "o.at", "o.note"]),
    ],
}


@pytest.mark.parametrize(
    ("table", "paths", "columns", "expected"), [(table, *case) for table, cases in ITEMS.items() for case in cases]
)
def test_new_values(
    planning: PlanningLake, table: str, paths: tuple[str, ...], columns: str, expected: list[str]
) -> None:
    """A generated column that is not assigned is left to the table."""
    found = values(planning, table, *paths)
    assert [column.name for column in found.columns] == columns.split()
    assert items(found) == expected


def test_structs_in_structs_and_odd_names() -> None:
    (column,) = table_fields(query_columns("s STRUCT<in: STRUCT<`it's`: INT, y: INT>, z: INT>"))
    found = NewValues(columns=(column,), trees={"s": {"in": {"it's": 0}}}, before=StructType((column,)))
    assert items(found) == [
        "named_struct('in', named_struct('it\\'s', v0, 'y', o.s.`in`.`y`), 'z', o.s.`z`)",
    ]


def test_fields_that_the_old_struct_does_not_have_are_null_if_not_assigned() -> None:
    (old,) = table_fields(query_columns("s STRUCT<a: INT, i: STRUCT<b: INT>>"))
    (new,) = table_fields(query_columns("s STRUCT<a: INT, i: STRUCT<b: INT, c: INT, d: INT>, e: STRUCT<f: INT>>"))
    found = NewValues(columns=(new,), trees={"s": {"i": {"c": 0}, "e": {"f": 1}}}, before=StructType((old,)))
    assert items(found) == [
        "named_struct('a', o.s.`a`, 'i', named_struct('b', o.s.`i`.`b`, 'c', v0, 'd', NULL),"
        " 'e', named_struct('f', v1))"
    ]
    assert items(NewValues(columns=(new,), trees={"s": {"i": {"c": 0}}}, before=StructType())) == [
        "named_struct('a', NULL, 'i', named_struct('b', NULL, 'c', v0, 'd', NULL), 'e', NULL)"
    ]


def test_unassigned_struct_fields_are_preserved() -> None:
    columns = table_fields(query_columns("s STRUCT<a: INT, i: STRUCT<b: INT, c: INT>>, r STRUCT<x: INT>"))
    given = table_fields(query_columns("S STRUCT<i: STRUCT<C: INT>, n: INT>, r STRUCT<X: INT>"))
    new = NewValues(columns=columns, trees={"s": 0, "r": 1}, before=StructType(columns)).with_unassigned_fields(given)
    assert items(new) == [
        "CASE WHEN v0 IS NOT NULL OR o.s IS NOT NULL THEN named_struct('i', CASE WHEN v0.`i` IS NOT NULL OR o.s.`i` IS"
        " NOT NULL THEN named_struct('C', v0.`i`.`C`, 'b', o.s.`i`.`b`) END, 'n', v0.`n`, 'a', o.s.`a`) END",
        "v1",
    ]


def test_a_table_with_an_alias_has_no_other_name(planning: PlanningLake) -> None:
    schema = StructType((StructField("a", PrimitiveType.INTEGER), StructField("plain", PrimitiveType.INTEGER)))
    table = bound_table(planning, "plain")
    assert path_in_table(table, schema, ("T", "a"), "t") == ("a",)
    assert path_in_table(table, schema, ("plain", "a"), "t") == ("plain", "a")
    assert path_in_table(table, schema, ("plain", "a"), None) == ("a",)
    assert path_in_table(table, schema, ("plain", "zz"), None) == ("plain", "zz")
    assert path_in_table(table, schema, ("plain",), None) == ("plain",)


REFUSED = [
    ("plain", ("zz",), "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA"),
    ("nested", ("place.zz",), "DELTA_COLUMN_NOT_FOUND_IN_SCHEMA"),
    ("plain", ("a", "A"), "DELTA_CONFLICT_SET_COLUMN"),
    ("nested", ("place", "place.zip"), "DELTA_CONFLICT_SET_COLUMN"),
    ("nested", ("place.zip", "place"), "DELTA_CONFLICT_SET_COLUMN"),
    ("nested", ("place.zip", "place.ZIP"), "DELTA_CONFLICT_SET_COLUMN"),
    ("nested", ("id.x",), "DELTA_UNSUPPORTED_FIELD_UPDATE_NON_STRUCT"),
    ("nested", ("tags.k",), "DELTA_UNSUPPORTED_FIELD_UPDATE_NON_STRUCT"),
    ("nested", ("place.zip=",), "UNSUPPORTED_FEATURE.STATEMENT"),
    ("ruled", ("id",), "DELTA_IDENTITY_COLUMNS_UPDATE_NOT_SUPPORTED"),
    ("ruled", ("id=",), "DELTA_IDENTITY_COLUMNS_UPDATE_NOT_SUPPORTED"),
]


@pytest.mark.parametrize(("table", "paths", "condition"), REFUSED)
def test_invalid_assignments_are_rejected(
    planning: PlanningLake, table: str, paths: tuple[str, ...], condition: str
) -> None:
    with pytest.raises(SqlError) as caught:
        values(planning, table, *paths)
    assert caught.value.condition == condition


def test_values_may_be_random_but_of_one_row() -> None:
    found = {dependency: make("f()").condition for dependency, make in assignment_refusals("UPDATE").items()}
    assert found == {
        Dependency.AGGREGATE: "DELTA_AGGREGATION_NOT_SUPPORTED",
        Dependency.WINDOW: "UNSUPPORTED_EXPR_FOR_OPERATOR",
        Dependency.GENERATOR: "UNSUPPORTED_EXPR_FOR_OPERATOR",
    }
