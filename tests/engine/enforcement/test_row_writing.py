"""A write plan as projections, and the error from Spark's report about a failed check."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from catalog.conditions import SparkFailure
from engine.enforcement.enforce import enforce_write
from engine.enforcement.row_writing import row_writing, violation
from engine.planning.plans.file_writes import FILE_BYTES, SMALL_BYTES, Step
from engine.planning.plans.write_plan import CopiedColumns, FilePerPartition, TaskPerFile, WritePlan
from engine.tables.column_metadata import IdentityColumn
from engine.tables.config import Constraint, StoredValue
from engine.types.schema import PrimitiveType
from tests.engine.enforcement.write_plans import LONG, STRING, column, plan

TOKEN = "token"


def texts(step: Step) -> dict[str, str]:
    return {each.name: each.text for each in step.expressions}


def test_plain_table_has_no_steps() -> None:
    table_config = row_writing(plan(column("a"), given="a"), TOKEN)
    assert table_config.steps == ()
    assert json.loads(table_config.columns)["fields"][0]["name"] == "a" and table_config.by_name is False


def test_missing_columns_come_in_the_order_of_the_table() -> None:
    write = enforce_write(plan(column("a", CURRENT_DEFAULT="1"), column("b"), insert_columns=("b",)))
    (step,) = row_writing(write, TOKEN).steps
    assert list(texts(step).items()) == [("a", "CAST((1\n) AS int)"), ("b", "`b`")]


def test_identities_come_before_what_is_generated_of_them() -> None:
    identity = IdentityColumn(name="i", start=10, step=5, allow_explicit=False, high_water_mark=None)
    table_config = {"identities": (identity,), "generations": {"g": "i * 2"}, "partition_columns": ("a",)}
    write = enforce_write(
        plan(column("g"), column("i", LONG), column("a"), table_config=table_config, insert_columns=("a",))
    )
    filled, counted, ordered, generated = row_writing(write, TOKEN).steps
    assert list(texts(filled)) == ["a"]
    assert [(each.name, each.first, each.step) for each in counted.counters] == [("i", 10, 5)]
    assert counted.spread_by == ("a",)
    assert list(texts(ordered)) == ["i", "a"]
    assert texts(generated)["g"] == "CAST((i * 2\n) AS int)"


def test_values_are_generated_of_what_a_partition_has() -> None:
    table_config = {"generations": {"g": "upper(s)"}, "partition_columns": ("s", "g")}
    columns = (column("g", STRING), column("s", STRING), column("a"))
    write = enforce_write(plan(*columns, table_config=table_config, insert_columns=("a", "s")))
    ordered, stored, generated, all_stored = row_writing(write, TOKEN).steps
    assert list(texts(ordered)) == ["s", "a"] and list(texts(stored)) == ["s", "a"]
    assert texts(stored)["s"].startswith("nullif(") and texts(generated)["g"] == "CAST((upper(s)\n) AS string)"
    assert texts(all_stored)["g"].startswith("nullif(")


def test_rows_are_not_spread_by_a_partition_column_that_is_yet_to_come() -> None:
    identity = IdentityColumn(name="i", start=1, step=1, allow_explicit=False, high_water_mark=None)
    table_config = {"identities": (identity,), "partition_columns": ("i",)}
    steps = row_writing(
        enforce_write(plan(column("i", LONG), column("a"), table_config=table_config, insert_columns=("a",))), TOKEN
    ).steps
    assert [step.spread_by for step in steps if step.counters] == [()]


def test_checks_are_evaluated_before_anything_is_made_of_them() -> None:
    table_config = {"constraints": (Constraint("c", "a > 0"),)}
    write = enforce_write(plan(column("a"), column("__check0"), table_config=table_config))
    outcomes, raising = row_writing(write, TOKEN).steps
    assert texts(outcomes) == {"a": "`a`", "__check0": "`__check0`", "__check_0": "a > 0"}
    assert list(texts(raising)) == ["a", "__check0"]
    assert texts(raising)["a"].startswith("CASE WHEN `__check_0` IS NOT TRUE THEN raise_error(concat('token:0:', ")
    assert texts(raising)["a"].endswith(" ELSE `a` END")


def test_value_stored_as_another_type_is_checked_as_shown() -> None:
    values = {"u": StoredValue("uuid", "unhex(`u`)", "`u` RLIKE 'x'"), "f": StoredValue("fixed[3]", None, "`f` = 3")}
    columns = (column("id"), column("u", STRING), column("f"))
    write = enforce_write(plan(*columns, table_config={"stored_values": values}, given="id u f"))
    *_, raising, stored = row_writing(write, TOKEN).steps
    assert "raise_error" in texts(raising)["id"] and texts(raising)["u"] == "`u`"
    assert texts(stored) == {"id": "`id`", "u": "unhex(`u`)", "f": "`f`"}
    failures = [
        violation(write, TOKEN, failure("USER_RAISED_EXCEPTION", f'{TOKEN}:{at}:{{"u": "no"}}')) for at in range(2)
    ]
    assert [None if each is None else each.condition for each in failures] == ["CAST_INVALID_INPUT.STORED_TYPE"] * 2
    assert "The value no cannot be cast to the type uuid of the column `u`." in str(failures[0])


def test_void_columns_leave_before_the_files() -> None:
    write = plan(column("v", PrimitiveType.VOID), column("a"), given="v a")
    table_config = row_writing(write, TOKEN)
    (step,) = table_config.steps
    assert list(texts(step)) == ["a"] and [each["name"] for each in json.loads(table_config.stored)["fields"]] == ["a"]


@pytest.mark.parametrize(
    ("table_config", "rebalanced", "size", "small"),
    [
        ({}, False, FILE_BYTES, SMALL_BYTES),
        ({"optimizes_writes": True}, True, FILE_BYTES, SMALL_BYTES),
        ({"optimizes_writes": False}, False, FILE_BYTES, 0),
        ({"target_file_size": 1000}, True, 1000, SMALL_BYTES),
    ],
)
def test_sizes_of_files(table_config: dict[str, object], rebalanced: bool, size: int, small: int) -> None:
    found = row_writing(plan(column("a"), given="a", table_config=table_config), TOKEN)
    assert (found.rebalanced, found.file_bytes, found.small_bytes) == (rebalanced, size, small)


def test_an_arrangement_says_more_than_the_table() -> None:
    write = plan(column("a"), given="a")
    assert row_writing(replace(write, arrangement=TaskPerFile()), TOKEN).is_arranged
    sized = row_writing(replace(write, arrangement=FilePerPartition(target_bytes=FILE_BYTES)), TOKEN)
    assert (sized.rebalanced, sized.file_bytes) == (True, FILE_BYTES)


def checked() -> WritePlan:
    table_config = {"constraints": (Constraint("first", "a > 0"), Constraint("second", "s <> ''"))}
    return enforce_write(plan(column("a"), column("s", STRING), table_config=table_config))


def failure(condition: str, text: str) -> SparkFailure:
    return SparkFailure(condition, "P0001", text)


@pytest.mark.parametrize(
    ("condition", "text", "says"),
    [
        ("USER_RAISED_EXCEPTION", 'x token:1:{"s": "", "a": null} y', "second"),
        ("USER_RAISED_EXCEPTION", 'token:1:{"s": ""}', "- s : "),
        ("USER_RAISED_EXCEPTION", 'token:0:{"a": "-1"}', "- a : -1"),
        ("USER_RAISED_EXCEPTION", 'token:0:{"a": "cut o', "first"),
        ("EXCEED_LIMIT_LENGTH", "Exceeds char/varchar type length limitation: 3.", "3"),
        ("USER_RAISED_EXCEPTION", "of the query: token", None),
        ("USER_RAISED_EXCEPTION", "other:0:{}", None),
        ("DIVIDE_BY_ZERO", "token:0:{}", None),
    ],
)
def test_a_failure_of_spark_is_the_error_of_its_check(condition: str, text: str, says: str | None) -> None:
    error = violation(checked(), TOKEN, failure(condition, text))
    assert (error is None) if says is None else says in str(error)


def test_copied_rows_skip_constraints() -> None:
    table_config = {"generations": {"g": "a + 1"}, "constraints": (Constraint(name="c", expression="a > 0"),)}
    remaining = CopiedColumns(flag="f", before={"a": "old_a", "g": "old_g"})
    columns = (column("g"), column("a"), column("b"))
    write = enforce_write(
        plan(*columns, table_config=table_config, insert_columns=("a", "b"), copied_columns=remaining, updates=True)
    )
    found = row_writing(write, TOKEN)
    names = [each["name"] for each in json.loads(found.columns)["fields"]]
    assert names == ["a", "b", "f", "old_a", "old_g"]
    _, generated, checked, raising, stored = found.steps
    assert texts(generated)["g"] == "CASE WHEN `f` THEN CAST((a + 1\n) AS int) END"
    assert texts(checked)["__check_0"].startswith("NOT `f` OR (")
    assert list(texts(raising)) == ["g", "a", "b", "f", "old_a", "old_g"]
    assert texts(stored) == {
        "g": "CASE WHEN `f` THEN `g` ELSE `old_g` END",
        "a": "CASE WHEN `f` THEN `a` ELSE `old_a` END",
        "b": "`b`",
    }
