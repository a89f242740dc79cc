"""Statements that maintain the files and the log of a table, and change no row."""

from __future__ import annotations

from dataclasses import dataclass

from engine.statements.queries import TimeTravel


@dataclass(frozen=True, slots=True, kw_only=True)
class Vacuum:
    """`VACUUM t|'/path' [LITE|FULL] [RETAIN n HOURS] [DRY RUN]`; a path is `("delta", path)`."""

    table_parts: tuple[str, ...]
    retain_hours: float | None = None
    """May be negative, which is refused when the statement is planned."""
    lite: bool = False
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoreTable:
    """`RESTORE [TABLE] t|'/path' [TO] VERSION|TIMESTAMP AS OF …`; a path is `("delta", path)`."""

    table_parts: tuple[str, ...]
    to: TimeTravel
