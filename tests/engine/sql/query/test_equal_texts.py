"""Texts that are equal to Spark, and literals that mean the current time."""

from __future__ import annotations

import pytest

from engine.sql.query.equal_texts import has_literal_of_now, without_comments

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
OF_NOW = (
    "SELECT DATE 'today'",
    "SELECT date'Tomorrow CET'",
    'SELECT TIMESTAMP "now"',
    "SELECT timestamp_ntz ' yesterday '",
    "SELECT TIMESTAMP_LTZ /* x */ 'now'",
    "SELECT TIME -- x\n 'now'",
    "SELECT DATE r'today'",
    r"SELECT DATE 'to\u0064ay'",
    "SELECT DATE 'unclosed",
    "SELECT DATE '\x01today'",
    "SELECT DATE '\x00\x1f today'",
)
NOT_OF_NOW = (
    "SELECT DATE '2026-01-01', 'today', now FROM date",
    "SELECT date, 'now' FROM t",
    "SELECT TIMESTAMP 'epoch'",
    "SELECT 'DATE ''today'''",
    r"SELECT '\n' FROM t",
    "SELECT a -- DATE 'today'\n FROM t",
)


@pytest.mark.parametrize(("one", "other"), SAME)
def test_comments_and_white_space_do_not_count(one: str, other: str) -> None:
    assert without_comments(one) == without_comments(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_texts_that_spark_may_read_differently_differ(one: str, other: str) -> None:
    assert without_comments(one) != without_comments(other)


@pytest.mark.parametrize("text", OF_NOW)
def test_a_literal_may_mean_the_time(text: str) -> None:
    assert has_literal_of_now(text)


@pytest.mark.parametrize("text", NOT_OF_NOW)
def test_other_texts_mean_no_time(text: str) -> None:
    assert not has_literal_of_now(text)
