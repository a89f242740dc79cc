"""Formats SQL that this server can parse; a syntax error has its position in the whole text."""

from __future__ import annotations

from catalog.conditions import StatementSyntaxError
from catalog.errors import SqlError
from engine.pipeline import parse_statement
from engine.sql.formatter import format_text
from engine.sql.query.source_text import position_in
from engine.sql.statement_texts import Kind, Piece, split_statements


def format_sql(text: str) -> str:
    """Returns the formatted statements. Raises `StatementSyntaxError`, and `FormatNotPossible`.

    Statements that are rejected for other reasons, for example because they are not supported, are formatted.
    """
    for piece in split_statements(text):
        if piece.kind is Kind.STATEMENT:
            _ensure_syntax(text, piece)
    return format_text(text)


def _ensure_syntax(text: str, piece: Piece) -> None:
    try:
        parse_statement(piece.text)
    except StatementSyntaxError as error:
        if error.position is not None:
            lines = piece.text.split("\n")[: error.position.line - 1]
            offset = sum(len(line) + 1 for line in lines) + error.position.column - 1
            error.position = position_in(text, piece.offset + offset)
        raise
    except SqlError:
        return
