"""Collapses long lists of constants to one token each.

`IN (1, 2, …)` and `VALUES (1, 'a'), (2, 'b'), …` may have a hundred thousand values. Spark reads them; as sqlglot
tokens and tree nodes they take seconds, again for each part of the statement that is tokenized separately. So a long
list is one token with the type :data:`CONSTANTS`, with all its text, at its first character. In a list of rows the
first and the last row stay unchanged.

No collapsed constant contains a name, depends on the time (`DATE 'today'`), or ends elsewhere under another setting.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sqlglot.tokenizer_core import Token, TokenType

# A token type that Spark's grammar does not use.
CONSTANTS = TokenType.HEREDOC_STRING

# Minimum length in characters. Conditions with shorter lists are compared with the table's log (`conditions.py`).
_CHARS_MIN = 10_000

_TEXT = r"(?:'(?:[^'\\]|\\.)*+')++"
_CONSTANT = rf"""(?:
    [-+]?\ *+(?:[0-9]++\.?+[0-9]*+|\.[0-9]++)(?:E[-+]?+[0-9]++)?+(?:BD|[LSYDF])?+
    | {_TEXT} | NULL\b | TRUE\b | FALSE\b | X'[0-9A-F]*+' | (?:DATE|TIMESTAMP(?:_NTZ|_LTZ)?+)\s*+'[-+:.TZ\ 0-9]++'
    )"""
_VALUE = rf"""(?:{_CONSTANT} | CAST\s*+\(\s*+{_CONSTANT}\s++AS\s++[A-Z]++(?:\s*+\([0-9,\ ]++\))?+\s*+\))"""
_VALUES = rf"{_VALUE}(?:\s*+,\s*+{_VALUE})*+"
_ROW = rf"\(\s*+{_VALUES}\s*+\)"
_IN_LIST = re.compile(rf"(?isx)\s*+({_VALUES})\s*+\)")
_ROWS = re.compile(rf"(?isx)(?P<first>{_ROW}\s*+,\s*+) (?:{_ROW}\s*+,\s*+)++")
_EACH_VALUE = re.compile(rf"(?isx){_VALUE}")
# Strings, quoted names and comments, which are skipped, and possible starts of a list.
_OPENINGS = re.compile(
    r"""(?isx) \br(?:'[^']*+'|"[^"]*+") | '(?:[^'\\]|\\.)*+' | "(?:[^"\\]|\\.)*+" | `[^`]*+` | --[^\r\n]*+ | /\*
    | (?P<in> \bIN\s*+\() | (?P<row> (?=\(\s*+[^\s(ABEG-MO-SU-WYZ_`"?:]))"""
)


class Place(NamedTuple):
    """A text range; `end` is exclusive."""

    start: int
    end: int


def long_lists(text: str) -> list[Place]:
    """Finds long lists in `text`, excluding the parentheses of an IN and the first and last of several rows."""
    return list(_long_lists(text)) if len(text) >= _CHARS_MIN else []


def _long_lists(text: str) -> Iterator[Place]:
    place = 0
    while (opening := _OPENINGS.search(text, place)) is not None:
        place = opening.end()
        if opening[0] == "/*":
            if text.startswith("+", place):
                continue  # a hint: its words are parsed
            return  # comments nest, and are rare among constants
        found = None
        if opening["in"] is not None:
            found = _IN_LIST.match(text, place)
            span = None if found is None else Place(found.start(1), found.end(1))
        elif opening["row"] is not None:
            found = _ROWS.match(text, place)
            span = None if found is None else Place(found.end("first"), found.end())
            place += 1
        if found is None or span is None:
            continue
        place = max(place, found.end())
        if span.end - span.start >= _CHARS_MIN:
            yield span


def without_lists(text: str, lists: Sequence[Place]) -> str:
    """Returns a text with the same length, with a number and blanks for each of `lists`."""
    pieces, done = [], 0
    for span in lists:
        pieces += [text[done : span.start], "0".ljust(_end(text, span) - span.start)]
        done = _end(text, span)
    return "".join([*pieces, text[done:]])


def flag_lists(tokens: Sequence[Token], text: str, lists: Sequence[Place]) -> None:
    """Turns the number tokens that `without_lists` inserted into list tokens."""
    ends = {span.start: _end(text, span) for span in lists}
    for token in tokens:
        if token.start in ends:
            end = ends[token.start]
            token.token_type = CONSTANTS
            token.text = text[token.start : end]
            token.end = end - 1


def num_values(text: str, lists: Sequence[Place]) -> int:
    """Counts the values in all lists."""
    return sum(1 for span in lists for _ in _EACH_VALUE.finditer(text, span.start, span.end))


def _end(text: str, span: Place) -> int:
    """Returns the end of the last value or row that belongs to the list: the comma before the last row stays."""
    end = len(text[span.start : span.end].rstrip()) + span.start
    return end - 1 if text[end - 1] == "," else end
