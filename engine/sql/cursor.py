"""A cursor over the tokens of one statement, for the statements that are a few words and names.

Everything that reads from it names what it expected when it finds something else, with the place.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sqlglot.tokenizer_core import Token, TokenType

from engine.sql.dialect import SyntaxFailure
from engine.sql.errors import UnsupportedClause

_WORD = re.compile(r"\w+")
_STRINGS = frozenset({TokenType.STRING, TokenType.RAW_STRING})
_NOT_WORDS = frozenset({*_STRINGS, TokenType.IDENTIFIER, TokenType.NUMBER})


class Cursor:
    """`take_…` answers whether, or what, it took; `read_…` raises `SyntaxFailure` where it cannot."""

    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        self.text = text
        self._tokens, self._index = tokens, 0

    @property
    def offset(self) -> int:
        """Where the next token begins; the end of the text after the last."""
        return self._tokens[self._index].start if not self.is_done else len(self.text)

    @property
    def is_done(self) -> bool:
        return self._index >= len(self._tokens)

    @property
    def count(self) -> int:
        """How many tokens are left."""
        return len(self._tokens) - self._index

    def is_first(self, token: Token) -> bool:
        """Whether `token` begins the statement."""
        return token is self._tokens[0]

    def read_rest(self) -> list[Token]:
        """All that is left, at least one token."""
        if self.is_done:
            raise self.fail("the statement ends too early")
        rest = list(self._tokens[self._index :])
        self._index = len(self._tokens)
        return rest

    def fail(self, reason: str) -> SyntaxFailure:
        """The error to raise for what is (not) here."""
        return SyntaxFailure(reason, self.offset)

    def words(self, count: int) -> list[str]:
        """The next words in upper case, at most `count`; a sign counts as a word, a string or quoted name ends them."""
        words = []
        for token in self._tokens[self._index : self._index + count]:
            if token.token_type in _NOT_WORDS:
                break
            words.append(token.text.upper())
        return words

    def take(self, *words: str) -> bool:
        """Take all of `words` (upper case) in this order, or nothing."""
        is_here = self.words(len(words)) == list(words)
        if is_here:
            self._index += len(words)
        return is_here

    def take_any(self, *words: str) -> str | None:
        """Take the next token if it is one of `words`; which one."""
        return next((word for word in words if self.take(word)), None)

    def read(self, *words: str) -> None:
        if not self.take(*words):
            raise self.fail(f"{' '.join(words)} is expected")

    def take_string(self) -> str | None:
        """A string; strings that follow one another are one, as in Spark."""
        pieces = []
        while not self.is_done and self._tokens[self._index].token_type in _STRINGS:
            pieces.append(self._tokens[self._index].text)
            self._index += 1
        return "".join(pieces) if pieces else None

    def read_string(self) -> str:
        string = self.take_string()
        if string is None:
            raise self.fail("a string in quotes is expected")
        return string

    def take_number(self) -> int | None:
        if self.is_done or not re.fullmatch(r"[0-9]{1,9}", self._tokens[self._index].text):
            return None
        self._index += 1
        return int(self._tokens[self._index - 1].text)

    def is_name(self) -> bool:
        """Whether a name is here: a quoted one, or any word."""
        if self.is_done:
            return False
        token = self._tokens[self._index]
        if token.token_type == TokenType.IDENTIFIER:
            return True
        return token.token_type not in _NOT_WORDS and _WORD.fullmatch(token.text) is not None

    def read_name(self) -> str:
        """One part of a name, without quotes."""
        if self.words(2) == ["IDENTIFIER", "("]:
            raise UnsupportedClause("IDENTIFIER(…)", "Write the name itself.")
        if not self.is_name():
            raise self.fail("a name is expected")
        self._index += 1
        return self._tokens[self._index - 1].text

    def read_names(self) -> tuple[str, ...]:
        """A dotted name."""
        parts = [self.read_name()]
        while self.take("."):
            parts.append(self.read_name())
        return tuple(parts)

    def take_number_text(self) -> str | None:
        """A number as it is written."""
        if self.is_done or self._tokens[self._index].token_type != TokenType.NUMBER:
            return None
        return self.read_any()

    def read_any(self) -> str:
        """The text of the next token, whatever it is."""
        if self.is_done:
            raise self.fail("the statement ends too early")
        self._index += 1
        return self._tokens[self._index - 1].text

    def ensure_done(self) -> None:
        if not self.is_done:
            raise self.fail("the end of the statement is expected")
