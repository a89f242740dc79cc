"""Comparisons of bounds with literals: neighbors of a literal between two values, NaN, and long lists."""

from __future__ import annotations

import math
import struct
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from engine.pruning.predicates import Literal, Operator
from engine.pruning.value_ranges import Bounds, BytesBounds, NumericBounds, Probe, floating_keys
from engine.types.schema import DataType, DecimalType, PrimitiveType

LONG, DOUBLE, FLOAT, STRING = PrimitiveType.LONG, PrimitiveType.DOUBLE, PrimitiveType.FLOAT, PrimitiveType.STRING
NAN_KEY = 2**63 - 1


def key(value: float) -> int:
    return int(floating_keys(np.array([value]))[0])


def test_keys_of_numbers_have_their_order() -> None:
    values = [-math.inf, -1.5, -5e-324, 0.0, 5e-324, 1.0, math.inf, math.nan]
    found = floating_keys(np.array(values)).tolist()
    assert found == sorted(set(found))
    assert (key(0.0), key(-0.0), key(5e-324), key(-5e-324), key(math.nan)) == (0, 0, 1, -2, NAN_KEY)
    assert key(1.0) == struct.unpack("<q", struct.pack("<d", 1.0))[0]


def numeric(data_type: DataType, minima: list[int], maxima: list[int], **more: Any) -> NumericBounds:
    fields: dict[str, Any] = {"low": np.array(minima), "high": np.array(maxima), "exact": False}
    return NumericBounds(data_type=data_type, **(fields | more))


@pytest.mark.parametrize(
    ("data_type", "value", "expected"),
    [
        (LONG, 5, Probe.at(5)),
        (LONG, Decimal("5.0"), Probe.at(5)),
        (LONG, Decimal("5.5"), Probe(below=6, at_most=5, above=5, at_or_above=6)),
        (LONG, Decimal("-5.5"), Probe(below=-5, at_most=-6, above=-6, at_or_above=-5)),
        (LONG, 5.0, None),
        (LONG, True, None),
        (LONG, "5", None),
        (LONG, b"5", None),
        (LONG, None, None),
        (DecimalType(9, 2), 5, Probe.at(500)),
        (DecimalType(9, 2), Decimal("1.255"), Probe(below=126, at_most=125, above=125, at_or_above=126)),
        (DOUBLE, 1.5, Probe.at(key(1.5))),
        (DOUBLE, Decimal("1.5"), Probe.at(key(1.5))),
        (DOUBLE, True, None),
        (DOUBLE, 2**53, Probe.at(key(2.0**53))),
        (DOUBLE, -(2**53), Probe.at(key(-(2.0**53)))),
        (DOUBLE, 2**53 + 1, None),
        (FLOAT, 2**24, Probe.at(key(2.0**24))),
        (FLOAT, 2**24 + 1, None),
        (FLOAT, -(2**24) - 1, None),
        (PrimitiveType.BOOLEAN, True, Probe.at(1)),
    ],
    ids=str,
)
def test_literal_is_compared_as_its_neighbors(data_type: DataType, value: Any, expected: Probe | None) -> None:
    literal = Literal(value, data_type if isinstance(value, bool) else LONG)
    assert numeric(data_type, [1], [5]).probe(literal) == expected


def test_literal_of_another_type_is_not_compared_with_times() -> None:
    assert numeric(PrimitiveType.DATE, [1], [5]).probe(Literal(3, PrimitiveType.TIMESTAMP)) is None
    assert numeric(PrimitiveType.DATE, [1], [5]).probe(Literal(3, PrimitiveType.DATE)) == Probe.at(3)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Decimal("0.5"), Probe.at(key(0.5))),
        (
            Decimal("0.1"),
            Probe(below=key(0.1) + 1, at_most=key(0.1) + 1, above=key(0.1) - 1, at_or_above=key(0.1) - 1),
        ),
        (10**300, None),
        (-(10**300), None),
        (10**300 - 1, Probe(key(1e300) + 1, key(1e300) + 1, key(1e300) - 1, key(1e300) - 1)),
        (2**1000, None),
        (2**990, Probe.at(key(2.0**990))),
    ],
    ids=str,
)
def test_literal_is_compared_with_approximate_bounds_as_doubles_around_it(
    value: int | Decimal, expected: Probe | None
) -> None:
    bounds = numeric(DecimalType(38, 2), [1], [5], approximate=True)
    assert bounds.probe(Literal(value, DecimalType(38, 2))) == expected


def doubles(low: list[float], high: list[float]) -> NumericBounds:
    highs = floating_keys(np.array(high))
    return numeric(DOUBLE, floating_keys(np.array(low)).tolist(), [NAN_KEY] * len(low), number_high=highs)


def texts(low: list[str | None] | None, high: list[str | None] | None, *, exact: bool = False) -> BytesBounds:
    lows, highs = (None if each is None else pa.array(each).cast(pa.binary()) for each in (low, high))
    return BytesBounds(data_type=STRING, low=lows, high=highs, exact=exact)


LONG_TEXT = "k" * 32
LISTS: list[tuple[Bounds, DataType, list[Any]]] = [
    (numeric(LONG, [1, 5, 9, 9], [5, 5, 1, 20]), LONG, [2, 3, 4, 7, 8]),
    (numeric(LONG, [1, 5, 9, 5], [5, 5, 1, 6], exact=True), LONG, [5]),
    (numeric(LONG, [1, 5], [1, 5]), LONG, [Decimal("4.5"), Decimal("1.5")]),
    (numeric(PrimitiveType.BYTE, [1, 5], [2, 5], low=np.array([1, 5], np.int8)), LONG, [300, -300, 127]),
    (numeric(DecimalType(20, 0), [1, 5], [2, 5], low=np.array([1, 5], object)), LONG, [2**70, 5]),
    (numeric(DecimalType(20, 0), [key(1.0)], [key(1.0)], approximate=True), DecimalType(20, 1), [Decimal("1.0")]),
    (doubles([1.0, 2.0, 3.0], [1.0, 4.0, math.inf]), DOUBLE, [2.0, 2.5]),
    (doubles([1.0, 2.0], [1.0, 4.0]), DOUBLE, [9.0, math.nan]),
    (numeric(DOUBLE, [key(1.0)], [key(1.0)], exact=True), DOUBLE, [math.nan]),
    (texts(["a", "c", "z", None], ["b", "c", "a", None]), STRING, ["b", "c", "d"]),
    (texts(["a", "c", "d"], ["a", "c", "d"], exact=True), STRING, ["c"]),
    (texts(["a", "a"], [LONG_TEXT, LONG_TEXT[1:]]), STRING, [LONG_TEXT + "z", LONG_TEXT[1:] + "z"]),
    (
        texts([LONG_TEXT, LONG_TEXT[1:]], [LONG_TEXT, LONG_TEXT[1:]], exact=True),
        STRING,
        [LONG_TEXT + "z", LONG_TEXT[1:] + "z"],
    ),
    (texts(None, ["b", "x"]), STRING, ["c", "d"]),
    (texts(["b", "x"], None), STRING, ["c", "d"]),
]


@pytest.mark.parametrize(("bounds", "data_type", "values"), LISTS)
def test_long_list_is_compared_as_its_literals_one_by_one(
    bounds: Bounds, data_type: DataType, values: list[Any]
) -> None:
    literals = [Literal(value, data_type) for value in values]
    each = bounds.among(literals)
    together = bounds.among(literals * 10)
    assert each is not None and together is not None
    assert (np.asarray(together.true) == np.asarray(each.true)).all()
    # A list may be less precise about values outside it, never wrong.
    assert (np.asarray(together.false) | ~np.asarray(each.false)).all()


@pytest.mark.parametrize(
    ("bounds", "data_type", "values", "some", "other"),
    [
        (numeric(LONG, [1, 5, 5, 7], [5, 5, 6, 9]), LONG, range(5, 15), [True] * 4, [True, False, True, True]),
        (numeric(LONG, [1, 16, 9], [4, 20, 2]), LONG, range(5, 15), [False] * 3, [True] * 3),
        (
            texts(["a", "c", "d"], ["a", "c", "d"], exact=True),
            STRING,
            "bcefghijk",
            [False, True, False],
            [True, False, True],
        ),
        (texts(["a", "c"], ["b", "c"]), STRING, "bcefghijk", [True, True], [True, True]),
        (texts(["a", "e", "l"], None), STRING, "bcefghijk", [True, True, False], True),
        (texts(None, ["a", "l"]), STRING, "bcefghijk", [False, True], True),
        (texts(None, ["b", "c"]), STRING, "cdefghijk", [False, True], True),
        (texts(["e", "a"], [None, "b"]), STRING, "bcdefghij", [True, True], [True, True]),
        (texts(["a", "c", None], ["b", None, "a"]), STRING, "defghijkl", [False, True, False], [True] * 3),
    ],
)
def test_values_among_many_literals_and_others(
    bounds: Bounds, data_type: DataType, values: Any, some: Any, other: Any
) -> None:
    answers = bounds.among([Literal(value, data_type) for value in values])
    assert answers is not None
    assert (answers.true.tolist(), answers.false.tolist()) == (some, other)


def test_list_with_a_literal_of_another_type_has_no_answer() -> None:
    assert numeric(LONG, [1], [5]).among([Literal(1, LONG), Literal(1.5, DOUBLE)]) is None


@pytest.mark.parametrize(
    ("prefix", "some", "other"),
    [
        (b"b", [True, True], [True, False]),
        (b"", True, False),
        (b"\xff", True, False),
        (b"bb", [True, True], [True, False]),
        (b"bc", [True, False], [True, True]),
        (b"a", [True, False], [True, True]),
    ],
)
def test_texts_with_a_prefix(prefix: bytes, some: Any, other: Any) -> None:
    answers = texts(["a", "bb"], ["c", "bb"]).starts_with(prefix)
    assert (answers.true.tolist(), answers.false.tolist()) == (some, other)


def test_prefix_before_the_last_byte_ends_at_the_next_byte() -> None:
    bounds = BytesBounds(
        data_type=STRING, low=pa.array([b"a\xff\xff", b"b"]), high=pa.array([b"a\xff\xff", b"b"]), exact=True
    )
    answers = bounds.starts_with(b"a\xff")
    assert (answers.true.tolist(), answers.false.tolist()) == ([True, False], [False, True])


@pytest.mark.parametrize("operator", Operator)
def test_text_without_bounds_satisfies_any_comparison(operator: Operator) -> None:
    answers = texts(None, None).compare(operator, Literal("b", STRING))
    assert answers is not None
    assert answers.true.all() and answers.false.all()


@pytest.mark.parametrize(("length", "expected"), [(31, [False, False]), (32, [False, True])])
def test_cut_maximum_may_be_the_beginning_of_a_greater_text(length: int, expected: list[bool]) -> None:
    highs: list[str | None] = ["a", "k" * length]
    bounds = texts(["a", "a"], highs)
    assert bounds.may_be_above(("k" * length + "z").encode()).tolist() == expected
    assert texts(["a", "a"], highs, exact=True).may_be_above(("k" * length + "z").encode()).tolist() == [False, False]


def test_only_beginnings_of_long_literals_are_compared() -> None:
    high = "k" * 1024
    assert texts(["a"], [high]).may_be_above((high + "z").encode()).tolist() == [True]
    assert texts(["a"], ["k" * 1023 + "a"]).may_be_at_or_above(("k" * 1023 + "b").encode()).tolist() == [False]
    assert texts(["a"], ["k" * 1100]).may_be_at_or_above(("k" * 1200).encode()).tolist() == [True]


def test_literal_of_another_type_is_not_compared_with_texts() -> None:
    bounds = texts(["a"], ["b"])
    assert bounds.probe(Literal(b"a", PrimitiveType.BINARY)) is None
    assert bounds.probe(Literal(None, STRING)) is None
    assert bounds.probe(Literal("é", STRING)) == "é".encode()
