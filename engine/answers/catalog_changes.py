"""DDL of names, carried out: one change of the catalog, or of the session for what is temporary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from catalog.catalog import Catalog
from catalog.changes import CreateView
from catalog.entries import ViewColumn, ViewEntry
from catalog.errors import TableAlreadyExists
from engine.bind.bound import ColumnInfo, Outcome
from engine.errors.statement_errors import DuplicateViewColumn, ViewColumnCount
from engine.plans.ddl import CatalogPlan, CreateViewPlan, DropTemporaryViewPlan
from engine.runtime.results import empty_result
from engine.runtime.session_state import SessionState, is_temporary


def change_catalog(plan: CatalogPlan, catalog: Catalog) -> Outcome:
    try:
        catalog.change(plan.change)
    except plan.tolerated:
        pass
    return Outcome(result=empty_result())


def create_view(plan: CreateViewPlan, columns: Sequence[ColumnInfo], catalog: Catalog, now_ms: int) -> Outcome:
    """Record the view with the columns that its query has now."""
    entry = replace(plan.entry, columns=_columns(plan, columns), created_ms=now_ms)
    if is_temporary(entry.name):
        return Outcome(result=empty_result(), change=lambda state: _with_view(state, entry, plan))
    return change_catalog(CatalogPlan(change=CreateView(entry, plan.replace), tolerated=plan.tolerated), catalog)


def drop_temporary_view(plan: DropTemporaryViewPlan) -> Outcome:
    return Outcome(result=empty_result(), change=lambda state: state.without_temporary_view(plan.entry.name))


def _with_view(state: SessionState, entry: ViewEntry, plan: CreateViewPlan) -> SessionState:
    if not plan.replace and state.temporary_view((entry.name.table,)) is not None:
        if plan.tolerated:
            return state
        raise TableAlreadyExists(entry.name.table)
    return state.with_temporary_view(entry)


def _columns(plan: CreateViewPlan, columns: Sequence[ColumnInfo]) -> tuple[ViewColumn, ...]:
    """The view's own names over the query's; both must be unique, since rows are matched to them by name."""
    if plan.names and len(plan.names) != len(columns):
        raise ViewColumnCount(str(plan.entry.name), len(plan.names), len(columns))
    named = [(column.name, column.comment) for column in plan.names or columns]
    for names in ([name for name, _ in named], [column.name for column in columns]):
        folded = [name.casefold() for name in names]
        for name in names:
            if folded.count(name.casefold()) > 1:
                raise DuplicateViewColumn(str(plan.entry.name), name)
    return tuple(
        ViewColumn(name=name, source=column.name, type=column.type, comment=comment)
        for (name, comment), column in zip(named, columns, strict=True)
    )
