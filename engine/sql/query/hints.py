"""The names in a hint (`/*+ BROADCAST(t, s.u), REPARTITION(8, t.c) */`), with their places.

sqlglot gives a hint as the text of a comment. Arguments are numbers or dotted names: in join hints the names of
relations, in partitioning hints those of columns, whose qualifiers are names of relations. What is neither is left
alone; Spark warns of hints that it does not know and ignores them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import Token, TokenType

from engine.sql.dialect.dialect import tokenize
from engine.sql.query.values import Span

_OPENING, _CLOSING = "/*+", "*/"
_NAMES_COLUMNS = frozenset({"REPARTITION", "REPARTITION_BY_RANGE", "REBALANCE"})


@dataclass(frozen=True, slots=True, kw_only=True)
class HintName:
    """A name of a relation: its parts without quotes, and their positions in the statement's text."""

    parts: tuple[str, ...]
    spans: tuple[Span, ...]


def hint_names(text: str, span: tuple[int, int]) -> Iterator[HintName]:
    """The names of relations in the hint at `span` of `text`, in their order."""
    start = span[0] + len(_OPENING)
    try:
        tokens = tokenize(text[start : span[1] - len(_CLOSING)])
    except TokenError:
        return
    hint = ""
    chain: list[Token] = []
    for index, token in enumerate(tokens):
        follower = tokens[index + 1].token_type if index + 1 < len(tokens) else None
        if follower == TokenType.L_PAREN:
            hint = token.text.upper()
        elif token.token_type not in (TokenType.DOT, TokenType.COMMA, TokenType.L_PAREN, TokenType.R_PAREN):
            chain.append(token)
            if follower != TokenType.DOT:
                yield from _name(chain[:-1] if hint in _NAMES_COLUMNS else chain, start)
                chain = []


def _name(chain: list[Token], offset: int) -> Iterator[HintName]:
    if chain and all(token.token_type != TokenType.NUMBER for token in chain):
        yield HintName(
            parts=tuple(token.text for token in chain),
            spans=tuple(Span(offset + token.start, offset + token.end + 1) for token in chain),
        )
