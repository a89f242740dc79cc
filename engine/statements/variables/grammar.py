"""Parses DECLARE VARIABLE, SET VARIABLE and DROP TEMPORARY VARIABLE."""

from __future__ import annotations

from collections.abc import Sequence

from catalog.conditions import DefaultWithSubquery, InvalidSetSyntax
from catalog.names import quote
from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.dialect import QUERY_LEADING_WORDS, SyntaxFailure, tokenize
from engine.sql.dialect.errors import unsupported_statement
from engine.sql.dialect.tokens import Token, TokenType
from engine.sql.expressions import parse_expression
from engine.sql.query.query import parse_query
from engine.sql.query.source_text import join_texts, slice_text
from engine.sql.query.values import Query
from engine.statements.variables.statement import DeclareVariables, DropVariable, Names, SetVariables

_HEAD = "SELECT ("


def row_query(expressions: Sequence[str], offset: int = 0, aliases: Sequence[str] = ()) -> Query:
    """Returns the query with one row that has the values of `expressions`; `offset` is the first one's position."""
    named = [f" AS {quote(alias)}" if alias else "" for alias in aliases] or [""] * len(expressions)
    items = zip(expressions, named, strict=True)
    pieces = [piece for expression, alias in items for piece in (", (", expression, f"\n){alias}")]
    text = join_texts(("SELECT (", *pieces[1:]))
    try:
        return parse_query(Cursor(text, tokenize(text)))
    except SyntaxFailure as failure:
        within = min(max(0, failure.offset - len(_HEAD)), len(expressions[0])) if len(expressions) == 1 else 0
        raise SyntaxFailure(failure.reason, offset + within) from None


def parse_declare(cursor: Cursor) -> DeclareVariables:
    """Parses the text after DECLARE."""
    start, end = cursor.offset, cursor.end
    default_at = end
    or_replace = cursor.take("OR", "REPLACE")
    if not (cursor.words(2)[1:] in (["="], [","], ["DEFAULT"]) or cursor.count == 1):
        cursor.take_any("VARIABLE", "VAR")
    names = [cursor.read_names()]
    while cursor.take(","):
        names.append(cursor.read_names())
    if cursor.words(1) == ["CURSOR"] or cursor.words(2)[1:] == ["CURSOR"]:
        raise unsupported_statement("DECLARE … CURSOR outside of a script")
    while not cursor.is_done:
        if cursor.take_any("DEFAULT", "="):
            default_at = cursor.offset
            default = cursor.read_text(ends_at_comma=False)
            parse_expression(default, DefaultWithSubquery(".".join(names[0]), "variable"))
            break
        cursor.read_any()
    cursor.ensure_done()
    return DeclareVariables(
        text=join_texts(("DECLARE ", slice_text(cursor.text, start, default_at))),
        default=slice_text(cursor.text, default_at, end),
        or_replace=or_replace,
    )


def parse_drop_variable(cursor: Cursor) -> DropVariable:
    """Parses the text after DROP TEMPORARY VARIABLE."""
    if_exists = cursor.take("IF", "EXISTS")
    parts = cursor.read_names()
    cursor.ensure_done()
    return DropVariable(parts=parts, if_exists=if_exists)


def parse_set_variables(cursor: Cursor) -> SetVariables:
    """Parses the text after SET VARIABLE, or SET in a script. Raises `InvalidSetSyntax` if nothing is assigned."""
    if not cursor.has_ahead("="):
        raise InvalidSetSyntax()
    if cursor.take("("):
        targets = read_variable_names(cursor)
        cursor.read(")")
        cursor.read("=")
        return SetVariables(targets=targets, source=_read_query_in_parentheses(cursor))
    names: list[Names] = []
    values: list[str] = []
    offset = cursor.offset
    while not names or cursor.take(","):
        names.append(cursor.read_names())
        cursor.read("=")
        offset = cursor.offset if not values else offset
        start = cursor.offset
        values.append(slice_text(cursor.text, start, start + len(cursor.read_text())))
    cursor.ensure_done()
    # Spark aliases a value by its variable, except a single name: so later values may refer to it by that name.
    aliases = ["" if _is_dotted_name(value) else parts[-1] for parts, value in zip(names, values, strict=True)]
    return SetVariables(targets=tuple(names), source=row_query(values, offset, aliases))


def _ends_value(token: Token) -> bool:
    """Returns True if a colon after `token` extracts from a value, as in a variant's `v:field`."""
    is_name = token.token_type in (TokenType.VAR, TokenType.IDENTIFIER)
    return is_name or token.token_type in (TokenType.R_PAREN, TokenType.R_BRACKET)


def read_variable_names(cursor: Cursor) -> tuple[Names, ...]:
    """Reads a comma-separated list of names."""
    names = [cursor.read_names()]
    while cursor.take(","):
        names.append(cursor.read_names())
    return tuple(names)


def _read_query_in_parentheses(cursor: Cursor) -> Query:
    start = cursor.offset
    tokens = cursor.read_rest()
    if tokens[0].token_type != TokenType.L_PAREN or tokens[-1].token_type != TokenType.R_PAREN or len(tokens) < 3:
        raise SyntaxFailure("a query in parentheses is expected", start)
    text = slice_text(cursor.text, tokens[1].start, tokens[-2].end + 1)
    try:
        return parse_query(Cursor(text, tokenize(text)))
    except SyntaxFailure as failure:
        raise SyntaxFailure(failure.reason, tokens[1].start + failure.offset) from None


def _without_parentheses(tokens: list[Token]) -> list[Token]:
    """Returns the tokens inside optional parentheses around all arguments."""
    depth = 0
    for index, token in enumerate(tokens):
        depth += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
        if depth == 0:
            is_whole = index == len(tokens) - 1 and index > 1 and tokens[1].text.upper() not in QUERY_LEADING_WORDS
            return tokens[1:-1] if is_whole else tokens
    return tokens


def _is_dotted_name(text: str) -> bool:
    cursor = Cursor(text, tokenize(text))
    if cursor.is_name():
        cursor.read_names()
    return cursor.is_done
