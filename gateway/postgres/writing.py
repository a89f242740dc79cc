"""Writes of staged rows: the target's checks before the first row, and the one INSERT of all rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from engine.runtime.accesses import StatementAccess, Use
from engine.runtime.parameters import Parameter
from engine.runtime.request import StatementRequest, with_changes
from engine.spool.spooled_rows import SpooledRows
from engine.sql.postgres_text import InsertText
from engine.staged_rows import StagedRows
from gateway.postgres.inference import Inference
from gateway.sessions.operation import Operation
from gateway.sessions.session import Session


class Writer(Protocol):
    """The session that writes."""

    @property
    def session(self) -> Session:
        """Returns the session whose principal writes."""
        ...

    @property
    def inference(self) -> Inference:
        """Returns the inference of parameter types in the session's catalog."""
        ...

    def rows_of(self, operation: Operation) -> list[dict[str, object]]:
        """Returns the rows of an operation; raises its error."""
        ...

    def changed_rows(self, text: str, parameters: Sequence[Parameter], rows: tuple[SpooledRows, ...] = ()) -> int:
        """Runs a statement that changes rows, and may read `rows`; returns their number. Raises its error."""
        ...


@dataclass(frozen=True, slots=True)
class Target:
    """A table that rows are written into: its full name, and the types of the written columns."""

    name: str
    types: Sequence[str]


def prepare_target(writer: Writer, insert: InsertText, text: str, parameters: Sequence[Parameter]) -> Target:
    """Checks an INSERT without running it: its names, privileges and types. Raises its error."""
    objects: list[str] = []

    def within(request: StatementRequest) -> StatementRequest:
        on_authorized = request.on_authorized
        return with_changes(request, on_authorized=lambda access: _note(access, objects, on_authorized))

    writer.rows_of(writer.session.explain(text, parameters, within))
    return Target(objects[0] if objects else insert.target, writer.inference.written_types(insert))


def _note(access: StatementAccess, objects: list[str], on_authorized: Callable[[StatementAccess], None]) -> None:
    on_authorized(access)
    written = [one.name for one in access.objects if one.use is Use.WRITE]
    objects += written or [one.name for one in access.objects]


def write_rows(writer: Writer, staged: StagedRows) -> int:
    """Writes all staged rows by one statement; returns their number. Raises its error."""
    statement = staged.statement()
    return writer.changed_rows(statement.text, statement.parameters, statement.rows)
