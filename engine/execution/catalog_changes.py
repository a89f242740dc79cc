"""DDL on names: one change to the catalog, or to the session for temporary objects."""

from __future__ import annotations

from dataclasses import replace

from catalog.catalog import Catalog
from catalog.changes import CreateView, SetViewProperties
from catalog.conditions import FunctionAlreadyExists, TableAlreadyExists
from catalog.entries import ViewEntry
from catalog.grants.right_changes import CreateFunction
from catalog.volumes.changes import CreateVolume
from engine.binding.bound import Outcome
from engine.planning.plans.ddl import (
    CatalogPlan,
    CreateTemporaryFunctionPlan,
    CreateTemporaryViewPlan,
    DropTemporaryFunctionPlan,
    DropTemporaryViewPlan,
    RenameTemporaryViewPlan,
)
from engine.runtime.global_views import GlobalViews
from engine.runtime.request import StatementRequest
from engine.runtime.results import empty_result
from engine.runtime.session_state import SessionState, is_global


def change_catalog(plan: CatalogPlan, catalog: Catalog, request: StatementRequest) -> Outcome:
    """Applies the plan's change to the catalog, with creation times from the request's clock.

    Errors that the plan tolerates leave the catalog unchanged.
    """
    change = plan.change
    if change is None:
        return Outcome(result=empty_result())
    now_ms = request.now_ms()
    if isinstance(change, CreateView):
        change = replace(change, entry=_with_creation(change.entry, now_ms))
    if isinstance(change, SetViewProperties):
        change = replace(change, altered_ms=now_ms, altered_by=request.identity.principal)
    if isinstance(change, CreateFunction):
        change = replace(change, entry=replace(change.entry, created_ms=now_ms))
    if isinstance(change, CreateVolume):
        change = replace(change, entry=replace(change.entry, created_ms=now_ms))
    try:
        request.on_rights(catalog.change_rights(change, plan.condition, request.transaction_id))
    except plan.tolerated:
        pass
    if plan.warning is not None:
        request.profile.add_note(plan.warning)
    return Outcome(result=empty_result())


def _with_creation(entry: ViewEntry, now_ms: int) -> ViewEntry:
    return replace(entry, created_ms=now_ms, created_by=entry.owner, altered_ms=now_ms, altered_by=entry.owner)


def create_temporary_view(plan: CreateTemporaryViewPlan, shared: GlobalViews, request: StatementRequest) -> Outcome:
    """Returns the change of the session's state, or creates a global temporary view in `shared` at once.

    Raises `TableAlreadyExists`, for a session's view when the change is applied.
    """
    entry = replace(plan.entry, created_ms=request.now_ms())
    if is_global(entry.name):
        try:
            shared.create(request.identity, entry, replace=plan.replace)
        except TableAlreadyExists:
            if not plan.tolerates:
                raise
        return Outcome(result=empty_result())

    def with_view(state: SessionState) -> SessionState:
        if not plan.replace and state.temporary_view((entry.name.table,)) is not None:
            if plan.tolerates:
                return state
            raise TableAlreadyExists(entry.name.table)
        return state.with_temporary_view(entry)

    return Outcome(result=empty_result(), change=with_view)


def drop_temporary_view(plan: DropTemporaryViewPlan, shared: GlobalViews, request: StatementRequest) -> Outcome:
    """Returns the change of the session's state, or drops a global temporary view from `shared` at once."""
    if is_global(plan.entry.name):
        shared.drop(request.identity, plan.entry.name)
        return Outcome(result=empty_result())
    return Outcome(result=empty_result(), change=lambda state: state.without_temporary_view(plan.entry.name))


def rename_temporary_view(plan: RenameTemporaryViewPlan, shared: GlobalViews, request: StatementRequest) -> Outcome:
    """Returns the change of the session's state, or renames a global temporary view in `shared` at once.

    Raises `TableAlreadyExists` if the new name exists.
    """
    entry = replace(plan.entry, name=plan.new_name)
    if is_global(entry.name):
        shared.rename(request.identity, plan.entry.name, entry)
        return Outcome(result=empty_result())

    def rename(state: SessionState) -> SessionState:
        if state.temporary_view((entry.name.table,)) is not None:
            raise TableAlreadyExists(entry.name.table)
        return state.without_temporary_view(plan.entry.name).with_temporary_view(entry)

    return Outcome(result=empty_result(), change=rename)


def create_temporary_function(plan: CreateTemporaryFunctionPlan, now_ms: int) -> Outcome:
    """Returns the change of the session's state, which raises `FunctionAlreadyExists` except with OR REPLACE."""
    entry = replace(plan.entry, created_ms=now_ms)

    def with_function(state: SessionState) -> SessionState:
        if not plan.replace and state.temporary_function(entry.name.parts) is not None:
            raise FunctionAlreadyExists(entry.name.table)
        return state.with_temporary_function(entry)

    return Outcome(result=empty_result(), change=with_function)


def drop_temporary_function(plan: DropTemporaryFunctionPlan) -> Outcome:
    """Returns the change of the session's state."""
    return Outcome(result=empty_result(), change=lambda state: state.without_temporary_function(plan.name))
