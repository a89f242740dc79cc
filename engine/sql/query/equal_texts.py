"""What two texts of a query have in common if Spark cannot tell them apart, and what of a text means the time."""

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
    """`text` with one blank for each comment and whatever white space is around it: hints stay.

    Where a blank was there is one, as `> >` is not `>>`. What cannot be read is left as it is.
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
    """Whether a typed literal may be the time at which it is read, as DATE 'today' is to Spark's parser.

    One with a backslash may be, and so may all that cannot be read.
    """
    if _MAY_BE_TYPED.search(text) is None:  # as in the rows of a system view, of which there may be megabytes
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
