"""Suggestions for an unknown word or type, with its position."""

from __future__ import annotations

import pytest

from catalog.conditions import StatementSyntaxError
from engine.statements.parse import parse
from tests.engine.sql.places import place_of

MISTYPED = [
    ("SELEC 1", 1, "SELECT"),
    ("DESCRIB t", 1, "DESCRIBE"),
    ("INSRT INTO t VALUES (1)", 1, "INSERT"),
    ("EXPLAIN SELEC 1", 9, "SELECT"),
    ("CREATE TABEL t (a INT)", 8, "TABLE"),
    ("CREATE OR REPLCE TABLE t (a INT)", 11, "REPLACE"),
    ("DROP VEIW v", 6, "VIEW"),
    ("ALTER TABEL t ADD COLUMN x INT", 7, "TABLE"),
    ("ALTER TABLE t ADD COLUM x INT", 19, "COLUMN"),
    ("ALTER TABLE t RENAM COLUMN a TO b", 15, "RENAME"),
    ("ALTER TABLE t DROP CONSTRAIN c", 20, "CONSTRAINT"),
    ("ALTER TABLE t SET TBLPROPERTES ('a' = 'b')", 19, "TBLPROPERTIES"),
    ("SHOW TABELS", 6, "TABLES"),
    ("COMMENT ON TABEL t IS 'x'", 12, "TABLE"),
    ("TRUNCATE TABEL t", 10, "TABLE"),
    ("CREATE TABLE t (a INT) PARTITIOND BY (a)", 24, "PARTITIONED"),
    ("CREATE TABLE t (a INTEGERR)", 19, "INTEGER"),
    ("CREATE TABLE t (a DECIML(10, 2))", 19, "DECIMAL"),
    ("CREATE TABLE t (a MAP<STRNG, INT>)", 23, "STRING"),
    ("CREATE TABLE t (a STRUCT<`b c`: ARRAY< INTT >>)", 40, "INT"),
    ("ALTER TABLE t ADD COLUMNS (x INT, y STRIN COMMENT 'c')", 37, "STRING"),
    ("ALTER TABLE t ALTER COLUMN a TYPE BIGINTT", 35, "BIGINT"),
    ("SELECT CAST(1 AS INTT)", 18, "INT"),
    ("SELECT 1::DOUBL", 11, "DOUBLE"),
    ("SELECT * FORM t", 15, "FROM"),
    ("SELECT a FROM t WERE a = 1", 22, "WHERE"),
]


@pytest.mark.parametrize(("text", "column", "meant"), MISTYPED)
def test_a_mistyped_word_is_shown_with_what_was_meant(text: str, column: int, meant: str) -> None:
    with pytest.raises(StatementSyntaxError, match=f"did you mean {meant}") as refused:
        parse(text)
    assert place_of(refused.value) == (1, column)


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("FOO 1", 1),
        ("CREATE", 7),
        ("CREATE OR", 10),
        ("CREATE FOO x", 8),
        ("SHOW FOO", 6),
        ("ALTER TABLE t ADD", 18),
        ("ALTER TABLE t FOO BAR", 15),
        ("CREATE TABLE t (a INT NOT NUL)", 23),
        ("CREATE TABLE t (a XYZ)", 19),
        ("CREATE TABLE t (a|b STRING)", 18),
    ],
)
def test_where_nothing_is_near_the_place_is_shown(text: str, column: int) -> None:
    with pytest.raises(StatementSyntaxError) as refused:
        parse(text)
    assert place_of(refused.value)[1] == column and "did you mean" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("SELECT 1\0", 1, 9),
        ("SELECT *\nFROM `a\0b`", 2, 8),
        ("SELECT '\0'", 1, 9),
        ("DROP TABLE a\0b", 1, 13),
        ("SET x = \0", 1, 9),
        ("-- \0\nSELECT 1", 1, 4),
    ],
)
def test_a_nul_is_shown_wherever_it_stands(text: str, line: int, column: int) -> None:
    with pytest.raises(StatementSyntaxError, match="NUL character") as refused:
        parse(text)
    assert place_of(refused.value) == (line, column)
    assert "\0" not in str(refused.value)
