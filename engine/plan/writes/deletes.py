"""The plan of DELETE: which rows go, by whole files where no other row can be in them."""

from __future__ import annotations

from engine.bind.bound import BoundStatement, BoundTable
from engine.delta.delta_format import delta_snapshot
from engine.errors.table_errors import naming
from engine.plan.rules.conditions import own_condition, own_condition_check, rows_matching
from engine.plan.rules.idempotence import numbered_write
from engine.plans.writes import DeletePlan, ReplaceAll
from engine.statements.writes import Delete
from engine.table.operations import CommitDescription, TableOperation

DELETE = "DELETE"
_EVERY_ROW = "true"


def plan_delete(bound: BoundStatement, statement: Delete) -> DeletePlan:
    """Raises for tables whose rows cannot be removed, by feature, and for conditions that cannot decide."""
    table = bound.target
    assert isinstance(table, BoundTable)
    with naming(table.label):
        delta_snapshot(table.snapshot).config.ensure_supported(TableOperation.DML)
    text = statement.condition
    own = None if text is None else own_condition(table, DELETE, text, statement.alias)
    going = ReplaceAll() if own is None else rows_matching(table, own)
    predicate = _EVERY_ROW if isinstance(going, ReplaceAll) else going.shown
    return DeletePlan(
        table=table,
        going=going,
        description=CommitDescription(
            name="DELETE",
            operation=TableOperation.DML,
            parameters={"predicate": [predicate]},
            user_name=bound.state.principal,
        ),
        expression_checks=None if own is None else own_condition_check(table, DELETE, own),
        numbered=numbered_write(bound.state),
    )
