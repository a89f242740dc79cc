"""Spark's tokens: sqlglot's tokenizer without what Spark does not know, and what only Spark reads otherwise."""

from __future__ import annotations

import re
from typing import ClassVar

from sqlglot.dialects.databricks import Databricks
from sqlglot.tokenizer_core import Token, TokenType

_WORD = re.compile(r"\w+")
_NOTHING = Token(TokenType.SEMICOLON, "")
_NESTED_TYPES = frozenset({"ARRAY", "MAP", "STRUCT"})
_LITERALS = frozenset({TokenType.IDENTIFIER, TokenType.STRING, TokenType.RAW_STRING, TokenType.NUMBER})


class GatewayTokenizer(Databricks.Tokenizer):
    """Spark's tokens: no templating, and statement names are words like any other."""

    COMMANDS: ClassVar[set[TokenType]] = set()
    KEYWORDS: ClassVar[dict[str, TokenType]] = {
        word: kind
        for word, kind in Databricks.Tokenizer.KEYWORDS.items()
        if kind not in (TokenType.COMMAND, TokenType.BLOCK_START, TokenType.BLOCK_END)
    }


GatewayTokenizer._COMMENTS = {start: end for start, end in GatewayTokenizer._COMMENTS.items() if start != "{#"}


def normalize(tokens: list[Token]) -> list[Token]:
    """The tokens as Spark sees them.

    A word after a dot is a name, so is `window` before `(`; `X '1F'` is a number; `>>>` is one operator, except where
    it closes three types.
    """
    kept: list[Token] = []
    types_open = 0
    for token in tokens:
        kind, before = token.token_type, kept[-1] if kept else _NOTHING
        if before.token_type == TokenType.DOT and kind not in _LITERALS and _WORD.fullmatch(token.text):
            token.token_type = TokenType.VAR
        elif kind == TokenType.L_PAREN and before.token_type == TokenType.WINDOW:
            before.token_type = TokenType.VAR
        elif kind == TokenType.STRING and before.token_type == TokenType.VAR and before.text in "xX":
            before.token_type, before.text, before.end = TokenType.HEX_STRING, token.text, token.end
            continue
        elif kind == TokenType.LT and before.text.upper() in _NESTED_TYPES:
            types_open += 1
        elif kind == TokenType.GT and types_open:
            types_open -= 1
        elif kind == TokenType.GT and [last.token_type for last in kept[-2:]] == [kind, kind]:
            kept.pop()
            kept[-1].token_type = TokenType.CARET  # any binary operator will do
            continue
        kept.append(token)
    return kept
