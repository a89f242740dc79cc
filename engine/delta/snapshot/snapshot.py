"""A table at one version.

`load_snapshot` finds the log segment, replays it, and gives an immutable `Snapshot`. Protocol, metadata, transactions
and domains are read at once; the files of a checkpoint when they are first asked for, so that describing a table of a
million files costs as little as that of ten. What is pinned is the version: whatever is read later belongs to it, and
if the log was cleaned up since, that is an error and no other version.

`advance` gives the newest version from this one: one listing that begins here, and only the new commits are read. The
files that stayed are shared between the two (see `engine.delta.snapshot.live_files`).

Loading refuses unknown versions of the protocol, since these may change replay itself, but no unknown features:
describing such a table, or saying what stops a read, needs its state. Whether a table may be read or written is decided
by `config`, see `engine.delta.definition.table_config`.
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
from engine.delta.definition.table_config import TableConfig
from engine.delta.definition.table_draft import Definition, table_details
from engine.delta.log.commit_reader import LogActions, parse_commit_info
from engine.delta.log.file_table import encode_partition_values, file_keys, partition_schema
from engine.delta.log.log_segment import LogSegment, RecentCommits, extend_segment, find_segment
from engine.delta.schema.column_mapping import physical_names
from engine.delta.schema.type_widening import ensure_readable_changes
from engine.delta.snapshot.column_statistics import read_distinct_counts
from engine.delta.snapshot.file_stats import COUNTS_SCHEMA, parse_counts
from engine.delta.snapshot.history import load_history
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
from engine.delta.spec.paths import LOG_DIR, LogFileKind, commit_name, parse_log_path, version_prefix
from engine.delta.spec.protocols import READER_VERSION_MAX
from engine.pruning.estimates import DistinctCounts
from engine.pruning.metadata_answers import CountedFiles
from engine.pruning.predicates import Predicate
from engine.pruning.pruning import FilePruning
from engine.pruning.table_columns import TableColumns
from engine.storage.confinement import Confinement
from engine.storage.storage import FileStatus, Storage, open_storage
from engine.tables.column_metadata import GENERATION
from engine.tables.definition import TableDetails
from engine.tables.definition_changes import DefinitionChange
from engine.tables.operations import TableOperation
from engine.tables.rules import Constraint
from engine.tables.scan import Scan
from engine.tables.shared_files import SharedFiles
from engine.types.arrow_types import RecordBatch
from engine.types.schema import StructType
from engine.types.value_bytes import value_bytes

T = TypeVar("T")
_ATTEMPTS_MAX = 5
_LISTED_EVERY = 16
"""Commits after which a log is listed again, which finds a newer checkpoint."""


def load_snapshot(path: str, version: int | None = None, options: Mapping[str, Any] | None = None) -> Snapshot:
    """The table at `path` (a folder, or a URL that fsspec knows) at `version`, or at its newest.

    `options` are fsspec's storage options. Raises `DeltaTableNotFound`, `VersionNotFound`, `VersionsNotContiguous`,
    `LogTruncated`, `MissingPartFiles`, `MalformedLogEntry`, `LogFileNotFound`, `StateNotRecoverable`,
    `InvalidProtocolVersion`, `LogPathNotAllowed`.
    """
    return Snapshot.load(open_storage(path, options), version)


class Snapshot:
    """Immutable; safe to share between threads. Made by `load_snapshot`, `load` and `advance`."""

    def __init__(
        self,
        storage: Storage,
        segment: LogSegment,
        state: TableState,
        source: LogReplay | LiveFiles | None,
        commit: FileStatus | None,
        recent: RecentCommits | None = None,
    ) -> None:
        """`source` is where the files come from; None means a replay of the segment. `commit` is the version's file.

        `recent` has commits of this log; None where reading them is no request.
        """
        self.storage = storage
        self.log_segment = segment
        self._state = state
        self._source = source
        self._commit = commit
        self._verified_by: Confinement | None = None
        self.recent = recent
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
        recent = None if storage.LISTS_WHOLE_FOLDERS else RecentCommits()
        replay = _replay(storage, version, recent)
        segment = replay.segment
        commit = _commit_status(storage, segment) if storage.LISTS_WHOLE_FOLDERS else segment.commit
        return cls(storage, segment, replay.state, replay, commit, recent)

    def advance_once(self) -> Snapshot:
        """The newest version for one statement, found by a listing of the whole log, which its `list_log` returns:
        both together are one request. Errors as in `load_snapshot`.
        """
        listing = self.storage.list_files(LOG_DIR, version_prefix(0))
        first = version_prefix(self.version)
        newest = self._advance([status for status in listing if status.name >= first], is_listed=True)
        with newest._lock:
            source = newest._source
        found = Snapshot(newest.storage, newest.log_segment, newest._state, source, newest._commit, newest.recent)
        known = (status.name == commit_name(newest.version) for status in listing)
        found._log_files = listing if any(known) else newest.list_log()
        return found

    def list_log(self) -> list[FileStatus]:
        """The files of the log, sorted by name."""
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
        """By the file of its commit, as :meth:`advance` knows it again; without one this very object is meant."""
        if self._commit is None:
            return uuid.uuid4().hex
        return f"{self.metadata.id} {self.version} {self._commit.size} {self._commit.modified_ms}"

    @property
    def table_root(self) -> str:
        """An absolute local path, or a URL; relative paths of files hang below it."""
        return self.storage.root

    @cached_property
    def schema(self) -> StructType:
        """Columns by logical name, partition columns included. Raises `UnsupportedDataType`."""
        return self.config.schema

    @cached_property
    def config(self) -> TableConfig:
        """Protocol, metadata and clustering taken together: may an operation run, is a feature enabled."""
        clustering = self.domain_metadata.get(CLUSTERING_DOMAIN)
        config = TableConfig.of(self.table_root, self.protocol, self.metadata, clustering)
        for name in config.metadata.partition_columns:
            if config.schema.field(name) is None:
                raise MalformedLogEntry("metaData", f"partitionColumns has {name}, which is no column of the schema")
        return config

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """Logical names, as the schema spells them."""
        return self.config.metadata.partition_columns

    @property
    def set_transactions(self) -> Mapping[str, SetTransaction]:
        """By application id."""
        return self._state.set_transactions

    def metadata_table(self, name: str) -> None:
        """Delta has statements for what its log says."""

    def last_write_of(self, app_id: str) -> int | None:
        """The version of an application's last transaction."""
        last = self.set_transactions.get(app_id)
        return None if last is None else last.version

    @property
    def domain_metadata(self) -> Mapping[str, DomainMetadata]:
        """By domain, without the removed ones."""
        return self._state.domain_metadata

    @cached_property
    def commit_info(self) -> CommitInfo | None:
        """Of this version's commit; None where it has none, or the commit itself has been cleaned up."""
        deltas = self.log_segment.deltas
        if deltas and deltas[-1].kind is LogFileKind.COMMIT:
            return self._state.commit_info
        try:
            name = self.log_segment.last_commit
            return parse_commit_info(self.storage.read_bytes(name), name)
        except FileNotFoundError:
            return None

    @cached_property
    def timestamp_ms(self) -> int:
        """When the version was committed: its in-commit timestamp where enabled, else its file's time of modification.

        Raises `MissingCommitInfo`, `MissingCommitTimestamp`.
        """
        if self.config.is_enabled("inCommitTimestamp"):
            info = self.commit_info
            if info is None:
                raise MissingCommitInfo(self.table_root, self.version)
            if info.in_commit_timestamp is None:
                raise MissingCommitTimestamp(self.table_root, self.version)
            return info.in_commit_timestamp
        if self._commit is None:
            checkpoint = self.log_segment.checkpoint
            return self.storage.stat(checkpoint.names[0]).modified_ms if checkpoint else 0
        return self._commit.modified_ms

    @cached_property
    def files(self) -> Any:
        """The live files as a `pyarrow.Table` of `FILES_SCHEMA`, one row each, in no particular order.

        They are as the log has them: call `ensure_files_allowed` before opening some.
        Raises `MalformedLogEntry`, `LogFileNotFound` where the checkpoint cannot be read and nothing replaces it.
        """
        return self.live_files.table()

    @property
    def live_files(self) -> LiveFiles:
        with self._lock:
            source = self._source
            if not isinstance(source, LiveFiles):
                source = self._source = _load(self, source, LogReplay.live_files)
            return source

    def ensure_files_allowed(self) -> None:
        """Raises `LogPathNotAllowed` where a file or a deletion vector is said to lie where none may, and
        `MalformedLogEntry` for a size that none has. Looks once at every file, in this version or the one before.
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
        """The sizes of all live files together."""
        return int(pc.sum(self.files["size"]).as_py() or 0)

    def stats(self, rows: Rows | None = None, columns: Collection[str] | None = None) -> Any:
        """Parsed statistics: a `pyarrow.Table` of `stats_schema`, row for row beside `files`.

        With `rows` only those rows of it (positions in `files`, ascending), and only their statistics are parsed; with
        `columns` (physical names of the top level) at least what is said of these.

        Physical names, the types of the table's columns; a value that cannot be parsed is null, that is: unknown. What
        was parsed is kept and shared with later versions of the same schema.
        """
        return parsed_stats(self.live_files, self.config, rows, columns)

    def partition_texts(self) -> Any:
        """Partition values as texts: a `pyarrow.Table` with a dictionary-encoded column for each partition column.

        Physical names, row for row beside `files`; kept and shared with later versions like `stats`.
        """
        physical = physical_names(self.schema, self.config.column_mapping_mode)
        schema = partition_schema(physical[name] for name in self.partition_columns)
        return self.live_files.derive(
            schema, lambda batch: encode_partition_values(batch.column("partition_values"), schema)
        )

    def ensure_supported(self, operation: TableOperation) -> None:
        """As `TableConfig.ensure_supported`; before reading, also whether older files have types that can be read."""
        self.config.ensure_supported(operation)
        if operation is TableOperation.READ:
            ensure_readable_changes(self.table_root, self.schema)

    def scan(self, relation: str, label: str) -> Scan:
        """The live files, as they are read. Raises `LogPathNotAllowed` where the log leads elsewhere."""
        self.ensure_files_allowed()
        return replace(self._scan, relation=relation, label=label)

    @cached_property
    def _scan(self) -> Scan:
        return table_scan(self.config, self.storage, self.files, relation="", label="")

    def scan_for_query(self, relation: str, label: str, asks: Callable[[str], bool]) -> Scan:
        return self.scan(relation, label)

    def narrowed(self, condition: Predicate) -> Snapshot:
        """All of it: the log says which files are live only as a whole."""
        return self

    @property
    def left_out(self) -> tuple[int, int]:
        return 0, 0

    def unmarked_rows(self, relation: str, label: str) -> None:
        """None: vectors tell all rows that are deleted."""

    def columns(self, time_zone: tzinfo | None = None) -> TableColumns:
        """For conditions; `time_zone` is that of partition values that are timestamps without an offset."""
        return table_columns(self.config, time_zone)

    def pruning(self, time_zone: tzinfo | None = None) -> FilePruning:
        """The live files, in the order of `files`, ready to be asked about."""
        return FilePruning(
            self.columns(time_zone),
            self.num_files,
            lambda name: self.partition_texts().column(name),
            self.stats,
        )

    @cached_property
    def distinct_counts(self) -> DistinctCounts:
        """As ANALYZE left them when they were first asked for."""
        return read_distinct_counts(self.storage, self.config)

    def shown_partitions(self) -> pa.Table:
        texts = self.partition_texts()
        physical = self.columns().physical_partition_columns
        return pa.table([texts.column(name).cast(pa.string()) for name in physical], list(self.partition_columns))

    def counted_files(self, columns: Collection[str] = ()) -> CountedFiles:
        """With the statistics of these, or with numbers of rows alone where no data column is asked for: these take
        little.
        """
        self.ensure_files_allowed()
        if set(columns) <= set(self.partition_columns):
            counts = self.live_files.derive(COUNTS_SCHEMA, lambda batch: parse_counts(batch.column("stats")))
            return CountedFiles(files=self.files, statistics=counts)
        physical = physical_names(self.schema, self.config.column_mapping_mode)
        asked = [physical[name] for name in columns if name in physical]
        return CountedFiles(files=self.files, statistics=self.stats(None, asked))

    @property
    def partition_generations(self) -> Mapping[str, str]:
        """The expressions of generated partition columns, which every writer of the table has kept in step."""
        if not self.config.is_supported("generatedColumns"):
            return {}
        columns = (self.schema.field(name) for name in self.partition_columns)
        texts = {column.name: column.metadata.get(GENERATION) for column in columns if column}
        return {name: text for name, text in texts.items() if isinstance(text, str)}

    @property
    def row_files(self) -> DeltaRowFiles:
        return DeltaRowFiles(self.storage, self.config)

    @property
    def rules(self) -> TableConfig:
        return self.config

    @property
    def details(self) -> TableDetails:
        """Raises `MissingCommitInfo`, `MissingCommitTimestamp`."""
        return replace(table_details(self.config), modified_ms=self.timestamp_ms)

    def creating_properties(self, label: str) -> list[tuple[str, str]]:
        """As `engine.delta.definition.like_tables.creating_properties`."""
        return creating_properties(label, self.config)

    @property
    def definition(self) -> Definition:
        return Definition.of(self.config)

    def redefined(self, label: str, changes: Iterable[MetadataChange]) -> Definition:
        """As `change_table`."""
        return change_table(replace(self.config, table=label), distinct(changes))

    def replaced(
        self,
        label: str,
        schema: StructType,
        partition_columns: tuple[str, ...],
        changes: Iterable[DefinitionChange],
        settings: Mapping[str, str],
    ) -> Definition:
        """As `redefine_table`."""
        config, changes = replace(self.config, table=label), with_defaults(changes, settings)
        return redefine_table(config, schema, partition_columns=partition_columns, changes=changes)

    @property
    def checks(self) -> tuple[Constraint, ...]:
        """CHECK constraints, by name."""
        return tuple(check_constraints(self.metadata.configuration))

    def shared_files(self, label: str, wanted: str) -> SharedFiles:
        return shared_files(self.config, self.files)

    def history(self, limit: int | None = None) -> pa.Table:
        """As `load_history`."""
        return load_history(self, limit)

    @cached_property
    def tombstones(self) -> Any:
        """Removed files as a `pyarrow.Table` of `TOMBSTONES_SCHEMA`, expired ones included. Read from the log."""
        return _load(self, None, LogReplay.tombstones)

    @property
    def num_bytes(self) -> int:
        """About what the snapshot holds in memory."""
        with self._lock:
            source = self._source
        recent = 0 if self.recent is None else self.recent.num_bytes
        tombstones = vars(self).get("tombstones")
        recent += sum(map(value_bytes, tombstones.to_batches())) if tombstones is not None else 0
        return recent + (source.num_bytes if isinstance(source, LiveFiles) else 0)

    def is_in_place(self) -> bool:
        """Whether the version's commit is still the file that was there when it was read: no, where the table was
        dropped or another one was made in its place. Costs one look at that file.
        """
        return self._commit is not None and self._commit.may_be(_commit_status(self.storage, self.log_segment))

    def is_gone(self) -> bool:
        """Whether the version is surely not in place any more: one that has lost its commit by age cannot tell, before
        it was read or since. Commits are only cleaned up below a checkpoint.
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
        """Looks for this version's commit and those after it by their names, which takes as long in a long log as in a
        short one. None where a listing has to tell: the commit is gone, a version is missing, there may be a newer
        checkpoint, or a listing takes as long.
        """
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
            or newest // _LISTED_EVERY != self.version // _LISTED_EVERY
            or _status(self.storage, newest + 2) is not None
        ):
            return None
        return commits

    def advance(self) -> Snapshot:
        """The newest version: this object where nothing was committed since. Errors as in `load_snapshot`."""
        listing = self._commits_by_name()
        is_listed = listing is None
        if listing is None:
            listing = self.storage.list_files(LOG_DIR, version_prefix(self.version))
        return self._advance(listing, is_listed=is_listed)

    def _advance(self, listing: list[FileStatus], *, is_listed: bool) -> Snapshot:
        """The newest version by a listing that begins with this one."""
        paths = [(status, path) for status in listing if (path := parse_log_path(status.name)) is not None]
        commits = {path.version: status for status, path in paths if path.kind is LogFileKind.COMMIT}
        extended = extend_segment(self.log_segment, (path for _, path in paths))
        found = commits.get(self.version)
        if extended is None or not (found is self._commit or (found is not None and found.may_be(self._commit))):
            return Snapshot.load(self.storage)  # cleaned up beyond us, or another table in the same place
        segment, fresh = extended
        if not fresh:
            return self
        actions = read_commits(self.storage, fresh, self.recent)
        changes = reconcile_files(actions.adds, actions.removes)
        with self._lock:
            source = self._source
        files = source.change(changes.keys, changes.adds) if isinstance(source, LiveFiles) else None
        state = advance_state(self._state, actions)
        if is_listed and self.storage.LISTS_WHOLE_FOLDERS:
            segment = _rested(self.storage, segment)
        newest = Snapshot(self.storage, segment, state, files, commits[segment.version], self.recent)
        self._hand_over(newest, actions)
        return newest

    def _hand_over(self, newest: Snapshot, actions: LogActions) -> None:
        """Gives to the version after `actions` what is known of this one and holds for both."""
        known = vars(self)  # where `cached_property` keeps its values
        governing = (newest.protocol, newest.metadata, newest.domain_metadata.get(CLUSTERING_DOMAIN))
        before = (self.protocol, self.metadata, self.domain_metadata.get(CLUSTERING_DOMAIN))
        if "config" in known and all(new is old for new, old in zip(governing, before, strict=True)):
            vars(newest)["config"] = self.config
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
    """Replays a version, doing without checkpoints and compactions that turn out to be unusable."""
    failure: DeltaError | None = None
    for _ in range(_ATTEMPTS_MAX):
        try:
            segment = find_segment(storage, version, avoid, use_hint=failure is None)
        except DeltaError as error:
            if failure is not None:
                raise failure from error  # the file that cannot be read is the cause, that nothing replaces it is not
            raise
        try:
            return LogReplay(storage, segment, recent)
        except UnusableFile as error:
            failure, avoid = error.error, avoid | error.names
        except LogFileNotFound as error:  # a commit was cleaned up since the listing: a checkpoint must be there now
            failure = error
    assert failure is not None
    raise failure


def _load(snapshot: Snapshot, source: LogReplay | None, read: Callable[[LogReplay], T]) -> T:
    """`read(replay)` for the snapshot's version, from its segment or from whatever else gives the same version."""
    storage, avoid = snapshot.storage, frozenset[str]()
    replay = source
    while True:
        try:
            return read(replay or LogReplay(storage, snapshot.log_segment, snapshot.recent))
        except UnusableFile as error:
            avoid |= error.names
            try:
                replay = _replay(storage, snapshot.version, snapshot.recent, avoid)
            except (DeltaError, MalformedLogEntry) as other:
                raise error.error from other


def _rested(storage: Storage, segment: LogSegment) -> LogSegment:
    """The segment of the same version on the newest checkpoint, which may be older than the last listing."""
    try:
        return find_segment(storage, segment.version)
    except DeltaError:
        return segment


def _commit_status(storage: Storage, segment: LogSegment) -> FileStatus | None:
    return _status(storage, segment.version)


def _status(storage: Storage, version: int) -> FileStatus | None:
    """Returns the status of the version's commit; None where there is none."""
    try:
        return storage.stat(f"{LOG_DIR}/{commit_name(version)}")
    except FileNotFoundError:
        return None
