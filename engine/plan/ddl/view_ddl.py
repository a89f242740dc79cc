"""Plans of ALTER VIEW, but for a new query, which is planned as CREATE OR REPLACE VIEW."""

from __future__ import annotations

from typing import assert_never

from catalog.changes import RenameTable as RenameTableChange
from catalog.changes import SetViewProperties
from catalog.entries import ViewEntry
from catalog.names import TableName, ensure_new_part, fold
from catalog.rest.errors import RestCatalogNotChanged
from engine.bind.bound import BoundStatement
from engine.errors.column_errors import ColumnNotFound
from engine.errors.statement_errors import PermanentViewExpected, StatementNotSupported, UnsetUnknownProperties
from engine.plan.ddl.catalog_ddl import view_entry
from engine.plans.ddl import CatalogPlan, RenameTemporaryViewPlan
from engine.runtime.session_state import (
    global_name,
    is_global,
    is_qualified_global,
    is_temporary,
    may_be_temporary,
    temporary_name,
)
from engine.statements.alters import RenameTable, SetProperties, UnsetProperties
from engine.statements.catalog import AlterView, CommentOn


def plan_alter_view(bound: BoundStatement, statement: AlterView) -> CatalogPlan | RenameTemporaryViewPlan:
    """Raises `TableNotFound`, `ViewExpected`, and for temporary views `PermanentViewExpected`, as Spark does."""
    entry, change = view_entry(bound, statement.view_parts), statement.change
    if isinstance(change, RenameTable):
        return _renamed(bound, entry, change.table_parts)
    if is_temporary(entry.name):
        raise PermanentViewExpected(entry.name.table)
    if entry.foreign is not None:
        raise RestCatalogNotChanged(entry.name.catalog, f"What ALTER VIEW sets of {entry.name}")
    match change:
        case None:
            return CatalogPlan(change=None)
        case SetProperties(properties=properties):
            changed = SetViewProperties(entry.name, properties)
        case UnsetProperties(keys=keys, if_exists=if_exists):
            known = {key for key, _ in entry.properties} | ({"comment"} if entry.comment is not None else set())
            unknown = sorted({*keys} - known)
            if unknown and not if_exists:
                raise UnsetUnknownProperties(str(entry.name), ", ".join(unknown))
            changed = SetViewProperties(entry.name, (), keys)
        case _:
            assert_never(change)
    return CatalogPlan(change=changed, condition=bound.condition)


def plan_view_comment(bound: BoundStatement, statement: CommentOn) -> CatalogPlan:
    """Plans COMMENT ON COLUMN of a view. Raises `ColumnNotFound`, and `RestCatalogNotChanged` for a foreign view."""
    entry, column = view_entry(bound, statement.parts[:-1]), statement.parts[-1]
    if entry.foreign is not None:
        raise RestCatalogNotChanged(entry.name.catalog, f"The comment of a column of {entry.name}")
    names = [each.name for each in entry.columns]
    found = next((name for name in names if fold(name) == fold(column)), None)
    if found is None:
        raise ColumnNotFound(column, ", ".join(names))
    change = SetViewProperties(entry.name, (), column_comments=((found, statement.comment),))
    return CatalogPlan(change=change, condition=bound.condition)


def _renamed(bound: BoundStatement, entry: ViewEntry, parts: tuple[str, ...]) -> CatalogPlan | RenameTemporaryViewPlan:
    ensure_new_part(parts[-1])
    if is_temporary(entry.name):
        is_shared = is_global(entry.name)
        if len(parts) > 1 and not (is_qualified_global(parts) if is_shared else may_be_temporary(parts)):
            raise StatementNotSupported(f"RENAME of the temporary view {entry.name.table} into a schema")
        new_name = (global_name if is_shared else temporary_name)(parts[-1])
        return RenameTemporaryViewPlan(entry=entry, new_name=new_name)
    new_name = TableName.from_parts(parts, bound.state.current)
    for name in (entry.name, new_name):
        if bound.view.is_rest(name.schema_name.catalog_name):
            raise RestCatalogNotChanged(name.catalog, f"The name of the view {entry.name}")
    return CatalogPlan(change=RenameTableChange(entry.name, new_name), condition=bound.condition)
