"""Parse: one text → one statement value, or an error that says what is wrong and where.

The first word decides. A query goes to sqlglot through our dialect (`dialect.py`, `scopes.py`); the statements of a
few words have their own small grammar (`commands.py`, `settings_text.py`); what is known and does not run is refused by
name (`refusals.py`). Nothing falls through: a text that no part understands is a syntax error. Whatever the text, the
answer is a statement or a `SqlError`.
"""

from __future__ import annotations

import re
import string
import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeVar

from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from catalog.errors import SqlError
from engine.errors.statement_errors import TEXT_LENGTH_MAX, StatementTooLong
from engine.sql.ddl.writes import WRITE_HEADS, parse_write
from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.dialect import QUERY_HEADS, SyntaxFailure, tokenize
from engine.sql.dialect.errors import (
    EmptyStatement,
    SeveralStatements,
    StatementSyntaxError,
    StatementTooComplex,
    UnsupportedStatement,
)
from engine.sql.dialect.refusals import REFUSED_STATEMENTS, WORDS_MAX, refused_kind
from engine.sql.dialect.tokens import unclosed_comment
from engine.sql.query.query import parse_query
from engine.statements.compatibility.grammar import parse_invalidate, parse_msck, parse_refresh
from engine.statements.describe.grammar import parse_describe
from engine.statements.explain.grammar import parse_explain
from engine.statements.session.grammar import parse_reset, parse_set, parse_set_catalog, parse_use
from engine.statements.show.grammar import parse_show
from engine.statements.statement import AnyStatement, Statement
from engine.statements.volumes.grammar import parse_get, parse_list

"""Characters of a statement; a longer one is data, which belongs into a table."""

_EXCERPT_CHARS_MAX = 120

_NUL_SHOWN = "\N{SYMBOL FOR NULL}"

_FRAMES_MAX = 8000
"""Nested calls of Python. sqlglot needs some twenty for each level of a statement, so Python's own limit of 1000 would
stop at forty nested function calls; these are a tenth of what a thread's stack of 8 MB holds."""
_SETTING_HEAD = re.compile(r"(?is)(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*(SET|RESET)\b")

_UNCLOSED = re.compile(r":([0-9]+)$")
"""sqlglot says at the end of its message where the literal begins."""

_STATEMENTS: Mapping[str, Callable[[Cursor], Statement]] = MappingProxyType(
    {
        "DESC": parse_describe,
        "DESCRIBE": parse_describe,
        "EXPLAIN": parse_explain,
        "GET": parse_get,
        "INVALIDATE": parse_invalidate,
        "LIST": parse_list,
        "MSCK": parse_msck,
        "REFRESH": parse_refresh,
        "SHOW": parse_show,
        "USE": parse_use,
    }
)
"""First word → what reads the rest."""

_SETTINGS: Mapping[str, Callable[[str], Statement]] = MappingProxyType({"SET": parse_set, "RESET": parse_reset})
"""First word → what reads the raw text after it."""


_HEADS = (
    *((head,) for head in (*_STATEMENTS, *_SETTINGS, *sorted(QUERY_HEADS - {"("}))),
    *WRITE_HEADS,
    *REFUSED_STATEMENTS,
)
"""The first words of all statements that are known, refused ones too."""


sys.setrecursionlimit(max(sys.getrecursionlimit(), _FRAMES_MAX))


def parse(text: str) -> Statement:
    """The one statement in `text`; comments around it and semicolons after it are fine.

    Raises a `SqlError` (`engine/sql/dialect/errors.py`) for everything else, never another exception.
    """
    return guarded(text, _parse)


_Parsed = TypeVar("_Parsed")


def guarded(text: str, parse_text: Callable[[str], _Parsed]) -> _Parsed:
    """What `parse_text` makes of `text`; every failure is a `SqlError`."""
    if len(text) > TEXT_LENGTH_MAX:
        raise StatementTooLong(len(text), TEXT_LENGTH_MAX)
    if "\0" in text:
        raise syntax_error(text, "the text has a NUL character", text.index("\0"))
    try:
        return parse_text(text)
    except SyntaxFailure as failure:
        raise syntax_error(text, failure.reason, failure.offset) from None
    except RecursionError:
        raise StatementTooComplex() from None


def syntax_error(text: str, reason: str, offset: int) -> StatementSyntaxError:
    """The error for a place in `text`, with its line and a mark below the place."""
    offset = min(offset, len(text))
    line_start = text.rfind("\n", 0, offset) + 1
    line_end = text.find("\n", offset)
    line = text[line_start : line_end if line_end >= 0 else len(text)]
    column = offset - line_start
    shown_from = max(0, column - _EXCERPT_CHARS_MAX // 2)
    shown = line[shown_from : shown_from + _EXCERPT_CHARS_MAX].replace("\0", _NUL_SHOWN)
    mark = "".join("\t" if char == "\t" else " " for char in shown[: column - shown_from]) + "^"
    return StatementSyntaxError(
        reason=reason, line=text.count("\n", 0, offset) + 1, column=column + 1, excerpt=f"{shown}\n{mark}"
    )


def _parse(text: str) -> Statement:
    try:
        tokens = tokenize(text)
    except TokenError as error:
        return _parse_raw(text, error)
    return _parse_tokens(text, tokens)


def _parse_tokens(text: str, tokens: list[Token]) -> Statement:
    while tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        tokens.pop()
    if not tokens:
        raise EmptyStatement()
    cursor = Cursor(text, tokens)
    head = tokens[0].text.upper() if tokens[0].token_type not in (TokenType.STRING, TokenType.IDENTIFIER) else ""
    if head in _SETTINGS and not _sets_catalog(cursor):
        return _parse_setting(head, text, tokens)
    _ensure_one(text, tokens)
    if head in QUERY_HEADS:
        return parse_query(cursor)
    if head in _STATEMENTS:
        cursor.take(head)
        statement = _STATEMENTS[head](cursor)
    elif cursor.take("SET", "CATALOG"):
        statement = parse_set_catalog(cursor)
    else:
        kind = refused_kind(cursor.words(WORDS_MAX))
        if kind is None:
            raise cursor.fail_among(_HEADS)
        raise UnsupportedStatement(kind)
    cursor.ensure_done()
    return statement


def _sets_catalog(cursor: Cursor) -> bool:
    """Whether this is `SET CATALOG name`, not a setting whose key begins so."""
    words = cursor.words(3)
    return words[:2] == ["SET", "CATALOG"] and cursor.count > 2 and words[2:] not in (["."], ["="])


def parse_unguarded(text: str) -> AnyStatement:
    """As :func:`parse`, with the statements that change something, which it refuses; raises `SyntaxFailure` besides."""
    try:
        tokens = tokenize(text)
    except TokenError:
        return _parse(text)
    return parse_tokens(text, tokens)


def parse_tokens(text: str, tokens: list[Token]) -> AnyStatement:
    """As :func:`parse_unguarded`, of a text whose tokens are known: of a long one they take as long as all else."""
    while tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        tokens.pop()
    if not tokens or any(token.token_type == TokenType.SEMICOLON for token in tokens):
        return _parse_tokens(text, tokens)
    return parse_write(Cursor(text, tokens)) or _parse_tokens(text, tokens)


def _parse_setting(head: str, text: str, tokens: list[Token]) -> Statement:
    """The value is raw, so where it ends is said by the last token, and a semicolon within begins another statement."""
    for token in tokens:
        if token.token_type == TokenType.SEMICOLON:
            raise _several(text, token.end + 1)
    end = text.find(";", tokens[-1].end + 1)
    return _SETTINGS[head](text[tokens[0].end + 1 : end if end >= 0 else len(text)])


def _parse_raw(text: str, error: TokenError) -> Statement:
    """What cannot be split into tokens may still set a setting to a value with a lone quote."""
    head = _SETTING_HEAD.match(text)
    if head is not None:
        return _SETTINGS[head[1].upper()](text[head.end() :].rstrip(string.whitespace + ";"))
    comment = unclosed_comment(text)
    if comment is not None:
        raise SyntaxFailure("a comment is not closed", comment)
    start = _UNCLOSED.search(str(error.__cause__))
    raise SyntaxFailure("a quote is not closed, or a literal is malformed", int(start[1]) if start else 0)


def _ensure_one(text: str, tokens: list[Token]) -> None:
    words = [token.text.upper() for token in tokens[:WORDS_MAX]]
    if words[0] == "BEGIN" or (refused_kind(words) or "").endswith(" PROCEDURE"):
        return  # which has statements inside, and is refused by name
    for token in tokens:
        if token.token_type == TokenType.SEMICOLON and token is not tokens[0]:
            raise _several(text, token.end + 1)


def _several(text: str, offset: int) -> SqlError:
    return SeveralStatements(line=text.count("\n", 0, offset) + 1, column=offset - text.rfind("\n", 0, offset))
