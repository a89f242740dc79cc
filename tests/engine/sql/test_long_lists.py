"""A text with a long constant list is parsed like the same text with each constant parsed.

A leading comment disables the shortcut: nothing is combined after one.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from catalog.conditions import StatementHasTooManyTokens, StatementSyntaxError
from catalog.errors import SqlError
from engine.sql.dialect.constant_lists import CONSTANTS
from engine.sql.dialect.dialect import TOKENS_MAX, tokenize, tokenize_with_constants
from engine.sql.query.values import Query
from engine.statements.insert.statement import Insert
from engine.statements.parse import parse
from engine.statements.row_changes.statement import Delete, Update

NUMBERS = ", ".join(map(str, range(-1500, 1500)))
TEXTS = ", ".join(f"'it''s {number}, (\\'x\\')'" for number in range(1000))
MIXED = ", ".join(
    f"{number}L, {number}.5BD, -{number}e-3, NULL, true, X'0f', DATE '2024-01-01'" for number in range(300)
)
ROWS = ", ".join(f"({number}, 'a /* {number}', NULL, -1.5)" for number in range(1000))
CAST_ROWS = ",".join(
    f"(cast({number} as bigint), CAST('x' AS string), cast(1 as decimal(9, 2)))" for number in range(500)
)

SHORT = {
    "numbers": f"SELECT a.x FROM t a JOIN u ON a.id = u.id WHERE a.id IN ({NUMBERS}) AND u.k > 1",
    "lower case and lines": f"select x from t where id in\n(\n{NUMBERS}\n)\nand k = 1",
    "texts": f"SELECT x FROM t WHERE s NOT IN ({TEXTS}) OR t.s = 'IN ('",
    "mixed": f"SELECT x FROM t WHERE s IN ({MIXED})",
    "two lists": f"SELECT x FROM t WHERE s IN ({TEXTS}) AND x IN (SELECT id FROM u WHERE u.id IN ({NUMBERS}))",
    "VALUES in FROM": f"WITH c AS (SELECT 1) SELECT v.a FROM VALUES {ROWS} AS v(a, b, c, d), c",
    "VALUES in parentheses": f"SELECT v.a FROM (VALUES {ROWS}) AS v(a, b, c, d) JOIN t ON t.id = v.a",
    "VALUES": f"VALUES {ROWS}",
    "odd rows": f"SELECT * FROM VALUES {ROWS}, (1, upper('a'), t(1), NULL), {ROWS}, (2, f(1), 1, 1) AS v",
    "cast rows": f"SELECT * FROM VALUES {CAST_ROWS}",
    "pairs": f"SELECT x FROM t WHERE (a, b, c, d) IN ({ROWS})",
}
EACH = {
    "parameters": f"SELECT x FROM t WHERE id IN ({NUMBERS}, ?) AND s IN ({TEXTS}, :name)",
    "words": f"SELECT x FROM t WHERE id IN ({NUMBERS}, id, {NUMBERS})",
    "times of now": "SELECT x FROM t WHERE d IN (" + ", ".join(["DATE 'today'"] * 1000) + ")",
    "in a text": "SELECT 'x IN (" + NUMBERS + ")', `IN (" + NUMBERS + ")`",
    "in a raw text": f"SELECT r'\\', \"IN ({NUMBERS})\", r'IN ({NUMBERS})'",
    "in a comment": f"SELECT 1 -- IN ({NUMBERS})\n, 2",
}
WRITES = {
    "INSERT": f"INSERT INTO t VALUES {ROWS}",
    "INSERT with columns": f"INSERT INTO s.t (a, b, c, default_d) VALUES {ROWS}",
    "INSERT of a query": f"INSERT INTO t SELECT * FROM (VALUES {ROWS}) AS v(a, b, c, d)",
    "INSERT with DEFAULT": f"INSERT INTO t VALUES {ROWS}, (1, DEFAULT, 2, 3), {ROWS}, (DEFAULT, '', 1, 1)",
    "DELETE": f"DELETE FROM t AS a WHERE a.id IN ({NUMBERS}) AND k = ?",
    "UPDATE": f"UPDATE t SET x = CASE WHEN id IN ({NUMBERS}) THEN :new ELSE x END WHERE s IN ({TEXTS})",
}
WRONG = {
    "behind the list": f"SELECT x FROM t WHERE id IN ({NUMBERS}) AND AND",
    "unclosed": f"SELECT x FROM t WHERE id IN ({NUMBERS}",
    "a quote": f"SELECT x FROM t WHERE s IN ({TEXTS}, 'x)",
}


def read(text: str) -> Query | Insert | Delete | Update:
    statement = parse(text)
    assert isinstance(statement, Query | Insert | Delete | Update)
    return statement


def without_text(query: Query) -> Query:
    return replace(query, text="", metadata_query=None, needed=None)


@pytest.mark.parametrize("case", SHORT | EACH)
def test_queries_name_the_same(case: str) -> None:
    text = (SHORT | EACH)[case]
    ours, theirs = read("      " + text), read("/* */ " + text)
    assert isinstance(ours, Query) and isinstance(theirs, Query)
    assert without_text(ours) == without_text(theirs)
    assert ours.text == "      " + text


@pytest.mark.parametrize("case", WRITES)
def test_writes_are_the_same(case: str) -> None:
    text = WRITES[case]
    ours, theirs = read("      " + text), read("/* */ " + text)
    assert ours == theirs or isinstance(ours, Insert)
    if isinstance(ours, Insert) and isinstance(theirs, Insert):
        assert replace(ours, source=without_text(ours.source)) == replace(theirs, source=without_text(theirs.source))
        assert ours.source.text == theirs.source.text


@pytest.mark.parametrize("case", WRONG)
def test_errors_are_at_the_same_place(case: str) -> None:
    found = []
    for comment in ("      ", "/* */ "):
        with pytest.raises(SqlError) as caught:
            read(comment + WRONG[case])
        found.append(str(caught.value).replace("/* */ ", "      "))
    assert found[0] == found[1]


@pytest.mark.parametrize("case", SHORT | EACH)
def test_a_long_list_is_one_token(case: str) -> None:
    text = (SHORT | EACH)[case]
    each, taken = tokenize_with_constants(text), tokenize(text)
    assert (len(taken) < 100) is (case in SHORT or len(each) < 100)
    lists = [token for token in taken if token.token_type is CONSTANTS]
    assert bool(lists) is (case in SHORT)
    assert all(text[token.start : token.end + 1] == token.text for token in lists)


def test_values_of_long_lists_count_as_tokens() -> None:
    most = ", ".join(["7"] * (TOKENS_MAX // 2))
    with pytest.raises(StatementHasTooManyTokens):
        read(f"SELECT x FROM t WHERE id IN ({most})")
    read(f"SELECT x FROM t WHERE id IN ({most[: len(most) // 2]})")


def test_invalid_value_in_a_long_list_fails_in_linear_time() -> None:
    """The row pattern does not restart at each value."""
    with pytest.raises(StatementSyntaxError):
        read(f"SELECT x FROM t WHERE id IN ({', '.join([ROWS] * 5)} (1, 2, oops")
