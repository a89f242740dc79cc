"""The rows of the views in `system.gateway`, evaluated just before a query runs.

Sessions, statements and metrics come from the front ends, which show each principal its own. A visible table's name and
format are shown to everyone; its location to managers; its log's state to principals who may read all of it: not
without SELECT or under a row filter or masks, as with DESCRIBE DETAIL. A table with an unreadable log has the error
condition in its row.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Sequence

from catalog.entries import TableEntry, ViewEntry
from catalog.errors import SqlError
from catalog.names import matches_all
from catalog.system.server_views import SERVER_RELATIONS
from catalog.view import CatalogView
from engine.binding.bound import BoundTable, BoundView
from engine.binding.given_views import given_view, view_of_rows
from engine.binding.visibility import is_hidden
from engine.runtime.activity import ActivitySource, QueryRow, SessionRow
from engine.runtime.identity import Identity
from engine.runtime.metrics import MetricFamily
from engine.tables.given_rows import Columns, GivenRows

# Maximum characters for one statement text, and for all texts in one query's rows; older statements have no text.
TEXT_MAX, TEXTS_MAX = 4096, 2 << 20

_Row = tuple[object, ...]


def server_rows(
    entry: ViewEntry,
    view: CatalogView,
    identity: Identity,
    activity: ActivitySource,
    look: Callable[[TableEntry], BoundTable],
) -> BoundView:
    """Returns the view `entry` with its rows; `look` opens a table's log, and raises `SqlError`."""
    columns = SERVER_RELATIONS[entry.name.table]
    match entry.name.table:
        case "sessions":
            return view_of_rows(entry, columns, lambda: map(_values, activity.sessions(identity)), is_volatile=True)
        case "queries":
            return view_of_rows(entry, columns, lambda: _queries(activity.queries(identity)), is_volatile=True)
        case "tables":
            return given_view(entry, _tables(columns, view, look))
        case "metrics":
            return view_of_rows(entry, columns, lambda: _metrics(activity.metrics()), is_volatile=True)
        case _:  # a relation name without rows here
            raise KeyError(entry.name.table)


def _values(row: SessionRow | QueryRow) -> _Row:
    return tuple(getattr(row, field.name) for field in dataclasses.fields(row))


def _queries(rows: Iterable[QueryRow]) -> Iterator[_Row]:
    """Yields statements, newest first, so that the oldest ones lose their texts."""
    left = TEXTS_MAX
    for row in rows:
        text = row.statement_text[: min(TEXT_MAX, left)]
        left -= len(text)
        yield _values(dataclasses.replace(row, statement_text=text))


def _metrics(families: Iterable[MetricFamily]) -> Iterator[_Row]:
    for family in families:
        for sample in family.samples:
            yield family.name + sample.suffix, family.kind, dict(sample.labels), sample.value, family.description


def _tables(columns: Columns, view: CatalogView, look: Callable[[TableEntry], BoundTable]) -> GivenRows:
    found: list[TableEntry] = []

    def names() -> list[tuple[str, ...]]:
        found[:] = (
            entry for entry in view.find_relations(None, matches_all, matches_all) if isinstance(entry, TableEntry)
        )
        return [entry.name.parts for entry in found]

    def make(row_numbers: Sequence[int] | None) -> Iterator[_Row]:
        if row_numbers is None:
            names()
        for entry in found if row_numbers is None else [found[at] for at in row_numbers]:
            location = entry.location if view.tells_all(entry) else None
            yield *entry.name.parts, entry.owner, entry.format, location, *_state(view, entry, look)

    return GivenRows(columns=columns, make=make, keys=("table_catalog", "table_schema", "table_name"), objects=names)


def _state(view: CatalogView, entry: TableEntry, look: Callable[[TableEntry], BoundTable]) -> _Row:
    """Returns the newest version's state from the log, then the reason if it cannot be read."""
    try:
        table = look(entry)
        if table.is_protected or is_hidden(view, table):
            return (*(None,) * 6, None)
        snapshot = table.snapshot
        details = snapshot.details
        return (
            snapshot.version,
            details.modified_ms,
            snapshot.num_files,
            snapshot.size_bytes,
            list(snapshot.partition_columns),
            list(details.features),
            None,
        )
    except SqlError as error:
        return (*(None,) * 6, error.condition)
