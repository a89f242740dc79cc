"""Formats a text of SQL statements, and checks that only blanks and the case of keywords have changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from catalog.conditions import FormatNotPossible
from engine.sql.dialect.dialect import SyntaxFailure, tokenize_with_constants
from engine.sql.dialect.tokens import TokenError
from engine.sql.layout import INDENT, Kind, NestedTooDeep, Page, Token, read_tokens
from engine.sql.layout_clauses import write_statement
from engine.sql.parser import syntax_error
from engine.sql.query.source_text import position_in
from engine.sql.statement_texts import Kind as PieceKind
from engine.sql.statement_texts import Piece, split_statements

_BLOCKS = frozenset({"BEGIN", "IF", "CASE", "WHILE", "LOOP", "FOR", "REPEAT"})
_BEFORE_STATEMENTS = frozenset({";", "BEGIN", "THEN", "ELSE", "DO", "LOOP", "REPEAT", "ATOMIC", ""})
_BRANCHES = frozenset({"ELSE", "ELSEIF", "UNTIL", "WHEN"})
_ENDS_LINE = frozenset({"BEGIN", "THEN", "ELSE", "DO", "LOOP", "REPEAT", "ATOMIC", ";"})


def format_text(text: str) -> str:
    """Returns the formatted text. Raises `StatementSyntaxError` for a text without tokens, and `FormatNotPossible` if
    the result would have other tokens than the text.
    """
    pieces = split_statements(text)
    for piece in pieces:
        if piece.kind is PieceKind.COMMAND:
            raise _not_possible(text, piece.offset)
        _ensure_tokens(text, piece)
    try:
        formatted = _format_pieces(text, pieces)
    except NestedTooDeep:
        raise _not_possible(text, 0) from None
    for before, after in zip(pieces, found := split_statements(formatted), strict=False):
        if not _has_same_tokens(before.text, after.text):
            raise _not_possible(text, before.offset)
    if len(found) != len(pieces) or _comments(text) != _comments(formatted):
        raise _not_possible(text, 0)
    return formatted


def _format_pieces(text: str, pieces: Sequence[Piece]) -> str:
    formatted: list[str] = []
    end = 0
    for piece in pieces:
        tokens = list(read_tokens(piece.text))
        gap = text[end : piece.offset]
        if formatted and tokens[0].is_comment and "\n" not in gap and tokens[0].text.startswith("--"):
            formatted[-1] += f" {tokens.pop(0).text}"  # the comment is about the statement before it
        end = piece.offset + len(piece.text)
        formatted.append(_format_piece(tokens, piece))
    tail = [token for token in read_tokens(text[end:]) if token.is_comment]
    if formatted and tail and not tail[0].breaks_before:
        formatted[-1] += f" {tail.pop(0).text}"
    if tail:
        formatted.append("\n".join(token.text for token in tail))
    return "\n\n".join(formatted) + "\n" if formatted else text


def _format_piece(tokens: Sequence[Token], piece: Piece) -> str:
    page = Page()
    words = [token.word for token in tokens if not token.is_comment]
    is_script = ";" in words and (words[0] == "BEGIN" or words[0] == "CREATE")
    if is_script:
        _write_script(page, tokens)
    else:
        write_statement(page, tokens, 0)
    if piece.is_ended:
        page.add(Token(Kind.OTHER, ";", is_glued=True, breaks_before=False))
    return page.text()


def _write_script(page: Page, tokens: Iterable[Token]) -> None:
    """Writes each statement of a script in lines of its own, indented by its blocks."""
    segment: list[Token] = []
    blocks, cases, depth, before = 0, 0, 0, ""
    for token in tokens:
        word = token.word
        if token.is_comment:
            segment.append(token)
            continue
        is_first = before in _BEFORE_STATEMENTS or (before == ":" and len(segment) == 2)
        if not cases and blocks and (word == "END" or (word in _BRANCHES and (is_first or word == "UNTIL"))):
            _write_segment(page, segment, depth)
            segment, depth = [], blocks - 1
            blocks -= word == "END"
        elif not segment or all(each.is_comment for each in segment):
            depth = blocks
        if is_first and word in _BLOCKS or (word == "BEGIN" and "DECLARE" in (each.word for each in segment)):
            blocks += before != "END"
        elif word == "CASE" and before != "END":
            cases += 1
        elif word == "END" and cases:
            cases -= 1
        segment.append(token)
        if word in _ENDS_LINE and not cases and before != "END":
            _write_segment(page, segment, depth)
            segment = []
        before = word
    _write_segment(page, segment, depth)


def _write_segment(page: Page, segment: Sequence[Token], depth: int) -> None:
    if segment:
        if segment[-1].word in _ENDS_LINE:
            segment[-1].text = segment[-1].text.upper()
        ending = segment[-1] if segment[-1].word == ";" else None
        write_statement(page, segment[:-1] if ending else segment, INDENT * depth)
        if ending:
            page.add(ending)


def _ensure_tokens(text: str, piece: Piece) -> None:
    """Raises `StatementSyntaxError` with the position of a quote or comment without an end."""
    try:
        tokenize_with_constants(piece.text)
    except SyntaxFailure as failure:
        raise syntax_error(text, failure.reason, piece.offset + failure.offset) from None
    except TokenError:
        raise syntax_error(text, "a quote is not closed", piece.offset) from None


def _has_same_tokens(before: str, after: str) -> bool:
    """Returns True if the tokens are the same, apart from the case of words: those of the layout, and Spark's."""
    return _own_tokens(before) == _own_tokens(after) and _spark_tokens(before) == _spark_tokens(after)


def _own_tokens(text: str) -> list[tuple[Kind, str]]:
    return [(token.kind, token.word or token.text) for token in read_tokens(text) if not token.is_comment]


def _spark_tokens(text: str) -> list[tuple[object, str]]:
    return [(token.token_type, text[token.start : token.end + 1].upper()) for token in tokenize_with_constants(text)]


def _comments(text: str) -> list[str]:
    return [token.text for token in read_tokens(text) if token.is_comment]


def _not_possible(text: str, offset: int) -> FormatNotPossible:
    error = FormatNotPossible()
    error.position = position_in(text, offset)
    return error
