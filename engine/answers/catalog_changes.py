"""DDL of names: one change of the catalog, or of the session for what is temporary."""

from __future__ import annotations

from dataclasses import replace

from catalog.catalog import Catalog
from catalog.changes import CreateView
from catalog.errors import TableAlreadyExists
from catalog.right_changes import CreateFunction
from catalog.volume_changes import CreateVolume
from engine.bind.bound import Outcome
from engine.plans.ddl import CatalogPlan, CreateTemporaryViewPlan, DropTemporaryViewPlan, RenameTemporaryViewPlan
from engine.runtime.context import StatementContext
from engine.runtime.results import empty_result
from engine.runtime.session_state import SessionState


def change_catalog(plan: CatalogPlan, catalog: Catalog, context: StatementContext) -> Outcome:
    change = plan.change
    if change is None:
        return Outcome(result=empty_result())
    now_ms = context.now_ms()
    if isinstance(change, CreateView):
        change = replace(change, entry=replace(change.entry, created_ms=now_ms))
    if isinstance(change, CreateFunction):
        change = replace(change, entry=replace(change.entry, created_ms=now_ms))
    if isinstance(change, CreateVolume):
        change = replace(change, entry=replace(change.entry, created_ms=now_ms))
    try:
        context.on_rights(catalog.change_rights(change, plan.condition))
    except plan.tolerated:
        pass
    if plan.warning is not None:
        context.profile.add_note(plan.warning)
    return Outcome(result=empty_result())


def create_temporary_view(plan: CreateTemporaryViewPlan, now_ms: int) -> Outcome:
    entry = replace(plan.entry, created_ms=now_ms)

    def with_view(state: SessionState) -> SessionState:
        if not plan.replace and state.temporary_view((entry.name.table,)) is not None:
            if plan.tolerates:
                return state
            raise TableAlreadyExists(entry.name.table)
        return state.with_temporary_view(entry)

    return Outcome(result=empty_result(), change=with_view)


def drop_temporary_view(plan: DropTemporaryViewPlan) -> Outcome:
    return Outcome(result=empty_result(), change=lambda state: state.without_temporary_view(plan.entry.name))


def rename_temporary_view(plan: RenameTemporaryViewPlan) -> Outcome:
    def renamed(state: SessionState) -> SessionState:
        if state.temporary_view((plan.new_name.table,)) is not None:
            raise TableAlreadyExists(plan.new_name.table)
        return state.without_temporary_view(plan.entry.name).with_temporary_view(
            replace(plan.entry, name=plan.new_name)
        )

    return Outcome(result=empty_result(), change=renamed)
