"""Long lists of constants, which readers of a statement only have to know to be constants.

`IN (1, 2, …)` and `VALUES (1, 'a'), (2, 'b'), …` may have a hundred thousand of them. Spark reads them; as tokens and
tree nodes of sqlglot they take seconds, and again for each part of the statement that is tokenized by itself. So a long
list is one token of the type :data:`CONSTANTS`, with all of its text, in the place where it begins. Of a list of rows
the first and the last stay as they are.

No constant here names anything, depends on the time (`DATE 'today'`), or ends elsewhere under another setting.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sqlglot.tokenizer_core import Token, TokenType

CONSTANTS = TokenType.HEREDOC_STRING
"""Which Spark does not have."""

_CHARS_MIN = 10_000
"""Characters of a list that is long. Conditions with shorter ones are compared with a table's log (`conditions.py`)."""

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
_OPENINGS = re.compile(
    r"""(?isx) \br(?:'[^']*+'|"[^"]*+") | '(?:[^'\\]|\\.)*+' | "(?:[^"\\]|\\.)*+" | `[^`]*+` | --[^\r\n]*+ | /\*
    | (?P<in> \bIN\s*+\() | (?P<row> (?=\(\s*+[^\s(ABEG-MO-SU-WYZ_`"?:]))"""
)
"""Strings, quoted names and comments, which are skipped, and where a list may begin."""


class Place(NamedTuple):
    """`end` is exclusive."""

    start: int
    end: int


def long_lists(text: str) -> list[Place]:
    """Finds long lists in `text`, without the parentheses of an IN and the first and last of several rows."""
    return list(_long_lists(text)) if len(text) >= _CHARS_MIN else []


def _long_lists(text: str) -> Iterator[Place]:
    place = 0
    while (opening := _OPENINGS.search(text, place)) is not None:
        place = opening.end()
        if opening[0] == "/*":
            if text.startswith("+", place):
                continue  # a hint, whose words are read
            return  # comments nest, and are seldom among constants
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
    """Returns a text of the same length, with a number and blanks for each of `lists`."""
    pieces, done = [], 0
    for span in lists:
        pieces += [text[done : span.start], "0".ljust(_end(text, span) - span.start)]
        done = _end(text, span)
    return "".join([*pieces, text[done:]])


def marked(tokens: Sequence[Token], text: str, lists: Sequence[Place]) -> None:
    """Makes lists of the tokens of the numbers that `without_lists` put in."""
    ends = {span.start: _end(text, span) for span in lists}
    for token in tokens:
        if token.start in ends:
            end = ends[token.start]
            token.token_type = CONSTANTS
            token.text = text[token.start : end]
            token.end = end - 1


def num_values(text: str, lists: Sequence[Place]) -> int:
    """Counts the values of all lists."""
    return sum(1 for span in lists for _ in _EACH_VALUE.finditer(text, span.start, span.end))


def _end(text: str, span: Place) -> int:
    """Returns where the last value or row ends: the comma in front of the last row stays."""
    end = len(text[span.start : span.end].rstrip()) + span.start
    return end - 1 if text[end - 1] == "," else end
