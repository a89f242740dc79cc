"""EXPLAIN of a statement that changes rows."""

from __future__ import annotations

from dataclasses import dataclass

from engine.runtime.statement import Statement
from engine.sql.query.values import ExplainMode, Query
from engine.statements.insert.statement import Insert
from engine.statements.merge.statement import Merge
from engine.statements.row_changes.statement import Delete, Update

RowStatement = Insert | Delete | Update | Merge
"""Statements that change the rows of a table."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainWrite(Statement):
    """`EXPLAIN [mode] INSERT …|DELETE …|UPDATE …|MERGE …`: nothing runs."""

    mode: ExplainMode
    inner: RowStatement


@dataclass(frozen=True, slots=True, kw_only=True)
class Explain(Statement):
    mode: ExplainMode
    inner: Query
