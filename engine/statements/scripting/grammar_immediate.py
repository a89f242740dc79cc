"""Parses DECLARE, SET and DROP VARIABLE, and EXECUTE IMMEDIATE.

DECLARE is passed to Spark as its own text. The values in SET, and the text and arguments in EXECUTE IMMEDIATE, are read
as a query with one row, whose relations and functions are checked as in any other query.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from catalog.conditions import DuplicateArgument, SubqueryAsArgument
from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.dialect import SyntaxFailure, tokenize
from engine.sql.dialect.tokens import Token, TokenType
from engine.sql.expressions import parse_expression
from engine.sql.query.source_text import slice_text
from engine.sql.query.values import Query
from engine.statements.scripting.statement import Argument, ExecuteImmediate
from engine.statements.variables.grammar import _ends_value, _without_parentheses, read_variable_names, row_query


def parse_execute_immediate(cursor: Cursor) -> ExecuteImmediate:
    """Parses the text after EXECUTE IMMEDIATE."""
    offset = cursor.offset
    length = len(cursor.read_text(("INTO",), ("USING",), ends_at_comma=False))
    text = slice_text(cursor.text, offset, offset + length)
    source = row_query([text], offset)
    parse_expression(text, SubqueryAsArgument(text))
    targets = read_variable_names(cursor) if cursor.take("INTO") else ()
    arguments, row = parse_arguments(cursor)
    cursor.ensure_done()
    return ExecuteImmediate(source=source, shown=text, targets=targets, arguments=arguments, arguments_row=row)


def parse_arguments(cursor: Cursor) -> tuple[tuple[Argument, ...], Query | None]:
    """Parses `[USING arguments]`, to the statement's end, and the query with one row that has their values."""
    if not cursor.take("USING"):
        return (), None
    arguments = tuple(_argument(cursor.text, tokens) for tokens in _split(_without_parentheses(cursor.read_rest())))
    _ensure_distinct(arguments)
    return arguments, row_query([argument.text for argument in arguments])


def markers(text: str) -> tuple[bool, bool]:
    """Returns True if the parsed `text` has positional parameters (`?`), and if it has named ones (`:name`)."""
    tokens = tokenize(text)
    by_position = any(token.token_type == TokenType.PLACEHOLDER for token in tokens)
    nothing = Token(TokenType.SEMICOLON, "")
    by_name = any(
        token.token_type == TokenType.COLON and not _ends_value(before)
        for before, token in pairwise([nothing, *tokens])
    )
    return by_position, by_name


def _split(tokens: Sequence[Token]) -> list[list[Token]]:
    """Splits at commas outside parentheses."""
    parts: list[list[Token]] = [[]]
    depth = 0
    for token in tokens:
        depth += token.token_type in (TokenType.L_PAREN, TokenType.L_BRACKET)
        depth -= token.token_type in (TokenType.R_PAREN, TokenType.R_BRACKET)
        if depth == 0 and token.token_type == TokenType.COMMA:
            parts.append([])
        else:
            parts[-1].append(token)
    for index, part in enumerate(parts):
        if not part:
            raise SyntaxFailure("an argument is expected", tokens[min(index, len(tokens) - 1)].start)
    return parts


def _argument(text: str, tokens: Sequence[Token]) -> Argument:
    """Parses `expression [AS name]`; a variable alone has its own name."""
    names = Cursor(text, tokens[-1:])
    if len(tokens) > 2 and tokens[-2].text.upper() == "AS" and names.is_name():
        written = slice_text(text, tokens[0].start, tokens[-3].end + 1)
        return _check_argument(Argument(text=written, name=names.read_name()))
    written = slice_text(text, tokens[0].start, tokens[-1].end + 1)
    whole = Cursor(text, tokens)
    if not whole.is_name():
        return _check_argument(Argument(text=written))
    parts = whole.read_names()
    return _check_argument(Argument(text=written, name=parts[-1] if whole.is_done else None))


def _check_argument(argument: Argument) -> Argument:
    parse_expression(argument.text, SubqueryAsArgument(argument.text))
    return argument


def _ensure_distinct(arguments: Sequence[Argument]) -> None:
    names = [argument.name for argument in arguments if argument.name is not None]
    for name in names:
        if names.count(name) > 1:
            raise DuplicateArgument(name)
