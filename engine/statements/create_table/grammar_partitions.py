"""Parses partition and sort order terms: `region`, `place.city`, `day(at)`, `bucket(16, id)`, `truncate(name, 4)`."""

from __future__ import annotations

from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.dialect import SyntaxFailure, tokenize
from engine.sql.dialect.tokens import TokenError
from engine.types.partition_terms import IDENTITY, PartitionTerm, SortTerm

# Transforms' other names.
_SPELLINGS = {"years": "year", "months": "month", "days": "day", "date": "day", "hours": "hour", "date_hour": "hour"}


def is_term_only(cursor: Cursor) -> bool:
    """Returns True for a function or a struct field, rather than a column name or definition."""
    return cursor.words(2)[1:] in (["("], ["."])


def read_term(cursor: Cursor) -> PartitionTerm:
    """Reads a term; the number in `bucket` and `truncate` may come first or last."""
    names = cursor.read_names()
    if not cursor.take("("):
        return PartitionTerm(column=names)
    if len(names) > 1:
        raise cursor.fail("a transform of a column is expected before this")
    width = _take_width(cursor)
    if width is not None:
        cursor.read(",")
    column = cursor.read_names()
    if width is None and cursor.take(","):
        width = _take_width(cursor)
        if width is None:
            raise cursor.fail("a whole number is expected")
    cursor.read(")")
    name = names[0].lower()
    return PartitionTerm(column=column, transform=_SPELLINGS.get(name, name), width=width)


def read_sort_terms(cursor: Cursor) -> tuple[SortTerm, ...]:
    """Reads `term [ASC | DESC] [NULLS FIRST | LAST], …`, in parentheses or bare."""
    is_wrapped = cursor.take("(")
    terms = [_read_sort_term(cursor)]
    while cursor.take(","):
        terms.append(_read_sort_term(cursor))
    if is_wrapped:
        cursor.read(")")
    return tuple(terms)


def read_write_order(cursor: Cursor) -> tuple[tuple[SortTerm, ...], str | None]:
    """Parses the text after WRITE, clauses in any order, as in Iceberg's Spark extension: the terms, and the write
    distribution (None: unchanged).
    """
    by_partition = locally = False
    while True:
        if cursor.take("DISTRIBUTED", "BY", "PARTITION"):
            by_partition = True
        elif cursor.take("LOCALLY"):
            locally = True
        elif cursor.take("UNORDERED"):
            return (), "hash" if by_partition else "none"
        elif cursor.take("ORDERED", "BY"):
            terms = read_sort_terms(cursor)
            by_partition |= cursor.take("DISTRIBUTED", "BY", "PARTITION")
            return terms, "hash" if by_partition else None if locally else "range"
        elif by_partition and not locally:
            return (), "hash"
        else:
            raise cursor.fail("ORDERED BY or UNORDERED is expected")


def parse_sort_terms(text: str) -> tuple[SortTerm, ...] | None:
    """Parses an entire text; returns None if it is not a term list."""
    try:
        cursor = Cursor(text, tokenize(text))
        terms = read_sort_terms(cursor)
        cursor.ensure_done()
    except (TokenError, SyntaxFailure):
        return None
    return terms


def _read_sort_term(cursor: Cursor) -> SortTerm:
    term = read_term(cursor)
    descending = cursor.take("DESC")
    if not descending:
        cursor.take("ASC")
    nulls = cursor.take("NULLS")
    first = cursor.take("FIRST") if nulls else None
    if nulls and not first:
        cursor.read("LAST")
    return SortTerm(term=term, descending=descending, nulls_first=first)


def _take_width(cursor: Cursor) -> int | None:
    text = cursor.take_number_text()
    if text is None:
        return None
    if not text.isdecimal():
        raise cursor.fail("a whole number is expected before this")
    return int(text)


def is_column(term: PartitionTerm) -> bool:
    """Returns True if the term is a plain column."""
    return term.transform == IDENTITY and len(term.column) == 1
