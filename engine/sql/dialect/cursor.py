"""A cursor over one statement's tokens, for statements that consist only of keywords and names.

Each read error names the expected token and the position.
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
# Words between the parentheses in a WITH clause: `c(x) MAX RECURSION LEVEL 9 AS (…)`.
_IN_WITH = frozenset({"AS", "MAX"})
_OPENING = frozenset({TokenType.L_PAREN, TokenType.L_BRACKET})
_CLOSING = frozenset({TokenType.R_PAREN, TokenType.R_BRACKET})


class Cursor:
    """A token cursor. `take_…` returns the taken token, or whether it was taken; `read_…` raises `SyntaxFailure` on a
    mismatch.
    """

    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        self.text = text
        self._tokens = tokens
        self._index = 0

    @property
    def offset(self) -> int:
        """Returns the next token's start; after the last token, the end of the text."""
        return self._tokens[self._index].start if not self.is_done else len(self.text)

    @property
    def end(self) -> int:
        """Returns the last token's end."""
        return self._tokens[-1].end + 1 if self._tokens else len(self.text)

    @property
    def is_done(self) -> bool:
        """Returns True after the last token."""
        return self._index >= len(self._tokens)

    @property
    def count(self) -> int:
        """Returns the number of remaining tokens."""
        return len(self._tokens) - self._index

    @property
    def before(self) -> Token | None:
        """Returns the token that was read last."""
        return self._tokens[self._index - 1] if self._index else None

    def take_alias_at_end(self) -> str | None:
        """Takes the name in `(…) name` or `(…) AS name` if nothing follows it; the tokens before it are not taken."""
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
        """Returns whether `token` begins the statement."""
        return token is self._tokens[0]

    def read_rest(self) -> list[Token]:
        """Reads all remaining tokens, at least one."""
        if self.is_done:
            raise self.fail("the statement ends too early")
        rest = list(self._tokens[self._index :])
        self._index = len(self._tokens)
        return rest

    def fail(self, reason: str) -> SyntaxFailure:
        """Returns a syntax error at the current position."""
        return SyntaxFailure(reason, self.offset)

    def fail_among(self, rows: Collection[tuple[str, ...]]) -> SyntaxFailure:
        """Returns the error for words that match none of `rows` (alternatives): it shows the first wrong word and a
        suggestion.
        """
        words = self.words(max(map(len, rows)))
        count, hint = wrong_word(words, rows)
        if count >= len(words):
            return SyntaxFailure("the statement ends too early", self._offset_of_word(count))
        offset = self._offset_of_word(count)
        word = self.text[offset : offset + len(words[count])]
        return SyntaxFailure(f"{word} is not expected here{hint}", offset)

    def _offset_of_word(self, number: int) -> int:
        """Returns the start of the word that :meth:`words` counts as `number`, from 0."""
        for token in self._tokens[self._index :]:
            inside = len(token.text.split())
            if number < inside:
                return int(token.start)
            number -= inside
        return len(self.text)

    def words(self, count: int) -> list[str]:
        """Returns at most `count` next words in upper case; a sign counts as a word, a string or quoted name ends
        them.
        """
        words: list[str] = []
        for token in self._tokens[self._index : self._index + count]:
            if token.token_type in _NOT_WORDS:
                break
            words += token.text.upper().split()  # sqlglot has tokens with two words, for example PARTITIONED BY
        return words[:count]

    def take(self, *words: str) -> bool:
        """Takes all `words` (upper case) in this order, or nothing."""
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
        """Returns the offset of each `word` outside parentheses that is followed by one of `followers`."""
        places, depth = [], 0
        for token, follower in pairwise(self._tokens[self._index :]):
            depth += _depth(token, is_type=False)
            is_word = depth == 0 and token.token_type not in _NOT_WORDS and token.text.upper() == word
            if is_word and follower.token_type not in _NOT_WORDS and follower.text.upper() in followers:
                places.append(token.start)
        return places

    def string_behind(self, word: str) -> tuple[int, int, str] | None:
        """Returns the first string outside parentheses that directly follows `word`: its start, its end, and its
        value.
        """
        depth = 0
        for token, follower in pairwise(self._tokens[self._index :]):
            depth += _depth(token, is_type=False)
            is_word = depth == 0 and token.token_type not in _NOT_WORDS and token.text.upper() == word
            if is_word and follower.token_type in _STRINGS:
                return follower.start, follower.end + 1, follower.text
        return None

    def has_ahead(self, text: str) -> bool:
        """Returns whether the token `text` follows outside parentheses."""
        depth = 0
        for token in self._tokens[self._index :]:
            depth += _depth(token, is_type=False)
            if depth == 0 and token.token_type not in _NOT_WORDS and token.text.upper() == text:
                return True
        return False

    def place_after_with(self) -> int | None:
        """Returns the offset after the WITH clause that begins here; None without one, and if it does not end."""
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
        """Returns another cursor at the same position."""
        return Cursor(self.text, self._tokens[self._index :])

    def skip_to(self, offset: int) -> None:
        """Moves to the token that begins at `offset`."""
        while not self.is_done and self.offset < offset:
            self._index += 1

    def take_any(self, *words: str) -> str | None:
        """Takes the next token if it is one of `words`, and returns the word."""
        return next((word for word in words if self.take(word)), None)

    def read(self, *words: str) -> None:
        """Reads keywords in any case, in this order.

        Raises `SyntaxFailure` at the cursor, reading nothing, if one differs.
        """
        if not self.take(*words):
            raise self.fail(f"{' '.join(words)} is expected")

    def take_string(self) -> str | None:
        """Takes a string; adjacent strings are concatenated, as in Spark."""
        pieces = self.take_strings()
        return "".join(pieces) if pieces else None

    def take_strings(self) -> list[str]:
        """Takes the adjacent strings at this position."""
        pieces = []
        while not self.is_done and self._tokens[self._index].token_type in _STRINGS:
            pieces.append(self._tokens[self._index].text)
            self._index += 1
        return pieces

    def read_string(self) -> str:
        """Reads a string literal and returns its value. Raises `SyntaxFailure`."""
        string = self.take_string()
        if string is None:
            raise self.fail("a string in quotes is expected")
        return string

    def take_number(self) -> int | None:
        """Takes a number of at most nine digits without a sign; None, reading nothing, for other text."""
        if self.is_done or not re.fullmatch(r"[0-9]{1,9}", self._tokens[self._index].text):
            return None
        self._index += 1
        return int(self._tokens[self._index - 1].text)

    @property
    def is_last_of_list(self) -> bool:
        """Returns whether a comma or a closing parenthesis follows the next token."""
        follower = self._tokens[self._index + 1] if self.count > 1 else None
        return follower is not None and (follower.token_type in _CLOSING or follower.token_type == TokenType.COMMA)

    def is_name(self) -> bool:
        """Returns whether the next token is a name: quoted, or any word."""
        if self.is_done:
            return False
        token = self._tokens[self._index]
        if token.token_type == TokenType.IDENTIFIER:
            return True
        return token.token_type not in _NOT_WORDS and _WORD.fullmatch(token.text) is not None

    def read_name(self) -> str:
        """Reads one part of a name, without quotes."""
        if self.words(2) == ["IDENTIFIER", "("]:
            raise identifier_not_here()
        if not self.is_name():
            raise self.fail("a name is expected")
        self._index += 1
        return self._tokens[self._index - 1].text

    def read_names(self) -> tuple[str, ...]:
        """Reads a dotted name."""
        parts = [self.read_name()]
        while self.take("."):
            parts.append(self.read_name())
        return tuple(parts)

    def take_number_text(self) -> str | None:
        """Takes a number as it is written."""
        if self.is_done or self._tokens[self._index].token_type != TokenType.NUMBER:
            return None
        return self.read_any()

    def read_any(self) -> str:
        """Reads the next token's text, for any token."""
        if self.is_done:
            raise self.fail("the statement ends too early")
        self._index += 1
        return self._tokens[self._index - 1].text

    def read_parenthesized(self) -> str:
        """Reads `(anything)` and returns the text between the parentheses; inner parentheses must match."""
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
        """Reads the text up to one of `stops` (words in upper case), a comma, or an unmatched closing parenthesis.

        `ends_at` may detect other ends. Stops and commas count only outside parentheses and CASE expressions; in a
        type, angle brackets count as parentheses. Rejects functions that are not allowed.
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
        """Returns the index after the END of the CASE that begins here; None if there is no END, as for a column named
        CASE.
        """
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
        """Raises `SyntaxFailure` if tokens remain; the hint suggests the clause that the next word resembles."""
        if not self.is_done:
            word = next(iter(self.words(1)), "")
            raise self.fail(f"the end of the statement is expected{hint(word, _CLAUSES)}")


def _depth(token: Token, *, is_type: bool) -> int:
    """Returns how many parentheses `token` opens (positive) or closes (negative)."""
    if token.token_type in _OPENING or (is_type and token.token_type == TokenType.LT):
        return 1
    if token.token_type in _CLOSING or (is_type and token.token_type == TokenType.GT):
        return -1
    return 0
