"""A transaction that writes or creates an Iceberg table: its added and removed files, and its commit attempts.

    head ─► the definition's updates ─► validation ─► manifests ─► manifest list ─► snapshot ─► put

Data files and manifests are written once. If another writer's commit wins, the transaction is validated against the new
head (`engine.iceberg.transaction.validation`), and the manifest list is rewritten on top of it, with the values that
depend on the head: sequence number, first row ids, totals. The head's manifests with removed files are rewritten again
only if they changed. The store resolves a commit with an unknown outcome; until then none of its files are deleted.

The summary's operation is `append`, `delete`, `overwrite`, or `replace` if no row changed.

Source: Iceberg table specification, "Snapshots", "Commit Conflict Resolution and Retry", "Row Lineage".
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from catalog.conditions import (
    CommitOutcomeUnknown,
    ConcurrentDrop,
    IcebergCommitAttemptsExceeded,
    IcebergConflict,
    IcebergTableNotFound,
    StatementNotSupported,
)
from catalog.errors import SqlError
from engine.concurrency.retry import RetryPolicy
from engine.iceberg.commit.fold import apply, new_metadata, ref_snapshot_id
from engine.iceberg.commit.metadata_store import LoadedMetadata, MetadataStore
from engine.iceberg.commit.updates import (
    AddSnapshot,
    AssertCreate,
    AssertRefSnapshotId,
    AssertTableUuid,
    Json,
    Requirement,
    SetSnapshotRef,
    Update,
)
from engine.iceberg.definition.changes import change_definition
from engine.iceberg.definition.definition import IcebergDefinition, definition_of
from engine.iceberg.definition.metadata_updates import changing_updates, creating_updates
from engine.iceberg.definition.properties import retries_of
from engine.iceberg.manifests.manifest import DATA
from engine.iceberg.manifests.manifest_list import Manifest
from engine.iceberg.snapshot.snapshot import IcebergSnapshot
from engine.iceberg.snapshot.transaction_ids import find_record, identifying_entries
from engine.iceberg.spec.metadata import MAIN, Reference, TableMetadata
from engine.iceberg.transaction.validation import Dependence, ensure_files_fit, ensure_no_conflict
from engine.iceberg.writing.manifest_list_writer import NewSnapshot, WrittenList, write_manifest_list
from engine.iceberg.writing.new_files import IcebergNewFiles, scanned_files
from engine.iceberg.writing.position_deletes import IcebergPositionDeletes
from engine.iceberg.writing.staged_manifests import StagedManifests
from engine.iceberg.writing.written_table import WrittenTable
from engine.storage.deletion_vectors import Rows
from engine.tables.definition import TableDefinition
from engine.tables.definition_changes import DefinitionChange
from engine.tables.operations import CommitDescription, IdempotentWrite
from engine.tables.row_files import FilePredicate, FilesWithDeletedRows
from engine.tables.transaction import AlreadyCommitted, NewFiles

# The isolation level that ignores rows added by concurrent commits.
_SNAPSHOT_LEVEL = "snapshot"
DecideUpdates: TypeAlias = Callable[[TableMetadata], tuple[tuple[Requirement, ...], tuple[Update, ...]]]
_SNAPSHOT_ID_MAX = (1 << 63) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergCommit:
    """A committed version; `files` are its added data files."""

    store: MetadataStore
    loaded: LoadedMetadata
    version: int
    files: tuple[str, ...] = field(default=(), repr=False)

    def is_whole(self, *, with_files: bool) -> bool:
        """Implements `TableCommit.is_whole`."""
        if not self.store.has(self.loaded):
            return False
        return not with_files or all(self.store.storage.exists(name) for name in self.files)

    def take_back(self) -> None:
        """Implements `TableCommit.take_back`."""
        self.store.take_back(self.loaded)


class IcebergTransaction:
    """A mutable transaction for one thread; committed once."""

    def __init__(
        self,
        store: MetadataStore,
        snapshot: IcebergSnapshot | None,
        description: CommitDescription,
        *,
        table: str,
        branch: str = MAIN,
    ) -> None:
        """Starts a transaction; `snapshot` None creates a table. `table` is its name in messages."""
        self.store = store
        self.snapshot = snapshot
        self.description = description
        self.table = table
        self.branch = branch
        self.snapshot_id = new_snapshot_id()
        # The table's owner sets the level per operation: `write.delete.isolation-level`,
        # `write.update.…` and `write.merge.…`, as in Iceberg's Spark writer.
        level = f"write.{description.name.lower()}.isolation-level"
        self._properties = snapshot.metadata.properties if snapshot is not None else {}
        self.dependence = Dependence(is_serializable=self._properties.get(level, "").lower() != _SNAPSHOT_LEVEL)
        self._definition: IcebergDefinition | None = None
        self._added: list[IcebergNewFiles] = []
        self._entries: list[pa.Table] = []
        self._removed: list[pa.Table] = []
        self.rewritten_spec_id: int | None = None
        # The version's manifests, after the commit.
        self.manifests: tuple[Manifest, ...] = ()
        # Delete files that others supersede.
        self._replaced: list[pa.Table] = []
        self.decide: DecideUpdates | None = None
        self._made: Reference | None = None
        self._begins_anew = False
        # Additional snapshot summary entries.
        self.summary: Mapping[str, str] = {}
        self._transaction_id: str | None = None
        self._is_closed = False

    # --- Read set ---

    def read_whole_table(self) -> pa.Table:
        """Implements `TableTransaction.read_whole_table`."""
        self.dependence = replace(self.dependence, whole_table=True)
        return self._read_snapshot().files

    def depend_on(self, predicate: FilePredicate, paths: Any) -> None:
        """Implements `TableTransaction.depend_on`."""
        named = self._entries_at(paths)["file_path"].to_pylist()
        self.dependence = replace(self.dependence.on_files(named), predicates=(*self.dependence.predicates, predicate))

    def depend_on_rows_alone(self, rows_by_path: Mapping[str, Rows]) -> None:
        """Implements `TableTransaction.depend_on_rows_alone`; files with new deletes still conflict."""

    # --- Changes ---

    def add_files(self, new: NewFiles) -> None:
        """Implements `TableTransaction.add_files`."""
        assert isinstance(new, IcebergNewFiles)
        self._added.append(new)

    def add_entries(self, entries: pa.Table) -> None:
        """Adds files with any content, as for `StagedManifests.add`."""
        self._entries.append(entries)

    def stage_removes(self, files: pa.Table) -> None:
        """Implements `TableTransaction.stage_removes`."""
        entries = self._entries_at(files["path"])
        self._removed.append(entries)
        self.dependence = self.dependence.on_files(entries["file_path"].to_pylist())

    def remove_all_files(self) -> None:
        """Removes all files, as `TableTransaction.remove_all_files`.

        The snapshot then has no parent, as with Java's REPLACE TABLE: DuckDB cannot read a manifest list with files
        whose partition specs use dropped columns.
        """
        self.read_whole_table()
        self._begins_anew = self._read_snapshot().info is not None

    def add_deleted_rows(self, updated: FilesWithDeletedRows) -> None:
        """Implements `TableTransaction.add_deleted_rows`: the files remain, and their deletes are replaced."""
        assert isinstance(updated, IcebergPositionDeletes)
        updated_paths = self._entries_at(updated.files["path"])["file_path"].combine_chunks()
        # A file that only gets deletes stays live; it must not be removed as well.
        self._removed = [
            each.filter(pc.invert(pc.is_in(each["file_path"], value_set=updated_paths))) for each in self._removed
        ]
        self._entries.append(updated.added)
        self._replaced.append(updated.removed)

    def replace_deletes(self, deletes: pa.Table, files: pa.Table) -> None:
        """Removes live delete files, for which added ones contain the same deletes on these live data files."""
        self._replaced.append(deletes)
        self.dependence = self.dependence.on_files(self._entries_at(files["path"])["file_path"].to_pylist())

    def allow_equality_deletes(self) -> None:
        """Tolerates concurrent equality deletes on removed files: the new files keep these files' sequence number."""
        self.dependence = replace(self.dependence, ignores_equality_deletes=True)

    def rewrite_manifests(self, spec_id: int) -> None:
        """Rewrites all manifests with a partition spec, sorted by partition."""
        self.rewritten_spec_id = spec_id

    def add_change_files(self, new: NewFiles) -> None:
        """Implements `TableTransaction.add_change_files`."""
        raise AssertionError("it has no such capability")

    def note_loads(self, files: pa.Table) -> tuple[str, ...]:
        """Implements `TableTransaction.note_loads`."""
        raise StatementNotSupported("COPY INTO an Iceberg table")

    def note_write(self, write: IdempotentWrite, now_ms: int) -> None:
        """Implements `TableTransaction.note_write`."""
        raise StatementNotSupported("A numbered write to an Iceberg table")

    def identify(self, transaction_id: str) -> None:
        """Implements `TableTransaction.identify`: the snapshot's summary has the id. A version without a snapshot has
        none.
        """
        self._transaction_id = transaction_id

    def define(self, definition: TableDefinition, changes: Iterable[DefinitionChange] = ()) -> None:
        """Implements `TableTransaction.define`."""
        assert isinstance(definition, IcebergDefinition)
        said = tuple(changes)
        self._definition = change_definition(definition, said) if said else definition

    def change_metadata(self, decide: DecideUpdates) -> None:
        """Commits the updates that `decide` returns for the newest version; the transaction has no other change."""
        self.decide = decide

    def make_branch(self, limits: Reference) -> None:
        """Creates the transaction's branch, with these limits and an empty snapshot: a table without snapshots has none
        that a branch could refer to.
        """
        self._made = limits

    @property
    def is_empty(self) -> bool:
        """Implements `TableTransaction.is_empty`."""
        return not self._defines and not self._changes_files and self.decide is None

    @property
    def _defines(self) -> bool:
        if self.snapshot is None:
            return True
        return self._definition is not None and self._definition != self.snapshot.definition

    @property
    def _changes_files(self) -> bool:
        tables = (*(new.entries for new in self._added), *self._entries, *self._removed, *self._replaced)
        is_new = self._made is not None or self.rewritten_spec_id is not None or self._begins_anew
        return is_new or any(table.num_rows for table in tables)

    def _read_snapshot(self) -> IcebergSnapshot:
        assert self.snapshot is not None, "a table that is made has no files"
        return self.snapshot

    def _entries_at(self, paths: Any) -> pa.Table:
        """Returns the live entries at these paths."""
        read = self._read_snapshot()
        wanted = pa.array(paths.to_pylist() if hasattr(paths, "to_pylist") else list(paths), pa.string())
        return read.live_files.data.filter(pc.is_in(read.files["path"], value_set=wanted))

    # --- Commit ---

    def commit(self, policy: RetryPolicy | None = None) -> IcebergCommit:
        """Commits the transaction.

        Raises a `ConcurrentModification`, `AlreadyCommitted`, `IcebergCommitAttemptsExceeded`, `CommitOutcomeUnknown`,
        and the store's errors.
        """
        assert not self._is_closed, "a transaction is committed once"
        self._is_closed = True
        if self._changes_files:
            self.store.storage.ensure_writable()
        # Files written by one attempt are reused by the next, because only the manifest
        # list depends on the head.
        attempts = _Attempts(self)
        has_place = (
            self.snapshot is not None or self._changes_files
        )  # a REST catalog assigns one later to a definition-only commit
        place = self.store.storage.root if has_place else self.table
        try:
            done, count = retries_of(self._properties, policy or RetryPolicy()).rebase(
                attempts.attempt, place, attrgetter("metadata.last_sequence_number")
            )
            if done is None:
                raise IcebergCommitAttemptsExceeded(self.table, count)
        except CommitOutcomeUnknown:
            raise
        except BaseException as error:
            if isinstance(error, SqlError | AlreadyCommitted) or not attempts.is_in_doubt:
                attempts.discard_all()
            raise
        attempts.discard_lost()
        # Read from the committed metadata: a REST catalog may have applied further changes
        # in the same response.
        current = ref_snapshot_id(done.json, self.branch)
        files = tuple(path for new in self._added for path in new.paths)
        return IcebergCommit(store=self.store, loaded=done, version=current or 0, files=files)

    @property
    def operation(self) -> str:
        """Returns the operation in the snapshot's summary."""
        if not self.description.changes_data:
            # "Snapshots": readers of changes skip `replace`, because the rows are the same
            # before and after it.
            return "replace"
        adds = any(new.entries.num_rows for new in self._added)
        if not self._begins_anew and not self._removed and not any(_has_deletes(entries) for entries in self._entries):
            return "append"
        return "overwrite" if adds else "delete"

    @property
    def files(self) -> tuple[list[pa.Table], list[pa.Table]]:
        """Returns the added and the removed entries."""
        return [*(new.entries for new in self._added), *self._entries], [*self._removed, *self._replaced]

    @property
    def other_entries(self) -> Mapping[str, str]:
        """Returns the entries of the snapshot's summary that do not describe its files."""
        if self._transaction_id is None:
            return self.summary
        return {**self.summary, **identifying_entries(self._transaction_id, self.description)}

    def ensure_not_committed(self, metadata: TableMetadata) -> None:
        """Raises `AlreadyCommitted` if a snapshot in `metadata` has the transaction's id."""
        found = None if self._transaction_id is None else find_record(metadata, self._transaction_id)
        if found is not None:
            raise AlreadyCommitted(found)

    @property
    def definition(self) -> IcebergDefinition | None:
        """Returns the staged definition; None if the transaction leaves the definition unchanged."""
        return self._definition


class _Attempts:
    """One transaction's attempts, and the files that they have written."""

    def __init__(self, transaction: IcebergTransaction) -> None:
        self._of = transaction
        self._staged: StagedManifests | None = None
        self._lists: list[WrittenList] = []
        self._count = 0
        # True while a commit was sent to the store without an outcome: the version may exist.
        self.is_in_doubt = False

    def attempt(self) -> LoadedMetadata | None:
        """Returns the committed version; None if another writer's commit came first."""
        of = self._of
        if of.snapshot is None:
            return self._create()
        # Loaded in each attempt. The transaction's own snapshot may be older, even in the
        # first attempt.
        base = of.store.load()
        of.ensure_not_committed(base.metadata)
        requirements, updates = self._definition_updates(base)
        if of.decide is not None:
            more_requirements, more = of.decide(base.metadata)
            requirements, updates = (*requirements, *more_requirements), (*updates, *more)
        if of._changes_files:
            more_requirements, more = self._snapshot_updates(base, apply(base.json, updates, of.store.clock()))
            requirements, updates = (*requirements, *more_requirements), (*updates, *more)
        if not updates:
            return base
        return self._put(base, requirements, updates)

    def _put(
        self, base: LoadedMetadata | None, requirements: tuple[Requirement, ...], updates: tuple[Update, ...]
    ) -> LoadedMetadata | None:
        # An exception that is not a `SqlError`, such as an interrupt, leaves the outcome unknown: files are then kept.
        self.is_in_doubt = True
        done = self._of.store.commit(base, requirements, updates)
        self.is_in_doubt = False
        return done

    def _create(self) -> LoadedMetadata | None:
        of = self._of
        definition = of.definition
        assert definition is not None, "a new table has a definition"
        updates: tuple[Update, ...] = creating_updates(definition)
        if of._changes_files:
            # The manifest list needs the format version and ids of a table that does not
            # exist yet; the updates define them.
            empty = new_metadata("", of.store.location, of.store.clock())
            snapshot = self._new_snapshot(None, apply(empty, updates, of.store.clock()))
            updates = (*updates, AddSnapshot(snapshot), _set_branch(of.branch, of.snapshot_id, None))
        done = self._put(None, (AssertCreate(),), updates)
        if done is None:
            with suppress(IcebergTableNotFound):  # it has been dropped since
                of.ensure_not_committed(of.store.load().metadata)
            # Not retried: the existing table may have another schema.
            raise IcebergConflict(of.table, "made the table first")
        return done

    def _definition_updates(self, base: LoadedMetadata) -> tuple[tuple[Requirement, ...], tuple[Update, ...]]:
        """Returns the definition's updates.

        Raises `ConcurrentDrop` for another table, `IcebergConflict` if the definition changed concurrently.
        """
        of, metadata = self._of, base.metadata
        read = of._read_snapshot().metadata
        if metadata.table_uuid != read.table_uuid:
            raise ConcurrentDrop(of.table)
        same: tuple[Requirement, ...] = () if metadata.table_uuid is None else (AssertTableUuid(metadata.table_uuid),)
        # Delete files have another form in each version: v3 allows no new position delete
        # files, for example.
        if metadata.format_version != read.format_version and of._changes_files:
            raise IcebergConflict(of.table, "changed its format version")
        if not of._defines or of.definition is None:
            ensure_files_fit(of.table, of.files[0], read, metadata)
            return same, ()
        # Definitions are compared as values. A commit that only added snapshots does not
        # conflict with ALTER TABLE.
        if definition_of(metadata, metadata.schema, "") != definition_of(read, read.schema, ""):
            raise IcebergConflict(of.table, "changed its definition")
        requirements, updates = changing_updates(metadata, of.definition)
        return (*same, *requirements), updates

    def _snapshot_updates(
        self, base: LoadedMetadata, after: Json
    ) -> tuple[tuple[Requirement, ...], tuple[Update, ...]]:
        of, read = self._of, self._of._read_snapshot()
        reference = base.metadata.refs.get(of.branch)
        if reference is None and read.info is not None:
            raise IcebergConflict(of.table, f"dropped the branch {of.branch}")
        if reference is not None and of._made is not None:
            raise IcebergConflict(of.table, f"made the branch {of.branch} first")
        current = replace(
            read,
            metadata_name=base.name,
            metadata=base.metadata,
            info=None if reference is None else base.metadata.snapshots[reference.snapshot_id],
            iceberg_schema=base.metadata.schema,
        )
        # Only the branch counts: commits on other branches do not concern this one,
        # although they are in the same metadata.
        moved = (current.info.snapshot_id if current.info else None) != (read.info.snapshot_id if read.info else None)
        if moved:
            ensure_no_conflict(of.table, of.dependence, read.info, current, lambda entries: _as_files(read, entries))
        snapshot = self._new_snapshot(None if of._begins_anew else current, after)
        return (
            # A REST catalog applies updates to its newest metadata. The requirement makes
            # it reject the request if the branch moved after our validation.
            (AssertRefSnapshotId(of.branch, None if reference is None else reference.snapshot_id),),
            (AddSnapshot(snapshot), _set_branch(of.branch, of.snapshot_id, reference or of._made)),
        )

    def _new_snapshot(self, current: IcebergSnapshot | None, metadata: Json) -> Json:
        """Returns the snapshot on top of `current`, for a table with this metadata, with its manifest list."""
        of = self._of
        if self._staged is None:
            self._staged = _stage(of, current, metadata)
        on_snapshot = self._staged.on(current.manifests if current is not None else ())
        if on_snapshot.missing:
            raise IcebergConflict(of.table, "removed data files that this statement read")
        parent = None if current is None else current.info
        parent_id = None if parent is None else parent.snapshot_id
        version = metadata["format-version"]
        # Assigned per attempt. Manifests written earlier stay valid, because their entries
        # inherit the number from the list ("Sequence Number Inheritance").
        number = metadata.get("last-sequence-number", 0) + 1 if version > 1 else 0
        self._count += 1
        written = write_manifest_list(
            of.store.storage,
            self._staged.table,
            on_snapshot.manifests,
            NewSnapshot(
                snapshot_id=of.snapshot_id,
                parent_id=parent_id,
                sequence_number=number,
                next_row_id=metadata.get("next-row-id", 0),
                attempt=self._count,
            ),
        )
        self._lists.append(written)
        of.manifests = written.manifests
        value: Json = {
            "snapshot-id": of.snapshot_id,
            **({} if parent_id is None else {"parent-snapshot-id": parent_id}),
            **({"sequence-number": number} if version > 1 else {}),
            # Time travel by timestamp expects ascending times, also with clocks of several
            # writers.
            "timestamp-ms": max(of.store.clock(), metadata["last-updated-ms"]),
            "manifest-list": written.path,
            "summary": on_snapshot.summary(of.operation, None if parent is None else parent.summary, of.other_entries),
            "schema-id": metadata["current-schema-id"],
        }
        return value | _row_ids(written)

    # --- Cleanup after failed attempts ---

    def discard_all(self) -> None:
        """Deletes the files after a failed transaction."""
        self._discard([*(each.name for each in self._lists), *(self._staged.written if self._staged else ())])

    def discard_lost(self) -> None:
        """Deletes failed attempts' manifest lists; manifests for superseded heads are left to orphan removal."""
        # The last list belongs to the committed snapshot; the others were named by attempts
        # that lost.
        self._discard(each.name for each in self._lists[:-1])
        if self._lists and self._of.snapshot is not None:
            self._of.snapshot.cache_manifest_list(self._lists[-1].path, self._of.snapshot_id, self._lists[-1].data)

    def _discard(self, names: Iterable[str]) -> None:
        for name in names:
            with suppress(OSError):
                self._of.store.storage.delete(name)


def _stage(of: IcebergTransaction, current: IcebergSnapshot | None, metadata: Json) -> StagedManifests:
    entries_of: Callable[[Any], list[pa.Table]] = (lambda manifests: []) if current is None else current.entries_of
    staged = StagedManifests(of.store.storage, WrittenTable(metadata), of.snapshot_id, entries_of)
    staged.rewritten_spec_id = of.rewritten_spec_id
    added, removed = of.files
    for entries in added:
        staged.add(entries)
    for entries in removed:
        staged.remove(entries)
    return staged


def _has_deletes(entries: pa.Table) -> bool:
    return bool(pc.any(pc.not_equal(entries["content"], DATA)).as_py())


def _row_ids(written: WrittenList) -> Json:
    if written.first_row_id is None:
        return {}
    return {"first-row-id": written.first_row_id, "added-rows": written.added_rows}


def _set_branch(name: str, snapshot_id: int, before: Reference | None) -> SetSnapshotRef:
    """Returns the update that moves the branch, with its limits unchanged."""
    if before is not None:
        # `set-snapshot-ref` replaces the reference as a whole, including its retention
        # limits.
        return SetSnapshotRef(replace(before, snapshot_id=snapshot_id))
    return SetSnapshotRef(Reference(name=name, snapshot_id=snapshot_id, is_branch=True))


def _as_files(snapshot: IcebergSnapshot, entries: pa.Table) -> Any:
    """Returns entries as file predicates take them: a `TableSnapshot.files` batch, with all manifest columns."""
    files = scanned_files(snapshot.places.paths(entries["file_path"]), entries)
    for name in entries.column_names:
        if name not in files.column_names:
            files = files.append_column(name, entries[name])
    (batch,) = files.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], schema=files.schema)]
    return batch


def new_snapshot_id() -> int:
    """Returns a positive random id."""
    bits = uuid.uuid4().int
    return ((bits >> 64) ^ (bits & ((1 << 64) - 1))) & _SNAPSHOT_ID_MAX
