"""The relations from which a view takes its rows, and the views that read a relation, by the views' texts."""

from __future__ import annotations

from collections.abc import Iterator

from catalog.entries import Relation, ViewEntry
from catalog.errors import SqlError
from catalog.names import TableName, fold, path_of
from catalog.view import CatalogView
from engine.binding.bound import BoundStatement, Outcome
from engine.runtime.results import BOOLEAN, STRING, small_result
from engine.sql.parser import parse_stored_query
from engine.statements.listings.statement import ListLineage

_COLUMNS = {"is_upstream": BOOLEAN, **dict.fromkeys(("catalog", "schema", "table", "type"), STRING)}


def list_lineage(bound: BoundStatement, statement: ListLineage) -> Outcome:
    """Returns the neighbors of a relation; those that are not visible to the principal are left out."""
    view = bound.view
    relation = view.resolve(TableName.from_parts(statement.table_parts, bound.state.current))
    upstream = _sources(view, relation) if isinstance(relation, ViewEntry) else ()
    rows = [
        (is_up, *each.name.parts, _type(each))
        for is_up, found in ((True, upstream), (False, _readers(view, relation)))
        for each in found
    ]
    return Outcome(result=small_result(_COLUMNS, rows))


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
