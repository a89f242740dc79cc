"""Plans of the DDL that changes names alone: catalogs, schemas, views. What must be so is checked where it is changed.

IF [NOT] EXISTS is no question that is asked first: the change is tried, and the error that it would meet is tolerated,
so that two sessions that create the same schema at once both succeed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from catalog.changes import CreateCatalog as CreateCatalogChange
from catalog.changes import CreateSchema as CreateSchemaChange
from catalog.changes import CreateView as CreateViewChange
from catalog.changes import DropCatalog as DropCatalogChange
from catalog.changes import DropView as DropViewChange
from catalog.changes import SetComment, SetRestOptions
from catalog.entries import CatalogEntry, SchemaEntry, ViewColumn, ViewEntry
from catalog.errors import (
    CatalogAlreadyExists,
    CatalogNotFound,
    SchemaAlreadyExists,
    SchemaNotFound,
    TableAlreadyExists,
    TableNotFound,
    ViewExpected,
)
from catalog.names import CatalogName, SchemaName, TableName, ensure_new_part, fold
from catalog.volume_changes import SetVolumeComment
from engine.analyze.analyzed import AnalyzedStatement
from engine.bind.bound import BoundRelation, BoundStatement, BoundView, FileView
from engine.errors.statement_errors import (
    DuplicateViewColumn,
    RecursiveView,
    StatementNotSupported,
    TemporaryReference,
    ViewColumnCount,
)
from engine.plan.rules.query_columns import table_fields
from engine.plans.ddl import CatalogPlan, CreateTemporaryViewPlan, DropSchemaPlan, DropTemporaryViewPlan
from engine.plans.reads import QueryColumn
from engine.runtime.session_state import global_name, is_global, is_of_session, is_temporary, temporary_name
from engine.runtime.settings import captured_settings
from engine.statements.catalog import (
    AlterCatalog,
    Commentable,
    CommentOn,
    CreateCatalog,
    CreateSchema,
    CreateView,
    DropCatalog,
    DropSchema,
    DropView,
)
from engine.statements.catalog import ViewColumn as ViewColumnName
from engine.types.schema import StructType

_REST = "rest"


def plan_create_catalog(bound: BoundStatement, statement: CreateCatalog) -> CatalogPlan:
    if fold(statement.provider or _REST) != _REST:
        raise StatementNotSupported(f"CREATE CATALOG … USING {statement.provider}")
    if statement.provider is None and statement.options:
        raise StatementNotSupported("CREATE CATALOG … OPTIONS without USING rest")
    entry = CatalogEntry(
        name=CatalogName(statement.catalog),
        rest=None if statement.provider is None else statement.options,
        owner=bound.state.principal,
        comment=statement.comment,
    )
    return CatalogPlan(
        change=CreateCatalogChange(entry),
        tolerated=(CatalogAlreadyExists,) if statement.if_not_exists else (),
        condition=bound.condition,
    )


def plan_alter_catalog(bound: BoundStatement, statement: AlterCatalog) -> CatalogPlan:
    """The options of a REST catalog that a statement made. Raises `StatementNotSupported` for any other."""
    entry = bound.view.catalog(CatalogName(statement.catalog))
    if entry.rest is None:
        raise StatementNotSupported(f"ALTER CATALOG {entry.name} OPTIONS of a catalog that no CREATE … USING rest made")
    said = {key.lower() for key, _ in statement.options}
    kept = tuple((key, value) for key, value in entry.rest if key.lower() not in said)
    return CatalogPlan(change=SetRestOptions(entry.name, (*kept, *statement.options)), condition=bound.condition)


def plan_drop_catalog(bound: BoundStatement, statement: DropCatalog) -> CatalogPlan:
    """Only an empty one: what lies in it is dropped schema by schema. Of a REST catalog only its records here go."""
    name = CatalogName(statement.catalog)
    if statement.cascade and not bound.view.is_rest(name):
        raise StatementNotSupported("DROP CATALOG … CASCADE")
    is_gone = statement.if_exists and bound.view.rights is not None and not bound.view.has_catalog(name)
    return CatalogPlan(
        change=None if is_gone else DropCatalogChange(name, statement.cascade),
        tolerated=(CatalogNotFound,) if statement.if_exists else (),
        condition=bound.condition,
    )


def plan_comment_on_names(bound: BoundStatement, statement: CommentOn) -> CatalogPlan:
    """COMMENT ON a catalog, a schema or a volume."""
    if statement.kind is Commentable.CATALOG:
        (catalog,) = statement.parts
        return CatalogPlan(change=SetComment(CatalogName(catalog), statement.comment), condition=bound.condition)
    if statement.kind is Commentable.VOLUME:
        volume = TableName.from_parts(statement.parts, bound.state.current)
        return CatalogPlan(change=SetVolumeComment(volume, statement.comment), condition=bound.condition)
    name = SchemaName.from_parts(statement.parts, bound.state.catalog)
    return CatalogPlan(change=SetComment(name, statement.comment), condition=bound.condition)


def plan_create_schema(bound: BoundStatement, statement: CreateSchema) -> CatalogPlan:
    """A schema with its location and comment; properties have a meaning to REST catalogs alone."""
    name = SchemaName.from_parts(statement.schema_parts, bound.state.catalog)
    if statement.properties and not bound.view.is_rest(name.catalog_name):
        raise StatementNotSupported("WITH DBPROPERTIES")
    entry = SchemaEntry(
        name=name,
        location=statement.location,
        owner=bound.state.principal,
        comment=statement.comment,
    )
    return CatalogPlan(
        change=CreateSchemaChange(entry, statement.properties),
        tolerated=(SchemaAlreadyExists,) if statement.if_not_exists else (),
        condition=bound.condition,
    )


def plan_drop_schema(bound: BoundStatement, statement: DropSchema) -> DropSchemaPlan | CatalogPlan:
    name = SchemaName.from_parts(statement.schema_parts, bound.state.catalog)
    if statement.if_exists and bound.view.rights is not None and not bound.view.finds_schema(name):
        return CatalogPlan(change=None)  # there is none, or none that the principal may know of
    return DropSchemaPlan(
        name=name,
        cascade=statement.cascade,
        tolerated=(SchemaNotFound,) if statement.if_exists else (),
        condition=bound.condition,
    )


def plan_create_view(analyzed: AnalyzedStatement, statement: CreateView) -> CatalogPlan | CreateTemporaryViewPlan:
    """The view with the columns that its query has now.

    Refuses a view that would read itself, and one in the catalog that reads a session's own.
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
    entry = ViewEntry(
        name=name,
        text=statement.query.text,
        current=state.current,
        owner=state.principal,
        comment=statement.comment if altered is None else altered.comment,
        columns=_view_columns(name, statement.columns, analyzed.columns or ()),
        properties=statement.properties if altered is None else altered.properties,
        settings=captured_settings(state.values),
    )
    if statement.files is not None:
        own = {each.name: getattr(entry, each.name) for each in fields(entry)}
        entry = FileView(**own, files=statement.files, schema=StructType(table_fields(analyzed.columns or ())))
    if statement.temporary:
        return CreateTemporaryViewPlan(entry=entry, replace=replace, tolerates=statement.if_not_exists)
    tolerated = (TableAlreadyExists,) if statement.if_not_exists else ()
    change = CreateViewChange(entry, replace, statement.alters)
    return CatalogPlan(change=change, tolerated=tolerated, condition=bound.condition)


def _view_columns(
    view: TableName, names: Sequence[ViewColumnName], columns: Sequence[QueryColumn]
) -> tuple[ViewColumn, ...]:
    """The view's own names, which must be unique, over the query's."""
    if names and len(names) != len(columns):
        raise ViewColumnCount(str(view), len(names), len(columns))
    named = [(column.name, column.comment) for column in names or columns]
    folded = [name.casefold() for name, _ in named]
    for name, _ in named:
        if folded.count(name.casefold()) > 1:
            raise DuplicateViewColumn(str(view), name)
    return tuple(
        ViewColumn(name=name, source=column.name, type=column.sql_type, comment=comment)
        for (name, comment), column in zip(named, columns, strict=True)
    )


def view_entry(bound: BoundStatement, parts: tuple[str, ...]) -> ViewEntry:
    """Returns the view of that name, a temporary one first. Raises `TableNotFound`, or `ViewExpected` for a table."""
    found = bound.state.temporary_view(parts) or bound.view.resolve(TableName.from_parts(parts, bound.state.current))
    if not isinstance(found, ViewEntry):
        raise ViewExpected(str(found.name))
    return found


def plan_drop_view(bound: BoundStatement, statement: DropView) -> CatalogPlan | DropTemporaryViewPlan:
    """A temporary view of that name goes first, as names find it first."""
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
    path = (*path, relation.entry.name)
    if relation.entry.name == name:
        raise RecursiveView(str(name), " -> ".join(map(str, path)))
    other = relation.entry.name
    if is_temporary(other) and not is_of_session(name) and not (is_global(name) and is_global(other)):
        raise TemporaryReference(str(name), relation.entry.name.table)
    for inner in relation.relations:
        _ensure_may_stand_on(name, inner, path)
