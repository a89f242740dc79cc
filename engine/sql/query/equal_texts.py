"""Normalized query texts that are equal for Spark, and detection of texts that depend on the time."""

from __future__ import annotations

import re
from itertools import pairwise

from sqlglot.errors import TokenError
from sqlglot.tokenizer_core import TokenType

from catalog.errors import SqlError
from engine.sql.dialect.dialect import tokenize

_STRINGS = frozenset({TokenType.STRING, TokenType.RAW_STRING})
_TYPED_LITERALS = frozenset({"DATE", "TIMESTAMP", "TIMESTAMP_LTZ", "TIMESTAMP_NTZ", "TIME"})
_GAP = re.compile(r"\s+|\s*(--|/\*)(?s:.*)")
_MAY_BE_TYPED = re.compile(r"(?i)(?:date|time|timestamp|_ltz|_ntz)\s*(?:['\"r]|/\*|--)")
_TIME = re.compile(r"(?i)[\x00-\x20]*(now|today|tomorrow|yesterday)|(?s:.*)\\")


def without_comments(text: str) -> str:
    """Returns `text` with one blank for each comment and its surrounding white space; hints stay.

    A blank is never removed completely, because `> >` is not `>>`. Unreadable text is left unchanged.
    """
    try:
        tokens = tokenize(text)
    except (TokenError, SqlError):
        return text
    pieces: list[str] = []
    done = 0
    for token in tokens:
        gap = text[done : token.start]
        if gap and not _GAP.fullmatch(gap):
            return text
        pieces += [" " if gap and pieces else "", text[token.start : token.end + 1]]
        done = token.end + 1
    return "".join(pieces)


def has_literal_of_now(text: str) -> bool:
    """Returns whether a typed literal may denote the current time, as DATE 'today' does in Spark's parser.

    True also for a literal with a backslash, and for unreadable text.
    """
    if _MAY_BE_TYPED.search(text) is None:  # as in a system view's rows, which may be megabytes
        return False
    try:
        tokens = tokenize(text)
    except (TokenError, SqlError):
        return True
    return any(
        word.text.upper() in _TYPED_LITERALS
        and literal.token_type in _STRINGS
        and _TIME.match(text[literal.start : literal.end + 1].lstrip("rR").strip("'\""))
        for word, literal in pairwise(tokens)
    )
