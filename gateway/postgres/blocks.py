"""Transaction blocks: their states, and the statements that they may hold.

A block reads each table at one version, the one that its first query of the table has read. It may write rows into one
table by INSERT … VALUES and COPY: these are staged (`staged_rows.py`) and written by one statement at COMMIT, so that
they become visible in one commit, and ROLLBACK drops them. Any other write, a write to another table, and a read of the
written table are rejected with an error that names autocommit.

PostgreSQL's errors about blocks are the same here: after an error only ROLLBACK, ROLLBACK TO and COMMIT, which then
rolls back, are accepted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import Enum

from catalog.conditions import BlockNotSupported, NoTransactionBlock, SavepointNotFound, TransactionBlockFailed
from engine.runtime.accesses import StatementAccess, Use
from engine.runtime.request import StatementRequest
from engine.runtime.statement_class import StatementClass
from gateway.postgres.commands import Command, Commit, Rollback, RollbackToSavepoint
from gateway.postgres.staged_rows import StagedRows

_SAVEPOINTS_MAX = 1_000
_READS = frozenset({StatementClass.READ, StatementClass.METADATA})


class BlockState(Enum):
    """The states, with their letters in ReadyForQuery."""

    IDLE = b"I"
    OPEN = b"T"
    FAILED = b"E"


@dataclass(slots=True)
class Block:
    """A session's transaction block. Not thread-safe, except `within`."""

    state: BlockState = BlockState.IDLE
    staged: StagedRows | None = None
    # Full name of the table that the block writes.
    written: str = ""
    _versions: dict[str, str] = field(default_factory=dict)
    _savepoints: list[tuple[str, int]] = field(default_factory=list)

    @property
    def is_open(self) -> bool:
        return self.state is not BlockState.IDLE

    def begin(self) -> None:
        self.state = BlockState.OPEN

    def end(self) -> None:
        """Ends the block; what was staged is dropped."""
        if self.staged is not None:
            self.staged.close()
        self.state, self.staged, self.written = BlockState.IDLE, None, ""
        self._versions, self._savepoints = {}, []

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

    def ensure_may_run(self, kind: StatementClass | None) -> None:
        """Raises `BlockNotSupported` for a statement that a block cannot hold."""
        if self.is_open and kind not in _READS:
            raise BlockNotSupported("a block holds queries, and INSERT … VALUES and COPY into one table")

    def ensure_may_write(self, table: str) -> None:
        """Records the table that the block writes. Raises `BlockNotSupported` if it writes or has read another one."""
        if self.written and self.written != table:
            raise BlockNotSupported(f"the block already writes the table {self.written}")
        self.written = table

    def within(self, request: StatementRequest) -> StatementRequest:
        """Returns the request of a query in the block: it reads the block's versions of the tables."""
        on_versions, on_authorized = request.on_versions, request.on_authorized

        def note_versions(versions: Mapping[str, str]) -> None:
            for location, version in versions.items():
                self._versions.setdefault(location, version)
            if on_versions is not None:
                on_versions(versions)

        def check(access: StatementAccess) -> None:
            on_authorized(access)
            if any(one.use is Use.READ and one.name == self.written for one in access.objects):
                raise BlockNotSupported(f"the block writes the table {self.written}, so it cannot read it")

        return replace(request, versions=dict(self._versions), on_versions=note_versions, on_authorized=check)

    def save(self, name: str) -> None:
        """Sets a savepoint."""
        self._ensure_open("SAVEPOINT")
        if len(self._savepoints) >= _SAVEPOINTS_MAX:
            raise BlockNotSupported(f"a block has at most {_SAVEPOINTS_MAX} savepoints")
        self._savepoints.append((name, 0 if self.staged is None else self.staged.count))

    def release(self, name: str) -> None:
        self._ensure_open("RELEASE SAVEPOINT")
        del self._savepoints[self._find(name) :]

    def roll_back_to(self, name: str) -> None:
        """Drops the rows that were staged since a savepoint, and ends the block's failure."""
        self._ensure_open("ROLLBACK TO SAVEPOINT")
        at = self._find(name)
        _, count = self._savepoints[at]
        if self.staged is not None:
            self.staged.cut(count)
        del self._savepoints[at + 1 :]
        self.state = BlockState.OPEN

    def _find(self, name: str) -> int:
        for index in range(len(self._savepoints) - 1, -1, -1):
            if self._savepoints[index][0] == name:
                return index
        raise SavepointNotFound(name)

    def _ensure_open(self, statement: str) -> None:
        if not self.is_open:
            raise NoTransactionBlock(statement)
