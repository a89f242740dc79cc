"""Splits a text into statements, at semicolons outside strings, quoted names, comments and scripts.

A client sends each statement by itself. The tokens are those of Spark's lexer (`dialect/tokens.py`); in addition
`$$ … $$`, in which other systems write function bodies, is one token. This module imports no parser: the command line
starts in a fraction of a second.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

_TOKEN = re.compile(
    r"""(?xs)
      (?P<blank> \s+ | --(?:\\\r?\n|[^\r\n])* )
    | (?P<comment> /\* )
    | (?P<literal> \b[rR](?:'[^']*'|"[^"]*") | '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" | `[^`]*` | \$\$.*?\$\$ )
    | (?P<unclosed> ['"`].* | \$\$.* )
    | (?P<command> \\[A-Za-z?][^\r\n]* )
    | (?P<word> \w+ )
    | (?P<other> . )"""
)
_COMMENT_MARK = re.compile(r"/\*|\*/")
_LINE_OF_SLASH = re.compile(r"(?m)^[ \t]*/[ \t]*$")
# Statements whose blocks end with END and the same word.
_LOOPS_AND_BRANCHES = frozenset({"IF", "WHILE", "LOOP", "FOR", "REPEAT"})
# A statement in a script begins after these; a label ends with a colon.
_BEFORE_STATEMENTS = frozenset({";", ":", "BEGIN", "THEN", "ELSE", "DO", "LOOP", "REPEAT", "ATOMIC"})
_TRANSACTIONS = frozenset({"TRANSACTION", "WORK"})
_MARKER_BEFORE = re.compile(r"[\w)\]`]|::")
# The number of words in CREATE OR REPLACE PROCEDURE.
_WORDS_OF_PROCEDURE = 4


class Kind(Enum):
    STATEMENT = auto()
    # A line from a backslash on, such as `\d NAME`, which is no SQL.
    COMMAND = auto()


@dataclass(frozen=True, slots=True)
class Piece:
    """A statement without its semicolon, or a command; `offset` is its start in the whole text."""

    kind: Kind
    text: str
    offset: int
    # False for a statement that the text does not end, for example in an open quote or script.
    is_ended: bool = True


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    start: int
    end: int


def split_statements(text: str) -> list[Piece]:
    """Returns the statements and commands in `text`; a piece without any token, such as a comment, is left out."""
    pieces: list[Piece] = []
    reader = _Reader()
    for token in _tokens(text):
        if reader.is_end(token, text):
            _add(pieces, text, reader, token.start)
            reader = _Reader(token.end)
        elif token.kind == "command":
            _add(pieces, text, reader, token.start, is_ended=False)
            pieces.append(Piece(Kind.COMMAND, token.text.rstrip(), token.start))
            reader = _Reader(token.end)
        else:
            reader.read(token)
    _add(pieces, text, reader, len(text), is_ended=False)
    return pieces


@dataclass(frozen=True, slots=True)
class Marker:
    """A named parameter marker, `:name`, with its place in the text; the end is exclusive."""

    name: str
    start: int
    end: int


def markers(text: str) -> Iterator[Marker]:
    """Yields the named parameter markers in `text`."""
    before = _Token("other", "", 0, 0)
    for token in _tokens(text):
        is_marker = before.text == ":" and before.kind == "other" and token.kind == "word"
        if is_marker and not _MARKER_BEFORE.match(text, max(0, before.start - 1)):
            yield Marker(token.text, before.start, token.end)
        before = token


def marker_names(text: str) -> set[str]:
    """Returns the names of the named parameter markers in `text`."""
    return {marker.name for marker in markers(text)}


def _add(pieces: list[Piece], text: str, reader: _Reader, end: int, *, is_ended: bool = True) -> None:
    if reader.is_begun:
        whole = text[reader.start : end]
        start = reader.start + len(whole) - len(whole.lstrip())
        pieces.append(Piece(Kind.STATEMENT, whole.strip(), start, is_ended))


def _tokens(text: str) -> Iterator[_Token]:
    place = 0
    while (found := _TOKEN.match(text, place)) is not None:
        start, place = place, found.end()
        kind = str(found.lastgroup)
        if kind == "comment":
            place = _comment_end(text, place)
            kind = "blank" if place >= 0 else "unclosed"
            place = place if place >= 0 else len(text)
        if kind != "blank":
            yield _Token(kind, text[start:place], start, place)


def _comment_end(text: str, place: int) -> int:
    """Returns the end of a bracketed comment, which may contain others; -1 if it is not closed."""
    depth = 1
    for mark in _COMMENT_MARK.finditer(text, place):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return mark.end()
    return -1


class _Reader:
    """Reads one statement's tokens, and knows whether a semicolon ends it."""

    def __init__(self, start: int = 0) -> None:
        self.start = start
        self.is_begun = False
        self._words: list[str] = []
        self._is_script = False
        # The open blocks of a script; an expression `CASE … END` is None.
        self._blocks: list[str | None] = []
        self._before = ";"
        self._first_of_inner = ""

    def is_end(self, token: _Token, text: str) -> bool:
        if token.kind != "other":
            return False
        if self._is_script and token.text == "/":
            line = text.rfind("\n", 0, token.start) + 1
            return _LINE_OF_SLASH.match(text, line) is not None
        return token.text == ";" and not self._is_script_open

    @property
    def _is_script_open(self) -> bool:
        """Returns True inside a script's blocks. `BEGIN` and `BEGIN TRANSACTION` without a block are statements."""
        return self._is_script and bool(self._blocks) and self._words != ["BEGIN"]

    def read(self, token: _Token) -> None:
        self.is_begun = True
        word = token.text.upper() if token.kind == "word" else token.text if token.kind == "other" else ""
        if token.kind == "word" and len(self._words) < _WORDS_OF_PROCEDURE:
            self._words.append(word)
        if self._words == ["BEGIN"] and not self._is_script:
            self._is_script = True
        elif self._words[:1] == ["BEGIN"] and word in _TRANSACTIONS and self._before == "BEGIN":
            self._is_script = False
        elif word == "BEGIN" and self._words[:1] == ["CREATE"] and "PROCEDURE" in self._words and not self._blocks:
            self._is_script, self._before = True, ";"
        if self._is_script and self._before != ".":
            self._read_in_script(word)
        self._before = word

    def _read_in_script(self, word: str) -> None:
        is_expression = bool(self._blocks) and self._blocks[-1] is None
        is_first = self._before in _BEFORE_STATEMENTS and not is_expression
        if is_first:
            self._first_of_inner = word
        if word == "END":
            if self._blocks:
                self._blocks.pop()
        elif word == "CASE" and self._before != "END":
            self._blocks.append(word if is_first else None)
        elif word == "BEGIN" and (is_first or self._first_of_inner == "DECLARE"):
            self._blocks.append(word)
        elif word in _LOOPS_AND_BRANCHES and is_first:
            self._blocks.append(word)
