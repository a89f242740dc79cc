"""DECLARE, SET and DROP VARIABLE, and EXECUTE IMMEDIATE.

DECLARE goes to Spark as its own text. What SET assigns, and what EXECUTE IMMEDIATE runs and passes, is read as a query
of one row, whose relations are found and whose functions are checked like those of any other query.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from sqlglot.tokenizer_core import Token, TokenType

from catalog.names import quote
from engine.errors.expression_errors import DefaultWithSubquery
from engine.errors.variable_errors import DuplicateArgument, SubqueryAsArgument
from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.dialect import QUERY_HEADS, SyntaxFailure, tokenize
from engine.sql.dialect.errors import InvalidSetSyntax, UnsupportedStatement
from engine.sql.expressions import parse_expression
from engine.sql.query.query import parse_query
from engine.statements.queries import Query
from engine.statements.variables import Argument, DeclareVariables, DropVariable, ExecuteImmediate, Names, SetVariables

_HEAD = "SELECT ("


def row_query(expressions: Sequence[str], offset: int = 0, aliases: Sequence[str] = ()) -> Query:
    """The query of one row that has the values of `expressions`; `offset` is the position of the first one."""
    named = [f" AS {quote(alias)}" if alias else "" for alias in aliases] or [""] * len(expressions)
    items = zip(expressions, named, strict=True)
    text = "SELECT " + ", ".join(f"({expression}\n){alias}" for expression, alias in items)
    try:
        return parse_query(Cursor(text, tokenize(text)))
    except SyntaxFailure as failure:
        within = min(max(0, failure.offset - len(_HEAD)), len(expressions[0])) if len(expressions) == 1 else 0
        raise SyntaxFailure(failure.reason, offset + within) from None


def parse_declare(cursor: Cursor) -> DeclareVariables:
    """What follows DECLARE."""
    text = f"DECLARE {cursor.text[cursor.offset : cursor.end]}"
    or_replace = cursor.take("OR", "REPLACE")
    if not (cursor.words(2)[1:] in (["="], [","], ["DEFAULT"]) or cursor.count == 1):
        cursor.take_any("VARIABLE", "VAR")
    names = [cursor.read_names()]
    while cursor.take(","):
        names.append(cursor.read_names())
    if cursor.words(1) == ["CURSOR"] or cursor.words(2)[1:] == ["CURSOR"]:
        raise UnsupportedStatement("DECLARE … CURSOR outside of a script")
    while not cursor.is_done:
        if cursor.take_any("DEFAULT", "="):
            default = cursor.read_text(ends_at_comma=False)
            parse_expression(default, DefaultWithSubquery(".".join(names[0]), "variable"))
            break
        cursor.read_any()
    cursor.ensure_done()
    return DeclareVariables(text=text, or_replace=or_replace)


def parse_drop_variable(cursor: Cursor) -> DropVariable:
    """What follows DROP TEMPORARY VARIABLE."""
    if_exists = cursor.take("IF", "EXISTS")
    parts = cursor.read_names()
    cursor.ensure_done()
    return DropVariable(parts=parts, if_exists=if_exists)


def parse_set_variables(cursor: Cursor) -> SetVariables:
    """What follows SET VARIABLE, or SET in a script. Raises `InvalidSetSyntax` where nothing is assigned."""
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
        values.append(cursor.read_text())
    cursor.ensure_done()
    # Spark calls a value after its variable, but for a name alone: so a later value may use it by that name.
    aliases = ["" if _is_dotted_name(value) else parts[-1] for parts, value in zip(names, values, strict=True)]
    return SetVariables(targets=tuple(names), source=row_query(values, offset, aliases))


def parse_execute_immediate(cursor: Cursor) -> ExecuteImmediate:
    """What follows EXECUTE IMMEDIATE."""
    offset = cursor.offset
    text = cursor.read_text(("INTO",), ("USING",), ends_at_comma=False)
    source = row_query([text], offset)
    parse_expression(text, SubqueryAsArgument(text))
    targets = read_variable_names(cursor) if cursor.take("INTO") else ()
    arguments, row = parse_arguments(cursor)
    cursor.ensure_done()
    return ExecuteImmediate(source=source, shown=text, targets=targets, arguments=arguments, arguments_row=row)


def parse_arguments(cursor: Cursor) -> tuple[tuple[Argument, ...], Query | None]:
    """`[USING arguments]`, to the end of the statement, and the query of one row that has their values."""
    if not cursor.take("USING"):
        return (), None
    arguments = tuple(_argument(cursor.text, tokens) for tokens in _split(_without_parentheses(cursor.read_rest())))
    _ensure_distinct(arguments)
    return arguments, row_query([argument.text for argument in arguments])


def markers(text: str) -> tuple[bool, bool]:
    """Whether `text`, which was parsed, has parameters by position (`?`), and by name (`:name`)."""
    tokens = tokenize(text)
    by_position = any(token.token_type == TokenType.PLACEHOLDER for token in tokens)
    nothing = Token(TokenType.SEMICOLON, "")
    by_name = any(
        token.token_type == TokenType.COLON and not _ends_value(before)
        for before, token in pairwise([nothing, *tokens])
    )
    return by_position, by_name


def _ends_value(token: Token) -> bool:
    """Whether a colon behind `token` leads into a value, as in `v:field` of a variant."""
    is_name = token.token_type in (TokenType.VAR, TokenType.IDENTIFIER)
    return is_name or token.token_type in (TokenType.R_PAREN, TokenType.R_BRACKET)


def _is_dotted_name(text: str) -> bool:
    cursor = Cursor(text, tokenize(text))
    if cursor.is_name():
        cursor.read_names()
    return cursor.is_done


def read_variable_names(cursor: Cursor) -> tuple[Names, ...]:
    """A list of names with commas."""
    names = [cursor.read_names()]
    while cursor.take(","):
        names.append(cursor.read_names())
    return tuple(names)


def _read_query_in_parentheses(cursor: Cursor) -> Query:
    start = cursor.offset
    tokens = cursor.read_rest()
    if tokens[0].token_type != TokenType.L_PAREN or tokens[-1].token_type != TokenType.R_PAREN or len(tokens) < 3:
        raise SyntaxFailure("a query in parentheses is expected", start)
    text = cursor.text[tokens[1].start : tokens[-2].end + 1]
    try:
        return parse_query(Cursor(text, tokenize(text)))
    except SyntaxFailure as failure:
        raise SyntaxFailure(failure.reason, tokens[1].start + failure.offset) from None


def _without_parentheses(tokens: list[Token]) -> list[Token]:
    """The tokens inside of the parentheses that may enclose all arguments."""
    depth = 0
    for index, token in enumerate(tokens):
        depth += (token.token_type == TokenType.L_PAREN) - (token.token_type == TokenType.R_PAREN)
        if depth == 0:
            is_whole = index == len(tokens) - 1 and index > 1 and tokens[1].text.upper() not in QUERY_HEADS
            return tokens[1:-1] if is_whole else tokens
    return tokens


def _split(tokens: Sequence[Token]) -> list[list[Token]]:
    """At the commas outside of parentheses."""
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
    """`expression [AS name]`; a variable alone has its own name."""
    names = Cursor(text, tokens[-1:])
    if len(tokens) > 2 and tokens[-2].text.upper() == "AS" and names.is_name():
        written = text[tokens[0].start : tokens[-3].end + 1]
        return _checked(Argument(text=written, name=names.read_name()))
    written = text[tokens[0].start : tokens[-1].end + 1]
    whole = Cursor(text, tokens)
    if not whole.is_name():
        return _checked(Argument(text=written))
    parts = whole.read_names()
    return _checked(Argument(text=written, name=parts[-1] if whole.is_done else None))


def _checked(argument: Argument) -> Argument:
    parse_expression(argument.text, SubqueryAsArgument(argument.text))
    return argument


def _ensure_distinct(arguments: Sequence[Argument]) -> None:
    names = [argument.name for argument in arguments if argument.name is not None]
    for name in names:
        if names.count(name) > 1:
            raise DuplicateArgument(name)
