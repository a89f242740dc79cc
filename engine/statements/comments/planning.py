"""Plan COMMENT ON."""

from __future__ import annotations

from catalog.changes import SetComment
from catalog.names import CatalogName, SchemaName, TableName
from catalog.volume_changes import SetVolumeComment
from engine.bind.bound import BoundStatement
from engine.plans.ddl import AlterPlan, CatalogPlan
from engine.statements.alter_table import planning_history as alter_history
from engine.statements.alter_table.planning import altered_table, changed, described
from engine.statements.alter_table.statement import AlterColumn
from engine.statements.comments.statement import Commentable, CommentOn
from engine.statements.create_table.planning_definition import COMMENT
from engine.table import definition_changes as changes
from engine.table.definition_changes import DefinitionChange


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
