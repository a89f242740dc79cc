"""How far a statement has come, said by its type.

    Statement ──bind──► BoundStatement ──authorize──► AuthorizedStatement ──plan──► Plan ──execute──► Outcome

Each stage takes only what the former one makes: `engine/binder.py` alone makes a :class:`BoundStatement`,
`engine/authorize.py` alone an :class:`AuthorizedStatement`, and planning takes nothing else, so a statement that was
not authorised cannot be planned. All values are frozen. After bind nothing asks the catalog or lists a log again: the
statement sees one generation of the catalog and one version of each table, and what was checked is what runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from catalog.catalog import CatalogView
from catalog.entries import TableEntry
from catalog.names import TableName
from engine.delta.snapshot import Snapshot
from engine.results import ResultStream
from engine.settings import SessionState
from engine.statements import Statement


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundTable:
    """A name of the statement, what the catalog knows of it, and the one version that the statement sees.

    `name` is None for a table that was named by its path.
    """

    name: TableName | None
    entry: TableEntry
    snapshot: Snapshot

    @property
    def label(self) -> str:
        """How messages call it."""
        return str(self.name) if self.name else f"delta.`{self.entry.location}`"


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundStatement:
    """`tables` has one element for each relation of the statement, in their order."""

    statement: Statement
    state: SessionState
    view: CatalogView
    tables: tuple[BoundTable, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthorizedStatement:
    """A statement that its principal may run."""

    bound: BoundStatement


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a statement answers, and how it changes the session's state (None: not at all).

    The change is a function, so that it applies to the newest state: two statements of a session may end at once.
    """

    result: ResultStream
    change: Callable[[SessionState], SessionState] | None = None
