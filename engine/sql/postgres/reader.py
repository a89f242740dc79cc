"""Reads PostgreSQL's queries into trees: calls stay calls with the names and arguments as written.

sqlglot's builders rename and copy arguments, so this parser has none. Subscripts count as they are written.
"""

from __future__ import annotations

from typing import Any, ClassVar, NoReturn

from sqlglot import exp
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import ParseError, TokenError
from sqlglot.parsers.postgres import PostgresParser
from sqlglot.tokenizer_core import Token, TokenType

from catalog.conditions import StatementTooComplex, StatementTooLong
from engine.errors.statement_errors import TEXT_LENGTH_MAX
from engine.sql.dialect.dialect import TOKENS_MAX, SyntaxFailure
from engine.sql.string_literals import unescape

# Exceptions of sqlglot, and of a walk over its tree, on an unexpected text.
BUGS = (ArithmeticError, AssertionError, AttributeError, IndexError, KeyError, TypeError, ValueError)

# Words that begin a query.
QUERY_WORDS = frozenset({"SELECT", "WITH", "VALUES", "TABLE", "("})

# Key in a node's `meta`: the offset of its first token.
START = "pg_start"
# Key in the `meta` of an expression with the sign `+`, which has no node.
SIGNED = "pg_signed"
# Functions with words between their arguments.
_FUNCTION_SYNTAX = ("CAST", "EXTRACT", "TRIM", "SUBSTRING", "POSITION", "OVERLAY")


# Keywords that tools use as labels after AS, and the tokens that follow a label.
_KEYWORD_ALIASES = frozenset("select insert update delete table order group limit offset default desc asc".split())
_AFTER_ALIAS = frozenset({TokenType.COMMA, TokenType.FROM, TokenType.R_PAREN, TokenType.SEMICOLON})


_INTERVAL_UNITS = frozenset({"YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND"})


class _Parser(PostgresParser):
    FUNCTIONS: ClassVar[dict[str, Any]] = {}
    FUNCTION_PARSERS: ClassVar[dict[str, Any]] = {
        name: PostgresParser.FUNCTION_PARSERS[name] for name in _FUNCTION_SYNTAX
    }
    STATEMENT_PARSERS: ClassVar[dict[TokenType, Any]] = {}
    # The keys as they are written; sqlglot would read a path in a constant.
    JSON_OPERATORS: ClassVar[dict[TokenType, Any]] = {
        **PostgresParser.JSON_OPERATORS,
        TokenType.ARROW: lambda self, this, key: self.expression(exp.JSONExtract(this=this, expression=key)),
        TokenType.DARROW: lambda self, this, key: self.expression(exp.JSONExtractScalar(this=this, expression=key)),
    }

    def raise_error(self, message: str, token: Token | None = None) -> NoReturn:
        place = token or self._curr
        if not place:
            raise SyntaxFailure("the statement ends too early", len(self.sql))
        if message.startswith("Invalid expression"):
            raise SyntaxFailure(f"{self._find_sql(place, place)} is not expected here", place.start)
        if message.startswith("Required keyword"):
            raise SyntaxFailure("an operand or an argument is missing", place.start)
        raise SyntaxFailure(message[:1].lower() + message[1:], place.start)

    def _parse_as_command(self, start: Token) -> NoReturn:
        raise SyntaxFailure(f"{start.text.upper()} is not expected here", start.start)

    def _parse_command(self) -> NoReturn:
        raise SyntaxFailure(f"{self._prev.text.upper()} is not expected here", self._prev.start)

    def _parse_interval(self, *args: Any, **kwargs: Any) -> exp.Add | exp.Interval | None:
        """Parses a constant as it is written; sqlglot leaves out what follows the first unit."""
        start, value = self._curr, self._next
        if start.token_type != TokenType.INTERVAL or value.token_type != TokenType.STRING:
            return super()._parse_interval(*args, **kwargs)
        self._advance(2)
        unit = None
        if self._curr.text.upper() in _INTERVAL_UNITS:
            unit = exp.Var(this=self._curr.text.upper())
            self._advance()
        found = exp.Interval(this=exp.Literal.string(value.text), unit=unit)
        found.meta[START] = start.start
        return found

    def _parse_unary(self) -> exp.Expr | None:
        start = self._curr
        found = super()._parse_unary()
        if start and start.token_type == TokenType.PLUS and isinstance(found, exp.Expr):
            found.meta[SIGNED] = True
        return _at(found, start)

    def _parse_type(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        start = self._curr
        found = super()._parse_type(*args, **kwargs)
        return _at(found, start)

    def _parse_types(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        """Parses a type; sqlglot has no arrays of OID and the types like it."""
        found = super()._parse_types(*args, **kwargs)
        while isinstance(found, exp.ObjectIdentifier | exp.PseudoType) and self._curr.token_type == TokenType.L_BRACKET:
            if self._next.token_type != TokenType.R_BRACKET:
                break
            self._advance(2)
            found = exp.DataType(this=exp.DataType.Type.ARRAY, expressions=[found], nested=True)
        return found

    def _parse_primary(self) -> exp.Expr | None:
        start = self._curr
        return _at(super()._parse_primary(), start)

    def _parse_function_call(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        start = self._curr
        return _at(super()._parse_function_call(*args, **kwargs), start)

    def _parse_table(self, *args: Any, **kwargs: Any) -> exp.Expr | None:
        start = self._curr
        return _at(super()._parse_table(*args, **kwargs), start)


def _at(node: exp.Expr | None, start: Token | None) -> exp.Expr | None:
    if isinstance(node, exp.Expr) and start:
        node.meta.setdefault(START, start.start)
    return node


class _ChangeParser(_Parser):
    """Also parses the statements that change rows."""

    STATEMENT_PARSERS: ClassVar[dict[TokenType, Any]] = {
        kind: PostgresParser.STATEMENT_PARSERS[kind] for kind in (TokenType.UPDATE, TokenType.DELETE, TokenType.MERGE)
    }


class _Tokenizer(Postgres.Tokenizer):
    # sqlglot makes one token of the rest of such a statement.
    COMMANDS: ClassVar[set[TokenType]] = set()


class PostgresReader(Postgres):
    """PostgreSQL's queries, to the extent that the gateway reads them."""

    INDEX_OFFSET = 0
    Tokenizer = _Tokenizer
    Parser = _Parser


_DIALECT = PostgresReader()


def tokens_of(text: str) -> list[Token]:
    """Returns the tokens of one statement, without semicolons at its end. Raises `SyntaxFailure` and `SqlError`."""
    if len(text) > TEXT_LENGTH_MAX:
        raise StatementTooLong(len(text), TEXT_LENGTH_MAX)
    if "\0" in text:
        raise SyntaxFailure("the text has a NUL character", text.index("\0"))
    try:
        tokens: list[Token] = _DIALECT.tokenize(text)
    except TokenError:
        raise SyntaxFailure("a quote or a comment is not closed, or a literal is malformed", 0) from None
    for token in tokens:
        if token.token_type == TokenType.BYTE_STRING:  # sqlglot has other escapes
            token.text = unescape(text[token.start + 2 : token.end])
    while tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        tokens.pop()
    for before, token, after in zip(tokens, tokens[1:], [*tokens[2:], None], strict=False):
        if before.token_type == TokenType.COMMA and token.token_type in (TokenType.FROM, TokenType.R_PAREN):
            raise SyntaxFailure(f"{token.text} is not expected here", token.start)
        is_end = after is None or after.token_type in _AFTER_ALIAS
        if before.token_type == TokenType.ALIAS and is_end and _is_keyword_alias(token):
            token.token_type = TokenType.VAR
    if len(tokens) > TOKENS_MAX:
        raise SyntaxFailure("the statement has too many tokens", 0)
    return tokens


def _is_keyword_alias(token: Token) -> bool:
    return token.token_type != TokenType.IDENTIFIER and token.text.lower() in _KEYWORD_ALIASES


def is_query(tokens: list[Token]) -> bool:
    """Returns True if the statement begins as a query."""
    return bool(tokens) and tokens[0].token_type != TokenType.STRING and tokens[0].text.upper() in QUERY_WORDS


def read_query(tokens: list[Token], text: str) -> exp.Expr:
    """Returns the tree of one query. Raises `SyntaxFailure` for everything else."""
    if not is_query(tokens):
        raise SyntaxFailure("a query is expected", tokens[0].start if tokens else 0)
    tree = _read(_Parser(dialect=_DIALECT), tokens, text)
    if not isinstance(tree, exp.Query | exp.Values):
        raise SyntaxFailure("a query is expected", tokens[0].start)
    return tree


def read_change(tokens: list[Token], text: str) -> exp.Expr:
    """Returns the tree of an UPDATE, DELETE or MERGE. Raises `SyntaxFailure` for everything else."""
    tree = _read(_ChangeParser(dialect=_DIALECT), tokens, text)
    if not isinstance(tree, exp.Update | exp.Delete | exp.Merge):
        raise SyntaxFailure("the statement cannot be read", tokens[0].start)
    return tree


def _read(parser: _Parser, tokens: list[Token], text: str) -> exp.Expr | None:
    for token in tokens:
        if token.token_type == TokenType.SEMICOLON:
            raise SyntaxFailure("a statement ends here, and only one is expected", token.start)
    try:
        trees = parser.parse(tokens, text)
    except RecursionError:
        raise StatementTooComplex() from None
    except SyntaxFailure:
        raise
    except ParseError as error:
        raise SyntaxFailure("the query cannot be read", _column_of(error)) from None
    except BUGS:
        raise SyntaxFailure("the query cannot be read", tokens[0].start) from None
    return trees[0] if trees else None


def _column_of(error: ParseError) -> int:
    return max(0, int(error.errors[0].get("col") or 1) - 1) if error.errors else 0


def start_of(node: exp.Expr) -> int:
    """Returns the offset in the text at which `node` begins; 0 if it has no position."""
    places = [each.meta[key] for each in node.walk() for key in (START, "start") if key in each.meta]
    return min(places, default=0)


def last_name(node: exp.Expr) -> str:
    """Returns a call's name in lower case, without its schema."""
    name = node.this if isinstance(node.this, str) else node.name
    return str(name).lower()
