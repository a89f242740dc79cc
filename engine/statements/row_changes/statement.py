"""DELETE, UPDATE and TRUNCATE TABLE as values before name binding."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.runtime.statement import Statement
from engine.sql.query.values import EXPRESSION, Assignment, TargetQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete(Statement):
    """`DELETE FROM t [AS alias] [WHERE condition]`; `rows` finds the affected rows."""

    table_parts: tuple[str, ...]
    rows: TargetQuery
    alias: str | None = None
    condition: str | None = field(default=None, metadata=EXPRESSION)


@dataclass(frozen=True, slots=True, kw_only=True)
class Update(Statement):
    """`UPDATE t [AS alias] SET assignments [WHERE condition]`; `values` has a column for each assignment."""

    table_parts: tuple[str, ...]
    assignments: tuple[Assignment, ...]
    rows: TargetQuery
    values: TargetQuery
    alias: str | None = None
    condition: str | None = field(default=None, metadata=EXPRESSION)


@dataclass(frozen=True, slots=True, kw_only=True)
class TruncateTable(Statement):
    table_parts: tuple[str, ...]
