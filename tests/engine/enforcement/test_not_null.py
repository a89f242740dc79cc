"""NOT NULL columns and fields, at any depth."""

from __future__ import annotations

import pytest

from engine.enforcement.not_null import enforce_not_null
from engine.tables.config import Capability
from engine.types.schema import ArrayType, DataType, MapType, StructType
from tests.engine.enforcement.write_plans import INT, STRING, column, plan

REQUIRED = StructType((column("x", nullable=False),))


@pytest.mark.parametrize(
    ("data_type", "checks"),
    [
        (INT, []),
        (StructType((column("x"),)), []),
        (REQUIRED, [("a.x", "`a`.`x` IS NOT NULL")]),
        (
            StructType((column("s", REQUIRED, nullable=False),)),
            [("a.s", "`a`.`s` IS NOT NULL"), ("a.s.x", "`a`.`s`.`x` IS NOT NULL")],
        ),
        (ArrayType(INT, True), []),
        (
            ArrayType(INT, False),
            [("a.element", "coalesce(forall(`a`, element_0 -> element_0 IS NOT NULL), true)")],
        ),
        (
            ArrayType(REQUIRED, True),
            [
                (
                    "a.element.x",
                    "coalesce(forall(`a`, element_0 -> element_0 IS NULL OR element_0.`x` IS NOT NULL), true)",
                )
            ],
        ),
        (
            MapType(STRING, INT, False),
            [("a.value", "coalesce(forall(map_values(`a`), element_0 -> element_0 IS NOT NULL), true)")],
        ),
        (
            ArrayType(ArrayType(INT, False), True),
            [
                (
                    "a.element.element",
                    "coalesce(forall(`a`, element_0 -> element_0 IS NULL OR "
                    "coalesce(forall(element_0, element_1 -> element_1 IS NOT NULL), true)), true)",
                )
            ],
        ),
    ],
    ids=str,
)
def test_checks_of_what_is_inside(data_type: DataType, checks: list[tuple[str, str]]) -> None:
    found = enforce_not_null(plan(column("a", data_type))).checks
    assert [check.text for check in found] == [text for _, text in checks]
    for check, (path, _) in zip(found, checks, strict=True):
        assert path in str(check.error({})) and check.error({}).condition == "DELTA_NOT_NULL_CONSTRAINT_VIOLATED"


@pytest.mark.parametrize(
    ("data_type", "checks"),
    [
        (REQUIRED, ["(`a` IS NULL OR `a`.`x` IS NOT NULL)"]),
        (
            StructType((column("s", REQUIRED, nullable=False),)),
            ["(`a` IS NULL OR `a`.`s` IS NOT NULL)", "(`a` IS NULL OR `a`.`s`.`x` IS NOT NULL)"],
        ),
        (StructType((column("s", REQUIRED),)), ["(`a` IS NULL OR (`a`.`s` IS NULL OR `a`.`s`.`x` IS NOT NULL))"]),
        (
            ArrayType(StructType((column("s", REQUIRED),)), False),
            [
                "coalesce(forall(`a`, element_0 -> element_0 IS NOT NULL), true)",
                "coalesce(forall(`a`, element_0 -> (element_0.`s` IS NULL OR element_0.`s`.`x` IS NOT NULL)), true)",
            ],
        ),
    ],
    ids=str,
)
def test_checks_of_what_is_inside_of_optional_parents(data_type: DataType, checks: list[str]) -> None:
    table_config = {"capabilities": (Capability.OPTIONAL_PARENTS,)}
    found = enforce_not_null(plan(column("a", data_type), table_config=table_config)).checks
    assert [check.text for check in found] == checks


def test_a_column_itself() -> None:
    (check,) = enforce_not_null(plan(column("a`b", nullable=False), column("c"))).checks
    assert check.text == "`a``b` IS NOT NULL"
