"""Append-only tables: rows are added, never taken away.

The transaction would refuse the removes as well; here it is said before anything is written.
"""

from __future__ import annotations

from engine.delta.definition.table_config import TableConfig
from engine.delta.spec.errors import CannotModifyAppendOnly
from engine.delta.spec.properties import APPEND_ONLY
from engine.plans.write_plan import WritePlan


def ensure_append_only(plan: WritePlan) -> WritePlan:
    """Raises `CannotModifyAppendOnly`."""
    if plan.removes:
        ensure_rows_may_go(plan.config, plan.table)
    return plan


def ensure_rows_may_go(config: TableConfig, label: str) -> None:
    """Raises `CannotModifyAppendOnly`."""
    if config.get(APPEND_ONLY):
        raise CannotModifyAppendOnly(label)
