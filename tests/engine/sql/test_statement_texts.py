"""A text is split into statements as Spark's lexer reads it, with scripts as one statement."""

from __future__ import annotations

import pytest

from engine.sql.statement_texts import Kind, Marker, Piece, marker_names, markers, split_statements

SCRIPT = """BEGIN
  DECLARE EXIT HANDLER FOR SQLEXCEPTION BEGIN SELECT 1; END;
  DECLARE c CURSOR FOR SELECT 1;
  l: LOOP LEAVE l; END LOOP l;
  IF (a) THEN SELECT if(b, 1, 2); ELSEIF b THEN SELECT CASE WHEN a THEN repeat('x', 2) ELSE if(a, 1, 2) END; END IF;
  CASE WHEN a THEN DROP TABLE IF EXISTS t; END CASE;
  FOR r AS SELECT 1 DO SELECT r.end; END FOR;
  WHILE i < 3 DO SET i = i + 1; END WHILE;
  REPEAT SET i = 1; UNTIL i = 1 END REPEAT;
END"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" ;; -- nothing;\n", []),
        ("SELECT 1", ["SELECT 1"]),
        ("SELECT 1; SELECT 2 ;\n", ["SELECT 1", "SELECT 2"]),
        ("-- one; two\nSELECT 1;", ["-- one; two\nSELECT 1"]),
        ("-- one \\\n; two\nSELECT 1;", ["-- one \\\n; two\nSELECT 1"]),
        ("/* a; /* b; */ c; */ SELECT 1; SELECT 2", ["/* a; /* b; */ c; */ SELECT 1", "SELECT 2"]),
        ("SELECT ';' ; SELECT \";\"; SELECT `;`", ["SELECT ';'", 'SELECT ";"', "SELECT `;`"]),
        ("SELECT 'it''s; \\'x;' ; SELECT 2", ["SELECT 'it''s; \\'x;'", "SELECT 2"]),
        ("SELECT r'\\'; SELECT 2", ["SELECT r'\\'", "SELECT 2"]),
        ("SELECT $$a; b$$; SELECT 2", ["SELECT $$a; b$$", "SELECT 2"]),
        ("SELECT begin; SELECT t.end", ["SELECT begin", "SELECT t.end"]),
        ("BEGIN; SELECT 1; COMMIT", ["BEGIN", "SELECT 1", "COMMIT"]),
        ("BEGIN TRANSACTION; SELECT 1", ["BEGIN TRANSACTION", "SELECT 1"]),
        (f"{SCRIPT}; SELECT 3", [SCRIPT, "SELECT 3"]),
        ("BEGIN SELECT 1; END\n/\nSELECT 6\n/\n2;", ["BEGIN SELECT 1; END", "SELECT 6\n/\n2"]),
        (
            "CREATE PROCEDURE p() AS BEGIN SELECT 1; END; SELECT 2",
            ["CREATE PROCEDURE p() AS BEGIN SELECT 1; END", "SELECT 2"],
        ),
    ],
)
def test_text_is_split_at_the_semicolons_between_statements(text: str, expected: list[str]) -> None:
    assert [piece.text for piece in split_statements(text)] == expected


@pytest.mark.parametrize(
    ("text", "is_ended"),
    [
        ("SELECT 1;", True),
        ("SELECT 1; -- done", True),
        ("SELECT 1 -- ;", False),
        ("SELECT ';", False),
        ("SELECT `a;", False),
        ("SELECT 1 /* ;", False),
        ("SELECT $$;", False),
        ("BEGIN SELECT 1;", False),
        ("BEGIN SELECT 1; END", False),
        ("BEGIN SELECT 1; END;", True),
        ("BEGIN SELECT 1; END\n/", True),
    ],
)
def test_last_statement_is_ended_or_waits_for_its_end(text: str, is_ended: bool) -> None:
    assert [piece.is_ended for piece in split_statements(text)] == [is_ended]


def test_commands_begin_with_a_backslash_outside_literals() -> None:
    assert split_statements("SELECT '\\a' \\gset x\n\\dt shop;\nSELECT 2;") == [
        Piece(Kind.STATEMENT, "SELECT '\\a'", 0, is_ended=False),
        Piece(Kind.COMMAND, "\\gset x", 12),
        Piece(Kind.COMMAND, "\\dt shop;", 20),
        Piece(Kind.STATEMENT, "SELECT 2", 30),
    ]


def test_markers_are_found_outside_literals_types_and_paths() -> None:
    assert marker_names("SELECT :x, v:a.b, ':y', (:w), c::int, d[0]:e -- :z") == {"x", "w"}


def test_each_occurrence_of_a_marker_has_its_place() -> None:
    assert list(markers(":a + :b, :a::int")) == [Marker("a", 0, 2), Marker("b", 5, 7), Marker("a", 9, 11)]


def test_many_markers_are_found_in_linear_time() -> None:
    """A million markers: with a copy of the text for each, this would take an hour."""
    assert sum(1 for _ in markers(":a " * 300_000)) == 300_000
