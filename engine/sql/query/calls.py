"""Finds function calls in a query that are not Spark built-ins, with the spans of their arguments.

The tree contains the called names; the tokens around a name contain its qualifier and the argument spans.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import replace

from sqlglot.tokenizer_core import Token, TokenType

from engine.sql.query.values import Call, Span

_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE})
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE})


def read_calls(
    tokens: Sequence[Token], offsets: Iterable[int], columns: Container[int], sources: Mapping[int, bool]
) -> tuple[Call, ...]:
    """Returns the calls whose last name parts begin at `offsets`, in text order.

    `columns` are column offsets, `sources` the offsets of calls in FROM and whether they have an alias.
    """
    places = {token.start: index for index, token in enumerate(tokens)}
    found = {offset: _call(tokens, places[offset]) for offset in sorted(set(offsets)) if offset in places}
    return tuple(
        replace(
            call, is_column=offset in columns, is_table=offset in sources, is_aliased=bool(sources.get(offset, False))
        )
        for offset, call in found.items()
        if call is not None
    )


def _call(tokens: Sequence[Token], index: int) -> Call | None:
    """Returns the call, or None if no parenthesis follows the name."""
    first = index
    while first >= 2 and tokens[first - 1].token_type is TokenType.DOT:
        first -= 2
    names = tuple(token.text for token in tokens[first : index + 1 : 2])
    if index + 1 >= len(tokens) or tokens[index + 1].token_type is not TokenType.L_PAREN:
        return None
    arguments: list[Span] = []
    parameters: list[str | None] = []
    begin, depth = index + 2, 0
    for place in range(index + 1, len(tokens)):
        kind = tokens[place].token_type
        depth += (kind in _OPENING) - (kind in _CLOSING)
        if (kind is TokenType.COMMA and depth == 1) or depth == 0:
            is_named = place > begin + 2 and tokens[begin + 1].token_type is TokenType.FARROW
            parameters += [tokens[begin].text if is_named else None] if place > begin else []
            begin += 2 if is_named else 0
            if place > begin:
                arguments.append(Span(tokens[begin].start, tokens[place - 1].end + 1))
            begin = place + 1
        if depth == 0:
            span = Span(tokens[first].start, tokens[place].end + 1)
            return Call(name_parts=names, span=span, arguments=tuple(arguments), names=tuple(parameters))
    return None
