"""Rows for the views in `system.gateway`; an `ActivitySource` for the engine.

Visibility is the same as over HTTP (`gateway/observability/history.py`): users see their own sessions and statements,
administrators see all, with redacted texts.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator

from engine.runtime.activity import QueryRow, SessionRow
from engine.runtime.identity import Identity
from engine.runtime.metrics import MetricFamily
from gateway.lifecycle import Lifecycle
from gateway.observability.history import StatementInfo
from gateway.observability.other_gateways import all_sessions, all_statements
from gateway.observability.server_metrics import server_metrics
from gateway.sessions.session import Session


class ServerActivity:
    """Activity on the server with this `lifecycle`, and on the other gateways; empty during startup.

    `users` looks up users by name.
    """

    def __init__(self, lifecycle: Lifecycle, users: Callable[[str], bool] = lambda _: False) -> None:
        self._lifecycle = lifecycle
        self._users = users

    def knows_user(self, name: str) -> bool:
        return self._users(name)

    def sessions(self, identity: Identity) -> Iterator[SessionRow]:
        registry = self._lifecycle.registry
        if registry is not None:
            own = map(session_row, registry.managed_sessions(identity))
            yield from all_sessions(own, self._lifecycle.forwarder, identity)

    def queries(self, identity: Identity) -> Iterator[QueryRow]:
        registry = self._lifecycle.registry
        if registry is not None:
            found = all_statements(registry.statements(identity), self._lifecycle.forwarder, identity)
            yield from map(_query_row, found)

    def metrics(self) -> Iterable[MetricFamily]:
        return server_metrics(self._lifecycle)


def session_row(session: Session) -> SessionRow:
    """Returns a session; times are milliseconds since the epoch."""
    now_ms, now = time.time_ns() // 1_000_000, time.monotonic()
    return SessionRow(
        session_id=str(session.id),
        user_name=session.principal,
        interface=session.origin.wire,
        client_address=session.origin.peer,
        user_agent=session.origin.user_agent,
        current_catalog=session.engine_session.current_catalog,
        current_schema=session.engine_session.current_schema,
        created=now_ms - round((now - session.created) * 1000),
        last_used=now_ms - round((now - session.last_used) * 1000),
        running_statements=sum(not operation.state.is_terminal for operation in session.operations()),
    )


def _query_row(info: StatementInfo) -> QueryRow:
    failure = info.failure
    return QueryRow(
        statement_id=str(info.id),
        session_id=str(info.session_id),
        user_name=info.identity.principal,
        interface=info.wire,
        statement_class=info.kind.name,
        statement_text=info.text,
        state=info.state.name,
        error_condition=failure.condition if failure else None,
        sqlstate=failure.sqlstate if failure else None,
        error_message=failure.message if failure else None,
        created=info.created_ms,
        ended=info.ended_ms,
        duration_ms=None if info.ended_ms is None else info.ended_ms - info.created_ms,
        stage_ms={each.stage: round(each.duration_ms, 3) for each in info.stages},
        result_rows=info.rows,
        read_bytes=info.bytes_read,
        pruned_bytes=info.bytes_pruned,
        from_cache=info.is_from_cache,
    )
