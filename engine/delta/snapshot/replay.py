"""Log replay: reconciles a checkpoint and the commits after it into a version's state.

Action reconciliation for a whole log segment: the newest protocol and the newest metadata win, the newest transaction
per application, the newest metadata per domain, and for files the newest action per identity `(path, deletion vector
id)`. Within a commit the later action wins, but a correct commit never has two for one identity.

Files are reconciled in bulk. The commits have few rows compared to the checkpoint, so only they are put into a hash
table. The checkpoint is streamed batch by batch, without the rows that a commit mentions. A checkpoint has one action
per identity, so this is sufficient.

The code verifies that checkpoints and log compactions are reconciled. One with two actions for a file, an application
or a domain, or with two protocols or metadatas, counts as unreadable. The log is then replayed without it, from the
commits, and rejected if these are gone.

Protocol: "Action Reconciliation".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from catalog.conditions import DeltaError, LogFileNotFound, MalformedLogEntry
from engine.delta.checkpoint.checkpoint_reader import CheckpointReader
from engine.delta.checkpoint.unique_keys import UniqueKeys
from engine.delta.log.commit_reader import CommitParser, FileRows, LogActions
from engine.delta.log.file_table import TOMBSTONES_SCHEMA, file_keys
from engine.delta.log.log_segment import LogSegment, RecentCommits
from engine.delta.snapshot.live_files import LiveFiles, drop_rows
from engine.delta.spec.actions import CommitInfo, DomainMetadata, Metadata, Protocol, SetTransaction
from engine.delta.spec.paths import LOG_DIR, LogFileKind, LogPath
from engine.storage.storage import Storage
from engine.types.arrow_types import Array, RecordBatch


@dataclass(frozen=True, slots=True, kw_only=True)
class TableState:
    """A version's state except its files. `protocol` and `metadata` are None if the log has none so far."""

    protocol: Protocol | None = None
    metadata: Metadata | None = None
    set_transactions: Mapping[str, SetTransaction]
    # Without removed domains.
    domain_metadata: Mapping[str, DomainMetadata]
    # From the version's own commit; None if a checkpoint or a compaction was read instead, or the commit has none.
    commit_info: CommitInfo | None = None


EMPTY_STATE = TableState(set_transactions={}, domain_metadata={})


def advance_state(state: TableState, actions: LogActions) -> TableState:
    """Returns the state after later actions."""
    domains = {**state.domain_metadata, **actions.domain_metadata}
    return TableState(
        protocol=actions.protocol or state.protocol,
        metadata=actions.metadata or state.metadata,
        set_transactions={**state.set_transactions, **actions.set_transactions},
        # A removed domain is a tombstone: it supersedes the older action, and has no
        # further effect ("Domain Metadata").
        domain_metadata={name: domain for name, domain in domains.items() if not domain.removed},
        # Not inherited: provenance describes one version only.
        commit_info=actions.commit_info,
    )


@dataclass(frozen=True, slots=True)
class FileChanges:
    """File actions from several commits, reconciled among themselves."""

    # The identities that the commits mention. They supersede earlier actions on the same identities.
    keys: Array
    # Files that are live after the commits, in `FILES_SCHEMA`.
    adds: tuple[RecordBatch, ...]
    # Files that are removed after the commits, in `TOMBSTONES_SCHEMA`.
    removes: tuple[RecordBatch, ...]


def reconcile_files(adds: FileRows, removes: FileRows) -> FileChanges:
    """Selects the last action per identity, in O(rows)."""
    batches = (*adds.batches, *removes.batches)
    if not batches:
        return FileChanges(pa.array([], pa.string()), (), ())
    keys = pa.chunked_array([file_keys(batch) for batch in batches], pa.string()).combine_chunks()
    # The key contains the deletion vector's id: the same path with another vector is
    # another logical file ("Add File and Remove File").
    encoded = keys.dictionary_encode()
    codes = encoded.indices.to_numpy()
    orders = np.concatenate((*adds.orders, *removes.orders))
    newest = np.zeros(len(encoded.dictionary), np.int64)
    # `order` is the action's position in the whole segment, so the maximum is the newest
    # action.
    np.maximum.at(newest, codes, orders)
    wins = newest[codes] == orders
    split = adds.num_rows
    return FileChanges(encoded.dictionary, _select(adds.batches, wins[:split]), _select(removes.batches, wins[split:]))


class UnusableFile(Exception):
    """A checkpoint or compaction cannot be read, but the log may not need it. Never escapes this package."""

    def __init__(self, names: frozenset[str], error: DeltaError) -> None:
        super().__init__(str(error))
        # File names in the log to avoid in the next attempt.
        self.names = names
        self.error = error


class LogReplay:
    """The replay of one segment. Reads the commits immediately and the checkpoint's files on demand.

    The constructor and all methods raise `UnusableFile` for a file that another segment may avoid, and
    `MalformedLogEntry` or `LogFileNotFound` for a commit.
    """

    def __init__(self, storage: Storage, segment: LogSegment, recent: RecentCommits | None = None) -> None:
        """Reads the commits; `recent` as in `read_commits`."""
        self.segment = segment
        self._checkpoint = CheckpointReader(storage, segment.checkpoint) if segment.checkpoint else None
        if self._checkpoint is None:
            state, actions = EMPTY_STATE, read_commits(storage, segment.deltas, recent)
        else:
            # At the same time, which saves a round trip to an object store.
            with ThreadPoolExecutor(1, "commits") as threads, self._guarding_checkpoint():
                commits = threads.submit(read_commits, storage, segment.deltas, recent)
                # The file actions are left for later: most statements on metadata never
                # need them.
                state = advance_state(EMPTY_STATE, self._checkpoint.read_small_actions())
            actions = commits.result()
        # Actions after the checkpoint supersede its actions (Protocol: "Action Reconciliation").
        self.state = advance_state(state, actions)
        self._changes = reconcile_files(actions.adds, actions.removes)

    def live_files(self) -> LiveFiles:
        """Returns the live files: the checkpoint's adds, changed by the commits after it."""
        files = LiveFiles()
        if self._checkpoint is not None:
            with self._guarding_checkpoint():
                files = LiveFiles.of(self._checkpoint.read_adds())
        return files.change(self._changes.keys, self._changes.adds)  # shares the unchanged files without copying

    def tombstones(self) -> Any:
        """Returns all removed files as a `TOMBSTONES_SCHEMA` table, including expired ones."""
        batches: list[RecordBatch] = []
        if self._checkpoint is not None:
            with self._guarding_checkpoint():
                # Tombstones of the checkpoint survive unless a later commit mentions the
                # identity: an `add` after them restored the file.
                batches.extend(self._drop_changed_rows(self._checkpoint.read_removes()))
        return pa.Table.from_batches([*batches, *self._changes.removes], TOMBSTONES_SCHEMA)

    def _drop_changed_rows(self, batches: Iterable[RecordBatch]) -> Iterable[RecordBatch]:
        """Yields the rows that no commit after the checkpoint mentions."""
        keys = self._changes.keys
        return (drop_rows(batch, keys) for batch in batches) if len(keys) else batches

    @contextmanager
    def _guarding_checkpoint(self) -> Iterator[None]:
        try:
            yield
        except (MalformedLogEntry, LogFileNotFound) as error:
            assert self.segment.checkpoint is not None
            raise UnusableFile(frozenset(file.name for file in self.segment.checkpoint.files), error) from error


def read_commits(storage: Storage, deltas: Sequence[LogPath], recent: RecentCommits | None = None) -> LogActions:
    """Reads the actions from commits and compactions, oldest first, through the cache `recent`.

    Raises `MalformedLogEntry`, `LogFileNotFound`; for a compaction `UnusableFile`.
    """
    names = [f"{LOG_DIR}/{file.name}" for file in deltas]
    parser = CommitParser()
    contents = _contents(storage, deltas, recent) if recent is not None else storage.read_many(names)
    compactions: list[tuple[LogPath, range]] = []
    for file, name in zip(deltas, names, strict=True):
        try:
            if file.kind is LogFileKind.COMPACTION:
                compactions.append((file, parser.feed_compaction(next(contents), name)))
            else:
                parser.feed(next(contents), name)
        except (MalformedLogEntry, FileNotFoundError) as error:
            named = error if isinstance(error, MalformedLogEntry) else LogFileNotFound(storage.path_of(name))
            if file.kind is LogFileKind.COMPACTION:
                # A compaction is optional: the commits that it replaces contain the same
                # actions ("Log Compaction Files").
                raise UnusableFile(frozenset((file.name,)), named) from error
            raise named from error
    actions = parser.finish()
    for file, places in compactions:
        _ensure_reconciled(file, actions, places)
    return actions


def _contents(storage: Storage, deltas: Sequence[LogPath], recent: RecentCommits) -> Iterator[bytes]:
    known = {file.name: recent.find(file.name) for file in deltas}
    read = storage.read_many([f"{LOG_DIR}/{name}" for name, data in known.items() if data is None])
    for file in deltas:
        data = known[file.name]
        if data is None:
            data = next(read)
            # Compactions are long, and are replaced by the next checkpoint; only commits
            # are read again.
            if file.kind is LogFileKind.COMMIT:
                recent.keep(file.name, data)
        yield data


def _ensure_reconciled(file: LogPath, actions: LogActions, places: range) -> None:
    """Raises `UnusableFile` if a compaction's actions, at `places`, mention a file twice."""
    keys = UniqueKeys()
    for rows in (actions.adds, actions.removes):
        for batch, order in zip(rows.batches, rows.orders, strict=True):
            first, stop = np.searchsorted(order, [places.start, places.stop]).tolist()
            keys.add(batch.slice(first, stop - first))
    if (path := keys.find_duplicate()) is not None:
        error = MalformedLogEntry(f"{LOG_DIR}/{file.name}", f"it is not reconciled: it mentions {path} twice")
        raise UnusableFile(frozenset((file.name,)), error)


def _select(batches: Iterable[RecordBatch], mask: npt.NDArray[np.bool_]) -> tuple[RecordBatch, ...]:
    selected, start = [], 0
    for batch in batches:
        part = mask[start : start + len(batch)]
        selected.append(batch if part.all() else batch.filter(pa.array(part)))
        start += len(batch)
    return tuple(batch for batch in selected if len(batch))
