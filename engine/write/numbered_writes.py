"""Writes that an application numbers: left out where the table has them, noted in the commit where not.

Protocol: "Transaction Identifiers"; `engine.plan.rules.idempotence` for where the number comes from.
"""

from __future__ import annotations

from dataclasses import replace

from engine.delta.commit.transaction import Transaction
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.actions import SetTransaction


def was_written(numbered: SetTransaction | None, snapshot: Snapshot) -> bool:
    """Whether the table has this write of the application, or a later one."""
    last = snapshot.set_transactions.get(numbered.app_id) if numbered is not None else None
    return last is not None and numbered is not None and last.version >= numbered.version


def stage_number(transaction: Transaction, numbered: SetTransaction | None, now_ms: int) -> None:
    """Two that stage numbers of one application at once conflict."""
    if numbered is not None:
        transaction.last_version_of(numbered.app_id)
        transaction.stage(replace(numbered, last_updated=now_ms))
