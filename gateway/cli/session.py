"""A session that is opened again after the server has lost it, for example by a restart."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from typing import Any

from gateway.cli.client import (
    ApiClient,
    ClientError,
    ConnectionBroken,
    RunOptions,
    SessionLost,
    Statement,
    Unreachable,
    Variable,
)

SESSIONS, STATEMENTS = "/api/2.0/sql/sessions", "/api/2.0/sql/statements"
# Statements that change the current catalog and schema.
_MOVES = re.compile(r"(?:\s|--[^\n]*|/\*(?:(?!\*/).)*\*/)*+(?:USE|SET\s+CATALOG)\b", re.IGNORECASE | re.S)


def _nothing(*_: object) -> None:
    pass


@dataclass
class Session:
    """A session on the server, opened by the first statement."""

    client: ApiClient
    catalog: str | None = None
    schema: str | None = None
    # False: the only statement runs in a session of its own, which ends with it.
    is_shared: bool = True
    # Receives a line for people when a session was lost and another one opened.
    on_reopen: Callable[[str], None] = _nothing
    # Receives the current catalog and schema after a statement has changed them.
    on_place: Callable[[str, str], None] = _nothing
    _id: str = ""
    _running: list[str] = field(default_factory=list)

    def open(self) -> None:
        """Opens the session on the server, in the wanted catalog and schema. Raises `ClientError`."""
        body = {"catalog": self.catalog, "schema": self.schema}
        self._id = str(self.client.ask("POST", SESSIONS, body)["session_id"])

    def close(self) -> None:
        """Closes the session; if the server does not answer, the session expires there."""
        if self._id:
            with suppress(ClientError):
                self.client.ask("DELETE", f"{SESSIONS}/{self._id}")
            self._id = ""

    def run(
        self,
        text: str,
        *,
        rows_inline: bool,
        rows_max: int = 0,
        variables: Mapping[str, Variable] | None = None,
        on_profile: Callable[[Mapping[str, Any]], None] | None = None,
    ) -> Statement:
        """Runs a statement to the end; `on_profile`, if set, receives its profile each second until then.

        A session that the server does not have is opened again, and the statement, which did not run, is repeated. A
        statement is not repeated if the connection broke after it was sent: it may have run.
        """

        note = None if on_profile is None else partial(self._note, on_profile)

        def submit() -> Statement:
            options = RunOptions(
                rows_inline=rows_inline,
                session_id=self._id or None,
                catalog=None if self._id else self.catalog,
                schema=None if self._id else self.schema,
                rows_max=rows_max,
                variables=variables or {},
            )
            return self.client.run(text, options, note)

        if not self._id and self.is_shared:
            self.open()
        try:
            statement = submit()
        except SessionLost:
            self._reopen()
            statement = submit()
        self._running.clear()
        if self._id and _MOVES.match(text):
            self._read_place()
        return statement

    def _note(self, on_profile: Callable[[Mapping[str, Any]], None], statement_id: str) -> None:
        self._running[:] = [statement_id]
        on_profile(self.client.ask("GET", f"{STATEMENTS}/{statement_id}/profile"))

    def cancel(self) -> None:
        """Cancels the running statement after an interrupt."""
        self.client.hang_up()  # cancels statements that the server is waiting for
        for statement_id in self._running:
            with suppress(ClientError):  # the statement or the server has ended
                self.client.ask("POST", f"{STATEMENTS}/{statement_id}/cancel")
        self._running.clear()

    def _reopen(self) -> None:
        place = f" in {self.catalog}.{self.schema}" if self.catalog and self.schema else ""
        try:
            self.open()
        except (Unreachable, ConnectionBroken):
            raise
        except ClientError:  # the catalog or the schema was dropped
            self.catalog = self.schema = None
            place = ", in the initial schema"
            self.open()
        self.on_reopen(
            f"The server no longer has the session (a restart, or a long pause). A new one is open{place}; temporary "
            "views, variables and settings of the former one are gone."
        )

    def _read_place(self) -> None:
        """Requests the current catalog and schema, because only the server resolves the name."""
        options = RunOptions(rows_inline=True, session_id=self._id)
        with suppress(ClientError):  # the user's statement has succeeded
            statement = self.client.run("SHOW CURRENT NAMESPACE", options)
            for catalog, schema in chain.from_iterable(statement.row_chunks()):
                self.catalog, self.schema = str(catalog), str(schema)
                self.on_place(self.catalog, self.schema)
            statement.close()
