"""A table at one version.

`load_snapshot` finds the log segment, replays it, and returns an immutable `Snapshot`. Protocol, metadata, transactions
and domains are read immediately, a checkpoint's files on first access. So describing a table with a million files costs
as little as one with ten. The version is pinned: later reads return the same version, and raise if the log has been
cleaned up since.

`advance` returns the newest version: it makes one listing that begins at this version and reads the new commits only.
Both snapshots share unchanged files (see `engine.delta.snapshot.live_files`).

Loading rejects unknown protocol versions, since these may change replay itself, but not unknown features: describing a
table, or reporting the reason why it cannot be read, needs its state. `config` decides if the table may be read or
written; see `engine.delta.definition.table_config`.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from datetime import tzinfo
from functools import cached_property
from threading import Lock
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc

from catalog.conditions import (
    DeltaError,
    InvalidProtocolVersion,
    LogFileNotFound,
    MalformedLogEntry,
    MissingCommitInfo,
    MissingCommitTimestamp,
    StateNotRecoverable,
)
from engine.delta.definition.clustering import CLUSTERING_DOMAIN
from engine.delta.definition.constraints import check_constraints
from engine.delta.definition.like_tables import creating_properties
from engine.delta.definition.metadata_changes import (
    MetadataChange,
    change_table,
    distinct,
    redefine_table,
    with_defaults,
)
from engine.delta.definition.table_config import DeltaConfig
from engine.delta.definition.table_draft import Definition, table_details
from engine.delta.log.commit_reader import LogActions, parse_commit_info
from engine.delta.log.file_table import encode_partition_values, file_keys, partition_schema
from engine.delta.log.log_segment import LogSegment, RecentCommits, extend_segment, find_segment
from engine.delta.schema.column_mapping import physical_names
from engine.delta.schema.type_widening import ensure_readable_changes
from engine.delta.snapshot.column_statistics import read_distinct_counts
from engine.delta.snapshot.file_stats import COUNTS_SCHEMA, parse_counts
from engine.delta.snapshot.history import find_commit, load_history
from engine.delta.snapshot.live_files import LiveFiles, Rows
from engine.delta.snapshot.parsed_stats import parsed_stats
from engine.delta.snapshot.replay import (
    LogReplay,
    TableState,
    UnusableFile,
    advance_state,
    read_commits,
    reconcile_files,
)
from engine.delta.snapshot.row_files import DeltaRowFiles, table_columns
from engine.delta.snapshot.shared_files import shared_files
from engine.delta.snapshot.table_scan import table_scan
from engine.delta.spec.actions import CommitInfo, DomainMetadata, Metadata, Protocol, SetTransaction
from engine.delta.spec.paths import LOG_DIR, LogFileKind, LogPath, commit_name, parse_log_path, version_prefix
from engine.delta.spec.protocols import READER_VERSION_MAX
from engine.pruning.estimates import DistinctCounts
from engine.pruning.metadata_answers import CountedFiles
from engine.pruning.predicates import Predicate
from engine.pruning.pruning import FilePruning
from engine.pruning.table_columns import TableColumns
from engine.storage.confinement import Confinement
from engine.storage.storage import FileStatus, Storage, open_storage
from engine.tables.column_metadata import GENERATION
from engine.tables.config import Constraint
from engine.tables.definition import TableDetails
from engine.tables.definition_changes import DefinitionChange
from engine.tables.operations import CommitSearch, TableOperation
from engine.tables.scan import Scan
from engine.tables.shared_files import SharedFiles
from engine.types.arrow_types import RecordBatch
from engine.types.schema import StructType
from engine.types.value_bytes import value_bytes

T = TypeVar("T")
_ATTEMPTS_MAX = 5
# Number of commits after which the log is listed again, to find a newer checkpoint.
_LISTED_EVERY = 16


def load_snapshot(path: str, version: int | None = None, options: Mapping[str, Any] | None = None) -> Snapshot:
    """Loads the table at `path` (a directory, or a URL that fsspec supports) at `version`, or at its newest version.

    `options` are fsspec's storage options. Raises `DeltaTableNotFound`, `VersionNotFound`, `VersionsNotContiguous`,
    `LogTruncated`, `MissingPartFiles`, `MalformedLogEntry`, `LogFileNotFound`, `StateNotRecoverable`,
    `InvalidProtocolVersion`, `LogPathNotAllowed`.
    """
    return Snapshot.load(open_storage(path, options), version)


class Snapshot:
    """A pinned version of a table. Immutable and thread-safe. Made by `load_snapshot`, `load` and `advance`."""

    def __init__(
        self,
        storage: Storage,
        segment: LogSegment,
        state: TableState,
        source: LogReplay | LiveFiles | None,
        commit: FileStatus | None,
        recent: RecentCommits | None = None,
    ) -> None:
        """Creates a snapshot.

        `source` provides the files; None replays the segment. `commit` is the version's commit file. `recent` caches
        commits from this log; None on storage where a read is not a request.
        """
        self.storage = storage
        self.log_segment = segment
        self._state = state
        self._source = source
        self._commit = commit
        self._verified_by: Confinement | None = None
        self.recent = recent
        # The next version's commit if this process made it: its size in bytes, and its actions.
        self._next_commit: tuple[int, LogActions] | None = None
        self._log_files: list[FileStatus] | None = None
        self._lock = Lock()
        if state.protocol is None:
            raise StateNotRecoverable(storage.root, segment.version, "protocol")
        if state.metadata is None:
            raise StateNotRecoverable(storage.root, segment.version, "metaData")
        self.protocol: Protocol = state.protocol
        self.metadata: Metadata = state.metadata
        reader, writer = self.protocol.min_reader_version, self.protocol.min_writer_version
        if reader > READER_VERSION_MAX:
            supported = f"reader versions to {READER_VERSION_MAX}"
            raise InvalidProtocolVersion(storage.root, reader, writer, supported)

    @classmethod
    def load(cls, storage: Storage, version: int | None = None) -> Snapshot:
        """Reads the version from the log; the newest one by default.

        Raises errors for an unreadable log, and for a missing version.
        """
        recent = None if storage.LISTS_WHOLE_FOLDERS else RecentCommits()
        replay = _replay(storage, version, recent)
        segment = replay.segment
        commit = _commit_status(storage, segment) if storage.LISTS_WHOLE_FOLDERS else segment.commit
        return cls(storage, segment, replay.state, replay, commit, recent)

    def advance_once(self) -> Snapshot:
        """Returns the newest version for one statement by listing the whole log, which `list_log` then returns.

        Both together take one request. Errors as in `load_snapshot`.
        """
        listing = self.storage.list_files(LOG_DIR, version_prefix(0))
        # The listing of the whole log also serves VACUUM, whose `list_log` then needs no
        # second request; only the entries from this version on may take part in the
        # advance.
        first = version_prefix(self.version)
        newest = self._advance([status for status in listing if status.name >= first], is_listed=True)
        with newest._lock:
            source = newest._source
        found = Snapshot(newest.storage, newest.log_segment, newest._state, source, newest._commit, newest.recent)
        # `_advance` loads from scratch if the table was recreated; that load has listed
        # again, so the listing above may describe the log before it.
        known = (status.name == commit_name(newest.version) for status in listing)
        found._log_files = listing if any(known) else newest.list_log()
        return found

    def list_log(self) -> list[FileStatus]:
        """Returns the log's files, sorted by name."""
        if self._log_files is not None:
            return self._log_files
        return self.storage.list_files(LOG_DIR, version_prefix(0))

    def __repr__(self) -> str:
        return f"Snapshot({self.table_root!r}, version={self.version})"

    @property
    def format(self) -> str:
        return "delta"

    @property
    def version(self) -> int:
        return self.log_segment.version

    @cached_property
    def stamp(self) -> str:
        """Identifies the version by its commit file, like :meth:`advance`; without a commit file, by this object."""
        if self._commit is None:
            return uuid.uuid4().hex
        # The version alone is ambiguous: a table that was dropped and recreated in the same
        # place has the same versions again.
        return f"{self.metadata.id} {self.version} {self._commit.size} {self._commit.modified_ms}"

    @property
    def table_root(self) -> str:
        """Returns the table's root, an absolute local path or a URL. Relative file paths are resolved against it."""
        return self.storage.root

    @cached_property
    def schema(self) -> StructType:
        """Returns the columns by logical name, including partition columns. Raises `UnsupportedDataType`."""
        return self.config.schema

    @cached_property
    def config(self) -> DeltaConfig:
        """Returns the protocol, metadata and clustering combined: supported operations, enabled features."""
        clustering = self.domain_metadata.get(CLUSTERING_DOMAIN)
        config = DeltaConfig.of(self.table_root, self.protocol, self.metadata, clustering)
        # "Change Metadata": partitionColumns is a list that the schema does not constrain.
        # A name outside of the schema would otherwise fail at the first read, with a
        # message about the reader.
        for name in config.metadata.partition_columns:
            if config.schema.field(name) is None:
                raise MalformedLogEntry("metaData", f"partitionColumns has {name}, which is no column of the schema")
        return config

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """Returns the logical names, spelled as in the schema."""
        return self.config.metadata.partition_columns

    @property
    def set_transactions(self) -> Mapping[str, SetTransaction]:
        """Transactions by application id."""
        return self._state.set_transactions

    def metadata_table(self, name: str) -> None:
        """Returns None: Delta's log is exposed by statements, not by metadata tables."""

    def last_write_of(self, app_id: str) -> int | None:
        """Returns the version in an application's last transaction."""
        last = self.set_transactions.get(app_id)
        return None if last is None else last.version

    @property
    def domain_metadata(self) -> Mapping[str, DomainMetadata]:
        """Returns the metadata by domain, without removed domains."""
        return self._state.domain_metadata

    @cached_property
    def commit_info(self) -> CommitInfo | None:
        """Returns this version's `commitInfo`; None without one, or if the commit has been cleaned up."""
        deltas = self.log_segment.deltas
        # If the segment ends with a checkpoint, or with a compaction, the replay has not
        # seen the version's own commitInfo: "Action Reconciliation" keeps none, and neither
        # file contains it.
        if deltas and deltas[-1].kind is LogFileKind.COMMIT:
            return self._state.commit_info
        try:
            name = self.log_segment.last_commit
            return parse_commit_info(self.storage.read_bytes(name), name)
        except FileNotFoundError:
            return None

    @cached_property
    def timestamp_ms(self) -> int:
        """Returns the commit time in milliseconds since the epoch.

        This is the in-commit timestamp if enabled, else the commit file's modification time. Raises
        `MissingCommitInfo`, `MissingCommitTimestamp`.
        """
        # "In-Commit Timestamps", "Recommendations for Readers of Tables with In-Commit
        # Timestamps": the commitInfo's time replaces the file's. A missing one is an error,
        # not a reason to take the file's time, because the two need not ascend together.
        if self.config.is_enabled("inCommitTimestamp"):
            info = self.commit_info
            if info is None:
                raise MissingCommitInfo(self.table_root, self.version)
            if info.in_commit_timestamp is None:
                raise MissingCommitTimestamp(self.table_root, self.version)
            return info.in_commit_timestamp
        if self._commit is None:
            # The commit was cleaned up, and only the checkpoint is left to date the
            # version.
            checkpoint = self.log_segment.checkpoint
            return self.storage.stat(checkpoint.names[0]).modified_ms if checkpoint else 0
        return self._commit.modified_ms

    @cached_property
    def files(self) -> Any:
        """Returns the live files as a `FILES_SCHEMA` `pyarrow.Table`, one row per file, unordered.

        The rows are as in the log: call `ensure_files_allowed` before opening files. Raises `MalformedLogEntry`,
        `LogFileNotFound` if the checkpoint cannot be read and nothing replaces it.
        """
        return self.live_files.table()

    @property
    def live_files(self) -> LiveFiles:
        """Returns the version's live files; the first use reads the checkpoint."""
        with self._lock:
            source = self._source
            # Loaded under the lock: two statements that meet here would otherwise both read
            # the checkpoint, at twice the memory.
            if not isinstance(source, LiveFiles):
                source = self._source = _load(self, source, LogReplay.live_files)
            return source

    def ensure_files_allowed(self) -> None:
        """Raises `LogPathNotAllowed` for a forbidden file or vector location, `MalformedLogEntry` for an invalid size.

        Each file is checked once, in this version or in an earlier one.
        """
        confinement = self.storage.confinement
        if self._verified_by is not confinement:
            self.live_files.verify(confinement)
            self._verified_by = confinement

    @property
    def num_files(self) -> int:
        return self.live_files.num_rows

    @cached_property
    def size_bytes(self) -> int:
        """Returns the live files' total size in bytes."""
        return int(pc.sum(self.files["size"]).as_py() or 0)

    def stats(self, rows: Rows | None = None, columns: Collection[str] | None = None) -> Any:
        """Returns parsed statistics as a `stats_schema` `pyarrow.Table`, row-aligned with `files`.

        `rows` (ascending positions in `files`) restricts rows and parsing. `columns` (top-level physical names) are the
        columns that the result must contain.

        The result has physical names and the table columns' types. A value that cannot be parsed is null, which means
        unknown. Parsed statistics are cached and shared with later versions that have the same schema.
        """
        return parsed_stats(self.live_files, self.config, rows, columns)

    def partition_texts(self) -> Any:
        """Returns partition values as text: a `pyarrow.Table` with a dictionary-encoded column per partition column.

        It has physical names and is row-aligned with `files`; cached and shared with later versions like `stats`.
        """
        physical = physical_names(self.schema, self.config.column_mapping_mode)
        schema = partition_schema(physical[name] for name in self.partition_columns)
        return self.live_files.derive(
            schema, lambda batch: encode_partition_values(batch.column("partition_values"), schema)
        )

    def ensure_supported(self, operation: TableOperation) -> None:
        """Raises as `DeltaConfig.ensure_supported` does.

        Before reads, also raises if older files have types that cannot be read as the current ones.
        """
        self.config.ensure_supported(operation)
        # Tables from other writers may record type changes that this reader cannot apply to
        # older files. Only reads meet those files; describing or altering the table still
        # works.
        if operation is TableOperation.READ:
            ensure_readable_changes(self.table_root, self.schema)

    def scan(self, relation: str, label: str) -> Scan:
        """Returns a scan over the live files. Raises `LogPathNotAllowed` if the log contains a forbidden location."""
        self.ensure_files_allowed()
        return replace(self._scan, relation=relation, label=label)

    @cached_property
    def _scan(self) -> Scan:
        return table_scan(self.config, self.storage, self.files, relation="", label="")

    def scan_for_query(self, relation: str, label: str, asks: Callable[[str], bool]) -> Scan:
        return self.scan(relation, label)

    def narrow(self, condition: Predicate) -> Snapshot:
        """Returns the complete snapshot: the log determines the live files only as a whole."""
        return self

    @property
    def left_out(self) -> tuple[int, int]:
        return 0, 0

    def unresolved_deletes(self, relation: str, label: str) -> None:
        """Returns None: deletion vectors record all deleted rows."""

    def columns(self, time_zone: tzinfo | None = None) -> TableColumns:
        """Returns the columns for conditions. `time_zone` applies to timestamp partition values without an offset."""
        return table_columns(self.config, time_zone)

    def pruning(self, time_zone: tzinfo | None = None) -> FilePruning:
        """Returns file pruning over the live files, in the order of `files`."""
        return FilePruning(
            self.columns(time_zone),
            self.num_files,
            lambda name: self.partition_texts().column(name),
            self.stats,
        )

    @cached_property
    def distinct_counts(self) -> DistinctCounts:
        """Returns the counts from ANALYZE, as of the first access."""
        return read_distinct_counts(self.storage, self.config)

    def shown_partitions(self) -> pa.Table:
        texts = self.partition_texts()
        physical = self.columns().physical_partition_columns
        return pa.table([texts.column(name).cast(pa.string()) for name in physical], list(self.partition_columns))

    def counted_files(self, columns: Collection[str] = ()) -> CountedFiles:
        """Returns the files with statistics for `columns`.

        If no data column is requested, the statistics contain row counts only, which is cheap.
        """
        self.ensure_files_allowed()
        # COUNT(*) and counts by partition need only `numRecords`, which is found without
        # parsing the bounds.
        if set(columns) <= set(self.partition_columns):
            counts = self.live_files.derive(COUNTS_SCHEMA, lambda batch: parse_counts(batch.column("stats")))
            return CountedFiles(files=self.files, statistics=counts)
        physical = physical_names(self.schema, self.config.column_mapping_mode)
        requested = [physical[name] for name in columns if name in physical]
        return CountedFiles(files=self.files, statistics=self.stats(None, requested))

    @property
    def partition_generations(self) -> Mapping[str, str]:
        """Returns the expressions of generated partition columns, which all writers of the table have enforced."""
        # Without the feature a writer may ignore the expression, so that a partition value
        # does not follow from the column that the query restricts, and pruning by it would
        # lose rows.
        if not self.config.is_supported("generatedColumns"):
            return {}
        columns = (self.schema.field(name) for name in self.partition_columns)
        texts = {column.name: column.metadata.get(GENERATION) for column in columns if column}
        return {name: text for name, text in texts.items() if isinstance(text, str)}

    @property
    def row_files(self) -> DeltaRowFiles:
        return DeltaRowFiles(self.storage, self.config)

    @property
    def table_config(self) -> DeltaConfig:
        return self.config

    @property
    def details(self) -> TableDetails:
        """Raises `MissingCommitInfo`, `MissingCommitTimestamp`."""
        return replace(table_details(self.config), modified_ms=self.timestamp_ms)

    def creating_properties(self, label: str) -> list[tuple[str, str]]:
        """See `engine.delta.definition.like_tables.creating_properties`."""
        return creating_properties(label, self.config)

    @property
    def definition(self) -> Definition:
        return Definition.of(self.config)

    def change_definition(self, label: str, changes: Iterable[MetadataChange]) -> Definition:
        """See `change_table`."""
        return change_table(self.config.with_name(label), distinct(changes))

    def replace_definition(
        self,
        label: str,
        schema: StructType,
        partition_columns: tuple[str, ...],
        changes: Iterable[DefinitionChange],
        settings: Mapping[str, str],
    ) -> Definition:
        """See `redefine_table`."""
        config, changes = self.config.with_name(label), with_defaults(changes, settings)
        return redefine_table(config, schema, partition_columns=partition_columns, changes=changes)

    @property
    def checks(self) -> tuple[Constraint, ...]:
        """Returns the CHECK constraints, by name."""
        return tuple(check_constraints(self.metadata.configuration))

    def shared_files(self, label: str, wanted: str) -> SharedFiles:
        return shared_files(self.config, self.files)

    def find_commit(self, transaction_id: str, since_ms: int, *, changes_rows: bool) -> CommitSearch:
        """See `TableSnapshot.find_commit`; every commit in the log has an id."""
        return find_commit(self, transaction_id, since_ms)

    def history(self, limit: int | None = None) -> pa.Table:
        """See `load_history`."""
        return load_history(self, limit)

    @cached_property
    def tombstones(self) -> Any:
        """Returns the removed files, also the expired ones, as a `TOMBSTONES_SCHEMA` table. Read from the log."""
        return _load(self, None, LogReplay.tombstones)

    @property
    def num_bytes(self) -> int:
        """Returns the snapshot's approximate memory in bytes."""
        with self._lock:
            source = self._source
        recent = 0 if self.recent is None else self.recent.num_bytes
        tombstones = vars(self).get("tombstones")
        recent += sum(map(value_bytes, tombstones.to_batches())) if tombstones is not None else 0
        return recent + (source.num_bytes if isinstance(source, LiveFiles) else 0)

    def is_in_place(self) -> bool:
        """Returns whether the version's commit is still the same file as when it was read.

        It is not if the table was dropped or recreated in its place. Costs one file status request.
        """
        return self._commit is not None and self._commit.may_be(_commit_status(self.storage, self.log_segment))

    def is_gone(self) -> bool:
        """Returns whether the version is certainly no longer in place.

        A snapshot whose commit was removed by log cleanup, before or after it was read, returns False: commits are only
        cleaned up below a checkpoint.
        """
        try:
            if self._commit is None or self.is_in_place():
                return False
            return _commit_status(self.storage, self.log_segment) is not None or not self._has_checkpoint_since()
        except OSError:
            return False

    def _has_checkpoint_since(self) -> bool:
        parsed = map(parse_log_path, self.storage.list_names(LOG_DIR, version_prefix(self.version)))
        return any(found is not None and found.is_checkpoint for found in parsed)

    def _commits_by_name(self) -> list[FileStatus] | None:
        """Looks up this version's commit and the following ones by name, which is independent of the log's length.

        Returns None if a listing is needed: the commit is gone, a version is missing, a newer checkpoint may exist, or
        a listing takes no longer.
        """
        # An object store can begin a listing at a name, which is a single request; a local
        # file system reads the whole directory, however long the log.
        if not self.storage.begin_look_ups(LOG_DIR):
            return None
        commits: list[FileStatus] = []
        for version in range(self.version, self.version + _LISTED_EVERY + 1):
            status = _status(self.storage, version)
            if status is None:
                break
            commits.append(status)
        newest = self.version + len(commits) - 1
        if (
            not commits
            # At each multiple a listing finds the checkpoint that the look-ups cannot see,
            # whose name is unknown (a v2 checkpoint contains a UUID).
            or newest // _LISTED_EVERY != self.version // _LISTED_EVERY
            # A hole after `newest` means that the log is damaged, or that cleanup has
            # begun: the listing decides, with its own errors.
            or _status(self.storage, newest + 2) is not None
        ):
            return None
        return commits

    def advance(self) -> Snapshot:
        """Returns the newest version: this object if nothing was committed since. Errors as in `load_snapshot`."""
        listing = self._commits_by_name()
        is_listed = listing is None
        if listing is None:
            listing = self.storage.list_files(LOG_DIR, version_prefix(self.version))
        return self._advance(listing, is_listed=is_listed)

    def note_commit(self, version: int, data: bytes, appended: LogActions | None) -> None:
        """Caches a commit that a transaction on this snapshot made, so that `advance` reads it no more.

        `appended` has its actions, None if they must be parsed.
        """
        if self.recent is not None:
            self.recent.keep(commit_name(version), data)
        if appended is not None and version == self.version + 1:
            self._next_commit = len(data), appended

    def _read_next(self, fresh: tuple[LogPath, ...], commits: Mapping[int, FileStatus]) -> LogActions:
        """Returns the actions in the commits after this version, by version in `commits`."""
        noted = self._next_commit
        # Put-if-absent made the next version ours, and this version is still in place. The
        # size guards against a commit that was removed from the log, and replaced.
        if noted is not None and len(fresh) == 1 and commits[fresh[0].version].size == noted[0]:
            return noted[1]
        return read_commits(self.storage, fresh, self.recent)

    def _advance(self, listing: list[FileStatus], *, is_listed: bool) -> Snapshot:
        """Returns the newest version from a listing that begins with this version."""
        paths = [(status, path) for status in listing if (path := parse_log_path(status.name)) is not None]
        commits = {path.version: status for status, path in paths if path.kind is LogFileKind.COMMIT}
        extended = extend_segment(self.log_segment, (path for _, path in paths))
        found = commits.get(self.version)
        # An advance is only valid in the same log. The commit that this version was read
        # from is still there, with equal size and time; otherwise the directory holds
        # another table, or the commits between have expired.
        if extended is None or not (found is self._commit or (found is not None and found.may_be(self._commit))):
            return Snapshot.load(self.storage)  # cleaned up past this version, or another table in the same place
        segment, fresh = extended
        if not fresh:
            return self
        actions = self._read_next(fresh, commits)
        changes = reconcile_files(actions.adds, actions.removes)
        with self._lock:
            source = self._source
        # A source that was not loaded yet stays unloaded: the new snapshot replays the
        # extended segment when a statement first needs the files.
        files = source.change(changes.keys, changes.adds) if isinstance(source, LiveFiles) else None
        state = advance_state(self._state, actions)
        if is_listed and self.storage.LISTS_WHOLE_FOLDERS:
            # Without this the segment would grow by one commit per advance, and a later
            # replay (for tombstones) would read all of them although a checkpoint has been
            # written since.
            segment = _segment_on_newest_checkpoint(self.storage, segment)
        newest = Snapshot(self.storage, segment, state, files, commits[segment.version], self.recent)
        self._hand_over(newest, actions)
        return newest

    def _hand_over(self, newest: Snapshot, actions: LogActions) -> None:
        """Passes cached values that are valid for both versions to the version after `actions`."""
        known = vars(self)  # `cached_property` stores its values here
        governing = (newest.protocol, newest.metadata, newest.domain_metadata.get(CLUSTERING_DOMAIN))
        before = (self.protocol, self.metadata, self.domain_metadata.get(CLUSTERING_DOMAIN))
        # Identity, not equality: replay hands over the same objects unless a commit
        # contains new ones, and comparing schemas would cost more than parsing them rarely.
        if "config" in known and all(new is old for new, old in zip(governing, before, strict=True)):
            vars(newest)["config"] = self.config
        # "Action Reconciliation": a file that is added again is no tombstone any more, and
        # a new remove is one. Without either the set is unchanged.
        if "tombstones" in known and not actions.removes.num_rows and not self._revives(actions.adds.batches):
            vars(newest)["tombstones"] = self.tombstones

    def _revives(self, adds: Iterable[RecordBatch]) -> bool:
        """Returns whether a removed file is among `adds`."""
        if not self.tombstones.num_rows:
            return False
        removed = pa.chunked_array([file_keys(batch) for batch in self.tombstones.to_batches()], pa.string())
        return any(pc.any(pc.is_in(file_keys(batch), value_set=removed)).as_py() for batch in adds)


def _replay(
    storage: Storage, version: int | None, recent: RecentCommits | None, avoid: frozenset[str] = frozenset()
) -> LogReplay:
    """Replays a version, avoiding checkpoints and compactions that turn out to be unusable."""
    failure: DeltaError | None = None
    for _ in range(_ATTEMPTS_MAX):
        try:
            # After a failure the hint is not trusted: it may point to the very checkpoint
            # that turned out to be unusable.
            segment = find_segment(storage, version, avoid, use_hint=failure is None)
        except DeltaError as error:
            if failure is not None:
                raise failure from error  # the unreadable file is the cause, not the lack of a replacement
            raise
        try:
            return LogReplay(storage, segment, recent)
        except UnusableFile as error:
            # "Checkpoints": a checkpoint or compaction only abbreviates the commits, so
            # that an older one with more commits gives the same state.
            failure, avoid = error.error, avoid | error.names
        except LogFileNotFound as error:  # a commit was cleaned up since the listing: a checkpoint must exist now
            failure = error
    assert failure is not None
    raise failure


def _load(snapshot: Snapshot, source: LogReplay | None, read: Callable[[LogReplay], T]) -> T:
    """Returns `read(replay)` for the snapshot's version.

    If a file in its segment is unusable, replays another segment that yields the same version.
    """
    storage, avoid = snapshot.storage, frozenset[str]()
    replay = source
    while True:
        try:
            return read(replay or LogReplay(storage, snapshot.log_segment, snapshot.recent))
        # The state is loaded already and stays; only the files come from the replacement.
        except UnusableFile as error:
            avoid |= error.names
            try:
                replay = _replay(storage, snapshot.version, snapshot.recent, avoid)
            except (DeltaError, MalformedLogEntry) as other:
                raise error.error from other


def _segment_on_newest_checkpoint(storage: Storage, segment: LogSegment) -> LogSegment:
    """Returns the same version's segment on the newest checkpoint, which the last listing may not contain."""
    try:
        return find_segment(storage, segment.version)
    except DeltaError:
        return segment


def _commit_status(storage: Storage, segment: LogSegment) -> FileStatus | None:
    return _status(storage, segment.version)


def _status(storage: Storage, version: int) -> FileStatus | None:
    """Returns the status of the version's commit file, or None if it does not exist."""
    try:
        return storage.stat(f"{LOG_DIR}/{commit_name(version)}")
    except FileNotFoundError:
        return None
