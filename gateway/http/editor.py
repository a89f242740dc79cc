"""Help for an editor of SQL: the statements and parameters of a text, and its layout.

    POST /api/2.0/sql/parse    where its statements and named parameters are
    POST /api/2.0/sql/format   the text with other blanks, and keywords in capital letters

Nothing is bound or run. Offsets count UTF-16 code units, as JavaScript's strings do; ends are exclusive.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable

from flask import Blueprint

from engine.editor_help import format_sql
from engine.sql.statement_texts import Kind, Piece, markers, split_statements
from gateway.http.callers import json_content
from gateway.http.delivery import API
from gateway.http.requests import parse_editor_text
from gateway.http.statements import StatementApi

# Characters of a text that is formatted, which takes seconds for the longest.
FORMAT_TEXT_MAX = 64 << 10


def editor_blueprint(api: StatementApi) -> Blueprint:
    """Returns the routes `POST /api/2.0/sql/parse` and `format`, for an editor's text.

    Offsets in responses are in UTF-16 units, as in JavaScript.
    """
    routes = Blueprint("editor", __name__)
    routes.before_request(api.authenticate)

    @routes.post(f"{API}/parse")
    def parse() -> dict[str, object]:
        text = parse_editor_text(json_content())
        place = utf16_offsets(text)
        found = [piece for piece in split_statements(text) if piece.kind is Kind.STATEMENT]
        return {"statements": [_statement(piece, place) for piece in found]}

    @routes.post(f"{API}/format")
    def format_() -> dict[str, object]:
        text = parse_editor_text(json_content(), FORMAT_TEXT_MAX)
        formatted = format_sql(text)
        return {"statement": formatted, "changed": formatted != text}

    return routes


def utf16_offsets(text: str) -> Callable[[int], int]:
    """Returns the function from an offset in `text` to the one in UTF-16."""
    pairs = [place for place, character in enumerate(text) if character > "\uffff"] if not text.isascii() else []
    return lambda offset: offset + bisect_left(pairs, offset)


def _statement(piece: Piece, place: Callable[[int], int]) -> dict[str, object]:
    parameters = [
        {"name": marker.name, "start": place(piece.offset + marker.start), "end": place(piece.offset + marker.end)}
        for marker in markers(piece.text)
    ]
    return {
        "start": place(piece.offset),
        "end": place(piece.offset + len(piece.text)),
        "is_terminated": piece.is_ended,
        "parameters": parameters,
    }
