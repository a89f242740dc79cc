"""Statements that take files that are there into tables."""

from __future__ import annotations

from dataclasses import dataclass

from engine.statements.tables import ColumnDef


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvertTable:
    """``CONVERT TO DELTA parquet.`path` [NO STATISTICS] [PARTITIONED BY (column type, …)]``

    `path` is None where a table is named by `table_parts`.
    """

    table_parts: tuple[str, ...]
    path: str | None = None
    has_statistics: bool = True
    partitioned_by: tuple[ColumnDef, ...] = ()
