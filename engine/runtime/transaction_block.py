"""Transaction blocks: statements between BEGIN and COMMIT, with one commit at the end.

A block's queries see one version of each table. It may have one statement that changes something, or INSERTs into one
table, as clients send them that open a block by themselves (psycopg, SQLAlchemy).

The first change executes, reports its result (`StatementRequest.on_staged`), and waits on its own thread before its
commit, with its staged files and its locks; a change of the catalog, which is one step, waits before it. Further
INSERTs add their files to it and end. `commit` lets the waiting statement continue, and its cancellation rolls the
block back. A conflicting commit of another writer fails the block: its client knows the rows of the first run, so it is
not run again. Nothing of a block survives the process.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum, auto

from catalog.conditions import (
    BlockChangesMore,
    BlockEnded,
    BlockForbidsStatement,
    BlockReadsChanges,
    CatalogOutcomeUnknown,
    CommitOutcomeUnknown,
    TableNotFound,
)
from engine.concurrency.cancel import CancelToken
from engine.runtime.accesses import Access, StatementAccess, Use
from engine.storage.storage import Storage
from engine.tables.operations import with_metrics
from engine.tables.transaction import NewFiles, TableTransaction

logger = logging.getLogger(__name__)

# Uses of an object that change neither it nor its data.
_READING = frozenset({Use.READ, Use.DESCRIBE, Use.EXECUTE})


class _Stage(Enum):
    OPEN = auto()
    # A statement waits at its commit.
    STAGED = auto()
    COMMITTING = auto()
    ENDED = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class AppendedFiles:
    """The files of an INSERT that only adds rows, below the root of `storage`."""

    storage: Storage
    new: NewFiles


@dataclass(slots=True)
class _Change:
    """The block's change: the objects that it writes, and, for INSERTs, the files of the later ones."""

    statement_id: str
    is_insert: bool
    written: frozenset[str]
    joined: list[AppendedFiles] = field(default_factory=list)


class TransactionBlock:
    """One block, for the statements of one session. Thread-safe; its statements run one after the other."""

    def __init__(self, versions: Mapping[str, str] | None = None) -> None:
        """Begins a block, whose queries read the given `versions` of tables, by location."""
        self._changed = threading.Condition()
        # All below are guarded by it.
        self._stage = _Stage.OPEN
        self._versions = dict(versions or {})
        self._accesses: dict[str, tuple[Access, ...]] = {}
        self._change: _Change | None = None
        self._holder = ""

    @property
    def versions(self) -> Mapping[str, str]:
        """Returns the versions that the block's queries have read, for `StatementRequest.versions`."""
        with self._changed:
            return dict(self._versions)

    def note_versions(self, versions: Mapping[str, str]) -> None:
        """Keeps the versions that a query reads."""
        with self._changed:
            self._versions = {**versions, **self._versions}

    def note_access(self, statement_id: str, access: StatementAccess) -> None:
        """Records the objects of an authorized statement.

        Raises `BlockReadsChanges` if it reads an object that the block has changed, and `BlockEnded`.
        """
        with self._changed:
            if self._stage in (_Stage.COMMITTING, _Stage.ENDED):
                raise BlockEnded()
            change = self._change
            if change is not None and change.statement_id != statement_id:
                read = [each.name for each in access.objects if each.use in _READING and each.name in change.written]
                if read:
                    raise BlockReadsChanges(read[0])
            self._accesses[statement_id] = access.objects

    def begin_change(self, statement_id: str, title: str, *, is_insert: bool) -> None:
        """Registers a statement that is going to change something.

        Raises `BlockChangesMore` if the block has changed something else.
        """
        with self._changed:
            objects = self._accesses.get(statement_id, ())
            written = frozenset(each.name for each in objects if each.use not in _READING)
            change = self._change
            if change is None:
                self._change = _Change(statement_id, is_insert, written)
            elif change.statement_id != statement_id and not (
                change.is_insert and is_insert and change.written == written
            ):
                raise BlockChangesMore(title)

    def ensure_may_insert(self, table: str) -> None:
        """Raises `BlockChangesMore` if the block has changed anything but added rows to `table`."""
        with self._changed:
            change = self._change
            if change is not None and not (change.is_insert and change.written == {table}):
                raise BlockChangesMore("INSERT")

    def ensure_exists(self, error: TableNotFound) -> None:
        """Raises `BlockReadsChanges` instead of `error` if the table is created at the block's end."""
        with self._changed:
            if self._change is not None and error.name in self._change.written:
                raise BlockReadsChanges(error.name) from error

    @contextmanager
    def commit_at_end(
        self,
        statement_id: str,
        transaction: TableTransaction | None,
        cancel: CancelToken,
        on_wait: Callable[[], None],
    ) -> Iterator[None]:
        """Calls `on_wait`, waits for `commit`, and yields to what commits the change.

        `transaction` None: the statement has no staged files. Raises the reason of `cancel`. The files of later INSERTs
        are added to the transaction, or removed if nothing was committed.
        """
        with self._changed:
            change, self._holder, self._stage = self._change, statement_id, _Stage.STAGED
        assert change is not None, "the statement was registered"
        try:
            on_wait()
            self._wait(cancel)
            for files in change.joined:
                assert transaction is not None
                transaction.add_files(files.new)
            if change.joined:
                assert transaction is not None
                _describe(transaction, change.joined)
            yield
        except (CommitOutcomeUnknown, CatalogOutcomeUnknown):
            raise
        except BaseException:
            _discard(change.joined)
            raise
        finally:
            with self._changed:
                self._stage = _Stage.ENDED

    def join(self, statement_id: str, appended: AppendedFiles | None) -> bool:
        """Adds a later INSERT's files to the change that waits; returns False for the first change.

        Raises `BlockForbidsStatement` if its files alone are not the whole change, as with identity columns.
        """
        with self._changed:
            if self._stage is not _Stage.STAGED or statement_id == self._holder:
                return False
            assert self._change is not None, "a change waits"
            if appended is None:
                raise BlockForbidsStatement("A second INSERT that changes more than the table's rows")
            self._change.joined.append(appended)
            return True

    def commit(self) -> None:
        """Lets the waiting change continue; its operation has the outcome. Raises `BlockEnded`."""
        with self._changed:
            if self._stage in (_Stage.COMMITTING, _Stage.ENDED):
                raise BlockEnded()
            self._stage = _Stage.COMMITTING if self._stage is _Stage.STAGED else _Stage.ENDED
            self._changed.notify_all()

    def _wait(self, cancel: CancelToken) -> None:
        cancel.on_cancel(self._wake)
        try:
            with self._changed:
                self._changed.wait_for(lambda: self._stage is _Stage.COMMITTING or cancel.reason is not None)
        finally:
            cancel.forget(self._wake)
        cancel.ensure_live()

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()


def _describe(transaction: TableTransaction, joined: list[AppendedFiles]) -> None:
    """Adds the later INSERTs to the metrics of the first one."""
    metrics = transaction.description.metrics
    added = {
        "numFiles": sum(files.new.num_files for files in joined),
        "numOutputRows": sum(files.new.num_rows for files in joined),
        "numOutputBytes": sum(files.new.num_bytes for files in joined),
    }
    sums = {name: str(int(metrics.get(name, 0)) + count) for name, count in added.items()}
    transaction.description = with_metrics(transaction.description, **sums)


def _discard(joined: list[AppendedFiles]) -> None:
    for files in joined:
        for path in files.new.files.column("path").to_pylist():
            try:
                files.storage.delete(path)
            except OSError:
                logger.warning("the file %s of no version stays in %s", path, files.storage.root)
