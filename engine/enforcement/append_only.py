"""Append-only tables: rows are added, never taken away.

The transaction would refuse the removes as well; here it is said before anything is written.
"""

from __future__ import annotations

from catalog.conditions import CannotModifyAppendOnly
from engine.planning.plans.write_plan import WritePlan
from engine.tables.rules import TableRules


def ensure_append_only(plan: WritePlan) -> WritePlan:
    """Raises `CannotModifyAppendOnly`."""
    if plan.removes:
        ensure_rows_may_go(plan.config, plan.table)
    return plan


def ensure_rows_may_go(config: TableRules, label: str) -> None:
    """Raises `CannotModifyAppendOnly`."""
    if config.is_append_only:
        raise CannotModifyAppendOnly(label)
