"""Parses branches and tags in ALTER TABLE: `CREATE | REPLACE | DROP BRANCH | TAG …`, from these words on."""

from __future__ import annotations

from engine.sql.dialect.cursor import Cursor
from engine.statements.alter_table.statement import ChangeReference, ReferenceAction
from engine.statements.create_table.grammar_clauses import take_if_exists, take_if_not_exists

_UNITS_MS = {"DAYS": 86_400_000, "HOURS": 3_600_000, "MINUTES": 60_000}


def read_new_reference(
    cursor: Cursor, *, is_branch: bool, action: ReferenceAction = ReferenceAction.CREATE
) -> tuple[ChangeReference, ...]:
    """Reads `[IF NOT EXISTS] name [AS OF VERSION id] [RETAIN n unit] [WITH SNAPSHOT RETENTION …]`."""
    if action is ReferenceAction.CREATE and take_if_not_exists(cursor):
        action = ReferenceAction.CREATE_IF_NOT_EXISTS
    name = cursor.read_name()
    snapshot_id = _read_number(cursor) if cursor.take("AS", "OF", "VERSION") else None
    retention_ms = _read_age(cursor) if cursor.take("RETAIN") else None
    snapshots_min, age = (
        _read_retention(cursor) if is_branch and cursor.take("WITH", "SNAPSHOT", "RETENTION") else (None, None)
    )
    change = ChangeReference(
        name=name,
        is_branch=is_branch,
        action=action,
        snapshot_id=snapshot_id,
        max_ref_age_ms=retention_ms,
        min_snapshots_to_keep=snapshots_min,
        max_snapshot_age_ms=age,
    )
    return (change,)


def read_dropped_reference(cursor: Cursor, *, is_branch: bool) -> tuple[ChangeReference, ...]:
    """Reads `[IF EXISTS] name`."""
    action = ReferenceAction.DROP_IF_EXISTS if take_if_exists(cursor) else ReferenceAction.DROP
    return (ChangeReference(name=cursor.read_name(), is_branch=is_branch, action=action),)


def _read_retention(cursor: Cursor) -> tuple[int | None, int | None]:
    """Reads `k SNAPSHOTS`, `n unit`, or both."""
    number = _read_number(cursor)
    if not cursor.take("SNAPSHOTS"):
        return None, number * _read_unit(cursor)
    age = cursor.take_number_text()
    if age is None:
        return number, None
    return number, _whole(cursor, age) * _read_unit(cursor)


def _read_age(cursor: Cursor) -> int:
    """Returns milliseconds."""
    return _read_number(cursor) * _read_unit(cursor)


def _read_unit(cursor: Cursor) -> int:
    unit = cursor.take_any(*_UNITS_MS)
    if unit is None:
        raise cursor.fail("DAYS, HOURS or MINUTES is expected")
    return _UNITS_MS[unit]


def _read_number(cursor: Cursor) -> int:
    return _whole(cursor, cursor.take_number_text())


def _whole(cursor: Cursor, text: str | None) -> int:
    if text is None or not text.isdecimal():
        raise cursor.fail("a whole number is expected")
    return int(text)
