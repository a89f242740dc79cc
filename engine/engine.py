"""The engine's interface for front ends: sessions that run statements.

`EngineSession.execute` takes SQL text, `EngineSession.run` a statement value from a wire protocol; both pass through
the pipeline in `engine/pipeline.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from engine.runtime.activity import ActivitySource
from engine.runtime.dataframe import DataFramePlan
from engine.runtime.function_help import FunctionHelp, SqlHelp
from engine.runtime.identity import Identity
from engine.runtime.metrics import MetricFamily
from engine.runtime.parameters import Parameter
from engine.runtime.request import StatementRequest
from engine.runtime.results import ResultStream
from engine.runtime.statement import Statement
from engine.saved_queries import SavedQueries
from engine.statements.volumes.statement import ChangeFile


@dataclass(frozen=True, slots=True)
class TableCount:
    """The number of tables, and of the schemas that they are in."""

    tables: int
    schemas: int


class EngineSession(Protocol):
    """One client session's state: current catalog and schema, settings, temporary objects."""

    @property
    def current_catalog(self) -> str:
        """Returns the current catalog's name; it may have been dropped."""
        ...

    @property
    def current_schema(self) -> str:
        """Returns the current schema's name, without its catalog; it may have been dropped."""
        ...

    @property
    def statement_timeout_s(self) -> float:
        """Returns the session's own statement timeout, in seconds; 0 means unlimited."""
        ...

    @property
    def trace_parent(self) -> str | None:
        """Returns the client span to which the session's statements belong, if the client has sent one."""
        ...

    @property
    def state_mark(self) -> object:
        """Returns an object that another one replaces whenever `saved_state` changes, for comparison with `is`."""
        ...

    def saved_state(self) -> dict[str, object]:
        """Returns the session's state as a JSON object, for `Engine.restore_session`.

        `engine/saved_session.py` describes what it includes; `catalog` and `schema` are the current ones.
        """
        ...

    def execute(
        self, text: str | DataFramePlan, request: StatementRequest, parameters: Sequence[Parameter] = ()
    ) -> ResultStream:
        """Runs SQL text, or a DataFrame plan, whose inputs have their own parameters."""
        ...

    def run(self, statement: Statement | ChangeFile, request: StatementRequest) -> ResultStream:
        """Runs a statement that a front end made without text, for example a file request. Raises like `execute`."""
        ...

    def close(self) -> None:
        """Releases the session's resources, temporary objects included."""
        ...


class Engine(Protocol):
    """Opens sessions; `close()` stops Spark."""

    @property
    def saved_queries(self) -> SavedQueries:
        """Returns the queries that users keep on the server."""
        ...

    @property
    def unready_reason(self) -> str | None:
        """Returns why statements that need Spark cannot run now; None if they can. Returns immediately."""
        ...

    @property
    def left_statements(self) -> Mapping[str, int]:
        """Returns ended statements (`StatementRequest.statement_id`) whose tasks still run, and for about how many
        seconds. Spark is restarted if that takes long. Returns immediately.
        """
        ...

    def restart(self, reason: str) -> None:
        """Restarts Spark and with it ends tasks that cannot be stopped otherwise; returns immediately."""
        ...

    def sql_help(self) -> SqlHelp:
        """Returns the built-in functions and the keywords, read from Spark once. Raises `SparkRestarting`."""
        ...

    def user_functions(self, identity: Identity, catalog: str | None) -> Sequence[FunctionHelp]:
        """Returns the functions in a catalog, or in all, that are visible to `identity`."""
        ...

    def show_activity(self, activity: ActivitySource) -> None:
        """Sets the source for the views in `system.gateway`, for sessions that are opened later."""
        ...

    def count_tables(self) -> TableCount:
        """Returns how many tables the default catalog has; raises a `SqlError` if the served folder cannot be listed.
        Takes long for a large lake in an object store.
        """
        ...

    def metrics(self) -> Iterable[MetricFamily]:
        """Returns the engine's metrics; returns immediately, even if Spark does not answer."""
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
        """Opens a session for `identity` at a catalog and a schema, which may be created later if it
        `may_lack_schema`.
        """
        ...

    def restore_session(self, identity: Identity, saved: Mapping[str, object]) -> EngineSession:
        """Opens a session with the state that `EngineSession.saved_state` returned, in any process.

        Its schema need not exist. `identity` has to be authenticated again; the privileges that the session's settings
        required are not checked again. Raises `SessionStateNotReadable`.
        """
        ...

    def close(self) -> None:
        """Ends all work and stops Spark; sessions cannot be used after this."""
        ...
