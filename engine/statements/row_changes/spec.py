"""Registers DELETE, UPDATE and TRUNCATE TABLE."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from catalog.grants.conditions import Requirement
from catalog.grants.privileges import Privilege
from engine.authorization.policies import PolicyEffect
from engine.authorization.required_privileges import on_target, reads
from engine.binding.binder import Binder
from engine.binding.bound import BoundNames, BoundStatement
from engine.runtime.statement import Statement
from engine.statements.insert.planning import plan_truncate
from engine.statements.row_changes.planning import plan_delete, plan_update
from engine.statements.row_changes.statement import Delete, TruncateTable, Update
from engine.statements.spec import (
    Repetition,
    StatementSpec,
    bind_table,
    change_spec,
    effect,
    plan_from_bound,
    require_on_target,
)


def bind_delete(statement: Delete, binder: Binder) -> BoundNames:
    """Binds the target, and the relations in the condition, in the session's current schema."""
    target = binder.table(statement.table_parts)
    return BoundNames(target=target, relations=binder.relations(statement.rows.query.relations, binder.state.current))


def bind_update(statement: Update, binder: Binder) -> BoundNames:
    """Binds the target, then the relations in the query for rows and in the query for values, in this order."""
    target = binder.table(statement.table_parts)
    named = (*statement.rows.query.relations, *statement.values.query.relations)
    return BoundNames(target=target, relations=binder.relations(named, binder.state.current))


def require_row_changes(bound: BoundStatement, _: Statement) -> Iterable[Requirement]:
    """Requires SELECT on the target too: the affected rows reveal their contents."""
    yield from on_target(bound, Privilege.MODIFY)
    yield from on_target(bound, Privilege.SELECT)
    yield from reads(bound.relations)


SPECS: tuple[StatementSpec[Any], ...] = (
    change_spec(
        Delete,
        "DELETE",
        syntax="[WITH …] DELETE FROM table [[AS] alias] [WHERE condition]",
        example="DELETE FROM orders WHERE id = 1",
        bind=bind_delete,
        required_privileges=require_row_changes,
        policy_effects=effect(PolicyEffect.REMOVES_VISIBLE_ROWS, "DELETE"),
        plan=plan_from_bound(plan_delete),
        repetition=Repetition.ROWS,
        answers_rows=False,
        reports_work=False,
        lineage_type=lambda _: "DELETE",
    ),
    change_spec(
        Update,
        "UPDATE",
        syntax="[WITH …] UPDATE table [[AS] alias] SET column = value, … [WHERE condition]",
        example="UPDATE orders SET total = 0 WHERE id = 1",
        bind=bind_update,
        required_privileges=require_row_changes,
        policy_effects=effect(PolicyEffect.CHANGES_VISIBLE_ROWS, "UPDATE"),
        plan=plan_from_bound(plan_update),
        repetition=Repetition.ROWS,
        answers_rows=False,
        reports_work=False,
        lineage_type=lambda _: "UPDATE",
    ),
    change_spec(
        TruncateTable,
        "TRUNCATE TABLE",
        syntax="TRUNCATE TABLE table",
        example="TRUNCATE TABLE orders",
        bind=bind_table,
        required_privileges=require_on_target(Privilege.MODIFY, Privilege.SELECT),
        policy_effects=effect(PolicyEffect.REMOVES_OR_REPLACES_ROWS, "TRUNCATE TABLE"),
        plan=lambda analyzed, _, __: plan_truncate(analyzed.bound),
        repetition=Repetition.ROWS,
        answers_rows=False,
        reports_work=False,
    ),
)
