"""COMMENT ON catalogs, schemas, tables, views, columns and volumes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, assert_never

from catalog.changes import SetComment, SetViewProperties
from catalog.conditions import RestCatalogNotChanged
from catalog.entries import ViewEntry
from catalog.grants.conditions import RequiredPrivilege, Requirement
from catalog.grants.privileges import Privilege
from catalog.names import CatalogName, SchemaName, TableName, fold, path_of
from catalog.system.system_views import is_system_schema
from catalog.volumes.changes import SetVolumeComment
from engine.authorization.policies import PolicyEffect
from engine.authorization.required_privileges import managed_schema, on_securable, on_target
from engine.binding.binder import Binder
from engine.binding.bound import BoundNames, BoundStatement
from engine.binding.securables import bind_volume
from engine.errors.table_errors import column_not_found
from engine.planning.analyzed import AnalyzedStatement
from engine.planning.plans.ddl import AlterPlan, CatalogPlan
from engine.planning.plans.plan import Plan
from engine.runtime.statement import Statement
from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.errors import unsupported_statement
from engine.sql.query.names import read_catalog, read_schema, read_table
from engine.statements.alter_table import planning_history as alter_history
from engine.statements.alter_table.planning import altered_table, change_definition, describe_change
from engine.statements.alter_table.statement import AlterColumn
from engine.statements.create_table.planning_definition import COMMENT
from engine.statements.format_planning import FormatPlanners
from engine.statements.spec import Repetition, StatementSpec, change_spec, effect
from engine.statements.views.planning import view_entry
from engine.tables import definition_changes as changes
from engine.tables.definition_changes import DefinitionChange


class Commentable(StrEnum):
    CATALOG = "CATALOG"
    SCHEMA = "SCHEMA"
    TABLE = "TABLE"
    COLUMN = "COLUMN"
    VOLUME = "VOLUME"


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentOn(Statement):
    """`COMMENT ON kind name IS 'comment'|NULL`; for a column the last of `parts` is its name."""

    kind: Commentable
    parts: tuple[str, ...]
    comment: str | None


_COMMENTABLE: Mapping[str, Commentable] = MappingProxyType(
    {
        "CATALOG": Commentable.CATALOG,
        "SCHEMA": Commentable.SCHEMA,
        "DATABASE": Commentable.SCHEMA,
        "NAMESPACE": Commentable.SCHEMA,
        "TABLE": Commentable.TABLE,
        "COLUMN": Commentable.COLUMN,
        "VOLUME": Commentable.VOLUME,
    }
)


_OTHER_COMMENTABLE = ("CONNECTION", "FUNCTION", "PROVIDER", "RECIPIENT", "SHARE", "VIEW")


def parse_comment_on(cursor: Cursor) -> CommentOn:
    """Parses the text after COMMENT ON."""
    word = cursor.take_any(*_COMMENTABLE)
    if word is None:
        other = cursor.take_any(*_OTHER_COMMENTABLE)
        if other is None:
            raise cursor.fail_among([(known,) for known in (*_COMMENTABLE, *_OTHER_COMMENTABLE)])
        raise unsupported_statement(f"COMMENT ON {other}")
    kind = _COMMENTABLE[word]
    match kind:
        case Commentable.CATALOG:
            parts: tuple[str, ...] = (read_catalog(cursor),)
        case Commentable.SCHEMA:
            parts = read_schema(cursor)
        case Commentable.TABLE | Commentable.VOLUME:
            parts = read_table(cursor)
        case Commentable.COLUMN:
            parts = cursor.read_names()
            if len(parts) < 2:
                raise cursor.fail("the column before this needs its table")
        case _:
            assert_never(kind)
    cursor.read("IS")
    return CommentOn(kind=kind, parts=parts, comment=None if cursor.take("NULL") else cursor.read_string())


LEADING_WORDS: Mapping[tuple[str, ...], Callable[[Cursor], CommentOn]] = MappingProxyType(
    {("COMMENT", "ON"): parse_comment_on}
)


def plan_comment_on_names(bound: BoundStatement, statement: CommentOn) -> CatalogPlan:
    """Plans COMMENT ON a catalog, a schema or a volume."""
    if statement.kind is Commentable.CATALOG:
        (catalog,) = statement.parts
        return CatalogPlan(change=SetComment(CatalogName(catalog), statement.comment), condition=bound.condition)
    if statement.kind is Commentable.VOLUME:
        volume = TableName.from_parts(statement.parts, bound.state.current)
        return CatalogPlan(change=SetVolumeComment(volume, statement.comment), condition=bound.condition)
    name = SchemaName.from_parts(statement.parts, bound.state.catalog)
    return CatalogPlan(change=SetComment(name, statement.comment), condition=bound.condition)


def plan_comment(bound: BoundStatement, statement: CommentOn) -> AlterPlan:
    """Plans COMMENT ON a table or a column; NULL removes the comment."""
    table = altered_table(bound)
    if statement.kind is Commentable.COLUMN:
        path = (statement.parts[-1],)
        change: DefinitionChange = changes.SetColumnMetadata(path=path, key=COMMENT, value=statement.comment)
        definition = change_definition(table, [change])
        operation = alter_history.operation_of((AlterColumn(parts=path),), table.snapshot, definition)
    else:
        definition = change_definition(table, [changes.SetDescription(text=statement.comment)])
        properties = alter_history.compact({"comment": statement.comment})
        operation = "SET TBLPROPERTIES", {"properties": properties}
    return AlterPlan(table=table, definition=definition, description=describe_change(bound, operation))


def plan_view_comment(bound: BoundStatement, statement: CommentOn) -> CatalogPlan:
    """Plans COMMENT ON a view's column. Raises `ColumnNotFound`, and `RestCatalogNotChanged` for a foreign view."""
    entry = view_entry(bound, statement.parts[:-1])
    column = statement.parts[-1]
    if entry.foreign is not None:
        raise RestCatalogNotChanged(entry.name.catalog, f"The comment of a column of {entry.name}")
    names = [each.name for each in entry.columns]
    found = next((name for name in names if fold(name) == fold(column)), None)
    if found is None:
        raise column_not_found(column, names)
    change = SetViewProperties(entry.name, (), column_comments=((found, statement.comment),))
    return CatalogPlan(change=change, condition=bound.condition)


def _bind(statement: CommentOn, binder: Binder) -> BoundNames:
    match statement.kind:
        case Commentable.COLUMN:
            parts = statement.parts[:-1]
            return BoundNames(target=None if _is_view(parts, binder) else binder.table(parts))
        case Commentable.TABLE:
            return BoundNames(target=binder.table(statement.parts))
        case Commentable.VOLUME:
            return BoundNames(securable=bind_volume(statement.parts, binder, if_exists=False))
        case Commentable.CATALOG | Commentable.SCHEMA:
            return BoundNames()
        case _:
            assert_never(statement.kind)


def _is_view(parts: tuple[str, ...], binder: Binder) -> bool:
    """Returns True if a name, not a path, denotes a catalog view. Raises `TableNotFound`."""
    if path_of(parts) is not None or binder.state.temporary_view(parts) is not None:
        return False
    return isinstance(binder.view.resolve(TableName.from_parts(parts, binder.state.current)), ViewEntry)


def _require(bound: BoundStatement, statement: CommentOn) -> Iterable[Requirement]:
    match statement.kind:
        case Commentable.CATALOG:
            return [RequiredPrivilege(Privilege.MANAGE, bound.view.catalog(CatalogName(statement.parts[0])))]
        case Commentable.SCHEMA:
            return managed_schema(bound.view.schema(SchemaName.from_parts(statement.parts, bound.state.catalog)))
        case Commentable.VOLUME:
            return on_securable(bound, Privilege.MANAGE)
        case Commentable.COLUMN if bound.target is None:
            view = bound.view.resolve(TableName.from_parts(statement.parts[:-1], bound.state.current))
            return [] if is_system_schema(view.name.schema_name) else [RequiredPrivilege(Privilege.MANAGE, view)]
        case Commentable.TABLE | Commentable.COLUMN:
            return on_target(bound, Privilege.MODIFY)
        case _:
            assert_never(statement.kind)


def _plan(analyzed: AnalyzedStatement, statement: CommentOn, _: FormatPlanners) -> Plan:
    if statement.kind is Commentable.COLUMN and analyzed.bound.target is None:
        return plan_view_comment(analyzed.bound, statement)
    if statement.kind in (Commentable.TABLE, Commentable.COLUMN):
        return plan_comment(analyzed.bound, statement)
    return plan_comment_on_names(analyzed.bound, statement)


def _repetition(statement: CommentOn) -> Repetition:
    is_in_log = statement.kind in (Commentable.TABLE, Commentable.COLUMN)
    return Repetition.DEFINITION if is_in_log else Repetition.AGAIN


SPECS: tuple[StatementSpec[Any], ...] = (
    change_spec(
        CommentOn,
        "COMMENT ON",
        syntax="COMMENT ON {CATALOG | SCHEMA | DATABASE | TABLE | COLUMN | VOLUME} name IS {'text' | NULL}",
        example="COMMENT ON TABLE orders IS 'one row for each order'",
        bind=_bind,
        required_privileges=_require,
        policy_effects=effect(PolicyEffect.NONE, "COMMENT ON"),
        plan=_plan,
        repetition=_repetition,
        answers_rows=False,
        reports_work=False,
    ),
)
