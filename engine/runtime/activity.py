"""Sessions and statements of the front ends, for the views of `system.gateway`, and the existence of users, for GRANT.

The engine calls an `ActivitySource` when a statement names one of these views or a user; the gateway implements it.
Rows have the fields of the columns in `catalog/system/server_views.py`, in their order. Times are milliseconds since
the epoch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from engine.runtime.identity import Identity
from engine.runtime.metrics import MetricFamily


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    session_id: str
    user_name: str
    interface: str
    client_address: str
    user_agent: str | None
    current_catalog: str
    current_schema: str
    created: int
    last_used: int
    running_statements: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryRow:
    """A running or finished statement. `stage_ms` is the time that it spent in each stage."""

    statement_id: str
    session_id: str
    user_name: str
    interface: str
    statement_class: str
    statement_text: str
    state: str
    error_condition: str | None
    sqlstate: str | None
    error_message: str | None
    created: int
    ended: int | None
    duration_ms: int | None
    stage_ms: Mapping[str, float]
    result_rows: int
    read_bytes: int
    pruned_bytes: int
    from_cache: bool


class ActivitySource(Protocol):
    """A thread-safe source of rows that are visible to `identity`."""

    def sessions(self, identity: Identity) -> Iterable[SessionRow]:
        """Returns the open sessions that are visible to `identity`."""
        ...

    def queries(self, identity: Identity) -> Iterable[QueryRow]:
        """Returns the running and recent statements that are visible to `identity`."""
        ...

    def metrics(self) -> Iterable[MetricFamily]:
        """Returns the front ends' metrics; the engine adds its own."""
        ...

    def knows_user(self, name: str) -> bool:
        """Returns whether the server can look up a user of exactly this name."""
        ...


class NoActivity:
    """The source for an engine without front ends."""

    def sessions(self, identity: Identity) -> Iterable[SessionRow]:
        return ()

    def queries(self, identity: Identity) -> Iterable[QueryRow]:
        return ()

    def metrics(self) -> Iterable[MetricFamily]:
        return ()

    def knows_user(self, name: str) -> bool:
        return False
