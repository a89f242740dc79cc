"""The parse stage: one text → one statement, or an error with its position.

The first words select a parser, by the heads that the families register. A query is parsed by sqlglot with our dialect;
other statements are read word by word with a cursor. Known unsupported statements are rejected with an error that names
them (`engine.sql.dialect.refusals`). A text that no grammar accepts is a syntax error.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping
from typing import assert_never

from catalog.conditions import EmptyStatement
from engine.runtime.request import SqlDialect
from engine.runtime.statement import Statement
from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.dialect import QUERY_LEADING_WORDS, SyntaxFailure, tokenize
from engine.sql.dialect.errors import unsupported_statement
from engine.sql.dialect.refusals import REFUSED_SHOWS, REFUSED_STATEMENTS, WORDS_MAX, refused_kind
from engine.sql.dialect.tokens import Token, TokenError, TokenType, unclosed_comment
from engine.sql.parser import parse_guarded, several_statements, syntax_error
from engine.sql.postgres.translate import translate
from engine.sql.query.query import parse_query
from engine.statements.explain.grammar import parse_after_with
from engine.statements.insert.grammar import is_led_insert, parse_led_insert
from engine.statements.registry import LEADING_WORDS
from engine.statements.scripting.grammar import parse_script
from engine.statements.scripting.grammar_identifiers import parse_named_by_expressions, with_literal_names
from engine.statements.scripting.grammar_immediate import parse_execute_immediate
from engine.statements.scripting.statement import Executable, NamedByExpressions, RunnableStatement
from engine.statements.session.grammar import RAW_LEADING_WORDS
from engine.statements.variables.grammar import parse_declare, parse_drop_variable, parse_set_variables

_SETTING_START = re.compile(r"(?is)(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/)*(SET|RESET)\b")

# sqlglot appends the literal's position to its message.
_UNCLOSED = re.compile(r":([0-9]+)$")

# The first words of all known statements, including rejected ones.
_ALL_LEADING_WORDS = (
    *((leading_words,) for leading_words in (*RAW_LEADING_WORDS, *sorted(QUERY_LEADING_WORDS - {"("}))),
    *LEADING_WORDS,
    *REFUSED_STATEMENTS,
)


def _by_first_word() -> Mapping[str, list[tuple[tuple[str, ...], Callable[[Cursor], RunnableStatement]]]]:
    """Lists the longest head first: REVOKE TOKEN takes precedence over REVOKE."""
    found: dict[str, list[tuple[tuple[str, ...], Callable[[Cursor], RunnableStatement]]]] = {}
    for leading_words in sorted(LEADING_WORDS, key=len, reverse=True):
        found.setdefault(leading_words[0], []).append((leading_words, LEADING_WORDS[leading_words]))
    return found


_PARSERS_BY_WORD = _by_first_word()


def parse(text: str, dialect: SqlDialect = SqlDialect.SPARK) -> Executable:
    """Parses the single statement in `text`; comments and trailing semicolons are allowed.

    A text in PostgreSQL's dialect is translated first; positions in errors are positions in `text`. Raises a
    `SqlError` for everything else, never another exception.
    """
    match dialect:
        case SqlDialect.SPARK:
            return parse_guarded(text, _parse)
        case SqlDialect.POSTGRES:
            return parse_guarded(translate(text), _parse)
        case _:
            assert_never(dialect)


def _parse(text: str) -> Executable:
    try:
        tokens = tokenize(text)
    except TokenError as error:
        return _parse_raw(text, error)
    while tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        tokens.pop()
    if not tokens:
        raise EmptyStatement()
    text, tokens = with_literal_names(text, tokens)
    try:
        return _parse_tokens(text, tokens)
    except SyntaxFailure as failure:  # its position is in the text with the names
        raise syntax_error(text, failure.reason, failure.offset) from None


def _parse_tokens(text: str, tokens: list[Token]) -> Executable:
    cursor = Cursor(text, tokens)
    if cursor.words(1) == ["BEGIN"] and cursor.words(2)[1:] not in ([], ["TRANSACTION"], ["WORK"]):
        return parse_script(text, tokens, _parse_in_script)
    if len(tokens) > 2 and tokens[1].token_type == TokenType.COLON and tokens[2].text.upper() == "BEGIN":
        raise SyntaxFailure("a script begins with BEGIN; only blocks inside of it have labels", tokens[0].start)
    if any(token.token_type == TokenType.SEMICOLON for token in tokens):
        return _parse_one(text, tokens)
    named = parse_named_by_expressions(text, tokens)
    return named or _parse_about_variables(cursor, tokens) or _parse_one(text, tokens)


def _parse_in_script(text: str) -> RunnableStatement | NamedByExpressions:
    tokens = tokenize(text)
    return parse_named_by_expressions(text, tokens) or _parse_one(text, tokens)


def _parse_about_variables(cursor: Cursor, tokens: list[Token]) -> Executable | None:
    if cursor.take("EXECUTE", "IMMEDIATE"):
        return parse_execute_immediate(cursor)
    if cursor.take("DECLARE"):
        return parse_declare(cursor)
    for words in (("DROP", "TEMPORARY"), ("DROP", "TEMP")):
        if cursor.take(*words, "VARIABLE") or cursor.take(*words, "VAR"):
            return parse_drop_variable(cursor)
    is_setting = len(tokens) > 2 and tokens[2].token_type in (TokenType.EQ, TokenType.DOT)  # SET var.x = 1
    if not is_setting and (cursor.take("SET", "VARIABLE") or cursor.take("SET", "VAR")):
        return parse_set_variables(cursor)
    return None


def _parse_one(text: str, tokens: list[Token]) -> RunnableStatement:
    """Parses a statement that runs by itself."""
    if not tokens:
        raise EmptyStatement()
    cursor = Cursor(text, tokens)
    word = tokens[0].text.upper() if tokens[0].token_type not in (TokenType.STRING, TokenType.IDENTIFIER) else ""
    if word in RAW_LEADING_WORDS and not _sets_catalog(cursor):
        return _parse_setting(word, text, tokens)
    _ensure_one(text, tokens)
    if is_led_insert(cursor):
        return parse_led_insert(cursor)
    body = cursor.place_after_with()
    if body is not None:
        changing = parse_after_with(cursor, body)
        if changing is not None:
            return changing
    if word in QUERY_LEADING_WORDS:
        return parse_query(cursor)
    for leading_words, read in _PARSERS_BY_WORD.get(word, ()):
        if cursor.take(*leading_words):
            statement = read(cursor)
            cursor.ensure_done()
            return statement
    if cursor.take("SHOW"):
        raise _refused_show(cursor)
    kind = refused_kind(cursor.words(WORDS_MAX))
    raise cursor.fail_among(_ALL_LEADING_WORDS) if kind is None else unsupported_statement(kind)


def _refused_show(cursor: Cursor) -> Exception:
    word = next(iter(cursor.words(1)), "")
    if (word,) in REFUSED_SHOWS:
        return unsupported_statement(f"SHOW {word}")
    if not word.isalpha():
        return cursor.fail("what to show is expected")
    return cursor.fail_among((*(leading_words[1:] for leading_words, _ in _PARSERS_BY_WORD["SHOW"]), *REFUSED_SHOWS))


def _sets_catalog(cursor: Cursor) -> bool:
    """Returns True for `SET CATALOG name`, as opposed to a setting whose key begins so."""
    words = cursor.words(3)
    return words[:2] == ["SET", "CATALOG"] and cursor.count > 2 and words[2:] not in (["."], ["="])


def _parse_setting(word: str, text: str, tokens: list[Token]) -> Statement:
    """Parses a setting. The value is raw text up to the last token; a semicolon inside begins another statement."""
    for token in tokens:
        if token.token_type == TokenType.SEMICOLON:
            raise several_statements(text, token.end + 1)
    end = text.find(";", tokens[-1].end + 1)
    return RAW_LEADING_WORDS[word](text[tokens[0].end + 1 : end if end >= 0 else len(text)])


def _parse_raw(text: str, error: TokenError) -> Statement:
    """Parses text that cannot be tokenized, which may still be a setting with an unpaired quote in its value."""
    leading_words = _SETTING_START.match(text)
    if leading_words is not None:
        return RAW_LEADING_WORDS[leading_words[1].upper()](text[leading_words.end() :].rstrip(string.whitespace + ";"))
    comment = unclosed_comment(text)
    if comment is not None:
        raise SyntaxFailure("a comment is not closed", comment)
    start = _UNCLOSED.search(str(error.__cause__))
    raise SyntaxFailure("a quote is not closed, or a literal is malformed", int(start[1]) if start else 0)


def _ensure_one(text: str, tokens: list[Token]) -> None:
    words = [token.text.upper() for token in tokens[:WORDS_MAX]]
    if words[0] == "BEGIN" or (refused_kind(words) or "").endswith(" PROCEDURE"):
        return  # a known statement with nested statements, rejected by name
    for token in tokens:
        if token.token_type == TokenType.SEMICOLON and token is not tokens[0]:
            raise several_statements(text, token.end + 1)
