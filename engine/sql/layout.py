"""Lays out SQL text by its tokens: only blanks, line breaks and the case of keywords change.

A layout by tokens works for every statement, also for scripts and for clauses that no parser of this server has, and
cannot lose a hint, a parameter or a comment. Clauses of a query begin lines. A list, a condition or parentheses that do
not fit into a line are broken at their commas, their AND and OR, or around their content.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

WIDTH, INDENT = 100, 4
# Deeper groups are not laid out, and deeper lines are not indented further.
DEPTH_MAX, INDENT_MAX = 40, 80

_TOKEN = re.compile(
    r"""(?xs)
      (?P<blank> \s+ )
    | (?P<line> --(?:\\\r?\n|[^\r\n])* )
    | (?P<block> /\* )
    | (?P<literal> \b[rR](?:'[^']*'|"[^"]*") | '(?:[^'\\]|\\.)*' | "(?:[^"\\]|\\.)*" | `[^`]*` | \$\$.*?\$\$ )
    | (?P<number> \d+\.?\d*(?:[eE][+-]?\d+)?\w* )
    | (?P<word> \w+ )
    | (?P<other> <=> | >>> | [<>!=]= | <> | << | >> | \|\| | \|> | -> | => | :: | . )"""
)
_COMMENT_MARK = re.compile(r"/\*|\*/")


class Kind(Enum):
    WORD = auto()
    LITERAL = auto()
    OTHER = auto()
    LINE_COMMENT = auto()
    BLOCK_COMMENT = auto()


@dataclass(slots=True)
class Token:
    """`is_glued`: nothing separates it from the token before; `breaks_before`: a line break does."""

    kind: Kind
    text: str
    is_glued: bool
    breaks_before: bool

    @property
    def word(self) -> str:
        """Returns the word in upper case, or the operator; empty for a literal or a comment."""
        return self.text.upper() if self.kind in (Kind.WORD, Kind.OTHER) else ""

    @property
    def is_comment(self) -> bool:
        """Returns True for a line comment and for a block comment."""
        return self.kind in (Kind.LINE_COMMENT, Kind.BLOCK_COMMENT)


@dataclass(slots=True)
class Group:
    """A part between parentheses, or between CASE and END, with both of them; unclosed ones end without `close`."""

    open: Token
    items: list[Item] = field(default_factory=list)
    close: Token | None = None
    # The group in one line, or None, in a tuple once it is known.
    _flat: tuple[str | None] | None = None

    def flat_text(self) -> str | None:
        """Returns the group in one line; None if a comment needs a line's end."""
        if self._flat is None:
            items = [self.open, *self.items, *([] if self.close is None else [self.close])]
            self._flat = (flat_text(items),)
        return self._flat[0]

    @property
    def is_case(self) -> bool:
        """Returns True for CASE … END, False for parentheses."""
        return self.open.word == "CASE"


Item = Token | Group


def read_tokens(text: str) -> Iterator[Token]:
    """Yields the tokens and comments of `text`."""
    kinds = {"line": Kind.LINE_COMMENT, "literal": Kind.LITERAL, "number": Kind.LITERAL, "word": Kind.WORD}
    place, is_glued, breaks = 0, True, True
    while (found := _TOKEN.match(text, place)) is not None:
        start, place = place, found.end()
        kind = kinds.get(str(found.lastgroup), Kind.OTHER)
        if found.lastgroup == "blank":
            is_glued, breaks = False, breaks or "\n" in found[0]
            continue
        if found.lastgroup == "block":
            kind, place = Kind.BLOCK_COMMENT, _comment_end(text, place)
        # Blanks at the end of a line comment do not count.
        content = text[start:place].rstrip() if kind is Kind.LINE_COMMENT else text[start:place]
        yield Token(kind, content, is_glued, breaks)
        is_glued, breaks = True, False


def _comment_end(text: str, place: int) -> int:
    """Returns the end of a bracketed comment, which may contain others."""
    depth = 1
    for mark in _COMMENT_MARK.finditer(text, place):
        depth += 1 if mark[0] == "/*" else -1
        if depth == 0:
            return mark.end()
    return len(text)


class NestedTooDeep(Exception):
    """The text has more groups in each other than its layout takes time for."""


def group_tokens(tokens: Iterable[Token]) -> list[Item]:
    """Returns the tokens with parentheses and CASE … END as groups. Raises NestedTooDeep."""
    outermost: list[Item] = []
    open_groups: list[Group] = []
    before = ""
    for token in tokens:
        items = open_groups[-1].items if open_groups else outermost
        inner = open_groups[-1] if open_groups else None
        if token.word == "(" or (token.word == "CASE" and before not in (".", "END", "AS")):
            group = Group(token)
            items.append(group)
            open_groups.append(group)
            if len(open_groups) > DEPTH_MAX:
                raise NestedTooDeep
        elif inner is not None and token.word == ("END" if inner.is_case else ")") and before != ".":
            inner.close = token
            open_groups.pop()
        else:
            items.append(token)
        before = token.word if not token.is_comment else before
    return outermost


_SPACED = frozenset(
    "ALL AND ANY AS BETWEEN BY DISTINCT ELSE EXCEPT EXISTS FROM HAVING IN INTERSECT INTO IS JOIN LIKE MINUS NOT ON OR "
    "OVER RETURN SELECT SET THEN UNION USING VALUES WHEN WHERE WITH".split()
)
# Around these, blanks are as they were written, or none.
_AS_WRITTEN = frozenset({":", "@", "[", "]", "$", "{", "}", "!", "~", "\\", "&", "#"})
_TYPES = frozenset({"ARRAY", "MAP", "STRUCT"})


class Spacing:
    """Decides about the blank before each token of a line, from the tokens before it."""

    def __init__(self) -> None:
        self._before: Token | None = None
        self._is_unary = False
        self._types_open = 0

    def blank(self, token: Token) -> str:
        """Returns the blank before `token`, and moves on to it."""
        before, word = self._before, token.word
        found = "" if before is None else self._between(before, token)
        in_type = word == "<" and before is not None and before.word in _TYPES
        if in_type:
            found, self._types_open = "", self._types_open + 1
        elif self._types_open and word and not word.strip(">"):
            self._types_open = max(0, self._types_open - len(word))
        last = before.word if before is not None and before.kind is not Kind.LITERAL else ""
        is_operand = before is not None and (before.kind is Kind.LITERAL or last in (")", "]", "?"))
        is_name = before is not None and before.kind is Kind.WORD and last not in _SPACED and last != "CASE"
        self._is_unary = word in ("-", "+") and not is_operand and not is_name
        self._before = token
        return found

    def _between(self, before: Token, token: Token) -> str:
        word, last = token.word, before.word
        written = "" if token.is_glued else " "
        if token.is_comment or before.is_comment:
            return " "
        if last in ("(", ".", "::") or word in (")", ".", "::", ",", ";"):
            return "" if word != "." or token.is_glued or last == ")" or before.kind is not Kind.OTHER else " "
        if word == ":" and before.kind is Kind.OTHER and last not in (")", "]", "["):
            return " "  # a parameter after an operator
        if self._types_open or last in _AS_WRITTEN or word in _AS_WRITTEN or self._is_unary:
            return "" if word in (">", ",") or (last == "<" and self._types_open) else written
        if word == "(":
            return " " if last in _SPACED or before.kind is Kind.OTHER else written
        if token.kind is Kind.LITERAL and before.kind in (Kind.LITERAL, Kind.WORD):
            return written if last not in _SPACED else " "
        return " "


def flat_text(items: Sequence[Item]) -> str | None:
    """Returns the items in one line; None if a comment needs a line's end."""
    spacing, parts = Spacing(), []
    for item in items:
        token = item if isinstance(item, Token) else item.open
        text = item.text if isinstance(item, Token) else item.flat_text()
        if text is None or (token.is_comment and (token.kind is Kind.LINE_COMMENT or "\n" in text)):
            return None
        parts.append(spacing.blank(token) + text)
        if isinstance(item, Group) and item.close is not None:
            spacing.blank(item.close)
    return "".join(parts)


class Page:
    """Lines of text to which tokens are added. A line comment ends its line, whatever follows."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._line = ""
        self._spacing = Spacing()
        self.indent = 0
        self._must_break = False

    @property
    def space_left(self) -> int:
        """Returns the characters left in the line; negative if it is too long."""
        return WIDTH - len(self._line)

    @property
    def is_at_start(self) -> bool:
        """Returns True if the line has only its indentation."""
        return not self._line.strip()

    def break_line(self, indent: int) -> None:
        """Begins a line, unless one has just begun."""
        if not self.is_at_start:
            self.lines.append(self._line.rstrip())
            self._spacing = Spacing()
        self.indent, self._line, self._must_break = indent, " " * min(indent, INDENT_MAX), False

    def add(self, token: Token) -> None:
        """Appends a token with the blank before it, if any. Breaks lines at comments as the source does."""
        if self._must_break or (token.is_comment and token.breaks_before):
            self.break_line(self.indent)
        blank = self._spacing.blank(token)
        self._line += ("" if self.is_at_start else blank) + token.text
        self._must_break = token.kind is Kind.LINE_COMMENT or (token.is_comment and token.breaks_before)

    def text(self) -> str:
        """Ends the current line and returns all lines."""
        self.break_line(0)
        return "\n".join(self.lines)
