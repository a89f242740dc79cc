"""Plans ALTER VIEW, except for a new query, which is planned as CREATE OR REPLACE VIEW."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import assert_never

from catalog.changes import CreateView as CreateViewChange
from catalog.changes import DropView as DropViewChange
from catalog.changes import RenameTable as RenameTableChange
from catalog.changes import SetViewProperties
from catalog.conditions import (
    DuplicateViewColumn,
    PermanentViewExpected,
    RecursiveView,
    RestCatalogNotChanged,
    StatementNotSupported,
    TableAlreadyExists,
    TableNotFound,
    TemporaryReference,
    UnsetUnknownProperties,
    UnsupportedClause,
    ViewColumnCount,
    ViewExpected,
)
from catalog.entries import SchemaMode, ViewColumn, ViewEntry
from catalog.names import TableName, ensure_new_part
from engine.binding.bound import BoundRelation, BoundStatement, BoundView, ClientRowsView, FileView, FrameView
from engine.binding.frames import named_temporary_views, read_by_frame
from engine.planning.analyzed import AnalyzedStatement
from engine.planning.plans.ddl import (
    CatalogPlan,
    CreateTemporaryViewPlan,
    DropTemporaryViewPlan,
    RenameTemporaryViewPlan,
)
from engine.planning.plans.reads import QueryColumn
from engine.planning.semantics.query_columns import table_fields
from engine.runtime.session_state import (
    global_name,
    is_global,
    is_of_session,
    is_qualified_global,
    is_temporary,
    may_be_temporary,
    temporary_name,
)
from engine.runtime.settings import captured_settings
from engine.statements.alter_table.statement import RenameTable, SetProperties, UnsetProperties
from engine.statements.views.statement import AlterView, CreateView, DropView
from engine.statements.views.statement import ViewColumn as ViewColumnName
from engine.types.schema import StructType


def plan_alter_view(bound: BoundStatement, statement: AlterView) -> CatalogPlan | RenameTemporaryViewPlan:
    """Plans ALTER VIEW.

    Raises `TableNotFound`, `ViewExpected`, and for temporary views `PermanentViewExpected`, as Spark does.
    """
    entry = view_entry(bound, statement.view_parts)
    change = statement.change
    if isinstance(change, RenameTable):
        return _plan_rename(bound, entry, change.table_parts)
    if is_temporary(entry.name):
        raise PermanentViewExpected(entry.name.table)
    if entry.foreign is not None:
        raise RestCatalogNotChanged(entry.name.catalog, f"What ALTER VIEW sets of {entry.name}")
    match change:
        case SchemaMode():
            _ensure_unique(str(entry.name), [each.source for each in entry.columns], change)
            changed = SetViewProperties(entry.name, (), schema_mode=change)
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


def _plan_rename(
    bound: BoundStatement, entry: ViewEntry, parts: tuple[str, ...]
) -> CatalogPlan | RenameTemporaryViewPlan:
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


def plan_create_view(analyzed: AnalyzedStatement, statement: CreateView) -> CatalogPlan | CreateTemporaryViewPlan:
    """Plans a view with its query's current columns.

    Rejects a view that would read itself, and a catalog view that reads a session's temporary view.
    """
    bound, state = analyzed.bound, analyzed.bound.state
    altered = view_entry(bound, statement.view_parts) if statement.alters else None
    if altered is None:
        ensure_new_part(statement.view_parts[-1])
    if statement.temporary:
        name = (global_name if statement.shared else temporary_name)(statement.view_parts[-1])
        is_taken = state.temporary_view(name.parts[1:]) is not None
        replace = statement.or_replace or (statement.if_not_exists and not is_taken)
    else:
        name = TableName.from_parts(statement.view_parts, state.current)
        replace = statement.or_replace
    if analyzed.variables:
        raise TemporaryReference(str(name), analyzed.variables[0], "variable")
    for function in bound.functions:
        if is_temporary(function.entry.name) and not is_of_session(name):
            raise TemporaryReference(str(name), function.entry.name.table, "function")
    for relation in bound.relations:
        _ensure_may_stand_on(name, relation, (name,))
    if statement.schema_mode is not None and bound.view.is_rest(name.schema_name.catalog_name):
        raise UnsupportedClause(f"WITH SCHEMA in the REST catalog {name.catalog}", "Leave the clause out.")
    entry = ViewEntry(
        name=name,
        text=str(statement.query.text),  # without its place in the statement
        current=state.current,
        owner=state.principal,
        comment=statement.comment if altered is None else altered.comment,
        columns=_view_columns(name, statement.columns, analyzed.columns or ()),
        properties=statement.properties if altered is None else altered.properties,
        settings=captured_settings(state.values),
        schema_mode=_schema_mode(statement) if altered is None else altered.schema_mode,
    )
    own = {each.name: getattr(entry, each.name) for each in fields(entry)}
    if statement.frame is not None:
        (frame,) = bound.relations
        assert isinstance(frame, BoundView)
        captured = {each.name: each for each in named_temporary_views(frame)}
        own["text"] = statement.frame.description
        entry = FrameView(**own, frame=statement.frame, captured=tuple(captured.values()))
    if statement.files is not None:
        entry = FileView(**own, files=statement.files, schema=StructType(table_fields(analyzed.columns or ())))
    if statement.temporary:
        return CreateTemporaryViewPlan(entry=entry, replace=replace, tolerates=statement.if_not_exists)
    tolerated = (TableAlreadyExists,) if statement.if_not_exists else ()
    change = CreateViewChange(entry, replace, statement.alters)
    return CatalogPlan(change=change, tolerated=tolerated, condition=bound.condition)


def _schema_mode(statement: CreateView) -> SchemaMode:
    """Returns the mode of a new view. A view with a list of columns keeps their names, as in Spark."""
    if statement.temporary or (statement.columns and statement.schema_mode is SchemaMode.EVOLUTION):
        return SchemaMode.TYPE_EVOLUTION
    return statement.schema_mode or SchemaMode.COMPENSATION


def _view_columns(
    view: TableName, names: Sequence[ViewColumnName], columns: Sequence[QueryColumn]
) -> tuple[ViewColumn, ...]:
    """Returns the view's own names, which must be unique, for the query's columns."""
    if names and len(names) != len(columns):
        raise ViewColumnCount(str(view), len(names), len(columns))
    named = [(column.name, column.comment) for column in names or columns]
    _ensure_unique(str(view), [name for name, _ in named])
    return tuple(
        ViewColumn(name=name, source=column.name, type=column.sql_type, comment=comment)
        for (name, comment), column in zip(named, columns, strict=True)
    )


def _ensure_unique(view: str, names: Sequence[str], mode: SchemaMode = SchemaMode.EVOLUTION) -> None:
    """Raises `DuplicateViewColumn` for a name that occurs twice, if the view in this mode has these names."""
    folded = [name.casefold() for name in names]
    for name in names:
        if mode is SchemaMode.EVOLUTION and folded.count(name.casefold()) > 1:
            raise DuplicateViewColumn(view, name)


def view_entry(bound: BoundStatement, parts: tuple[str, ...]) -> ViewEntry:
    """Returns the view with that name, preferring a temporary one. Raises `TableNotFound`, or `ViewExpected` for a
    table.
    """
    found = bound.state.temporary_view(parts) or bound.view.resolve(TableName.from_parts(parts, bound.state.current))
    if not isinstance(found, ViewEntry):
        raise ViewExpected(str(found.name))
    return found


def plan_drop_view(bound: BoundStatement, statement: DropView) -> CatalogPlan | DropTemporaryViewPlan:
    """Plans DROP VIEW; a temporary view with that name is dropped first, in name resolution order."""
    temporary = bound.state.temporary_view(statement.view_parts)
    if temporary is not None:
        return DropTemporaryViewPlan(entry=temporary)
    name = TableName.from_parts(statement.view_parts, bound.state.current)
    is_gone = statement.if_exists and bound.view.rights is not None and bound.view.find(name) is None
    return CatalogPlan(
        change=None if is_gone else DropViewChange(name),
        tolerated=(TableNotFound,) if statement.if_exists else (),
        condition=bound.condition,
    )


def _ensure_may_stand_on(name: TableName, relation: BoundRelation, path: tuple[TableName, ...]) -> None:
    if not isinstance(relation, BoundView):
        return
    if isinstance(relation.entry, ClientRowsView):
        raise TemporaryReference(str(name), relation.entry.name.table)
    if relation.is_unnamed:
        for each in read_by_frame(relation):
            _ensure_may_stand_on(name, each, path)
        return
    path = (*path, relation.entry.name)
    if relation.entry.name == name:
        raise RecursiveView(str(name), " -> ".join(map(str, path)))
    other = relation.entry.name
    if is_temporary(other) and not is_of_session(name) and not (is_global(name) and is_global(other)):
        raise TemporaryReference(str(name), relation.entry.name.table)
    for inner in relation.relations:
        _ensure_may_stand_on(name, inner, path)
