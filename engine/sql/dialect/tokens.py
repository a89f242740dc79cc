"""Spark's tokens: adapts sqlglot's tokenizer to the differences in Spark's lexer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import ClassVar

from sqlglot.dialects.databricks import Databricks
from sqlglot.errors import TokenError as TokenError
from sqlglot.tokenizer_core import Token as Token
from sqlglot.tokenizer_core import TokenType as TokenType

_WORD = re.compile(r"\w+")
_NOTHING = Token(TokenType.SEMICOLON, "")
_NESTED_TYPES = frozenset({"ARRAY", "MAP", "STRUCT"})
# Literals, quoted names and comments, as Spark's lexer reads them.
_PIECES = re.compile(
    r"""(?sx) \b[rR](?:'[^']*'|"[^"]*") | '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" | `[^`]*`
    | (?P<line> --(?:\\\r?\n|[^\r\n])*) | (?P<bracketed> /\*(?!\+))"""
)
_STRINGS = frozenset({TokenType.STRING, TokenType.RAW_STRING})
_COMMENT_MARK = re.compile(r"/\*(?!\+)|\*/")
_NOT_NEWLINE = re.compile(r"[^\r\n]")
# Words that may follow `|` in a pipe operator and that are rarely a column after the bitwise operator.
_PIPE_WORDS = frozenset(
    {
        *"AGGREGATE ANTI AS CROSS DISTRIBUTE DROP EXCEPT EXTEND FULL INNER INTERSECT JOIN LATERAL LEFT LIMIT".split(),
        *"MINUS NATURAL OFFSET PIVOT RIGHT SELECT SEMI SET TABLESAMPLE UNION UNPIVOT WHERE WINDOW".split(),
        *("CLUSTER BY", "DISTRIBUTE BY", "ORDER BY", "SORT BY"),
    }
)
_LITERALS = frozenset({TokenType.IDENTIFIER, TokenType.STRING, TokenType.RAW_STRING, TokenType.NUMBER})


class GatewayTokenizer(Databricks.Tokenizer):
    """Spark's tokens: no templating, and statement names are ordinary words."""

    COMMANDS: ClassVar[set[TokenType]] = set()
    KEYWORDS: ClassVar[dict[str, TokenType]] = {
        word: kind
        for word, kind in Databricks.Tokenizer.KEYWORDS.items()
        if kind not in (TokenType.COMMAND, TokenType.BLOCK_START, TokenType.BLOCK_END)
    }


GatewayTokenizer._COMMENTS = {start: end for start, end in GatewayTokenizer._COMMENTS.items() if start != "{#"}


def join_doubled_quotes(tokens: list[Token], text: str) -> list[Token]:
    """Returns the tokens with `'it''s'` as one string, as Spark reads it; `'it' 's'` are two, and so are raw
    strings.
    """
    tokens_left: list[Token] = []
    for token in tokens:
        before = tokens_left[-1] if tokens_left else _NOTHING
        if (
            token.token_type == before.token_type == TokenType.STRING
            and token.start == before.end + 1
            and text[token.start] == text[before.end]
        ):
            tokens_left[-1] = Token(
                TokenType.STRING,
                f"{before.text}{text[before.end]}{token.text}",
                before.line,
                before.col,
                before.start,
                token.end,
                before.comments + token.comments,
            )
            continue
        tokens_left.append(token)
    return tokens_left


class UnclosedComment(Exception):
    """A bracketed comment without an end; `offset` is its start."""

    def __init__(self, offset: int) -> None:
        super().__init__(offset)
        self.offset = offset


def blank_comments(text: str) -> str:
    """Returns `text` with the same length, with blanks for comments that Spark reads differently from sqlglot:
    bracketed comments nest, and a line comment that ends with a backslash continues on the next line. Raises
    `UnclosedComment`.
    """
    if text.count("/*") < 2 and "\\\n" not in text and "\\\r" not in text:
        return text
    pieces, done = [], 0
    for start, end in _comments(text):
        if end < 0:
            raise UnclosedComment(start)
        pieces += [text[done:start], _NOT_NEWLINE.sub(" ", text[start:end])]
        done = end
    return "".join([*pieces, text[done:]])


def unclosed_comment(text: str) -> int | None:
    """Returns the start of an unclosed bracketed comment, or None."""
    return next((start for start, end in _comments(text) if end < 0), None)


def literals_and_comments(text: str) -> Iterator[tuple[int, int]]:
    """Yields the start and end of each string, quoted name and comment; an unclosed one ends with `text`."""
    place = 0
    while (piece := _PIECES.search(text, place)) is not None:
        place = _comment_end(text, piece.end()) if piece["bracketed"] else piece.end()
        yield piece.start(), place if place >= 0 else len(text)
        if place < 0:
            return


def _comments(text: str) -> Iterator[tuple[int, int]]:
    """Yields the comments in `text`; an unclosed comment ends at -1 and is the last."""
    place = 0
    while (piece := _PIECES.search(text, place)) is not None:
        place = piece.end()
        if piece["line"]:
            yield piece.start(), place
        elif piece["bracketed"]:
            place = _comment_end(text, place)
            yield piece.start(), place
            if place < 0:
                return


def _comment_end(text: str, place: int) -> int:
    depth = 1
    for mark in _COMMENT_MARK.finditer(text, place):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return mark.end()
    return -1


def normalize(tokens: list[Token]) -> list[Token]:
    """Returns the tokens as Spark's lexer produces them.

    A word after a dot is a name, and so is `window` before `(`; `X '1F'` is a number; a raw string and the strings
    after it are one string; `>>>` is one operator, unless it closes three types; `|` before a pipe operator's word is
    `|>`.
    """
    tokens_left: list[Token] = []
    types_open = 0
    for index, token in enumerate(tokens):
        kind = token.token_type
        before = tokens_left[-1] if tokens_left else _NOTHING
        if before.token_type == TokenType.DOT and kind not in _LITERALS and _WORD.fullmatch(token.text):
            token.token_type = TokenType.VAR
        elif kind == TokenType.L_PAREN and before.token_type == TokenType.WINDOW:
            before.token_type = TokenType.VAR
        elif TokenType.RAW_STRING in (kind, before.token_type) and {kind, before.token_type} <= _STRINGS:
            before.token_type, before.text, before.end = TokenType.STRING, before.text + token.text, token.end
            continue
        elif kind == TokenType.STRING and before.token_type == TokenType.VAR and before.text in "xX":
            before.token_type, before.text, before.end = TokenType.HEX_STRING, token.text, token.end
            continue
        elif kind == TokenType.LT and before.text.upper() in _NESTED_TYPES:
            types_open += 1
        elif kind == TokenType.GT and types_open:
            types_open -= 1
        elif kind == TokenType.GT and [last.token_type for last in tokens_left[-2:]] == [kind, kind]:
            tokens_left.pop()
            tokens_left[-1].token_type = TokenType.CARET  # any binary operator works here
            continue
        elif kind == TokenType.PIPE and _is_pipe_operator(tokens[index + 1 : index + 3]):
            token.token_type = TokenType.PIPE_GT
        tokens_left.append(token)
    return tokens_left


def _is_pipe_operator(tokens: list[Token]) -> bool:
    """Returns whether the tokens begin a pipe operator; a word that ends an expression is a column."""
    if len(tokens) < 2 or tokens[1].token_type in (TokenType.COMMA, TokenType.R_PAREN):
        return False
    return tokens[0].token_type not in _LITERALS and tokens[0].text.upper() in _PIPE_WORDS
