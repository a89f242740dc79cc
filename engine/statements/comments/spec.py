"""Register COMMENT ON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, assert_never

from catalog.conditions import AnyNeed, Need
from catalog.names import CatalogName, SchemaName
from catalog.privileges import Privilege
from engine.analyze.analyzed import AnalyzedStatement
from engine.authorize.needs import managed_schema, on_securable, on_target
from engine.authorize.policy_effects import PolicyEffect
from engine.bind.binder import Binder
from engine.bind.bound import BoundNames, BoundStatement
from engine.bind.securables import bind_volume
from engine.formats.planning import FormatPlanners
from engine.plans.plan import Plan
from engine.statements.comments.planning import plan_comment, plan_comment_on_names
from engine.statements.comments.statement import Commentable, CommentOn
from engine.statements.spec import StatementSpec, changing, effect


def _bind(statement: CommentOn, binder: Binder) -> BoundNames:
    match statement.kind:
        case Commentable.COLUMN:
            return BoundNames(target=binder.table(statement.parts[:-1]))
        case Commentable.TABLE:
            return BoundNames(target=binder.table(statement.parts))
        case Commentable.VOLUME:
            return BoundNames(securable=bind_volume(statement.parts, binder, if_exists=False))
        case Commentable.CATALOG | Commentable.SCHEMA:
            return BoundNames()
        case _:
            assert_never(statement.kind)


def _require(bound: BoundStatement, statement: CommentOn) -> Iterable[AnyNeed]:
    match statement.kind:
        case Commentable.CATALOG:
            return [Need(Privilege.MANAGE, bound.view.catalog(CatalogName(statement.parts[0])))]
        case Commentable.SCHEMA:
            return managed_schema(bound.view.schema(SchemaName.from_parts(statement.parts, bound.state.catalog)))
        case Commentable.VOLUME:
            return on_securable(bound, Privilege.MANAGE)
        case Commentable.TABLE | Commentable.COLUMN:
            return on_target(bound, Privilege.MODIFY)
        case _:
            assert_never(statement.kind)


def _plan(analyzed: AnalyzedStatement, statement: CommentOn, _: FormatPlanners) -> Plan:
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
    ),
)
