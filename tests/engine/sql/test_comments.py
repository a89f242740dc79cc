"""Comments that Spark reads differently from sqlglot: they nest, and a backslash continues a line."""

from __future__ import annotations

import pytest

from catalog.conditions import StatementSyntaxError
from engine.sql.query.values import Query
from engine.statements.parse import parse
from tests.engine.sql.places import place_of


@pytest.mark.parametrize(
    "text",
    [
        "/*/**/*/ select 1 from t",
        "/* a /* b */ from x */ select 1 from t",
        "select 1 /* /* /* */ */ , (select 1 from x) */ from t",
        "select 1 -- from x \\\n from y\n from t",
        "select 1 -- from x \\\r\n from y\r\n from t",
        "select /*+ broadcast(t) */ 1 /* /**/ */ from t",
        "select '/* /*', \"/*\", r'\\', `/*` from t",
        "select '\\'/* /*' from t",
        "select 1 from /* /*+ hint */ t",
        "select 1 from -- '/* /*\n t",
    ],
)
def test_comments_are_sparks(text: str) -> None:
    query = parse(text)
    assert isinstance(query, Query)
    assert [text[each.span.start : each.span.end] for each in query.relations] == ["t"]
    assert query.text == text


@pytest.mark.parametrize(
    ("text", "column"),
    [("select 1 /* a", 10), ("select 1 /* /* a */", 10), ("/*/**/ select 1", 1), ("select '/*' /* '", 13)],
)
def test_a_comment_without_an_end_is_shown(text: str, column: int) -> None:
    with pytest.raises(StatementSyntaxError, match="a comment is not closed") as refused:
        parse(text)
    assert place_of(refused.value)[1] == column
