"""Register COMMENT ON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, assert_never

from catalog.entries import ViewEntry
from catalog.grants.conditions import AnyNeed, Need
from catalog.grants.privileges import Privilege
from catalog.names import CatalogName, SchemaName, TableName, path_of
from catalog.system.system_views import is_system_schema
from engine.authorization.needs import managed_schema, on_securable, on_target
from engine.authorization.policies import PolicyEffect
from engine.binding.binder import Binder
from engine.binding.bound import BoundNames, BoundStatement
from engine.binding.securables import bind_volume
from engine.formats.planning import FormatPlanners
from engine.planning.analyzed import AnalyzedStatement
from engine.planning.plans.plan import Plan
from engine.statements.comments.planning import plan_comment, plan_comment_on_names, plan_view_comment
from engine.statements.comments.statement import Commentable, CommentOn
from engine.statements.spec import StatementSpec, changing, effect


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
    """Return whether a name, which is no path, means a view of the catalog. Raises `TableNotFound`."""
    if path_of(parts) is not None or binder.state.temporary_view(parts) is not None:
        return False
    return isinstance(binder.view.resolve(TableName.from_parts(parts, binder.state.current)), ViewEntry)


def _require(bound: BoundStatement, statement: CommentOn) -> Iterable[AnyNeed]:
    match statement.kind:
        case Commentable.CATALOG:
            return [Need(Privilege.MANAGE, bound.view.catalog(CatalogName(statement.parts[0])))]
        case Commentable.SCHEMA:
            return managed_schema(bound.view.schema(SchemaName.from_parts(statement.parts, bound.state.catalog)))
        case Commentable.VOLUME:
            return on_securable(bound, Privilege.MANAGE)
        case Commentable.COLUMN if bound.target is None:
            view = bound.view.resolve(TableName.from_parts(statement.parts[:-1], bound.state.current))
            return [] if is_system_schema(view.name.schema_name) else [Need(Privilege.MANAGE, view)]
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


SPECS: tuple[StatementSpec[Any], ...] = (
    changing(
        CommentOn,
        "COMMENT ON",
        syntax="COMMENT ON {CATALOG | SCHEMA | DATABASE | TABLE | COLUMN | VOLUME} name IS {'text' | NULL}",
        example="COMMENT ON TABLE orders IS 'one row for each order'",
        bind=_bind,
        required_privileges=_require,
        policy_effects=effect(PolicyEffect.NONE, "COMMENT ON"),
        plan=_plan,
        answers_rows=False,
        reports_work=False,
    ),
)
