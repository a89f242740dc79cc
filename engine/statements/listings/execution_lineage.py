"""The neighbors of a relation: by the texts of views, and by the statements that wrote tables."""

from __future__ import annotations

import json
from collections.abc import Iterator

from catalog.entries import Relation, ViewEntry
from catalog.errors import SqlError
from catalog.lineage.edges import Edge, End, EndKind
from catalog.names import TableName, fold, path_of
from catalog.view import CatalogView
from engine.binding.bound import BoundStatement, Outcome
from engine.binding.lineage_rows import visible_edges
from engine.runtime.results import BIGINT, BOOLEAN, STRING, small_result
from engine.sql.parser import parse_stored_query
from engine.statements.listings.statement import ListLineage

_COLUMNS = {
    "is_upstream": BOOLEAN,
    **dict.fromkeys(("catalog", "schema", "table", "type", "path", "statement_type"), STRING),
    **dict.fromkeys(("user", "statement_id"), STRING),
    **dict.fromkeys(("first_ms", "last_ms", "count"), BIGINT),
    "columns_json": STRING,
}
_OF_A_VIEW = ("VIEW", None, None, None, None, None, "[]")


def list_lineage(bound: BoundStatement, statement: ListLineage) -> Outcome:
    """Returns the neighbors of a relation; those that are not visible to the principal are left out.

    The newest edges of statements come first, after the views'.
    """
    view = bound.view
    relation = view.resolve(TableName.from_parts(statement.table_parts, bound.state.current))
    upstream = _sources(view, relation) if isinstance(relation, ViewEntry) else ()
    rows: list[tuple[object, ...]] = [
        (is_up, *each.name.parts, _type(each), None, *_OF_A_VIEW)
        for is_up, found in ((True, upstream), (False, _readers(view, relation)))
        for each in found
    ]
    key = relation.name.key
    edges = [edge for edge in bound.load_lineage().edges() if key in (edge.source.key, edge.target.key)]
    for edge in sorted(visible_edges(view, edges), key=lambda edge: edge.last_ms, reverse=True):
        rows.append(_row(edge, is_up=edge.target.key == key))
    return Outcome(result=small_result(_COLUMNS, rows))


def _row(edge: Edge, *, is_up: bool) -> tuple[object, ...]:
    by = (edge.statement_type, edge.user, edge.statement_id, edge.first_ms, edge.last_ms, edge.count)
    return is_up, *_end(edge.source if is_up else edge.target), *by, json.dumps(edge.columns)


def _end(end: End) -> tuple[str | None, ...]:
    return (None, None, None, end.kind, *end.parts) if end.kind is EndKind.PATH else (*end.parts, end.kind, None)


def _sources(view: CatalogView, reader: ViewEntry) -> Iterator[Relation]:
    for name in dict.fromkeys(_names_in(reader)):
        try:
            yield view.resolve(name)
        except SqlError:
            continue  # not visible, or dropped


def _readers(view: CatalogView, relation: Relation) -> Iterator[Relation]:
    """Yields the visible views that name the relation; temporary names and paths are not followed."""
    mentioned = fold(relation.name.table)
    for entry in view.state.relations.values():
        if isinstance(entry, ViewEntry) and mentioned in fold(entry.text) and relation.name in _names_in(entry):
            try:
                yield view.resolve(entry.name)
            except SqlError:
                continue


def _names_in(entry: ViewEntry) -> list[TableName]:
    try:
        query = parse_stored_query(entry.text)
    except SqlError:
        return []
    found = [] if query is None else [each.name_parts for each in query.relations if each.name_parts]
    return [TableName.from_parts(parts, entry.current) for parts in found if len(parts) <= 3 and path_of(parts) is None]


def _type(relation: Relation) -> str:
    return "VIEW" if isinstance(relation, ViewEntry) else "TABLE"
