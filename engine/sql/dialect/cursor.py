"""A cursor over the tokens of one statement, for the statements that are a few words and names.

Everything that reads from it names what it expected when it finds something else, with the place.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from itertools import pairwise

from sqlglot.tokenizer_core import Token, TokenType

from engine.sql.dialect.dialect import SyntaxFailure
from engine.sql.dialect.errors import identifier_not_here
from engine.sql.dialect.functions import ensure_callable
from engine.sql.dialect.words import hint, wrong_word

_WORD = re.compile(r"\w+")
_STRINGS = frozenset({TokenType.STRING, TokenType.RAW_STRING})
_NOT_WORDS = frozenset({*_STRINGS, TokenType.IDENTIFIER, TokenType.NUMBER})
_CLAUSES = "AS CLUSTER COMMENT LIKE LIMIT LOCATION OPTIONS PARTITION PARTITIONED TBLPROPERTIES USING WITH".split()
_IN_WITH = frozenset({"AS", "MAX"})
"""Words between the parentheses of a WITH clause: `c(x) MAX RECURSION LEVEL 9 AS (…)`."""
_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET})
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET})


class Cursor:
    """`take_…` answers whether, or what, it took; `read_…` raises `SyntaxFailure` where it cannot."""

    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        self.text = text
        self._tokens = tokens
        self._index = 0

    @property
    def offset(self) -> int:
        """Where the next token begins; the end of the text after the last."""
        return self._tokens[self._index].start if not self.is_done else len(self.text)

    @property
    def end(self) -> int:
        """Where the last token ends."""
        return self._tokens[-1].end + 1 if self._tokens else len(self.text)

    @property
    def is_done(self) -> bool:
        return self._index >= len(self._tokens)

    @property
    def count(self) -> int:
        """How many tokens are left."""
        return len(self._tokens) - self._index

    @property
    def before(self) -> Token | None:
        """The token that was read last."""
        return self._tokens[self._index - 1] if self._index else None

    def take_alias_at_end(self) -> str | None:
        """The name in `(…) name` and `(…) AS name`, where that is all that is left; what is in front of it stays."""
        depth = 0
        for index in range(self._index, len(self._tokens)):
            depth += _depth(self._tokens[index], is_type=False)
            if depth == 0:
                return self._take_last(index + 1)
        return None

    def _take_last(self, index: int) -> str | None:
        rest = Cursor(self.text, self._tokens[index:])
        if index == self._index + 1 or rest.count != 1 + rest.take("AS") or not rest.is_name():
            return None
        self._tokens = self._tokens[:index]
        return rest.read_name()

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

    def fail_among(self, rows: Collection[tuple[str, ...]]) -> SyntaxFailure:
        """The error to raise for words that begin none of `rows`, which all do otherwise: it shows the first wrong one,
        and what may have been meant.
        """
        words = self.words(max(map(len, rows)))
        count, hint = wrong_word(words, rows)
        if count >= len(words):
            return SyntaxFailure("the statement ends too early", self._offset_of_word(count))
        offset = self._offset_of_word(count)
        word = self.text[offset : offset + len(words[count])]
        return SyntaxFailure(f"{word} is not expected here{hint}", offset)

    def _offset_of_word(self, number: int) -> int:
        """Where the word begins that :meth:`words` counts as `number`, from 0."""
        for token in self._tokens[self._index :]:
            inside = len(token.text.split())
            if number < inside:
                return int(token.start)
            number -= inside
        return len(self.text)

    def words(self, count: int) -> list[str]:
        """The next words in upper case, at most `count`; a sign counts as a word, a string or quoted name ends them."""
        words: list[str] = []
        for token in self._tokens[self._index : self._index + count]:
            if token.token_type in _NOT_WORDS:
                break
            words += token.text.upper().split()  # sqlglot has tokens of two words, such as PARTITIONED BY
        return words[:count]

    def take(self, *words: str) -> bool:
        """Take all of `words` (upper case) in this order, or nothing."""
        index, left = self._index, list(words)
        while left:
            if index >= len(self._tokens) or self._tokens[index].token_type in _NOT_WORDS:
                return False
            found = self._tokens[index].text.upper().split()
            if left[: len(found)] != found:
                return False
            index, left = index + 1, left[len(found) :]
        self._index = index
        return True

    def places_ahead(self, word: str, followers: Collection[str]) -> list[int]:
        """The offsets of each `word` outside of parentheses that one of `followers` comes after."""
        places, depth = [], 0
        for token, follower in pairwise(self._tokens[self._index :]):
            depth += _depth(token, is_type=False)
            is_word = depth == 0 and token.token_type not in _NOT_WORDS and token.text.upper() == word
            if is_word and follower.token_type not in _NOT_WORDS and follower.text.upper() in followers:
                places.append(token.start)
        return places

    def string_behind(self, word: str) -> tuple[int, int, str] | None:
        """The first string outside of parentheses that comes right after `word`: where it begins and ends, and it."""
        depth = 0
        for token, follower in pairwise(self._tokens[self._index :]):
            depth += _depth(token, is_type=False)
            is_word = depth == 0 and token.token_type not in _NOT_WORDS and token.text.upper() == word
            if is_word and follower.token_type in _STRINGS:
                return follower.start, follower.end + 1, follower.text
        return None

    def has_ahead(self, text: str) -> bool:
        """Whether the token `text` comes outside of parentheses."""
        depth = 0
        for token in self._tokens[self._index :]:
            depth += _depth(token, is_type=False)
            if depth == 0 and token.token_type not in _NOT_WORDS and token.text.upper() == text:
                return True
        return False

    def place_after_with(self) -> int | None:
        """Where what follows the WITH clause here begins; None without one, and where it has no end."""
        if self.words(1) != ["WITH"]:
            return None
        depth = 0
        for token, follower in pairwise(self._tokens[self._index :]):
            depth += _depth(token, is_type=False)
            is_end = depth == 0 and token.token_type == TokenType.R_PAREN
            if is_end and follower.token_type != TokenType.COMMA and follower.text.upper() not in _IN_WITH:
                return int(follower.start)
        return None

    def copy(self) -> Cursor:
        """Another cursor at the same place."""
        return Cursor(self.text, self._tokens[self._index :])

    def skip_to(self, offset: int) -> None:
        """Go to the token that begins there."""
        while not self.is_done and self.offset < offset:
            self._index += 1

    def take_any(self, *words: str) -> str | None:
        """Take the next token if it is one of `words`; which one."""
        return next((word for word in words if self.take(word)), None)

    def read(self, *words: str) -> None:
        if not self.take(*words):
            raise self.fail(f"{' '.join(words)} is expected")

    def take_string(self) -> str | None:
        """A string; strings that follow one another are one, as in Spark."""
        pieces = self.take_strings()
        return "".join(pieces) if pieces else None

    def take_strings(self) -> list[str]:
        """The strings that follow one another here."""
        pieces = []
        while not self.is_done and self._tokens[self._index].token_type in _STRINGS:
            pieces.append(self._tokens[self._index].text)
            self._index += 1
        return pieces

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

    @property
    def is_last_of_list(self) -> bool:
        """Whether a comma or a closing parenthesis follows the next token."""
        follower = self._tokens[self._index + 1] if self.count > 1 else None
        return follower is not None and (follower.token_type in _CLOSING or follower.token_type == TokenType.COMMA)

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
            raise identifier_not_here()
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

    def read_parenthesized(self) -> str:
        """`(anything)`: the text between the parentheses, which pair up inside."""
        self.read("(")
        text = self.read_text(ends_at_comma=False)
        self.read(")")
        return text

    def read_text(
        self,
        *stops: tuple[str, ...],
        ends_at: Callable[[Cursor], bool] = lambda _: False,
        is_type: bool = False,
        ends_at_comma: bool = True,
        what: str = "an expression",
    ) -> str:
        """The text up to one of `stops` (words in upper case), a comma, or a parenthesis that closes none of its own.

        `ends_at` may find other ends. Stops and commas count outside of parentheses and CASE expressions only; in a
        type, angles are parentheses too. Refuses functions that may not be called.
        """
        first, depth = self._index, 0
        while not self.is_done:
            token = self._tokens[self._index]
            if depth == 0 and (
                token.token_type in _CLOSING
                or (ends_at_comma and token.token_type == TokenType.COMMA)
                or any(self.words(len(stop)) == list(stop) for stop in stops)
                or ends_at(self)
            ):
                break
            depth += _depth(token, is_type=is_type)
            behind = self._behind_case(self._index) or self._index + 1
            while self._index < behind:
                self._ensure_callable(self._index)
                self._index += 1
        if self._index == first:
            raise self.fail(f"{what} is expected")
        return self.text[self._tokens[first].start : self._tokens[self._index - 1].end + 1]

    def _behind_case(self, index: int) -> int | None:
        """Behind the END of the CASE that begins here; None if none does, as with a column of that name."""
        depth, cases = 0, list[int]()
        for place in range(index, len(self._tokens)):
            kind = self._tokens[place].token_type
            is_field = place > 0 and self._tokens[place - 1].token_type == TokenType.DOT
            if kind == TokenType.CASE and not is_field:
                cases.append(depth)
            elif kind == TokenType.END and not is_field and cases and cases[-1] == depth:
                cases.pop()
            if not cases:
                return place + 1 if place > index else None
            depth += _depth(self._tokens[place], is_type=False)
        return None

    def _ensure_callable(self, index: int) -> None:
        if index + 1 < len(self._tokens) and self._tokens[index + 1].token_type == TokenType.L_PAREN:
            if self._tokens[index].text.upper() == "IDENTIFIER":
                raise identifier_not_here()
            if self._tokens[index].token_type not in _STRINGS:
                ensure_callable(self._tokens[index].text)

    def ensure_done(self) -> None:
        if not self.is_done:
            word = next(iter(self.words(1)), "")
            raise self.fail(f"the end of the statement is expected{hint(word, _CLAUSES)}")


def _depth(token: Token, *, is_type: bool) -> int:
    """By how much `token` opens (positive) or closes parentheses."""
    if token.token_type in _OPENING or (is_type and token.token_type == TokenType.LT):
        return 1
    if token.token_type in _CLOSING or (is_type and token.token_type == TokenType.GT):
        return -1
    return 0
