"""Replaces the table names in a query, within the user's own text.

The text is never generated from a tree: the user's text runs unchanged, except at the spans of its relations. For `FROM
s.t` and a new name `n`:

* without a written alias the name becomes `` `n` AS `t` ``, so `t.c` and `t.*` keep their meaning, else `` `n` ``;
* a qualifier with several parts (`s.t.c`, `cat.s.t.*`) becomes `` `t` ``, the only name that Spark has for `` `n` AS
  `t` ``;
* names are in backticks, because adjacent text may touch them (``FROM`t` ``);
* if `` `t` `` would be ambiguous (two tables called t in one FROM, an inner t between, or no alias allowed as in
`TABLE t`), the relation gets a generated alias, and all its qualifiers, short ones too, become that alias.

A qualifier that may refer to two relations is rejected, as Spark would reject it with the full names.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import assert_never

from catalog.conditions import AmbiguousReference
from catalog.names import quote
from engine.sql.query.source_text import join_texts, slice_text
from engine.sql.query.values import Candidate, InlinedCall, Piece, Qualifier, Query, Relation, RelationName, Span

_OWN_ALIAS = "__relation_"
_UNNAMED = "__unnamed"
_ALIASED = re.compile(rf"`(\w+)` AS `({_OWN_ALIAS}\d+)`")


# A span in a text, and its replacement.
Edit = tuple[Span, str]


def splice(
    query: Query,
    names: Sequence[str],
    full_names: Sequence[Sequence[str]] = (),
    others: Sequence[Edit] = (),
    apart: Collection[int] = (),
    instead: Sequence[Edit] = (),
) -> str:
    """Returns the text of `query` with `names[i]` for relation i; a name may be repeated.

    `full_names[i]` are the parts of relation i's full name, catalog first (empty if it has none): with it, a qualifier
    may have more parts than the name in FROM (`FROM t` and `s.t.c`). `others` are edits unrelated to relations; the
    edits in `instead` replace relations with their surrounding text. The relations `apart` get the aliases
    :func:`generated_alias`. Raises `AmbiguousReference`.
    """
    uses = [_Use(qualifier, _matching_candidates(query, qualifier, full_names)) for qualifier in query.qualifiers]
    own = set(apart)
    # `TABLE t` has no place for an alias, so the inserted name is also the qualifier.
    own |= {index for index, relation in enumerate(query.relations) if not relation.alias and relation.alias_at is None}
    # Relations in function bodies are not in the user's text; their names are inserted with
    # the bodies.
    written = [index for index, relation in enumerate(query.relations) if not relation.functions]
    own |= {use.only.relation for use in uses if use.is_long and use.only is not None and use.only.is_shadowed}
    edits = [edit for index in written for edit in _relation_edits(query, index, names[index], index in own)]
    for use in uses:
        # A short ambiguous qualifier with unchanged aliases is left to Spark, which reports
        # it with its own condition.
        if len(use.meant) > 1 and (use.is_long or any(found.relation in own for found in use.meant)):
            raise AmbiguousReference(".".join(use.qualifier.parts))
        if use.only is not None and (use.is_long or use.only.relation in own):
            index = use.only.relation
            edits.append((use.qualifier.span, _alias(query.relations[index], index, names[index], index in own)))
    remaining = [edit for edit in (*edits, *others) if not any(_is_inside(edit[0], span) for span, _ in instead)]
    return apply_edits(query.text, [*remaining, *instead], query.inlined, names)


def _is_inside(span: Span, other: Span) -> bool:
    """Returns whether `span` is inside `other`; an insertion at an edge is outside."""
    if span.start == span.end:
        return other.start < span.start < other.end
    return other.start <= span.start and span.end <= other.end


@dataclass(frozen=True, slots=True)
class _Use:
    """A qualifier and its relations: none, one, or several if it is ambiguous."""

    qualifier: Qualifier
    meant: tuple[Candidate, ...]

    @property
    def is_long(self) -> bool:
        return len(self.qualifier.parts) > 1

    @property
    def only(self) -> Candidate | None:
        return self.meant[0] if len(self.meant) == 1 else None


def _matching_candidates(
    query: Query, qualifier: Qualifier, full_names: Sequence[Sequence[str]]
) -> tuple[Candidate, ...]:
    """Returns the innermost scope's candidates whose full names, if they are needed, end in the qualifier."""
    found = [
        candidate
        for candidate in qualifier.candidates
        if len(qualifier.parts) <= len(query.relations[candidate.relation].name_parts)
        or (full_names and _is_end(qualifier.parts, full_names[candidate.relation]))
    ]
    # An inner scope hides outer ones in SQL, even if the column then does not exist there.
    return tuple(candidate for candidate in found if candidate.level == found[0].level)


def _is_end(parts: Sequence[str], of: Sequence[str]) -> bool:
    return [part.lower() for part in of[-len(parts) :]] == [part.lower() for part in parts]


def _relation_edits(query: Query, index: int, name: str, is_own: bool) -> list[Edit]:
    relation = query.relations[index]
    edits = [(relation.span, quote(name))]
    if relation.alias is None and relation.alias_at is not None:
        alias = f" AS {_alias(relation, index, name, is_own)}"
        edits.append((Span(relation.alias_at, relation.alias_at), alias))
    return edits


def _alias(relation: Relation, index: int, name: str, is_own: bool) -> str:
    """Returns the qualifier for a relation without a written alias."""
    if not is_own:
        return quote(relation.name_parts[-1])
    return quote(name) if relation.alias_at is None else generated_alias(index)


def generated_alias(index: int) -> str:
    """Returns a generated alias for a relation whose last name part would be ambiguous."""
    return quote(f"{_OWN_ALIAS}{index}")


def generated_aliases(text: str) -> dict[str, str]:
    """Returns the generated aliases in a text from :func:`splice`, and the names that were inserted for these
    relations.
    """
    return {alias: name for name, alias in _ALIASED.findall(text)}


def apply_edits(
    text: str, edits: list[Edit], calls: Sequence[InlinedCall] = (), relations: Sequence[str] | None = None
) -> str:
    """Returns `text` with each span replaced; spans overlap only in the arguments of `calls`. Without the names in
    `relations`, bodies use arbitrary relation names: for a text that is displayed and not run.
    """
    ordered = sorted(edits, key=lambda edit: (edit[0].start, edit[0].end))
    placed = _Edits(text, ordered, sorted(calls, key=lambda call: call.span.start), relations)
    return placed.within(Span(0, len(text)))


@dataclass(frozen=True, slots=True)
class _Edits:
    text: str
    edits: Sequence[Edit]
    calls: Sequence[InlinedCall]
    relations: Sequence[str] | None

    def within(self, within: Span) -> str:
        """Returns a part of the text. Calls in a replaced span are dropped; an outer call precedes its nested calls."""
        places: list[tuple[Span, str | InlinedCall]] = [*self.edits, *((call.span, call) for call in self.calls)]
        # Insertions at a place come before replacements there, and an outer call before the
        # calls in its arguments.
        places.sort(key=lambda place: (place[0].start, place[0].start < place[0].end, -place[0].end))
        pieces: list[str] = []
        done = within.start
        for span, replacement in places:
            if span.start < done or span.start < within.start or span.end > within.end:
                assert span.end <= done or not within.start <= span.start < within.end, "edits overlap"
                continue
            pieces.append(slice_text(self.text, done, span.start))
            done = span.end
            if isinstance(replacement, str):
                pieces.append(replacement)
                continue
            arguments = [self.within(argument) for argument in replacement.arguments]
            pieces += [self._piece(piece, arguments) for piece in replacement.pieces]
        return join_texts([*pieces, slice_text(self.text, done, within.end)])

    def _piece(self, piece: Piece, arguments: Sequence[str]) -> str:
        match piece:
            case str():
                return piece
            case RelationName(number):
                return quote(_UNNAMED if self.relations is None else self.relations[number])
            case int():
                return arguments[piece]
            case _:
                assert_never(piece)
