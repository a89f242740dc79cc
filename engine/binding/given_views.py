"""Views whose rows do not come from a query: `information_schema` and `system.gateway`."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from catalog.entries import ViewEntry
from engine.binding.bound import BoundView
from engine.sql.query.values import Query
from engine.tables.given_rows import Columns, GivenRows, Row, fixed_rows


def view_of_rows(
    entry: ViewEntry, columns: Columns, make: Callable[[], Iterable[Row]], *, is_volatile: bool = False
) -> BoundView:
    """Returns the view `entry` with the rows from `make`; volatile rows differ for each call."""
    if is_volatile:
        return given_view(entry, GivenRows(columns=columns, make=lambda _: make()))
    return given_view(entry, fixed_rows(columns, make))


def given_view(entry: ViewEntry, rows: GivenRows) -> BoundView:
    """Returns the view `entry` with these rows."""
    return BoundView(entry=entry, query=Query(text=""), relations=(), rows=rows)
