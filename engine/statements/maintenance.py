"""Statements that keep the files of tables in order."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimize:
    """`OPTIMIZE t [FULL] [WHERE condition] [ZORDER BY (columns)]`; the condition is over partition columns."""

    table_parts: tuple[str, ...]
    condition: str | None = None
    zorder_by: tuple[tuple[str, ...], ...] = ()
    full: bool = False
    is_auto: bool = False
    """Not written by anyone: it follows a write to a table that asks for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reorg:
    """`REORG TABLE t [WHERE condition] APPLY (PURGE)`; the condition is over partition columns."""

    table_parts: tuple[str, ...]
    condition: str | None = None
