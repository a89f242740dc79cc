"""EXPLAIN for statements that change rows."""

from __future__ import annotations

from dataclasses import dataclass

from engine.runtime.statement import Statement
from engine.sql.query.values import ExplainMode, Query
from engine.statements.insert.statement import Insert
from engine.statements.merge.statement import Merge
from engine.statements.row_changes.statement import Delete, Update

# Statements that change a table's rows.
RowStatement = Insert | Delete | Update | Merge


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainWrite(Statement):
    """`EXPLAIN [mode] INSERT …|DELETE …|UPDATE …|MERGE …`: runs nothing."""

    mode: ExplainMode
    inner: RowStatement


@dataclass(frozen=True, slots=True, kw_only=True)
class Explain(Statement):
    mode: ExplainMode
    inner: Query
