"""Generation expressions that preserve an order."""

from __future__ import annotations

import pytest

from engine.pruning.generation_expressions import (
    Beginning,
    DateOf,
    FormattedDate,
    GenerationExpression,
    Part,
    PartOf,
    SameAs,
    TruncatedDate,
    TruncatedTimestamp,
    TruncationUnit,
)
from engine.sql.generation import parse_generation

KNOWN: tuple[tuple[str, GenerationExpression], ...] = (
    ("c", SameAs(("c",))),
    ("(`odd name`)", SameAs(("odd name",))),
    ("a.b", SameAs(("a", "b"))),
    ("CAST(ts AS DATE)", DateOf(("ts",))),
    ("ts::date", DateOf(("ts",))),
    ("to_date(a.ts)", DateOf(("a", "ts"))),
    ("DATE(ts)", DateOf(("ts",))),
    ("YEAR(ts)", PartOf(Part.YEAR, ("ts",))),
    ("month(CAST(ts AS DATE))", PartOf(Part.MONTH, ("ts",))),
    ("dayofmonth(ts)", PartOf(Part.DAY, ("ts",))),
    ("day(ts)", PartOf(Part.DAY, ("ts",))),
    ("hour(ts)", PartOf(Part.HOUR, ("ts",))),
    ("date_format(ts, 'yyyy-MM')", FormattedDate(("ts",), "yyyy-MM")),
    ("trunc(d, 'mm')", TruncatedDate(("d",), TruncationUnit.MONTH)),
    ("date_trunc('week', ts)", TruncatedTimestamp(("ts",), TruncationUnit.WEEK)),
    ("substring(s, 1, 4)", Beginning(("s",), 4)),
    ("substr(s, 0, 4)", Beginning(("s",), 4)),
    ("left(s, 2)", Beginning(("s",), 2)),
)
UNKNOWN = (
    "a + 1",
    "substring(s, 2, 4)",
    "substring(s, 1)",
    "left(s, n)",
    "left(s, -1)",
    "hour(CAST(ts AS DATE))",
    "year(a + 1)",
    "TRY_CAST(ts AS DATE)",
    "CAST(ts AS TIMESTAMP)",
    "CAST(a + 1 AS DATE)",
    "to_date(s, 'yyyy')",
    "trunc(d, 'nonsense')",
    "date_trunc(unit, ts)",
    "c AS d",
    "a, b",
    "1",
    "",
    "(",
    "SELECT 1",
)


@pytest.mark.parametrize(("text", "expression"), KNOWN, ids=[text for text, _ in KNOWN])
def test_expressions_that_keep_an_order(text: str, expression: GenerationExpression) -> None:
    assert parse_generation(text) == expression


@pytest.mark.parametrize("text", UNKNOWN)
def test_of_others_nothing_is_known(text: str) -> None:
    assert parse_generation(text) is None
