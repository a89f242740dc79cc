"""Value lists that are read without Spark, and their values."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from decimal import Decimal

import pytest

from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.dialect import parse_query_tree, tokenize
from engine.sql.query.plain_values import PlainValue, plain_rows
from engine.sql.query.query import parse_query
from engine.sql.query.scopes import read_names

PLAIN: dict[str, tuple[tuple[PlainValue, ...], ...]] = {
    "VALUES (1)": ((1,),),
    " values\n( 1 ,\t-2),(3,4)": ((1, -2), (3, 4)),
    "VALUES (1, -2),\n (3, - 4)  ": ((1, -2), (3, -4)),
    "VALUES(NULL, true, False, null)": ((None, True, False, None),),
    "VALUES ('a', '', 'it is, (not) a \"list\"')": (("a", "", 'it is, (not) a "list"'),),
    "VALUES ('zwei\nZeilen ü\U0001f600')": (("zwei\nZeilen ü\U0001f600",),),
    "VALUES (1.50, .5, 5., -0.0)": ((Decimal("1.50"), Decimal("0.5"), Decimal(5), Decimal("-0.0")),),
    "VALUES (1e3, 1.5E-2, -.5e1)": ((1000.0, 0.015, -5.0),),
    "VALUES (DATE'2024-02-29', date '1999-12-31')": ((date(2024, 2, 29), date(1999, 12, 31)),),
    "VALUES (007, 9223372036854775808)": ((7, 9223372036854775808),),
}

NOT_PLAIN = (
    "SELECT 1",
    "VALUES",
    "VALUES ()",
    "VALUES 1, 2",
    "VALUES (1), 2",
    "VALUES (1), (2, 3)",
    "VALUES (1) AS v(a)",
    "VALUES (1);",
    "VALUES (1),",
    "VALUES (1,)",
    "VALUES (1 2)",
    "VALUES (1 + 1)",
    "VALUES ((1))",
    "VALUES (?)",
    "VALUES (:a)",
    "VALUES (1 /* one */)",
    "VALUES (1) -- one",
    "VALUES (1L)",
    "VALUES (1.5BD)",
    "VALUES (1D)",
    "VALUES (1e3f)",
    "VALUES (0x1F)",
    "VALUES (1_000)",
    "VALUES (--1)",
    "VALUES (+1)",
    "VALUES (DEFAULT)",
    "VALUES (current_date())",
    "VALUES (r'a')",
    'VALUES ("a")',
    "VALUES ('a''b')",
    "VALUES ('a' 'b')",
    "VALUES ('a\\n')",
    "VALUES ('a",
    "VALUES (X'00')",
    "VALUES (DATE'2024-2-9')",
    "VALUES (DATE'2023-02-29')",
    "VALUES (DATE'today')",
    "VALUES (TIMESTAMP'2024-01-01 00:00:00')",
    "VALUES (nulls)",
    "VALUES (truetrue)",
    "VALUES (1) UNION ALL VALUES (2)",
    "VALUES (fal\u017fe)",
    "VALUE\u017f (1)",
    "VALUES (1\u00a0)",
    "VALUES\f(1)",
    f"VALUES ({'9' * 5000})",
    f"VALUES ('{'a' * 2_000_000}')",
)


@pytest.mark.parametrize("text", PLAIN)
def test_plain_rows(text: str) -> None:
    found = plain_rows(text)
    assert found is not None and found == PLAIN[text]
    kinds = [[type(value) for value in row] for row in found]
    assert kinds == [[type(value) for value in row] for row in PLAIN[text]]


@pytest.mark.parametrize("text", NOT_PLAIN)
def test_everything_else_is_left_to_spark(text: str) -> None:
    assert plain_rows(text) is None


@pytest.mark.parametrize("text", PLAIN)
def test_plain_rows_are_the_same_query_as_their_tree(text: str) -> None:
    tokens = tokenize(text)
    from_tree = read_names(parse_query_tree(tokens, text), text, tokens)
    assert parse_query(Cursor(text, tokenize(text))) == replace(from_tree, text=text.rstrip())
