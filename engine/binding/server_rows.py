"""The rows of the views of `system.gateway`, as they are when a query is about to run.

Sessions, statements and metrics are the front ends' to tell, which show everybody what is theirs. Of a table everybody
who may know of it learns its name and format; where it is, who manages it; what its log says, who may read all of it:
not who lacks SELECT or reads it under a row filter or masks, as with DESCRIBE DETAIL. A table whose log cannot be read
has the error's condition in its row.
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
from engine.binding.sight import is_hidden
from engine.runtime.activity import ActivitySource, QueryRow, SessionRow
from engine.runtime.identity import Identity
from engine.runtime.metrics import MetricFamily
from engine.tables.given_rows import Columns, GivenRows

TEXT_MAX, TEXTS_MAX = 4096, 2 << 20
"""Characters of a statement's text, and of all that one query is given; older statements have none beyond it."""

_Row = tuple[object, ...]


def server_rows(
    entry: ViewEntry,
    view: CatalogView,
    identity: Identity,
    activity: ActivitySource,
    look: Callable[[TableEntry], BoundTable],
) -> BoundView:
    """The view `entry` with its rows; `look` opens the log of a table, and raises `SqlError`."""
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
        case _:  # the name of a relation that has no rows here
            raise KeyError(entry.name.table)


def _values(row: SessionRow | QueryRow) -> _Row:
    return tuple(getattr(row, field.name) for field in dataclasses.fields(row))


def _queries(rows: Iterable[QueryRow]) -> Iterator[_Row]:
    """Newest first, so that what is left out are the texts of the oldest."""
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

    def make(chosen: Sequence[int] | None) -> Iterator[_Row]:
        if chosen is None:
            names()
        for entry in found if chosen is None else [found[at] for at in chosen]:
            location = entry.location if view.tells_all(entry) else None
            yield *entry.name.parts, entry.owner, entry.format, location, *_state(view, entry, look)

    return GivenRows(columns=columns, make=make, keys=("table_catalog", "table_schema", "table_name"), objects=names)


def _state(view: CatalogView, entry: TableEntry, look: Callable[[TableEntry], BoundTable]) -> _Row:
    """What the log says of the newest version, then why it cannot be read."""
    try:
        table = look(entry)
        if table.is_policed or is_hidden(view, table):
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
