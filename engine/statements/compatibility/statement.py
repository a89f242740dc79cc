"""Statements of other systems that clients send, and that mean little here: what they ask about does not exist.

There is no cache to refresh, since each statement reads the newest version; and there are no locks, transactions of
several statements, indexes or roles.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from engine.runtime.statement import Statement


@dataclass(frozen=True, slots=True, kw_only=True)
class Refresh(Statement):
    """`REFRESH [TABLE] t | 'path' | FUNCTION f`, `INVALIDATE METADATA [t]`, `MSCK [REPAIR TABLE] t …`

    `table_parts` is None where no table is named.
    """

    table_parts: tuple[str, ...] | None = None


class Absent(StrEnum):
    """Kinds of things that there are none of."""

    LOCKS = "LOCKS"
    TRANSACTIONS = "TRANSACTIONS"
    COMPACTIONS = "COMPACTIONS"
    INDEXES = "INDEXES"
    ROLES = "ROLES"


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowAbsent(Statement):
    """`SHOW LOCKS|TRANSACTIONS|INDEX|ROLES …`; `table_parts` is the table that the statement names, if any."""

    kind: Absent
    table_parts: tuple[str, ...] | None = None


ForeignStatement = Refresh | ShowAbsent
