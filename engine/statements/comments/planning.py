"""Plan COMMENT ON."""

from __future__ import annotations

from catalog.changes import SetComment, SetViewProperties
from catalog.conditions import RestCatalogNotChanged
from catalog.names import CatalogName, SchemaName, TableName, fold
from catalog.volumes.changes import SetVolumeComment
from engine.binding.bound import BoundStatement
from engine.errors.column_errors import column_not_found
from engine.planning.plans.ddl import AlterPlan, CatalogPlan
from engine.statements.alter_table import planning_history as alter_history
from engine.statements.alter_table.planning import altered_table, changed, described
from engine.statements.alter_table.statement import AlterColumn
from engine.statements.comments.statement import Commentable, CommentOn
from engine.statements.create_table.planning_definition import COMMENT
from engine.statements.views.planning import view_entry
from engine.tables import definition_changes as changes
from engine.tables.definition_changes import DefinitionChange


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


def plan_comment(bound: BoundStatement, statement: CommentOn) -> AlterPlan:
    """COMMENT ON a table or a column; NULL takes the comment away."""
    table = altered_table(bound)
    if statement.kind is Commentable.COLUMN:
        path = (statement.parts[-1],)
        change: DefinitionChange = changes.SetColumnMetadata(path=path, key=COMMENT, value=statement.comment)
        definition = changed(table, [change])
        after = definition.config(table.label).schema
        operation = alter_history.operation_of((AlterColumn(parts=path),), table.snapshot, after)
    else:
        definition = changed(table, [changes.SetDescription(text=statement.comment)])
        properties = alter_history.compact({"comment": statement.comment})
        operation = "SET TBLPROPERTIES", {"properties": properties}
    return AlterPlan(table=table, definition=definition, description=described(bound, operation))


def plan_view_comment(bound: BoundStatement, statement: CommentOn) -> CatalogPlan:
    """COMMENT ON a column of a view. Raises `ColumnNotFound`, and `RestCatalogNotChanged` for a foreign view."""
    entry, column = view_entry(bound, statement.parts[:-1]), statement.parts[-1]
    if entry.foreign is not None:
        raise RestCatalogNotChanged(entry.name.catalog, f"The comment of a column of {entry.name}")
    names = [each.name for each in entry.columns]
    found = next((name for name in names if fold(name) == fold(column)), None)
    if found is None:
        raise column_not_found(column, names)
    change = SetViewProperties(entry.name, (), column_comments=((found, statement.comment),))
    return CatalogPlan(change=change, condition=bound.condition)
