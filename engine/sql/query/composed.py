"""SQL that the gateway composes for Spark from pieces of a statement, with names that occur nowhere else in the text.

A composed text joins the user's text with generated text: scans of listed files, row positions, intermediate values. A
generated name must not equal a column, common table expression, alias or variable in the user's part. So :class:`Names`
receives all these texts, and generates names that occur in none of them, not even as a part of a longer name.

Relation names differ from column names too: `t.x` is column x of relation t, and hides field x of a column t.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from sqlglot.tokenizer_core import TokenType

from catalog.conditions import UnsupportedClause
from engine.runtime.parameters import MARKER
from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.dialect import SyntaxFailure, tokenize
from engine.sql.query.query import parse_query
from engine.sql.query.source_text import join_texts, slice_text
from engine.sql.query.values import Query, Span, TargetQuery


class Names:
    """A generator for unique names. `taken` are SQL texts and single names, in any case."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = "\n".join(taken).casefold()
        self._counts: Counter[str] = Counter()

    def new(self, kind: str) -> str:
        """Returns a name that describes its use: `__kind_0`, `__kind_1`, …; it needs no quotes."""
        stem = f"__{kind}_"
        while stem in self._taken:
            stem = f"_{stem}"
        self._counts[kind] += 1
        return f"{stem}{self._counts[kind] - 1}"

    def contains_word(self, name: str) -> bool:
        """Returns whether the texts contain this word."""
        return re.search(rf"(?<!\w){re.escape(name.casefold())}(?!\w)", self._taken) is not None

    def several(self, kind: str, count: int) -> list[str]:
        """Returns `count` unique names of this kind."""
        return [self.new(kind) for _ in range(count)]


class ComposedQuery:
    """A query composed from pieces of a statement's text and generated text, parsed as if a user had written it.

    Markers without a name (`?`) are named by their number in the statement, because a piece may be repeated or
    reordered (`engine.runtime.parameters.named_by_position`).
    """

    def __init__(self, text: str, markers: Sequence[int] | None = None) -> None:
        """Starts an empty query. `markers` are the statement's, as `marker_places` returns them; None: they are
        searched for.
        """
        self._source = text
        self._markers = marker_places(text) if markers is None else markers
        self._pieces: list[tuple[int, str, int | None]] = []
        self._length = 0

    def own(self, text: str) -> Span:
        """Adds generated text and returns its span."""
        return self._add(text, None)

    def piece(self, span: Span) -> Span:
        """Adds a part of the statement and returns its span."""
        return self._add(self.text_of(span), span.start)

    def in_parentheses(self, span: Span) -> Span:
        """Adds an expression of the statement in parentheses, so that nothing after it is parsed with it, or in its
        comment.

        Returns the span of the parentheses.
        """
        start = self.own("(").start
        self.piece(span)
        return Span(start, self.own("\n)").end)

    def _add(self, text: str, origin: int | None) -> Span:
        start = self._length
        self._pieces.append((start, text, origin))
        self._length += len(text)
        return Span(start, self._length)

    def text_of(self, span: Span) -> str:
        """Returns a part of the statement as :meth:`piece` adds it."""
        return _with_named_markers(self._source, self._markers, span)

    def over_target(self, items: Span, target: Span | None, source: Span | None = None) -> TargetQuery:
        """Returns the query with the statement's target table at `target` in its FROM. Raises as `parse`, and for a
        WITH clause that gives its name to a query.
        """
        query = self.parse()
        places = [relation.span.start for relation in query.relations]
        if target is not None and target.start not in places:
            raise UnsupportedClause(
                "A common table expression with the name of the table that the statement changes",
                "Give it another name.",
            )
        number = None if target is None else places.index(target.start)
        other = places.index(source.start) if source is not None and source.start in places else None
        return TargetQuery(query=query, items=items, target=number, source=source, source_relation=other)

    def parse(self) -> Query:
        """Parses the text. Raises `SyntaxFailure` with a position in the statement."""
        text = join_texts(piece for _, piece, _ in self._pieces)
        try:
            return parse_query(Cursor(text, tokenize(text)))
        except SyntaxFailure as failure:
            raise SyntaxFailure(failure.reason, self._origin(failure.offset)) from None

    def _origin(self, offset: int) -> int:
        """Returns the position in the statement, or the end of the piece before it."""
        found = 0
        for start, piece, origin in self._pieces:
            if start <= offset and origin is not None:
                found = origin + min(offset - start, len(piece))
        return found


def marker_places(text: str) -> list[int]:
    """Returns the start of each unnamed marker (`?`) in a statement."""
    return [token.start for token in tokenize(text) if token.token_type is TokenType.PLACEHOLDER] if "?" in text else []


def _with_named_markers(text: str, markers: Sequence[int], span: Span) -> str:
    """Returns a part of `text` with names for the unnamed markers, which begin at `markers`."""
    pieces: list[str] = []
    done = span.start
    for number, start in enumerate(markers):
        if span.start <= start < span.end:
            pieces += [slice_text(text, done, start), f":{MARKER}{number}"]
            done = start + 1
    return join_texts([*pieces, slice_text(text, done, span.end)])
