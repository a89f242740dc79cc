"""Writes that may be sent again: an application numbers its writes, and one that is there already is left out.

The session says who it is and which number its next write has (`spark.databricks.delta.write.txnAppId` and
`.txnVersion`, as Delta has them); the commit carries both. A write whose number is not above the table's last one for
this application does nothing. Two that run at once conflict, so one number is written once. The settings remain until
they are changed: a client that sends another write gives it another number first.

INSERT in all its forms and REPLACE TABLE AS are left out that way. A CREATE TABLE AS notes its number, so that what is
sent again as CREATE OR REPLACE, or as an INSERT of the same number, is left out; by itself it fails, since the table
is there.

`was_written` compares a number with the table's last one, `stage_number` adds it to the commit.

Protocol: "Transaction Identifiers".
"""

from __future__ import annotations

from catalog.conditions import IncompleteIdempotence
from engine.runtime.session_state import SessionState
from engine.runtime.settings import TXN_APP_ID, TXN_VERSION
from engine.tables.operations import NumberedWrite
from engine.tables.snapshot import TableSnapshot
from engine.tables.transaction import TableTransaction


def numbered_write(state: SessionState) -> NumberedWrite | None:
    """What the session's settings say; None without them. Raises `IncompleteIdempotence` for one alone."""
    app_id, version = state.value(TXN_APP_ID), state.value(TXN_VERSION)
    if not app_id and not version:
        return None
    if not app_id or not version:
        raise IncompleteIdempotence(TXN_VERSION if app_id else TXN_APP_ID)
    return NumberedWrite(app_id=app_id, version=int(version))


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
