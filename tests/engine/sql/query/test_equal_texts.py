"""Texts that are equal to Spark."""

from __future__ import annotations

import pytest

from engine.sql.query.equal_texts import without_comments

SAME = (
    ("SELECT  a,\n\tb FROM t", "SELECT a, b FROM t"),
    ("SELECT a, b FROM t -- of ann", "SELECT a, b FROM t"),
    ("/* user 7 */ SELECT a, b /* x /* y */ */ FROM t", "SELECT a, b FROM t"),
    ("-- one\n-- two\nSELECT a, b FROM t ", "SELECT a, b FROM t"),
    ("SELECT 'it''s -- x' , b", "SELECT 'it''s -- x' , b"),
)
DIFFERENT = (
    ("SELECT 'a b'", "SELECT 'a  b'"),
    ("SELECT `a b`", "SELECT `a  b`"),
    ("SELECT 8 >> 1", "SELECT 8 > > 1"),
    ("SELECT 1 - -1", "SELECT 1 --1"),
    ("SELECT /*+ BROADCAST(t) */ a FROM t", "SELECT a FROM t"),
    ("SELECT 'a' 'b'", "SELECT 'a''b'"),
    ("SELECT a b", "SELECT ab"),
    ("SELECT 'x' -- '", "SELECT 'y' -- '"),
    ("SELECT a AS b", "SELECT A AS b"),
    ("SELECT r'\\n'", "SELECT '\\n'"),
    ("SELECT 'unclosed -- a", "SELECT 'unclosed -- b"),
)


@pytest.mark.parametrize(("one", "other"), SAME)
def test_comments_and_white_space_do_not_count(one: str, other: str) -> None:
    assert without_comments(one) == without_comments(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_texts_that_spark_may_read_differently_differ(one: str, other: str) -> None:
    assert without_comments(one) != without_comments(other)
