"""The cursors of scripts: DECLARE … CURSOR, OPEN, FETCH and CLOSE."""

from __future__ import annotations

from catalog.conditions import CursorQualifier
from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.dialect import SyntaxFailure, tokenize
from engine.sql.query.query import parse_query
from engine.statements.scripting.grammar_immediate import parse_arguments
from engine.statements.scripting.statement import CloseCursor, DeclareCursor, FetchCursor, OpenCursor
from engine.statements.variables.grammar import read_variable_names
from engine.statements.variables.statement import Names

_PARTS_MAX = 2


def parse_declare_cursor(cursor: Cursor) -> DeclareCursor:
    """What follows DECLARE: `name [ASENSITIVE | INSENSITIVE] CURSOR FOR query [FOR READ ONLY]`"""
    name = cursor.read_name()
    cursor.take_any("ASENSITIVE", "INSENSITIVE")
    cursor.read("CURSOR")
    cursor.read("FOR")
    start = cursor.offset
    text = cursor.read_text(("FOR", "READ", "ONLY"), ends_at_comma=False, what="a query")
    try:
        query = parse_query(Cursor(text, tokenize(text)))
    except SyntaxFailure as failure:
        raise SyntaxFailure(failure.reason, start + failure.offset) from None
    cursor.take("FOR", "READ", "ONLY")
    cursor.ensure_done()
    return DeclareCursor(name=name, query=query)


def parse_cursor_statement(cursor: Cursor) -> OpenCursor | FetchCursor | CloseCursor:
    """OPEN, FETCH or CLOSE."""
    if cursor.take("OPEN"):
        parts = _read_cursor(cursor)
        arguments, row = parse_arguments(cursor)
        statement: OpenCursor | FetchCursor | CloseCursor = OpenCursor(
            parts=parts, arguments=arguments, arguments_row=row
        )
    elif cursor.take("FETCH"):
        if not cursor.take("NEXT", "FROM"):
            cursor.take("FROM")
        parts = _read_cursor(cursor)
        cursor.read("INTO")
        statement = FetchCursor(parts=parts, targets=read_variable_names(cursor))
    else:
        cursor.read("CLOSE")
        statement = CloseCursor(parts=_read_cursor(cursor))
    cursor.ensure_done()
    return statement


def _read_cursor(cursor: Cursor) -> Names:
    parts = cursor.read_names()
    if len(parts) > _PARTS_MAX:
        raise CursorQualifier(".".join(parts))
    return parts
