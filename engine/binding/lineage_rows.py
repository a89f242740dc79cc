"""The rows of `system.access.table_lineage` and `system.access.column_lineage`, evaluated just before a query runs.

An edge is visible to a principal to whom both its ends are visible: tables and views that exist, and paths with files
that the principal may read, because a path names files. The columns of an edge are visible with it, as a table's
columns are.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Callable, Iterator
from functools import cache

from catalog.entries import ViewEntry
from catalog.errors import SqlError
from catalog.lineage.edges import Edge, End, EndKind, LineageState
from catalog.names import TableName
from catalog.system.lineage_tables import LINEAGE_RELATIONS
from catalog.view import CatalogView
from catalog.volumes.paths import is_volume_path, parse_volume_path
from engine.binding.bound import BoundView
from engine.binding.given_views import view_of_rows
from engine.binding.visibility import may_not_read, may_see, path_owners, volume_of_path

_NOTHING = (None,) * 6


def lineage_rows(entry: ViewEntry, view: CatalogView, load: Callable[[], LineageState]) -> BoundView:
    """Returns the view `entry` with its rows; `load` returns all edges."""
    make = _column_rows if entry.name.table == "column_lineage" else _table_rows

    def rows() -> Iterator[tuple[object, ...]]:
        return (row for edge in visible_edges(view, load().edges()) for row in make(edge))

    return view_of_rows(entry, LINEAGE_RELATIONS[entry.name.table], rows, is_volatile=True)


def visible_edges(view: CatalogView, edges: list[Edge]) -> Iterator[Edge]:
    """Yields the edges whose ends are visible in `view`."""
    is_visible = cache(lambda end: _is_visible(view, end))
    return (edge for edge in edges if is_visible(edge.source) and is_visible(edge.target))


def _is_visible(view: CatalogView, end: End) -> bool:
    if end.kind is not EndKind.PATH:
        return may_see(view, TableName(*end.parts))
    (path,) = end.parts
    try:
        owners = (volume_of_path(parse_volume_path(path), view),) if is_volume_path(path) else path_owners(view, path)
    except SqlError:
        return False
    return not may_not_read(view, owners)


def _table_rows(edge: Edge) -> Iterator[tuple[object, ...]]:
    yield *_NOTHING, *_end(edge.source), *_end(edge.target), *_last(edge)


def _column_rows(edge: Edge) -> Iterator[tuple[object, ...]]:
    for source, target in edge.columns:
        yield *_NOTHING, *_end(edge.source), source, *_end(edge.target), target, *_last(edge)


def _end(end: End) -> tuple[str | None, ...]:
    if end.kind is EndKind.PATH:
        return None, None, None, None, end.parts[0], end.kind
    return ".".join(end.parts), *end.parts, None, end.kind


def _last(edge: Edge) -> tuple[object, ...]:
    record_id = hashlib.sha256(repr(edge.key).encode()).hexdigest()[:32]
    day = dt.datetime.fromtimestamp(edge.last_ms / 1000, dt.UTC).date()
    last = (edge.user, edge.last_ms, day, record_id, edge.statement_id, edge.statement_id)
    return *last, edge.statement_type, edge.first_ms, edge.count
