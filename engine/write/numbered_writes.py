"""Writes that an application numbers: left out where the table has them, noted in the commit where not.

Protocol: "Transaction Identifiers"; `engine.plan.rules.idempotence` for where the number comes from.
"""

from __future__ import annotations

from dataclasses import replace

from engine.delta.commit.transaction import Transaction
from engine.delta.delta_format import delta_snapshot
from engine.delta.spec.actions import SetTransaction
from engine.table.snapshot import TableSnapshot
from engine.table.transaction import TableTransaction


def was_written(numbered: SetTransaction | None, snapshot: TableSnapshot) -> bool:
    """Whether the table has this write of the application, or a later one."""
    if numbered is None:
        return False
    last = delta_snapshot(snapshot, "A numbered write").set_transactions.get(numbered.app_id)
    return last is not None and last.version >= numbered.version


def stage_number(transaction: TableTransaction, numbered: SetTransaction | None, now_ms: int) -> None:
    """Two that stage numbers of one application at once conflict."""
    if numbered is not None:
        assert isinstance(transaction, Transaction)
        transaction.last_version_of(numbered.app_id)
        transaction.stage(replace(numbered, last_updated=now_ms))
