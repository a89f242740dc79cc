"""The RETURNING clause: its place, its columns, and other uses of the word."""

from __future__ import annotations

import pytest

from catalog.conditions import PostgresFeatureNotSupported
from engine.runtime.request import SqlDialect
from gateway.postgres.statements import SentStatement, TextSettings, read_statement


def read(text: str, dialect: SqlDialect = SqlDialect.SPARK) -> SentStatement:
    return read_statement(text, text, 0, {}, TextSettings(dialect))


COLUMNS = [
    ("INSERT INTO t (a) VALUES (1) RETURNING id", "SELECT `id` AS `id` FROM t"),
    ("INSERT INTO t VALUES ('x') RETURNING *;", "SELECT * FROM t"),
    ('insert into "s"."T" (a) values ($1) returning "T".id, a AS b, "C"', "`id` AS `id`, `a` AS `b`, `C` AS `C`"),
    ("INSERT INTO t (a) SELECT returning FROM s RETURNING t.id x /* last */", "SELECT `id` AS `x` FROM t"),
    ("/* a */ INSERT INTO t VALUES ('RETURNING x') RETURNING -- y\n id", "SELECT `id` AS `id` FROM t"),
    ("INSERT INTO t DEFAULT VALUES RETURNING id", "SELECT `id` AS `id` FROM t"),
]


@pytest.mark.parametrize(("text", "query"), COLUMNS)
def test_clause_is_separated_from_the_insert(text: str, query: str) -> None:
    statement = read(text)
    assert statement.returning is not None and query in statement.returning.columns_query
    assert not statement.text.rstrip().lower().endswith(("id", "*", "x"))


def test_rows_are_those_of_the_version() -> None:
    returning = read("INSERT INTO `it's`.t VALUES (1) RETURNING *, id").returning
    assert returning is not None
    assert returning.rows_query(7) == (
        "SELECT * EXCEPT (`_change_type`, `_commit_version`, `_commit_timestamp`), `id` AS `id` "
        "FROM table_changes('`it\\'s`.t', 7, 7)"
    )


def test_labels_without_quotes_are_lower_case_in_postgresqls_dialect() -> None:
    returning = read('INSERT INTO t VALUES (1) RETURNING ID, "Id", a AS B', SqlDialect.POSTGRES).returning
    assert returning is not None and returning.columns == (("`ID`", "`id`"), ("`Id`", "`Id`"), ("`a`", "`b`"))


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO t (returning) VALUES (1)",
        "INSERT INTO t SELECT a, returning FROM s",
        "INSERT INTO t SELECT a returning FROM s",
        "INSERT INTO returning VALUES (1)",
        "UPDATE t SET a = 1 WHERE b = returning",
        "UPDATE t SET returning = 1",
        "DELETE FROM t WHERE returning",
        "SELECT 'x RETURNING y'",
    ],
)
def test_name_is_no_clause(text: str) -> None:
    statement = read(text)
    assert statement.returning is None and statement.source == text


REJECTED = [
    ("INSERT INTO t REPLACE WHERE a = 1 VALUES (1) RETURNING *", "REPLACE", "RETURNING *"),
    ("INSERT INTO t REPLACE USING (a) VALUES (1) RETURNING a", "REPLACE", "RETURNING a"),
    ("UPDATE t SET a = 1 RETURNING a", "RETURNING in UPDATE", "RETURNING a"),
    ("DELETE FROM t WHERE a > 1 RETURNING *", "RETURNING in DELETE", "RETURNING *"),
    ("INSERT INTO t VALUES (1) RETURNING id, id + 1", "An expression in RETURNING", " id + 1"),
    ("INSERT INTO t VALUES (1) RETURNING lower(a)", "An expression in RETURNING", " lower(a)"),
]


@pytest.mark.parametrize("dialect", list(SqlDialect))
@pytest.mark.parametrize(("text", "feature", "rest"), REJECTED)
def test_other_clauses_are_rejected_with_their_position(
    text: str, feature: str, rest: str, dialect: SqlDialect
) -> None:
    with pytest.raises(PostgresFeatureNotSupported, match=feature) as raised:
        read(text, dialect)
    assert raised.value.position is not None and raised.value.sqlstate == "0A000" and raised.value.hint
    assert text[raised.value.position.column - 1 :] == rest
