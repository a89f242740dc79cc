"""EXPLAIN of a statement that changes rows."""

from __future__ import annotations

from dataclasses import dataclass

from engine.statements.merges import Merge
from engine.statements.queries import ExplainMode
from engine.statements.writes import Delete, Insert, Update


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainWrite:
    """`EXPLAIN [mode] INSERT …|DELETE …|UPDATE …|MERGE …`: nothing runs."""

    mode: ExplainMode
    inner: Insert | Delete | Update | Merge
