"""Syntax error positions, and the text that they show."""

from __future__ import annotations

import pytest

from catalog.conditions import StatementSyntaxError
from engine.statements.parse import parse
from tests.engine.sql.places import excerpt_of, place_of


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("selec 1", 1, 1),
        ("select 1 +", 1, 11),
        ("select a b c from t", 1, 12),
        ("select *\nfrom t where\n  x y", 3, 5),
        ("select * from t t2 t3", 1, 20),
        ("select * from", 1, 14),
        ("select (1", 1, 10),
        ("/* a\nb */ select 1 1", 2, 15),
        ("show", 1, 5),
        ("show tables in", 1, 15),
        ("show tables like x", 1, 18),
        ("describe t.", 1, 12),
        ("use a b", 1, 7),
        ("use 'a'", 1, 5),
        ("explain", 1, 8),
        ("explain plan for select 1", 1, 9),
        ("explain select 1 +", 1, 19),
        ("\texplain\n extended select from where", 2, 18),
        ("describe history t limit x", 1, 26),
        ("select * from 't'", 1, 15),
        ("select * from :t", 1, 15),
        ("select * from t@x", 1, 17),
        ("select * from t@", 1, 17),
        ("select * from t version as of x", 1, 31),
        ("select @a", 1, 8),
        ("select {x}", 1, 8),
        ("größe 😀", 1, 1),
        ("select 'größe 😀' from t u v", 1, 27),
    ],
)
def test_a_syntax_error_says_where(text: str, line: int, column: int) -> None:
    with pytest.raises(StatementSyntaxError) as caught:
        parse(text)
    assert place_of(caught.value) == (line, column)


def test_syntax_error_shows_line_and_caret() -> None:
    with pytest.raises(StatementSyntaxError) as caught:
        parse("select *\n\tfrom t u v\nwhere x")
    assert str(caught.value) == (
        "[PARSE_SYNTAX_ERROR] Syntax error: v is not expected here (line 2, column 11). SQLSTATE: 42601\n"
        "\tfrom t u v\n\t         ^"
    )


@pytest.mark.parametrize("text", ["select a from where b", "select a from t join where b"])
def test_missing_table_name_shows_the_word_in_its_place(text: str) -> None:
    with pytest.raises(StatementSyntaxError, match="Syntax error: a name is expected instead of where ") as caught:
        parse(text)
    assert place_of(caught.value) == (1, text.index("where") + 1)


def test_a_long_line_is_shown_around_the_place() -> None:
    with pytest.raises(StatementSyntaxError) as caught:
        parse(f"select {'a, ' * 500} 1 2 {', b' * 500}")
    shown, mark = excerpt_of(caught.value).split("\n")
    assert shown[mark.index("^")] == "2"
    assert len(shown) <= 120


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("select 'a", 1, 8),
        ("select 'it', `a b", 1, 14),
        ('select 1,\n  "a \\" b', 2, 3),
        ("select r'a", 1, 8),
        ("select 1, x'GG'", 1, 11),
    ],
)
def test_a_literal_that_is_not_closed_is_shown(text: str, line: int, column: int) -> None:
    with pytest.raises(StatementSyntaxError) as caught:
        parse(text)
    assert place_of(caught.value) == (line, column)
