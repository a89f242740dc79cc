"""DataFrame plans as temporary views, and the views that their inputs' texts may name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import cast

from catalog.entries import ViewEntry
from catalog.names import fold
from engine.binding.bound import BoundRelation, BoundView, ClientRowsView, FrameView, InputView
from engine.runtime.dataframe import DataFramePlan, PlanInput
from engine.runtime.session_state import (
    SessionState,
    is_global,
    is_of_session,
    is_qualified_global,
    is_temporary,
    may_be_temporary,
    temporary_name,
)
from engine.runtime.settings import captured_settings
from engine.spool.spooled_rows import SpooledRows
from engine.sql.query.values import Query
from engine.tables.given_rows import client_rows

_NAME = "gateway_dataframe"


def unnamed_frame(plan: DataFramePlan, state: SessionState) -> FrameView:
    """Returns the view of a statement over a DataFrame."""
    return FrameView(
        name=temporary_name(_NAME),
        text="",
        current=state.current,
        settings=captured_settings(state.values),
        frame=plan,
        is_named=False,
    )


def client_rows_view(rows: SpooledRows, state: SessionState) -> BoundView:
    """Returns the rows that a client sends to a statement, as a view."""
    entry = ClientRowsView(name=temporary_name(rows.name), text="", current=state.current)
    return BoundView(entry=entry, query=Query(text=""), relations=(), rows=client_rows(rows))


def input_view(given: PlanInput, frame: FrameView) -> InputView:
    """Returns the view of an input, in which names are resolved as in its DataFrame."""
    frames = (
        FrameView(
            name=temporary_name(name),
            text="",
            current=frame.current,
            settings=frame.settings,
            frame=plan,
            is_named=False,
        )
        for name, plan in given.frames
    )
    return InputView(
        name=temporary_name(given.name),
        text=given.text,
        current=frame.current,
        settings=frame.settings,
        alias=given.alias,
        parameters=given.parameters,
        frames=tuple(frames),
    )


def captured_view(parts: tuple[str, ...], inside: tuple[ViewEntry, ...]) -> ViewEntry | None:
    """Returns the view to which a name refers in the text of an input, whatever the session's views are; None: it
    refers to an object of the session or the catalog.

    `inside` are the views whose texts led to the name, outermost first.
    """
    for each in reversed(inside):
        if not isinstance(each, FrameView | InputView):
            return None
        if (found := _find(each.frames if isinstance(each, InputView) else each.captured, parts)) is not None:
            return found
    return None


def _find(views: Iterable[ViewEntry], parts: tuple[str, ...]) -> ViewEntry | None:
    if is_qualified_global(parts):
        named: Iterator[ViewEntry] = (view for view in views if is_global(view.name))
    elif may_be_temporary(parts):
        named = (view for view in views if is_of_session(view.name))
    else:
        return None
    return next((view for view in named if fold(view.name.table) == fold(parts[-1])), None)


def named_temporary_views(frame: BoundView) -> Iterator[ViewEntry]:
    """Yields the temporary views that the inputs of a bound DataFrame name (`FrameView.captured`)."""
    for each in frame.relations:
        for relation in cast(BoundView, each).relations:
            if not isinstance(relation, BoundView) or not is_temporary(relation.name):
                continue
            if relation.is_unnamed:
                yield from named_temporary_views(relation)
            else:
                yield relation.entry


def read_by_frame(frame: BoundView) -> Iterator[BoundRelation]:
    """Yields the relations that a bound DataFrame reads, with the relations of captured views instead of these."""
    for each in frame.relations:
        for relation in cast(BoundView, each).relations:
            if isinstance(relation, BoundView) and is_temporary(relation.name):
                yield from read_by_frame(relation) if isinstance(relation.entry, FrameView) else relation.relations
            else:
                yield relation
