"""Statements about row filters and column masks. Values before names are bound."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.policies import PolicyArgument
from engine.statements.queries import Query


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyCall:
    """A function by its name, and its arguments. `probe` is a query of what it gives for each row of the table."""

    function_parts: tuple[str, ...]
    probe: Query
    arguments: tuple[PolicyArgument, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterRowFilter:
    """`ALTER TABLE t SET ROW FILTER f ON (…)`, or `DROP ROW FILTER`, which `call` is None for."""

    table_parts: tuple[str, ...]
    call: PolicyCall | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterColumnMask:
    """`ALTER TABLE t ALTER COLUMN c SET MASK f [USING COLUMNS (…)]`, or `DROP MASK`, which `call` is None for."""

    table_parts: tuple[str, ...]
    column_parts: tuple[str, ...]
    call: PolicyCall | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewPolicy:
    """`WITH ROW FILTER f ON (…)` of a new table, or `MASK f [USING COLUMNS (…)]` of its `column`."""

    function_parts: tuple[str, ...]
    arguments: tuple[PolicyArgument, ...] = ()
    column: str | None = None


PolicyStatement = AlterRowFilter | AlterColumnMask
