"""INSERT after its query's clauses: WITH, FROM, and several FROMs."""

from __future__ import annotations

import pytest

from catalog.conditions import StatementSyntaxError
from engine.statements.insert.statement import Insert, MultiInsert
from engine.statements.parse import parse
from tests.engine.sql.places import place_of


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("FROM s INSERT INTO t SELECT a", "FROM s SELECT a"),
        ("with c as (select 1) from c insert overwrite t select *", "with c as (select 1) from c select *"),
        ("FROM s JOIN r USING (a) INSERT INTO t BY NAME SELECT a", "FROM s JOIN r USING (a) SELECT a"),
        ("WITH c AS (SELECT 1) INSERT INTO t FROM c", "WITH c AS (SELECT 1) FROM c"),
    ],
)
def test_the_clauses_in_front_belong_to_the_query(text: str, source: str) -> None:
    insert = parse(text)
    assert isinstance(insert, Insert)
    assert (insert.table_parts, " ".join(insert.source.text.split())) == (("t",), source)


def test_several_inserts_have_the_clauses_each() -> None:
    head = "WITH c AS (SELECT * FROM x) FROM c, y"
    statement = parse(f"{head}\nINSERT INTO a SELECT p -- 1\nINSERT OVERWRITE s.b SELECT q WHERE q > 1;")
    assert isinstance(statement, MultiInsert)
    found = [(each.table_parts, each.overwrite, " ".join(each.source.text.split())) for each in statement.inserts]
    assert found == [(("a",), False, f"{head} SELECT p"), (("s", "b"), True, f"{head} SELECT q WHERE q > 1")]
    for insert in statement.inserts:
        spans = [insert.source.text[each.span.start : each.span.end] for each in insert.source.relations]
        assert spans == ["x", "y"]


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("FROM s INSERT INTO a SELECT 1 INSERT INTO", 1, 42),
        ("FROM s\nINSERT INTO a SELECT 1\nINSERT INTO b SELECT 1 +", 3, 25),
        ("FROM s\nINSERT INTO a )\nINSERT INTO b SELECT 1", 2, 15),
    ],
)
def test_an_error_among_several_says_where(text: str, line: int, column: int) -> None:
    with pytest.raises(StatementSyntaxError) as refused:
        parse(text)
    assert place_of(refused.value) == (line, column)


def test_a_name_insert_is_a_name() -> None:
    assert not isinstance(parse("FROM t SELECT `insert`, (SELECT 1) AS x"), Insert | MultiInsert)
