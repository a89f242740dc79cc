"""The IDENTIFIER clause: `IDENTIFIER(expression)` in place of a name, with the expression's value as the name.

It is resolved in the text, before any other parsing. A string literal is replaced by its name immediately. Other
expressions (parameters, variables, functions) make the statement a nested one: their values are evaluated by a query
with one row, the names replace the clauses, and the resulting text is parsed and runs as if it had been sent. A name is
inserted with quoted parts, so a value can only be a name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from catalog.conditions import IdentifierNotAName, IdentifierWithSubquery
from catalog.names import quote
from engine.sql.dialect.dialect import SyntaxFailure, tokenize
from engine.sql.dialect.tokens import Token, TokenType
from engine.sql.expressions import parse_expression
from engine.sql.query.source_text import join_texts, slice_text
from engine.sql.query.splice import apply_edits
from engine.sql.query.values import Span
from engine.statements.scripting.statement import NamedByExpressions
from engine.statements.variables.grammar import row_query

_WORD = "IDENTIFIER"
_STRINGS = frozenset({TokenType.STRING, TokenType.RAW_STRING})
_QUOTED_OR_PLAIN = re.compile(r"`(?:[^`]|``)+`|\w+")


@dataclass(frozen=True, slots=True)
class _Clause:
    """`span` is the entire clause, `tokens` are the ones between its parentheses."""

    span: Span
    tokens: Sequence[Token]

    @property
    def literal(self) -> str | None:
        """Returns the name, if the expression is a string; adjacent strings are concatenated."""
        if not self.tokens or any(token.token_type not in _STRINGS for token in self.tokens):
            return None
        return "".join(token.text for token in self.tokens)


def with_literal_names(text: str, tokens: list[Token]) -> tuple[str, list[Token]]:
    """Returns the text and its tokens with the names of all string literal clauses inserted."""
    named = [(clause.span, clause.literal) for clause in _clauses(tokens)]
    edits = [(span, _quote_parts(name)) for span, name in named if name is not None]
    if not edits:
        return text, tokens
    edited = apply_edits(text, edits)
    return edited, tokenize(edited)


def parse_named_by_expressions(text: str, tokens: Sequence[Token]) -> NamedByExpressions | None:
    """Returns a nested statement if clauses remain in it."""
    clauses = _clauses(tokens)
    if not clauses:
        return None
    expressions = [_expression(text, clause) for clause in clauses]
    for expression in expressions:
        parse_expression(expression, IdentifierWithSubquery(expression))
    return NamedByExpressions(
        text=text,
        spans=tuple(clause.span for clause in clauses),
        shown=tuple(expressions),
        names=row_query(expressions, clauses[0].span.start),
        markers=tuple(token.start for token in tokens if token.token_type == TokenType.PLACEHOLDER),
    )


def text_with_names(statement: NamedByExpressions, names: Sequence[str]) -> str:
    """Returns the text with each expression's name inserted. Raises `IdentifierNotAName`."""
    edits = [(span, _quote_parts(name)) for span, name in zip(statement.spans, names, strict=True)]
    return apply_edits(statement.text, edits)


def _clauses(tokens: Sequence[Token]) -> list[_Clause]:
    """Returns the outermost clauses, in order. A quoted word or a parameter name is not a clause."""
    clauses = []
    done = 0
    for index, (token, follower) in enumerate(pairwise(tokens)):
        is_clause = token.token_type not in (TokenType.IDENTIFIER, *_STRINGS) and token.text.upper() == _WORD
        if index < done or not is_clause or follower.token_type != TokenType.L_PAREN:
            continue
        if index and tokens[index - 1].token_type == TokenType.COLON and tokens[index - 1].end + 1 == token.start:
            continue
        done = _closing_index(tokens, index + 1)
        clauses.append(_Clause(Span(token.start, tokens[done].end + 1), tokens[index + 2 : done]))
    return clauses


def _closing_index(tokens: Sequence[Token], opening: int) -> int:
    """Returns the index of the parenthesis that closes the one at `opening`."""
    depth = 0
    for index in range(opening, len(tokens)):
        depth += (tokens[index].token_type == TokenType.L_PAREN) - (tokens[index].token_type == TokenType.R_PAREN)
        if depth == 0:
            return index
    raise SyntaxFailure("a parenthesis is not closed", tokens[opening].start)


def _expression(text: str, clause: _Clause) -> str:
    """Returns the expression's text. Adjacent strings and parameters form one string, as in Spark."""
    if not clause.tokens:
        raise SyntaxFailure("an expression is expected", clause.span.end - 1)
    pieces: list[str] = [slice_text(text, clause.tokens[0].start, clause.tokens[0].end + 1)]
    for index, (token, follower) in enumerate(pairwise(clause.tokens)):
        is_joined = follower.token_type in (*_STRINGS, TokenType.COLON) and (
            token.token_type in _STRINGS or (index and clause.tokens[index - 1].token_type == TokenType.COLON)
        )
        pieces.append(" || " if is_joined else slice_text(text, token.end + 1, follower.start))
        pieces.append(slice_text(text, follower.start, follower.end + 1))
    return join_texts(pieces)


def _quote_parts(name: str) -> str:
    parts = []
    end = 0
    while match := _QUOTED_OR_PLAIN.match(name, end):
        part = match[0]
        parts.append(part[1:-1].replace("``", "`") if part.startswith("`") else part)
        end = match.end()
        if end == len(name):
            return ".".join(map(quote, parts))
        if name[end] != ".":
            break
        end += 1
    raise IdentifierNotAName(name)
