"""Transaction blocks: their states, and the statements that they may hold.

A block reads each table at one version, and makes one commit (`engine/runtime/transaction_block.py`). Rows of INSERT …
VALUES and COPY are staged (`engine/staged_rows.py`), and written by one statement at COMMIT, or before another
statement that changes something. Such a statement is run, and waits at its commit for the block's end. Any write to
another table, another change, and a read of the written table are rejected with an error that names autocommit.

PostgreSQL's errors about blocks are the same here: after an error only ROLLBACK, ROLLBACK TO and COMMIT, which then
rolls back, are accepted.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from catalog.conditions import (
    BlockNotSupported,
    NoTransactionBlock,
    SavepointNotFound,
    TransactionBlockFailed,
    TransactionReadOnly,
)
from engine.runtime.accesses import StatementAccess, Use
from engine.runtime.request import StatementRequest, with_changes
from engine.runtime.transaction_block import TransactionBlock
from engine.staged_rows import StagedRows
from gateway.postgres.commands import Command, Commit, Rollback, RollbackToSavepoint
from gateway.postgres.settings import SetValues
from gateway.sessions.operation import Operation

_SAVEPOINTS_MAX = 1_000
_READING = frozenset({Use.READ, Use.DESCRIBE, Use.EXECUTE})


class BlockState(Enum):
    """The states, with their letters in ReadyForQuery."""

    IDLE = b"I"
    OPEN = b"T"
    FAILED = b"E"


def reading_only(request: StatementRequest) -> StatementRequest:
    """Returns the request of a statement that may change nothing: it fails with `TransactionReadOnly` if it would."""
    on_authorized = request.on_authorized

    def check(access: StatementAccess) -> None:
        on_authorized(access)
        if any(one.use not in _READING for one in access.objects):
            raise TransactionReadOnly(access.statement)

    return with_changes(request, on_authorized=check)


@dataclass(frozen=True, slots=True)
class _Savepoint:
    name: str
    # The position in the staged rows, changes of the engine's block, and the session's settings before it.
    rows: int
    changes: int
    settings: SetValues


@dataclass(slots=True)
class Block:
    """A session's transaction block. Not thread-safe, except `within`."""

    state: BlockState = BlockState.IDLE
    # True for the statements of one simple query, without BEGIN.
    is_implicit: bool = False
    # True after a statement that reads or changes tables.
    has_run: bool = False
    staged: StagedRows | None = None
    # Full name of the table that the staged rows are for.
    written: str = ""
    engine: TransactionBlock = field(default_factory=TransactionBlock)
    # The rows that the first change has written, and their table: a savepoint before it has them.
    _first: tuple[StagedRows, str] | None = None
    # Rows that the waiting change has written, which it may read until its end.
    _written: list[StagedRows] = field(default_factory=list)
    # The statement that waits at its commit, and how many changes it makes.
    change: Operation | None = None
    changes: int = 0
    _savepoints: list[_Savepoint] = field(default_factory=list)

    @property
    def is_open(self) -> bool:
        """Returns True in a transaction block, also after an error in it."""
        return self.state is not BlockState.IDLE

    def begin(self, *, is_implicit: bool = False) -> None:
        """Opens a block. An implicit one is made by several statements in one simple query."""
        self.state, self.engine = BlockState.OPEN, TransactionBlock()
        self.is_implicit, self.has_run = is_implicit, False

    def end(self) -> None:
        """Ends the block; what was staged is dropped."""
        self._cancel_change()
        for rows in (*self._written, *([] if self.staged is None else [self.staged])):
            rows.close()
        self.staged, self.written, self._first, self._written = None, "", None, []
        self.state, self._savepoints, self.is_implicit = BlockState.IDLE, [], False

    def note_written(self) -> None:
        """Records that the staged rows became a change of the engine's block."""
        if self.staged is not None and self._first is None and self._savepoints:
            self._first = self.staged, self.written
        if self.staged is not None:
            self._written.append(self.staged)
        self.staged, self.written = None, ""

    def _cancel_change(self) -> None:
        if self.change is not None:
            self.change.cancel()
        self.change, self.changes = None, 0

    def fail(self) -> None:
        """Records the error of a statement."""
        if self.state is BlockState.OPEN:
            self.state = BlockState.FAILED

    def ensure_live(self) -> None:
        """Raises `TransactionBlockFailed` if a statement of the block has failed."""
        if self.state is BlockState.FAILED:
            raise TransactionBlockFailed()

    def ensure_may_bind(self, command: Command | None) -> None:
        """Raises `TransactionBlockFailed` for a statement that a failed block does not accept."""
        if not isinstance(command, Commit | Rollback | RollbackToSavepoint):
            self.ensure_live()

    def ensure_may_write(self, table: str) -> None:
        """Raises `BlockNotSupported` or `BlockChangesMore` if the block has changed something else."""
        if self.written and self.written != table:
            raise BlockNotSupported(f"the block already writes the table {self.written}")
        self.engine.ensure_may_insert(table)

    def within(self, request: StatementRequest) -> StatementRequest:
        """Returns the request of a statement in the block: it does not read the table of the staged rows."""
        on_authorized = request.on_authorized

        def check(access: StatementAccess) -> None:
            on_authorized(access)
            if any(one.use is Use.READ and one.name == self.written for one in access.objects):
                raise BlockNotSupported(f"the block writes the table {self.written}, so it cannot read it")

        return with_changes(request, on_authorized=check)

    def save(self, name: str, settings: SetValues) -> None:
        """Sets a savepoint."""
        self._ensure_open("SAVEPOINT")
        if len(self._savepoints) >= _SAVEPOINTS_MAX:
            raise BlockNotSupported(f"a block has at most {_SAVEPOINTS_MAX} savepoints")
        rows = 0 if self.staged is None else self.staged.position
        self._savepoints.append(_Savepoint(name, rows, self.changes, settings))

    def release(self, name: str) -> None:
        """Forgets the savepoint and later ones (RELEASE SAVEPOINT).

        Raises `NoTransactionBlock`, `SavepointNotFound`.
        """
        self._ensure_open("RELEASE SAVEPOINT")
        del self._savepoints[self._find(name) :]

    def roll_back_to(self, name: str) -> SetValues:
        """Drops what was staged since a savepoint, ends the block's failure, and returns the settings at the savepoint.

        Raises `BlockNotSupported` if only a part of the waiting change is younger.
        """
        self._ensure_open("ROLLBACK TO SAVEPOINT")
        at = self._find(name)
        savepoint = self._savepoints[at]
        if savepoint.changes not in (0, self.changes):
            raise BlockNotSupported("a part of the rows cannot be dropped, since another statement followed them")
        if self.changes != savepoint.changes:
            self._cancel_change()
            self.staged, self.written = self._first if self._first is not None else (None, "")
            self._first = None
        if self.staged is not None:
            self.staged.cut(savepoint.rows)
        if not self.changes:  # a failed change counts in the engine's block
            self.engine = TransactionBlock(self.engine.versions)
        del self._savepoints[at + 1 :]
        self.state = BlockState.OPEN
        return savepoint.settings

    def _find(self, name: str) -> int:
        for index in range(len(self._savepoints) - 1, -1, -1):
            if self._savepoints[index].name == name:
                return index
        raise SavepointNotFound(name)

    def _ensure_open(self, statement: str) -> None:
        if not self.is_open or self.is_implicit:
            raise NoTransactionBlock(statement)
