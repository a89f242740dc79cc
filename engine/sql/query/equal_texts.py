"""Normalized query texts that are equal for Spark."""

from __future__ import annotations

import re

from sqlglot.errors import TokenError

from catalog.errors import SqlError
from engine.sql.dialect.dialect import tokenize

_GAP = re.compile(r"\s+|\s*(--|/\*)(?s:.*)")


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
