"""Parses MERGE (Spark's `mergeIntoTable` rule), with or without a preceding WITH.

The source is read once, before anything else, so the composed queries contain a placeholder for it; or the table's name
if it has no alias, so that `s.t.c` refers to its column as everywhere. For a pair (target row, source row), or an
unmatched row, the first clause of its kind whose condition is true applies; queries return its number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from catalog.names import quote
from engine.sql.dialect.cursor import Cursor
from engine.sql.query.composed import ComposedQuery, Names
from engine.sql.query.names import read_table
from engine.sql.query.query import lone_source
from engine.sql.query.values import Assignment, Span, TargetQuery
from engine.statements.merge.statement import ClauseKind, DeleteAction, Merge, MergeClause, SetAction, StarAction
from engine.statements.row_changes.grammar import TargetComposer, read_assignments, read_target_alias, read_value

_NEXT = (("WHEN",),)
_KINDS = (
    (("NOT", "MATCHED", "BY", "SOURCE"), ClauseKind.NOT_MATCHED_BY_SOURCE),
    (("NOT", "MATCHED", "BY", "TARGET"), ClauseKind.NOT_MATCHED),
    (("NOT", "MATCHED"), ClauseKind.NOT_MATCHED),
    (("MATCHED",), ClauseKind.MATCHED),
)


@dataclass(frozen=True, slots=True)
class _Clause:
    """A clause with its parts' positions; `assignments` None for `*`."""

    kind: ClauseKind
    condition: Span | None
    is_delete: bool = False
    assignments: tuple[tuple[Assignment, Span | None], ...] | None = ()


def parse_merge(cursor: Cursor, ctes: Span | None = None) -> Merge:
    """Parses the text after MERGE."""
    schema_evolution = cursor.take("WITH", "SCHEMA", "EVOLUTION")
    cursor.read("INTO")
    table = read_table(cursor)
    alias = read_target_alias(cursor, "a MERGE")
    cursor.read("USING")
    piece = _read_span(cursor, ("ON",), what="a source")
    cursor.read("ON")
    condition = _read_span(cursor, *_NEXT, what="a condition")
    composer = TargetComposer(cursor.text, ctes, table, alias)
    clauses = _read_clauses(cursor, composer)
    whole = composer.begin()
    whole.own("SELECT * FROM ")
    place = whole.piece(piece)
    source = whole.parse()
    source_alias, is_table = lone_source(source.text, cursor.fail("one source is expected"))
    source_alias = source_alias or Names([cursor.text]).new("source")
    is_table = is_table and [each.span.start for each in source.relations] == [place.start]
    named = source.relations[0].name_parts if is_table and source.relations[0].alias is None else None
    composing = _MergeComposer(composer, condition, source_alias, named, clauses)
    return Merge(
        table_parts=table,
        alias=alias,
        source=source,
        is_table=is_table,
        source_alias=source_alias,
        source_parts=named,
        condition=composer.text(condition),
        clauses=tuple(composing.clause(number) for number in range(len(clauses))),
        pairs=composing.pairs(),
        unmatched=composing.compose_unmatched(),
        schema_evolution=schema_evolution,
    )


# --- Clauses ---------------------------------------------------------------------------------------------------------


def _read_clauses(cursor: Cursor, composer: TargetComposer) -> list[_Clause]:
    clauses: list[_Clause] = []
    while not clauses or not cursor.is_done:
        cursor.read("WHEN")
        kind = next((kind for words, kind in _KINDS if cursor.take(*words)), None)
        if kind is None:
            raise cursor.fail("MATCHED or NOT MATCHED is expected")
        condition = _read_span(cursor, ("THEN",), what="a condition") if cursor.take("AND") else None
        cursor.read("THEN")
        clauses.append(_read_action(cursor, composer, kind, condition))
    return clauses


def _read_action(cursor: Cursor, composer: TargetComposer, kind: ClauseKind, condition: Span | None) -> _Clause:
    if kind is ClauseKind.NOT_MATCHED:
        cursor.read("INSERT")
        assignments = None if cursor.take("*") else tuple(_read_insert(cursor, composer))
    elif cursor.take("DELETE"):
        return _Clause(kind, condition, is_delete=True)
    else:
        cursor.read("UPDATE", "SET")
        is_star = kind is ClauseKind.MATCHED and cursor.take("*")
        assignments = None if is_star else tuple(read_assignments(cursor, composer, _NEXT))
    return _Clause(kind, condition, assignments=assignments)


def _read_insert(cursor: Cursor, composer: TargetComposer) -> list[tuple[Assignment, Span | None]]:
    """Reads `(columns) VALUES (values)`."""
    cursor.read("(")
    paths = [cursor.read_names()]
    while cursor.take(","):
        paths.append(cursor.read_names())
    cursor.read(")")
    cursor.read("VALUES")
    cursor.read("(")
    found: list[tuple[Assignment, Span | None]] = []
    for number, path in enumerate(paths):
        if number and not cursor.take(","):
            raise cursor.fail(f"a value for the column {'.'.join(path)} is expected")
        span = read_value(cursor, ())
        shown = "DEFAULT" if span is None else composer.text(span)
        found.append((Assignment(path=path, text=shown, is_default=span is None), span))
    cursor.read(")")
    return found


def _read_span(cursor: Cursor, *stops: tuple[str, ...], what: str) -> Span:
    start = cursor.offset
    return Span(start, start + len(cursor.read_text(*stops, what=what)))


# --- Queries ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _MergeComposer:
    target: TargetComposer
    condition: Span
    source_alias: str
    source_parts: tuple[str, ...] | None
    clauses: Sequence[_Clause]

    def pairs(self) -> TargetQuery:
        """Returns `SELECT number … FROM t JOIN source ON condition`."""
        composed = self._select_clause_number(ClauseKind.MATCHED)
        items = composed.own("")
        place = self.target.from_target(composed)
        return composed.over_target(items, place, self._join(composed, " JOIN "))

    def compose_unmatched(self) -> TargetQuery | None:
        """Returns `SELECT number … FROM t LEFT ANTI JOIN source ON condition`."""
        if all(clause.kind is not ClauseKind.NOT_MATCHED_BY_SOURCE for clause in self.clauses):
            return None
        composed = self._select_clause_number(ClauseKind.NOT_MATCHED_BY_SOURCE)
        items = composed.own("")
        place = self.target.from_target(composed)
        return composed.over_target(items, place, self._join(composed, " LEFT ANTI JOIN "))

    def clause(self, number: int) -> MergeClause:
        clause = self.clauses[number]
        condition = None if clause.condition is None else self.target.text(clause.condition)
        if clause.is_delete:
            return MergeClause(kind=clause.kind, action=DeleteAction(), condition=condition)
        values = self._values(clause)
        if clause.assignments is None:
            return MergeClause(kind=clause.kind, action=StarAction(values=values), condition=condition)
        assignments = tuple(assignment for assignment, _ in clause.assignments)
        action = SetAction(assignments=assignments, values=values)
        return MergeClause(kind=clause.kind, action=action, condition=condition)

    def _values(self, clause: _Clause) -> TargetQuery:
        """Returns `SELECT number, value, … FROM` the rows that the clause may apply to."""
        composed = self._select_clause_number(clause.kind)
        for _, span in clause.assignments or ():
            composed.own(", ")
            if span is None:
                composed.own("NULL")
            else:
                composed.in_parentheses(span)
        items = composed.own("")
        place = source = None
        if clause.kind is ClauseKind.NOT_MATCHED:
            composed.own(" FROM ")
            source = self._source(composed)
        else:
            place = self.target.from_target(composed)
            if clause.kind is ClauseKind.MATCHED:
                source = self._join(composed, " JOIN ")
        return composed.over_target(items, place, source)

    def _select_clause_number(self, kind: ClauseKind) -> ComposedQuery:
        """Returns `SELECT number`, for this kind's clause."""
        composed = self.target.begin()
        composed.own("SELECT CASE")
        for number, clause in enumerate(self.clauses, 1):
            if clause.kind is kind:
                composed.own(" WHEN ")
                if clause.condition is None:
                    composed.own("true")
                else:
                    composed.in_parentheses(clause.condition)
                composed.own(f" THEN {number}")
        # Keeps the CASE valid and of type INT if the statement has no clause of this kind;
        # it is never true.
        composed.own(" WHEN false THEN 0 END")
        return composed

    def _join(self, composed: ComposedQuery, join: str) -> Span:
        composed.own(join)
        source = self._source(composed)
        composed.own(" ON ")
        composed.in_parentheses(self.condition)
        return source

    def _source(self, composed: ComposedQuery) -> Span:
        if self.source_parts is not None:
            return composed.own(".".join(map(quote, self.source_parts)))
        # The planner replaces this placeholder by the source's scan, at this position.
        source = composed.own("(SELECT 1)")
        composed.own(f" AS {quote(self.source_alias)}")
        return source


LEADING_WORDS: Mapping[tuple[str, ...], Callable[[Cursor], Merge]] = MappingProxyType({("MERGE",): parse_merge})
