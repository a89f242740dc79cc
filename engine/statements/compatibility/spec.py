"""Register statements of other systems that clients send: what they ask about does not exist here."""

from __future__ import annotations

from typing import Any

from engine.authorization.policies import PolicyEffect
from engine.binding.binder import Binder
from engine.binding.bound import BoundNames
from engine.statements.compatibility.execution import answer_foreign
from engine.statements.compatibility.statement import Refresh, ShowAbsent
from engine.statements.spec import StatementSpec, answered, effect, needs_nothing


def _bind(statement: Refresh | ShowAbsent, binder: Binder) -> BoundNames:
    named = statement.table_parts
    return BoundNames(relations=() if named is None else (binder.described(named),))


SPECS: tuple[StatementSpec[Any], ...] = (
    answered(
        Refresh,
        "REFRESH",
        syntax="REFRESH {[TABLE] table | 'path' | FUNCTION function} | INVALIDATE METADATA [table] | "
        "MSCK REPAIR TABLE table",
        example="REFRESH TABLE orders",
        bind=_bind,
        required_privileges=needs_nothing,
        policy_effects=effect(PolicyEffect.NONE, "REFRESH"),
        answer=answer_foreign,
    ),
    answered(
        ShowAbsent,
        "SHOW LOCKS",
        syntax="SHOW {LOCKS [table] [EXTENDED] | TRANSACTIONS | COMPACTIONS | INDEXES ON table | [CURRENT] ROLES}",
        example="SHOW LOCKS",
        bind=_bind,
        required_privileges=needs_nothing,
        policy_effects=effect(PolicyEffect.NONE, "SHOW LOCKS"),
        answer=answer_foreign,
    ),
)
