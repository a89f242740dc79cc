"""Literals in the types of compared columns, if Spark would compare the same two values."""

from __future__ import annotations

from typing import Any

import pytest

from engine.planning.reads.answer_conditions import typed_condition
from engine.pruning.metadata_answers import NoAnswer
from engine.pruning.predicates import (
    And,
    Column,
    Compare,
    Constant,
    In,
    IsNotNull,
    IsNull,
    Literal,
    Not,
    Operator,
    Or,
    Predicate,
    StartsWith,
    Unknown,
)
from engine.pruning.table_columns import CHAR_VARCHAR_TYPE, TableColumns
from engine.types.schema import DataType, DecimalType, PrimitiveType, StructField, StructType

BYTE, LONG, DATE = PrimitiveType.BYTE, PrimitiveType.LONG, PrimitiveType.DATE
STRING, DOUBLE = PrimitiveType.STRING, PrimitiveType.DOUBLE
COLUMNS = TableColumns(
    schema=StructType(
        (
            StructField("b", BYTE),
            StructField("l", LONG),
            StructField("d", DATE),
            StructField("s", STRING),
            StructField("x", DOUBLE),
            StructField("m", DecimalType(9, 2)),
            StructField("c", STRING, metadata={CHAR_VARCHAR_TYPE: "char(3)"}),
        )
    )
)


def compare(name: str, value: Any, operator: Operator = Operator.LESS) -> Compare:
    return Compare(operator, Column((name,)), Literal.of(value))


TYPED: list[tuple[str, Any, tuple[Any, DataType] | None]] = [
    ("b", 127, (127, BYTE)),
    ("b", -128, (-128, BYTE)),
    ("b", 128, None),
    ("b", -129, None),
    ("l", 2**63 - 1, (2**63 - 1, LONG)),
    ("l", "1", None),
    ("s", "x", ("x", STRING)),
    ("s", 1, None),
    ("d", "2024-01-02", (19724, DATE)),
    ("d", "2024-1-2", None),
    ("d", "soon", None),
    ("x", 1, None),
    ("m", 1, None),
    ("c", "abc", None),
    ("nope", 1, None),
]


@pytest.mark.parametrize(("name", "value", "typed"), TYPED)
def test_comparison_is_typed_or_cannot_be_answered(name: str, value: Any, typed: tuple[Any, DataType] | None) -> None:
    found = typed_condition(compare(name, value), COLUMNS)
    if typed is None:
        assert isinstance(found, NoAnswer)
        listed = In(Column((name,)), (Literal.of(value),))
        assert isinstance(typed_condition(listed, COLUMNS), NoAnswer)
    else:
        assert found == Compare(Operator.LESS, Column((name,)), Literal(*typed))


ONE, TYPED_ONE = compare("b", 1), Compare(Operator.LESS, Column(("b",)), Literal(1, BYTE))
BAD = compare("b", 1000)
JOINED: list[tuple[Predicate, Predicate | None]] = [
    (And((ONE, ONE)), And((TYPED_ONE, TYPED_ONE))),
    (Or((ONE, ONE)), Or((TYPED_ONE, TYPED_ONE))),
    (Not(ONE), Not(TYPED_ONE)),
    (In(Column(("b",)), (Literal.of(1), Literal.of(2))), In(Column(("b",)), (Literal(1, BYTE), Literal(2, BYTE)))),
    (And((ONE, BAD)), None),
    (Or((BAD, ONE)), None),
    (Not(BAD), None),
    (In(Column(("b",)), (Literal.of(1), Literal.of(1000))), None),
    (IsNull(Column(("c",))), IsNull(Column(("c",)))),
    (IsNotNull(Column(("b",))), IsNotNull(Column(("b",)))),
    (IsNull(Column(("nope",))), None),
    (Constant(True), None),
    (StartsWith(Column(("s",)), "x"), None),
    (Unknown(), None),
]


@pytest.mark.parametrize(("condition", "typed"), JOINED, ids=[str(case[0]) for case in JOINED])
def test_all_of_a_condition_or_nothing(condition: Predicate, typed: Predicate | None) -> None:
    found = typed_condition(condition, COLUMNS)
    assert isinstance(found, NoAnswer) if typed is None else found == typed


def test_the_reason_names_the_column() -> None:
    found = typed_condition(And((ONE, compare("l", "1"))), COLUMNS)
    assert isinstance(found, NoAnswer) and found.reason == "l is compared with a value of another type"
