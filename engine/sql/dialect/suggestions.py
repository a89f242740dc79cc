"""What a mistyped word may have been meant to be."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches

_NEAR = 0.7
_WORD_CHARS_MAX = 40


def hint(word: str, known: Iterable[str]) -> str:
    """`; did you mean X?`, or nothing where no known word (upper case) is near."""
    if len(word) > _WORD_CHARS_MAX:
        return ""
    near = get_close_matches(word.upper(), known, n=1, cutoff=_NEAR)
    return f"; did you mean {near[0]}?" if near and near[0] != word.upper() else ""


def wrong_word(words: Sequence[str], rows: Collection[tuple[str, ...]]) -> tuple[int, str]:
    """Of `words` (upper case) that begin none of `rows`: which one is the first wrong one, and a hint for it."""
    count = 0
    left = list(rows)
    while count < len(words):
        fitting = [row for row in left if len(row) > count and row[count] == words[count]]
        if not fitting:
            break
        left, count = fitting, count + 1
    word = words[count] if count < len(words) else ""
    return count, hint(word, sorted({row[count] for row in left if len(row) > count}))
