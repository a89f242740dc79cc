"""The engine as the front ends see it: sessions that run statements.

`EngineSession.execute` takes SQL text, `EngineSession.run` a statement value that a wire protocol made itself; both go
down the one road of `engine/pipeline.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from engine.runtime.activity import ActivitySource
from engine.runtime.identity import Identity
from engine.runtime.metrics import MetricFamily
from engine.runtime.parameters import Parameter
from engine.runtime.request import StatementRequest
from engine.runtime.results import ResultStream
from engine.runtime.statement import Statement
from engine.statements.volumes.statement import ChangeFile


class EngineSession(Protocol):
    """The state of one client's session: current catalog and schema, settings, temporary objects."""

    @property
    def current_catalog(self) -> str: ...

    @property
    def current_schema(self) -> str: ...

    @property
    def statement_timeout_s(self) -> float:
        """The session's own limit for a statement, in seconds; 0 is none."""
        ...

    @property
    def trace_parent(self) -> str | None:
        """The span of the client that statements of the session belong to, if it has told one."""
        ...

    def execute(self, text: str, request: StatementRequest, parameters: Sequence[Parameter] = ()) -> ResultStream: ...

    def run(self, statement: Statement | ChangeFile, request: StatementRequest) -> ResultStream: ...

    def close(self) -> None: ...


class Engine(Protocol):
    """Opens sessions; `close()` stops Spark."""

    @property
    def unready_reason(self) -> str | None:
        """Why statements that need Spark cannot run now; None where they can. Returns at once."""
        ...

    @property
    def left_statements(self) -> Mapping[str, int]:
        """Statements (`StatementRequest.statement_id`) that have ended while tasks of theirs run on, and for about how
        many seconds. Spark is started again if that takes long. Returns at once.
        """
        ...

    def restart(self, reason: str) -> None:
        """End whatever runs in Spark, which cannot be ended otherwise, and start it again; returns at once."""
        ...

    def show_activity(self, activity: ActivitySource) -> None:
        """What the views of `system.gateway` show in sessions that are opened from now on."""
        ...

    def metrics(self) -> Iterable[MetricFamily]:
        """What the engine counts and measures; returns at once, also where Spark does not answer."""
        ...

    def open_session(
        self,
        identity: Identity,
        *,
        settings: Mapping[str, str],
        catalog: str | None,
        schema: str | None,
        may_lack_schema: bool = False,
    ) -> EngineSession:
        """A session of `identity` at a catalog and a schema, which may be made later if it `may_lack_schema`."""
        ...

    def close(self) -> None: ...
