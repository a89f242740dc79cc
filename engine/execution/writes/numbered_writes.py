"""Writes that an application numbers: left out where the table has them, noted in the commit where not.

Protocol: "Transaction Identifiers"; `engine.planning.rules.idempotence` for where the number comes from.
"""

from __future__ import annotations

from engine.tables.operations import NumberedWrite
from engine.tables.snapshot import TableSnapshot
from engine.tables.transaction import TableTransaction


def was_written(numbered: NumberedWrite | None, snapshot: TableSnapshot) -> bool:
    """Whether the table has this write of the application, or a later one."""
    if numbered is None:
        return False
    last = snapshot.last_write_of(numbered.app_id)
    return last is not None and last >= numbered.version


def stage_number(transaction: TableTransaction, numbered: NumberedWrite | None, now_ms: int) -> None:
    """Two that stage numbers of one application at once conflict."""
    if numbered is not None:
        transaction.note_write(numbered, now_ms)
