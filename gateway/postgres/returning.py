"""INSERT … RETURNING: the clause as text, and the queries that return its rows. Pure.

The rows of an INSERT are read from the version that it has committed, so they have the values that the table has given
to identity, generated and default columns. An expression that fails after the commit could not undo it, so that the
clause may name columns only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from catalog.conditions import PostgresFeatureNotSupported
from catalog.errors import Position
from catalog.names import quote
from engine.tables.changes import FEED_COLUMNS
from gateway.postgres.results import leading_words

_NAME = r'(?:"(?:[^"]|"")+"|`(?:[^`]|``)+`|[A-Za-z_\x80-\U0010ffff][\w$]*)'
_PIECES = re.compile(
    r"""(?sx)
      (?P<blank> \s+ | --[^\n]* | /\*.*?\*/ )
    | (?P<value> \b[rR]'[^']*' | '(?:[^'\\]|\\.|'')*' | "(?:[^"]|"")*" | `(?:[^`]|``)*` | \$\$.*?\$\$ | [$:]\w+ )
    | (?P<open> [(\[] ) | (?P<close> [)\]] )
    | (?P<word> \w+ )
    | (?P<other> . )"""
)
_ITEM = re.compile(
    rf"(?s)\s*(?:(?P<star>(?:{_NAME}\s*\.\s*)*\*)|(?:{_NAME}\s*\.\s*)*(?P<name>{_NAME})"
    rf"(?:\s+(?:AS\s+)?(?P<label>{_NAME}))?)\s*(?:(?P<more>,)|;?\s*\Z)",
    re.IGNORECASE,
)
_TARGET = re.compile(
    rf"\bINTO\s+(?:TABLE\s+(?!\())?(?P<target>{_NAME}(?:\s*\.\s*{_NAME})*)(?!\s*\.)", re.IGNORECASE | re.DOTALL
)
# After one of these, or a sign, `returning` is the name of a column or a table.
_BEFORE_NAMES = frozenset(
    "SELECT DISTINCT ALL WHERE AND OR NOT SET BY ON HAVING CASE WHEN THEN ELSE IN BETWEEN LIKE IS AS FROM JOIN INTO "
    "TABLE UPDATE USING".split()
)
# Before one of these it is an alias.
_AFTER_NAMES = frozenset("FROM WHERE GROUP ORDER LIMIT VALUES SET ON JOIN UNION".split())
_REPLACES = frozenset(("REPLACE", word) for word in ("WHERE", "USING", "ON"))
_FEED = ", ".join(quote(column.name) for column in FEED_COLUMNS)


@dataclass(frozen=True, slots=True)
class Returning:
    """The clause of an INSERT into `target`: columns with their labels, in Spark's spelling; None for all columns."""

    target: str
    columns: tuple[tuple[str, str] | None, ...]

    @property
    def columns_query(self) -> str:
        """Returns a query with the returned columns."""
        return f"SELECT {self._list('*')} FROM {self.target}"

    def rows_query(self, version: int) -> str:
        """Returns the query of the rows that the version has added."""
        name = self.target.replace("\\", "\\\\").replace("'", "\\'")
        return f"SELECT {self._list(f'* EXCEPT ({_FEED})')} FROM table_changes('{name}', {version}, {version})"

    def _list(self, star: str) -> str:
        return ", ".join(star if one is None else f"{one[0]} AS {one[1]}" for one in self.columns)


def split_returning(text: str) -> tuple[str, int] | None:
    """Returns the statement without its RETURNING clause, and the clause's offset; None for a statement without it."""
    if "RETURNING" not in text.upper():
        return None
    found = None
    before = ""
    pieces = list(_top_level(text))
    for piece, after in zip(pieces, [*pieces[1:], None], strict=True):
        is_clause = before not in _BEFORE_NAMES and after is not None and after[0].upper() not in _AFTER_NAMES
        if piece.lastgroup == "word" and piece[0].upper() == "RETURNING" and is_clause:
            found = piece.start()
        before = "SELECT" if piece.lastgroup == "other" else piece[0].upper()
    return None if found is None else (text[:found], found)


def _top_level(text: str) -> Iterator[re.Match[str]]:
    depth = 0
    for piece in _PIECES.finditer(text):
        depth -= piece.lastgroup == "close"
        if depth == 0 and piece.lastgroup != "blank":
            yield piece
        depth += piece.lastgroup == "open"


def read_returning(text: str, offset: int, head: str, *, folds: bool) -> Returning:
    """Reads the clause at `offset` of `text`; `head` is the INSERT in Spark's spelling. With `folds` unquoted labels
    are in lower case. Raises `PostgresFeatureNotSupported`.
    """
    target = _TARGET.search(head)
    kind = leading_words(head)[0]
    if target is None or kind != "INSERT":
        advice = "Query the rows before or after the change."
        raise PostgresFeatureNotSupported(f"RETURNING in {kind}", advice).at(Position.in_text(text, offset))
    words = [piece[0].upper() for piece in _top_level(head)]
    if any(pair in _REPLACES for pair in zip(words, words[1:], strict=False)):
        advice = "Query the rows after the change."  # its commit also removes rows, and may write others again
        raise PostgresFeatureNotSupported("RETURNING in INSERT … REPLACE", advice).at(Position.in_text(text, offset))
    # Comments as spaces, which preserve positions.
    pieces = ((piece[0], piece.lastgroup) for piece in _PIECES.finditer(text))
    plain = "".join(" " * len(piece) if kind == "blank" else piece for piece, kind in pieces)
    found: list[tuple[str, str] | None] = []
    at, is_whole = offset + len("RETURNING"), False
    while not is_whole:
        item = _ITEM.match(plain, at)
        if item is None:
            advice = "Name columns or *; compute expressions in a query of the rows."
            raise PostgresFeatureNotSupported("An expression in RETURNING", advice).at(Position.in_text(text, at))
        if item["star"]:
            found.append(None)
        else:
            label = item["label"] or item["name"]
            is_folded = folds and label[0] not in '"`'
            found.append((_spark_name(item["name"]), _spark_name(label.lower() if is_folded else label)))
        at, is_whole = item.end(), not item["more"]
    return Returning(target["target"], tuple(found))


def _spark_name(name: str) -> str:
    return quote(name[1:-1].replace('""', '"')) if name.startswith('"') else name if name[0] == "`" else quote(name)
