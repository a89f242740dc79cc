"""VACUUM and the other statements that maintain a table (the grammar of Delta's own SQL extension)."""

from __future__ import annotations

from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.errors import UnsupportedClause
from engine.sql.query.names import read_table_or_path
from engine.statements.maintenance import Vacuum


def parse_vacuum(cursor: Cursor) -> Vacuum:
    """What follows VACUUM: a table, then `LITE|FULL`, `RETAIN n HOURS`, `DRY RUN` in any order, each at most once."""
    table = read_table_or_path(cursor)
    mode: str | None = None
    hours: float | None = None
    dry_run = False
    while not cursor.is_done:
        if mode is None and (mode := cursor.take_any("LITE", "FULL")):
            continue
        if not dry_run and (dry_run := cursor.take("DRY", "RUN")):
            continue
        if hours is None and cursor.take("RETAIN"):
            hours = _read_hours(cursor)
            continue
        if cursor.take("USING", "INVENTORY"):
            raise UnsupportedClause("VACUUM … USING INVENTORY", "Leave it out: the folders of the table are listed.")
        break
    return Vacuum(table_parts=table, retain_hours=hours, lite=mode == "LITE", dry_run=dry_run)


def _read_hours(cursor: Cursor) -> float:
    sign = -1 if cursor.take("-") else 1
    text = cursor.take_number_text()
    try:
        hours = sign * float(text or "")
    except ValueError:
        raise cursor.fail("a number of hours is expected") from None
    cursor.read("HOURS")
    return hours
