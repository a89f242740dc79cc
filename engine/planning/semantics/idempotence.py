"""Idempotent writes: an application numbers its writes, and a write that is already committed is skipped.

The session settings contain the application id and the next write's version (`spark.databricks.delta.write.txnAppId`
and `.txnVersion`, as in Delta); the commit records both. A write whose version does not exceed the table's last version
for this application does nothing. Two concurrent ones conflict, so each version is written once. The settings stay
until they are changed: before another write, the client must set another version.

All forms of INSERT and REPLACE TABLE AS are skipped this way. A CREATE TABLE AS records its version, so that a retry as
CREATE OR REPLACE, or as an INSERT with the same version, is skipped; a repeated CREATE TABLE AS fails, because the
table exists.

`is_already_written` compares a version with the table's last one, `stage_number` adds it to the commit.

Protocol: "Transaction Identifiers".
"""

from __future__ import annotations

from catalog.conditions import IncompleteIdempotence
from engine.runtime.session_state import SessionState
from engine.runtime.settings import TXN_APP_ID, TXN_VERSION
from engine.tables.operations import IdempotentWrite
from engine.tables.snapshot import TableSnapshot
from engine.tables.transaction import TableTransaction


def idempotent_write(state: SessionState) -> IdempotentWrite | None:
    """Returns the write version from the session's settings, None without them. Raises `IncompleteIdempotence` if only
    one is set.
    """
    app_id, version = state.value(TXN_APP_ID), state.value(TXN_VERSION)
    if not app_id and not version:
        return None
    if not app_id or not version:
        raise IncompleteIdempotence(TXN_VERSION if app_id else TXN_APP_ID)
    return IdempotentWrite(app_id=app_id, version=int(version))


def is_already_written(write: IdempotentWrite | None, snapshot: TableSnapshot) -> bool:
    """Returns whether the table has this application's write, or a later one."""
    if write is None:
        return False
    last = snapshot.last_write_of(write.app_id)
    return last is not None and last >= write.version


def stage_number(transaction: TableTransaction, write: IdempotentWrite | None, now_ms: int) -> None:
    """Stages the version; concurrent transactions with the same application id conflict."""
    if write is not None:
        transaction.note_write(write, now_ms)
