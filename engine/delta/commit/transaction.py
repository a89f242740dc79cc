"""Transactions: the read set, the staged actions, and the attempts to commit them as a version.

    transaction = Transaction.on(snapshot, description)
    files = transaction.read(predicate)          # or read_whole_table(), read_files(paths), last_version_of(app_id)
    transaction.stage(Add(...), Remove(...))     # or stage_adds(batch), stage_removes(batch) for many
    committed = transaction.commit()

Nothing is checked twice and nothing is re-executed. `commit` checks the operation against the protocol and the staged
actions against the protocol's requirements for writers, then tries versions:

- Make the file for version `head + 1` and write it by put-if-absent.
- If another writer has that version, read all commits since, apply the conflict rules to each, and rebase on it. A
  commit with this transaction's id ends it: another process runs the same statement.
- Continue with the next version until it is ours, a rule finds a conflict, or the retry policy gives up.

Guarantees: at most one version contains the transaction. If `commit` returns, one does; if it raises anything except
`CommitOutcomeUnknown`, none does. Two committed transactions are serializable in the order of their versions (at the
table's isolation level).

Work after the commit (checkpoint, checksum, cleanup) is in `engine.delta.maintenance.after_commit`, which takes the
`Committed` value.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, assert_never

import pyarrow as pa
import pyarrow.compute as pc

from catalog.conditions import (
    CommitAttemptsExceeded,
    CommitOutcomeUnknown,
    ConcurrentDrop,
    DuplicateActions,
    NoMetadata,
)
from catalog.errors import SqlError
from engine.concurrency.retry import RetryPolicy
from engine.delta.commit.commit_checks import PendingCommit, ensure_commit_checks
from engine.delta.commit.commit_file import CommitFile, make_commit_file
from engine.delta.commit.committer import put_commit, read_winners, take_back
from engine.delta.commit.conflicts import BaseVersion, ConflictCheck, find_conflict, row_id_high_water_mark
from engine.delta.commit.loads import APP_ID as LOADS_APP_ID
from engine.delta.commit.loads import read_loads, write_load
from engine.delta.commit.merged_vectors import MergedVectors
from engine.delta.commit.new_files import NewFiles as DeltaFiles
from engine.delta.commit.read_set import ReadSet
from engine.delta.commit.staged_commit import (
    ROW_TRACKING_DOMAIN,
    IsolationLevel,
    StagedCommit,
    adds_of,
    combine_batches,
    remove_rows,
    removes_of,
    with_data_change,
)
from engine.delta.definition.metadata_changes import change_table
from engine.delta.definition.table_config import DeltaConfig
from engine.delta.definition.table_draft import Definition
from engine.delta.log.file_table import FILES_SCHEMA, TOMBSTONES_SCHEMA
from engine.delta.snapshot.history import record_of
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.actions import Add, AddCdcFile, DomainMetadata, Metadata, Protocol, Remove, SetTransaction
from engine.delta.spec.paths import LOG_DIR, commit_name
from engine.delta.spec.properties import ISOLATION_LEVEL
from engine.storage.confirmed_put import StorageRetries
from engine.storage.deletion_vectors import Rows
from engine.storage.storage import Storage
from engine.tables.definition import TableDefinition
from engine.tables.definition_changes import DefinitionChange
from engine.tables.operations import CommitDescription, IdempotentWrite, with_metrics
from engine.tables.row_files import FilePredicate, FilesWithDeletedRows
from engine.tables.transaction import AlreadyCommitted, NewFiles
from engine.types.arrow_types import RecordBatch


def clock_ms() -> int:
    """Returns milliseconds since the epoch."""
    return time.time_ns() // 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Committed:
    """A committed version that is ours."""

    storage: Storage
    version: int
    timestamp_ms: int
    # The table's configuration from this version on.
    config: DeltaConfig = field(repr=False)
    attempts: int
    txn_id: str
    # The commit file's size.
    size_bytes: int
    staged: StagedCommit = field(repr=False)
    # As committed, with row ids; in `FILES_SCHEMA`.
    adds: RecordBatch = field(repr=False)
    # As committed, including row tracking's high-water mark.
    domain_metadata: tuple[DomainMetadata, ...] = field(repr=False)
    # The same statement's previous version, which has not been announced yet (`Sources.after_commit`).
    untold: Committed | None = field(default=None, repr=False)

    def is_whole(self, *, with_files: bool) -> bool:
        """See `TableCommit.is_whole`."""
        files = self.adds.column("path").to_pylist() if with_files else ()
        return all(self.storage.exists(name) for name in (f"{LOG_DIR}/{commit_name(self.version)}", *files))

    def take_back(self) -> None:
        """See `TableCommit.take_back`."""
        take_back(self.storage, self.version, self.txn_id)


class Transaction:
    """A transaction on one table. Mutable and for one thread until `commit`; it is committed once."""

    def __init__(
        self,
        storage: Storage,
        snapshot: Snapshot | None,
        description: CommitDescription,
        *,
        table: str | None = None,
        clock: Callable[[], int] = clock_ms,
        txn_id: str | None = None,
    ) -> None:
        """Creates a transaction.

        `snapshot` None creates a table. `table` is its name for messages (default: its root).
        """
        self.storage = storage
        self.snapshot = snapshot
        self.description = description
        self.table = table or storage.root
        self._clock = clock
        self._txn_id = txn_id or str(uuid.uuid4())
        self._before: Committed | None = None
        # Both checks exist because put-if-absent only protects a version number, not the
        # table's identity: after DROP and CREATE in the same place the number may be free
        # in the new table's log.
        self._looks_before = self._looks_after = True
        self._read_set = ReadSet()
        self._adds: list[Add] = []
        self._removes: list[Remove] = []
        self._add_batches: list[RecordBatch] = []
        self._remove_batches: list[RecordBatch] = []
        self._cdc_files: list[AddCdcFile] = []
        self._protocols: list[Protocol] = []
        self._metadata: list[Metadata] = []
        self._set_transactions: list[SetTransaction] = []
        self._domains: list[DomainMetadata] = []
        self._drops: frozenset[str] = frozenset()
        self._merged_vectors: MergedVectors | None = None
        self._is_closed = False
        self.config = snapshot.config.with_name(self.table) if snapshot is not None else None

    @classmethod
    def on(cls, snapshot: Snapshot, description: CommitDescription, **options: Any) -> Transaction:
        """Creates a transaction that changes the table in `snapshot`."""
        return cls(snapshot.storage, snapshot, description, **options)

    @classmethod
    def create(cls, storage: Storage, description: CommitDescription, **options: Any) -> Transaction:
        """Creates a transaction that commits version 0; `Protocol` and `Metadata` must be staged."""
        return cls(storage, None, description, **options)

    def after(self, before: Committed | None) -> Transaction:
        """Makes this transaction, which depends on nothing, follow our commit `before`, and returns it.

        Earlier commits do not conflict with it. None: it follows no commit.
        """
        self._before = before
        return self

    def only_telling(self, *, is_reported_again: bool = False) -> Transaction:
        """Marks this transaction, which only records an operation, as not adding rows, and returns it.

        It cannot add rows to another table created in the same place, so one check after the put is sufficient.
        `is_reported_again` omits that too, because a following transaction checks, and takes both back.
        """
        self._looks_before = False
        self._looks_after = not is_reported_again
        return self

    @property
    def read_version(self) -> int:
        """Returns the version that the transaction read; -1 for a table that is being created."""
        return self.snapshot.version if self.snapshot is not None else -1

    # --- Read set ----------------------------------------------------------------------------------------------------

    def read(self, predicate: FilePredicate) -> Any:
        """Returns the files for which `predicate` is true or unknown, in `FILES_SCHEMA`; the commit depends on them.

        A concurrently added file for which it is true or unknown conflicts, as does the removal of a returned file.
        """
        files = self._files()
        # Statistics are optional ("Per-file Statistics"): unknown counts as matching.
        masks = [pc.fill_null(predicate(batch), True) for batch in files.to_batches()]
        selected = files.filter(pa.chunked_array(masks, pa.bool_()))
        self._read_set = self._read_set.with_predicate(predicate, selected.column("path"))
        return selected

    def read_whole_table(self) -> Any:
        """Returns all files; any concurrently added or removed file conflicts."""
        self._read_set = self._read_set.with_whole_table()
        return self._files()

    def remove_all_files(self) -> None:
        """Removes all files, as `TableTransaction.remove_all_files`."""
        self.stage_removes(self.read_whole_table())

    def read_files(self, paths: Any) -> None:
        """Adds read files, an Arrow array with decoded paths, to the read set; their concurrent removal conflicts."""
        self._read_set = self._read_set.with_files(paths)

    def depend_on(self, predicate: FilePredicate, paths: Any) -> None:
        """Adds to the read set as `read` does, for a caller that has selected the files itself."""
        self._read_set = self._read_set.with_predicate(predicate, paths)

    def last_version_of(self, app_id: str) -> int | None:
        """Returns an application's last transaction version; a concurrently committed newer one conflicts."""
        self._read_set = self._read_set.with_app_id(app_id)
        return self.snapshot.last_write_of(app_id) if self.snapshot is not None else None

    def _files(self) -> Any:
        return self.snapshot.files if self.snapshot is not None else FILES_SCHEMA.empty_table()

    # --- Staged changes ----------------------------------------------------------------------------------------------

    def stage(
        self, *actions: Add | Remove | AddCdcFile | Protocol | Metadata | SetTransaction | DomainMetadata
    ) -> None:
        """Stages actions as values, for a small number."""
        for action in actions:
            match action:
                case Add():
                    self._adds.append(action)
                case Remove():
                    self._removes.append(action)
                case AddCdcFile():
                    self._cdc_files.append(action)
                case Protocol():
                    self._protocols.append(action)
                case Metadata():
                    self._metadata.append(action)
                case SetTransaction():
                    self._set_transactions.append(action)
                case DomainMetadata():
                    self._domains.append(action)
                case _:
                    assert_never(action)

    def stage_adds(self, files: RecordBatch, *, data_change: bool = True) -> None:
        """Stages added files as a `FILES_SCHEMA` batch, for many."""
        self._add_batches.append(with_data_change(files, data_change))

    def stage_removes(self, files: Any, *, data_change: bool = True) -> None:
        """Stages the removal of live files, a `FILES_SCHEMA` batch or table (rows from `Snapshot.files`)."""
        batches = files.to_batches() if isinstance(files, pa.Table) else [files]
        # `deletionTimestamp` decides when VACUUM may delete the file, so all removes of one
        # call share it.
        now = self._clock()
        self._remove_batches += [remove_rows(batch, now, data_change=data_change) for batch in batches]

    def depend_on_rows_alone(self, rows_by_path: Mapping[str, Rows]) -> None:
        """Restricts the dependency on files that get new deletion vectors to the rows that this commit deletes.

        `marked` has the rows by decoded path. Other commits may delete other rows in these files concurrently.
        """
        self._merged_vectors = MergedVectors(self.storage, rows_by_path)

    def note_write(self, write: IdempotentWrite, now_ms: int) -> None:
        """See `TableTransaction.note_write`; stages a `txn` action."""
        # Reading the application's version puts it into the read set: a concurrent commit
        # for the same application then conflicts, which makes the write exactly-once.
        self.last_version_of(write.app_id)
        self.stage(SetTransaction(app_id=write.app_id, version=write.version, last_updated=now_ms))

    def identify(self, transaction_id: str) -> None:
        """See `TableTransaction.identify`; sets the `txnId` of the `commitInfo`."""
        self._txn_id = transaction_id

    def define(self, definition: TableDefinition, changes: Iterable[DefinitionChange] = ()) -> None:
        """Stages the parts of `definition`, after `changes`, that are new."""
        assert isinstance(definition, Definition)
        folded = tuple(changes)
        if folded:
            definition = change_table(definition.config(self.table), folded)
        self.stage(definition.protocol, definition.metadata)
        # Clustering columns are a metadata domain, not part of `metaData` ("Clustered
        # Table").
        if definition.clustering not in (None, self.config.clustering if self.config else None):
            self.stage(definition.clustering)
        self._drops |= definition.drops

    def drop_feature(self, feature: str) -> None:
        """Permits the staged protocol to lack `feature`."""
        self._drops |= {feature}

    def add_files(self, new: NewFiles) -> None:
        """Stages files that were written for the table, as returned by `describe_files`."""
        assert isinstance(new, DeltaFiles)
        self.stage(*new.adds)

    def add_deleted_rows(self, updated: FilesWithDeletedRows) -> None:
        """See `TableTransaction.add_deleted_rows`: stages the files with their new deletion vectors."""
        for batch in updated.files.to_batches():
            self.stage_adds(batch)

    def add_change_files(self, new: NewFiles) -> None:
        """See `TableTransaction.add_change_files`; stages `cdc` actions."""
        assert isinstance(new, DeltaFiles)
        self.stage(
            # `cdc` actions have no statistics, and their `dataChange` is always false: the
            # same version's `add` and `remove` actions describe the change for readers
            # without the feed ("Add CDC File").
            *(AddCdcFile(path=add.path, partition_values=add.partition_values, size=add.size) for add in new.adds)
        )

    def note_loads(self, files: pa.Table) -> tuple[str, ...]:
        """See `TableTransaction.note_loads`; writes a segment in the log's directory and stages its `txn` action."""
        assert self.snapshot is not None
        load = write_load(self.storage, read_loads(self.snapshot), files)
        self.last_version_of(LOADS_APP_ID)
        self.stage(load.action)
        metrics = {"numLoadedFiles": str(files.num_rows), "numSkippedCorruptFiles": "0"}
        self.description = with_metrics(self.description, **metrics)
        return (load.segment.name,)

    @property
    def is_empty(self) -> bool:
        """Returns True if nothing is staged."""
        batches = (*self._add_batches, *self._remove_batches)
        files = (self._adds, self._removes, self._cdc_files)
        others = (self._protocols, self._metadata, self._set_transactions, self._domains)
        return not any((*files, *others)) and not any(batch.num_rows for batch in batches)

    # --- Commit ------------------------------------------------------------------------------------------------------

    def commit(self, policy: RetryPolicy | None = None, storage_retries: StorageRetries | None = None) -> Committed:
        """Commits the transaction.

        Raises a `ConcurrentModification` if another writer's commit conflicts with it or the table was dropped,
        `AlreadyCommitted` if another process has committed it under the same id,
        `CommitAttemptsExceeded`, `CommitOutcomeUnknown`, `LogWriteFailed`, `StorageNotWritable`, and the errors of
        `DeltaConfig.ensure_supported` and `engine.delta.commit.commit_checks`.
        """
        assert not self._is_closed, "a transaction is committed once"
        self._is_closed = True
        self.storage.ensure_writable()
        staged = self._close()
        base = self._base()
        retries = storage_retries or StorageRetries()
        begun_ms = clock_ms()

        size_bytes = 0

        def attempt() -> CommitFile | None:
            nonlocal staged, base, size_bytes
            file, level = self._attempt(staged, base)
            if self._looks_before:
                self._ensure_there()
            data = file.to_bytes()
            size_bytes = len(data)
            # Put-if-absent decides the race: False means that another writer has this version.
            if put_commit(self.storage, file.version, data, self._txn_id, retries):
                if self._looks_after:
                    self._ensure_there(file.version)
                if self.snapshot is not None:
                    self.snapshot.note_commit(file.version, data, file.appended)
                return file
            # Lost the race: raise the first conflict, or rebase on the winning commits and retry with the next version.
            before = base
            staged, base = self._rebase_on_winning_commits(staged, base, level)
            if base is before:  # the storage has the winning commit's file, but does not list it yet
                retries.pause(1)
            return None

        def catch_up() -> None:
            nonlocal staged, base
            self._ensure_there()
            staged, base = self._rebase_on_winning_commits(
                staged, base, staged.isolation_level(_isolation_of(base.config))
            )

        try:
            file, attempts = (policy or RetryPolicy()).rebase(
                attempt, self.storage.root, attrgetter("version"), catch_up, self._has_version
            )
            if file is None:
                raise CommitAttemptsExceeded(self.table, attempts, (clock_ms() - begun_ms) / 1000, base.version)
        except CommitOutcomeUnknown:
            raise
        except (
            SqlError,
            AlreadyCommitted,
        ):  # other errors may occur after the put: files that no version uses are left to VACUUM
            self._discard(self._merged_vectors.written if self._merged_vectors is not None else ())
            raise
        self._discard(self._merged_vectors.unused_files(file.adds) if self._merged_vectors is not None else ())
        return self._committed(file, staged, attempts, size_bytes)

    def _committed(self, file: CommitFile, staged: StagedCommit, attempts: int, size_bytes: int) -> Committed:
        return Committed(
            storage=self.storage,
            version=file.version,
            timestamp_ms=file.timestamp_ms,
            config=file.config,
            attempts=attempts,
            txn_id=self._txn_id,
            size_bytes=size_bytes,
            staged=staged,
            adds=file.adds,
            domain_metadata=file.domain_metadata,
            untold=self._before,
        )

    def _has_version(self, version: int) -> bool:
        with suppress(OSError):  # the next attempt reports it
            return self.storage.exists(f"{LOG_DIR}/{commit_name(version)}")
        return False

    def _close(self) -> StagedCommit:
        for name, actions in (("the metadata", self._metadata), ("the protocol", self._protocols)):
            if len(actions) > 1:
                raise DuplicateActions(self.table, name)
        # One batch, because the commit checks compare all paths with each other, and a
        # retry must not repeat the concatenation.
        adds = combine_batches([*self._add_batches, *([adds_of(self._adds)] if self._adds else [])], FILES_SCHEMA)
        removes = combine_batches(
            [*self._remove_batches, *([removes_of(self._removes)] if self._removes else [])], TOMBSTONES_SCHEMA
        )
        self._add_batches = []  # the batches may be large, and are in `adds` now
        before = self.config
        metadata = self._metadata[0] if self._metadata else None
        protocol = self._protocols[0] if self._protocols else None
        return StagedCommit(
            description=self.description,
            read_set=self._read_set,
            txn_id=self._txn_id,
            read_version=self.read_version,
            adds=adds,
            removes=removes,
            cdc_files=tuple(self._cdc_files),
            # An unchanged protocol or metadata is left out. It would be legal, but each
            # concurrent commit would then fail for it.
            protocol=None if before and protocol == before.protocol else protocol,
            metadata=None if before and metadata == before.metadata else metadata,
            set_transactions=tuple(self._set_transactions),
            domain_metadata=tuple(self._domains),
        )

    def _base(self) -> BaseVersion:
        snapshot, before = self.snapshot, self._before
        if snapshot is None:
            return BaseVersion(table=self.table, version=-1, config=None, timestamp_ms=0, row_id_high_water_mark=-1)
        return BaseVersion(
            table=self.table,
            version=snapshot.version if before is None else before.version,
            config=self.config if before is None else before.config,
            timestamp_ms=snapshot.timestamp_ms if before is None else before.timestamp_ms,
            # The mark of the snapshot is sufficient even after `before`, which assigns no
            # row ids: it only records an operation.
            row_id_high_water_mark=row_id_high_water_mark(snapshot.domain_metadata.get(ROW_TRACKING_DOMAIN)),
        )

    def _attempt(self, staged: StagedCommit, base: BaseVersion) -> tuple[CommitFile, IsolationLevel]:
        """Makes the next version's file, after all checks.

        Each attempt checks again, because winning commits may have changed the table's configuration.
        """
        if base.config is None and (staged.protocol is None or staged.metadata is None):
            raise NoMetadata(self.table)
        operation = self.description.operation
        if base.config is not None:
            # A winning commit may have enabled a writer feature that is unknown here.
            # "Table Features": a writer must then refuse, even if its commit was prepared
            # under the old protocol.
            base.config.ensure_supported(operation)
        level = staged.isolation_level(_isolation_of(base.config))
        file = make_commit_file(staged, base, level, self._clock())
        # Again with the configuration after the commit, which may bring a feature into use.
        file.config.ensure_supported(operation)
        ensure_commit_checks(PendingCommit(staged=staged, before=base.config, after=file.config, drops=self._drops))
        return file, level

    def _ensure_there(self, put: int | None = None) -> None:
        """Raises `ConcurrentDrop` if the log no longer belongs to the table that was read.

        In that case removes the version `put`, and our version before it. The check before the put keeps rows out of
        another table with the same name. The check after it detects a table whose removal began in between: storages
        without directories then have the beginning of a log without versions.
        """
        if self.snapshot is None or not self.snapshot.is_gone():
            return
        if put is not None:
            take_back(self.storage, put, self._txn_id)
            if self._before is not None:
                self._before.take_back()
        raise ConcurrentDrop(self.table)

    def _rebase_on_winning_commits(
        self, staged: StagedCommit, base: BaseVersion, level: IsolationLevel
    ) -> tuple[StagedCommit, BaseVersion]:
        # In the order of versions: each check sees the configuration that the commits
        # before it left.
        for winner in read_winners(self.storage, base.version + 1):
            info = winner.actions.commit_info
            if info is not None and info.txn_id == self._txn_id:
                raise AlreadyCommitted(record_of(winner.version, info))
            left = winner
            # Deletion vectors are merged first: the rules then see only the winning commit's remaining changes.
            if self._merged_vectors is not None:
                staged, left = self._merged_vectors.rebase(staged, winner, self._clock())
            conflict = find_conflict(ConflictCheck(staged=staged, level=level, base=base, winner=left))
            if conflict is not None:
                raise conflict
            # Rebase on the whole winning commit: its metadata, row ids and timestamp precede ours.
            base = base.after(winner)
        return staged, base

    def _discard(self, vectors: Iterable[str]) -> None:
        """Deletes deletion vector files that no version uses, because the vectors were merged with others."""
        for name in vectors:
            with suppress(OSError):
                self.storage.delete(name)


def _isolation_of(config: DeltaConfig | None) -> IsolationLevel:
    return IsolationLevel(config.get(ISOLATION_LEVEL)) if config else IsolationLevel.SERIALIZABLE
