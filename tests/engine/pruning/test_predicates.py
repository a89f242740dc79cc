"""Predicates as values: literals, references, decomposition."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from decimal import Decimal
from functools import reduce

import pytest

from engine.pruning.predicates import (
    ALWAYS,
    And,
    Cast,
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
    all_of,
    any_of,
    columns_of,
    compare,
    conjunction,
    conjuncts,
    push_down_not,
)
from engine.types.schema import DataType, DecimalType, PrimitiveType

A, B = compare("a", "=", 1), compare("b", "<", "x")
TOKYO = datetime.timezone(datetime.timedelta(hours=9))


@pytest.mark.parametrize(
    ("value", "stored", "data_type"),
    [
        (None, None, PrimitiveType.VOID),
        (True, True, PrimitiveType.BOOLEAN),
        (2**70, 2**70, PrimitiveType.LONG),
        (0.5, 0.5, PrimitiveType.DOUBLE),
        (Decimal("12.50"), Decimal("12.50"), DecimalType(4, 2)),
        (Decimal("0.001"), Decimal("0.001"), DecimalType(3, 3)),
        (Decimal("1e3"), Decimal("1e3"), DecimalType(4, 0)),
        ("é", "é", PrimitiveType.STRING),
        (b"\xff", b"\xff", PrimitiveType.BINARY),
        (datetime.date(1970, 1, 2), 1, PrimitiveType.DATE),
        (datetime.date(1, 1, 1), -719162, PrimitiveType.DATE),
        (datetime.datetime(1970, 1, 1, 0, 0, 1, 5), 1_000_005, PrimitiveType.TIMESTAMP_NTZ),
        (datetime.datetime(1970, 1, 1, 9, tzinfo=TOKYO), 0, PrimitiveType.TIMESTAMP),
        (datetime.datetime(1969, 12, 31, 23, 59, 59, 999_999), -1, PrimitiveType.TIMESTAMP_NTZ),
    ],
)
def test_literals_of_python_values(value: object, stored: object, data_type: DataType) -> None:
    literal = Literal.of(value)  # type: ignore[arg-type]
    assert (literal.value, literal.type) == (stored, data_type)


def test_a_decimal_that_is_no_number_is_no_literal() -> None:
    with pytest.raises(ValueError, match="no number"):
        Literal.of(Decimal("NaN"))


@pytest.mark.parametrize(
    ("predicate", "parts"),
    [
        (A, [A]),
        (And((A, And((B, ALWAYS)))), [A, B]),
        (Or((A, B)), [Or((A, B))]),
        (ALWAYS, []),
        (And(()), []),
        (Constant(None), [Constant(None)]),
    ],
)
def test_conjuncts(predicate: Predicate, parts: list[Predicate]) -> None:
    assert list(conjuncts(predicate)) == parts
    assert list(conjuncts(conjunction(tuple(parts)))) == parts


@pytest.mark.parametrize(
    ("predicate", "columns"),
    [
        (A, {("a",)}),
        (Compare(Operator.EQUAL, Cast(Column(("s", "x")), PrimitiveType.DATE), Literal.of(1)), {("s", "x")}),
        (Or((A, Not(In(Column(("c",)), ())), IsNull(Column(("d",))))), {("a",), ("c",), ("d",)}),
        (And((IsNotNull(Column(("d",))), StartsWith(Column(("e",)), "x"))), {("d",), ("e",)}),
        (Constant(True), set()),
        (And((A, Unknown())), None),
        (And((A, Unknown("f(z)", frozenset([("z",)])))), {("a",), ("z",)}),
    ],
)
def test_columns_of(predicate: Predicate, columns: set[tuple[str, ...]] | None) -> None:
    assert columns_of(predicate) == columns


@pytest.mark.parametrize(
    ("predicate", "pushed"),
    [
        (Not(A), compare("a", "!=", 1)),
        (Not(Not(A)), A),
        (Not(And((A, B))), Or((compare("a", "!=", 1), compare("b", ">=", "x")))),
        (Not(Or((Not(A), IsNull(Column(("c",)))))), And((A, IsNotNull(Column(("c",)))))),
        (Not(compare("a", "<=>", 1)), Not(compare("a", "<=>", 1))),
        (Not(Unknown("x")), Not(Unknown("x"))),
        (Not(Constant(None)), Constant(None)),
        (Not(Constant(True)), Constant(False)),
    ],
)
def test_not_is_pushed_to_the_leaves(predicate: Predicate, pushed: Predicate) -> None:
    assert push_down_not(predicate) == pushed


PARTS: tuple[Predicate, ...] = tuple(compare("id", "=", number) for number in range(5))


@pytest.mark.parametrize(("join", "kind"), [(all_of, And), (any_of, Or)], ids=["and", "or"])
def test_nested_chain_is_flattened(join: Callable[[Predicate, Predicate], Predicate], kind: type[And | Or]) -> None:
    from_left = reduce(join, PARTS)
    from_right = reduce(lambda right, left: join(left, right), reversed(PARTS))
    assert from_left == from_right == kind(PARTS)


def test_operators_are_not_mixed() -> None:
    both = all_of(PARTS[0], PARTS[1])
    assert any_of(both, PARTS[2]) == Or((both, PARTS[2]))
