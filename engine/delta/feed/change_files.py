"""Converts commits' file actions to change files: files to read, with version and change type from the log.

A commit with `cdc` actions has its changes in these files only; their rows have a `_change_type`. For other commits the
data files contain the changes: if the action has `dataChange`, rows in an added file were inserted and rows in a
removed file deleted. A file that one commit removes and adds remains with another deletion vector: the deleted rows are
in the new vector but not in the old, rows restored are in the old vector but not in the new. So every row in a feed is
a row in a file: the columns `FEED_COLUMNS` are file constants, one deletion vector lists rows to skip and another the
only rows to read.

Protocol: "Change Data Files", "Add CDC File", "Reader Requirements for AddCDCFile"; delta-spark for MERGE commits that
changed nothing.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from catalog.conditions import ChangeFileNotFound, RemoveWithoutMetadata
from engine.delta.feed.change_range import VersionChanges
from engine.delta.log.commit_reader import FileRows
from engine.delta.log.file_table import CDC_SCHEMA, FILES_SCHEMA, STRING_MAP, TOMBSTONES_SCHEMA, nulls, with_entries
from engine.delta.spec.actions import CommitInfo
from engine.pruning.three_valued_logic import Mask
from engine.storage.deletion_vectors import DELETION_VECTOR
from engine.storage.storage import Storage
from engine.tables.changes import CHANGE_TYPE, COMMIT_TIMESTAMP, COMMIT_VERSION, DELETED, INSERTED
from engine.types.arrow_types import Array
from engine.types.partition_values import format_partition_value
from engine.types.schema import PrimitiveType

FEED_FILES_SCHEMA = pa.schema(
    [
        ("path", pa.string()),  # as in `FILES_SCHEMA`
        ("size", pa.int64()),  # bytes
        ("stats", pa.string()),  # for the rows to read; null if unknown
        ("modification_time", pa.int64()),  # unknown: 0
        ("partition_values", STRING_MAP),  # by physical name, including the feed's columns, as text
        ("deletion_vector", DELETION_VECTOR),  # rows to skip
        ("selected_rows", DELETION_VECTOR),  # the only rows to read; null: all
    ]
)

_MERGE = "MERGE"
_MERGE_METRICS = ("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted")


class ChangedFiles:
    """File actions from all relevant commits, with their versions; change rows are computed for all commits
    together.
    """

    def __init__(self, storage: Storage, versions: range) -> None:
        self._storage = storage
        self._first = versions.start
        self._times: list[str | None] = []
        self._adds = _Actions(FILES_SCHEMA)
        self._removes = _Actions(TOMBSTONES_SCHEMA)
        self._cdc = _Actions(CDC_SCHEMA)

    def take(self, change: VersionChanges) -> None:
        """Adds the next version's changes."""
        moment = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=change.timestamp_ms)
        self._times.append(format_partition_value(moment, PrimitiveType.TIMESTAMP))
        # "Reader Requirements for AddCDCFile": if a version has cdc actions, they are the
        # complete answer, and its adds and removes must be ignored.
        if change.actions.cdc.num_rows:
            self._cdc.append(change.actions.cdc, change.version)
        elif not _changed_nothing(change.actions.commit_info):
            self._adds.append(change.actions.adds, change.version)
            self._removes.append(change.actions.removes, change.version)

    def reads_removed(self, version: int) -> bool:
        """Returns whether the changes include rows from files that the version removed."""
        _, removed = _files_with_changes(*self._removes.table())
        return bool((removed == version).any())

    def change_files(self) -> pa.Table:
        """Returns the `cdc` actions' files with their commits' versions.

        The change type is in their rows (Delta PROTOCOL, "Add CDC File").
        """
        files, versions = self._cdc.table()
        return self._feed_files(files, versions, None)

    def data_files(self, *, is_partitioned: bool) -> pa.Table:
        """Returns one row per file and change type."""
        adds, added = _files_with_changes(*self._adds.table())
        removes, removed = _files_with_changes(*self._removes.table())
        if is_partitioned:
            self._ensure_partition_values(removes, removed)
        removes = self._with_sizes(removes, removed)
        # A path that a commit both removes and adds is one file with another deletion
        # vector, not a deletion and an insertion of all its rows.
        stays, remaining = _in_both(_keys(adds, added), _keys(removes, removed))
        goes = np.ones(len(removes), bool)
        goes[remaining] = False
        after = _where(adds, stays)
        before = removes.take(pa.array(remaining))
        return pa.concat_tables(
            [
                self._feed_files(_where(adds, ~stays), added[~stays], INSERTED),
                self._feed_files(_where(removes, goes), removed[goes], DELETED),
                self._changed_vectors(after, before, removed[remaining], DELETED),
                self._changed_vectors(before, after, removed[remaining], INSERTED),
            ]
        )

    def _changed_vectors(self, files: pa.Table, others: pa.Table, versions: Any, change_type: str) -> pa.Table:
        """Returns the rows in the vectors of `files` that are missing in the vectors of `others`, the same files."""
        # Without a vector on this side, no row was hidden here that the other side shows.
        has_vector = _mask(files["deletion_vector"].is_valid())
        picked, left_out = _where(files, has_vector), _where(others, has_vector)
        at = picked.schema.get_field_index("deletion_vector")
        selected = picked.append_column("selected_rows", picked["deletion_vector"])
        selected = selected.set_column(at, "deletion_vector", left_out["deletion_vector"])
        return self._feed_files(selected, versions[has_vector], change_type)

    def _feed_files(self, files: pa.Table, versions: Any, change_type: str | None) -> pa.Table:
        """Returns the files with their log entries, one version and change type each."""
        count = len(files)
        for batch in files.to_batches():
            # A snapshot checks its live files; these come from single commits and may be
            # live in no version that was loaded.
            self._storage.confinement.ensure_files(batch)
        texts = {
            COMMIT_VERSION: pa.array(versions).cast(pa.string()),
            COMMIT_TIMESTAMP: pa.array(self._times, pa.string()).take(pa.array(versions - self._first)),
        }
        if change_type is not None:
            texts[CHANGE_TYPE] = pa.repeat(pa.scalar(change_type), count)
        columns = {
            "path": files["path"],
            "size": files["size"],
            "modification_time": pa.repeat(pa.scalar(0, pa.int64()), count),
            "partition_values": with_entries(files["partition_values"].combine_chunks(), texts),
        }
        names = set(files.column_names)
        for name in ("deletion_vector", "selected_rows"):
            columns[name] = files[name] if name in names else nulls(DELETION_VECTOR, count)
        # Statistics may describe the live rows only, which excludes rows in a deletion vector.
        is_whole = "stats" in names and "selected_rows" not in names
        columns["stats"] = files["stats"] if is_whole else nulls(pa.string(), count)
        return pa.table(columns, FEED_FILES_SCHEMA)

    def _ensure_partition_values(self, removes: pa.Table, versions: Any) -> None:
        """Raises if partition values are missing: a remove may omit them, and they are stored nowhere else."""
        for row in np.flatnonzero(_mask(removes["partition_values"].is_null()))[:1]:
            raise RemoveWithoutMetadata(self._storage.root, int(versions[row]), removes["path"][int(row)].as_py())

    def _with_sizes(self, removes: pa.Table, versions: Any) -> pa.Table:
        """Adds missing file sizes from the storage: a remove may omit its file's size."""
        missing = np.flatnonzero(_mask(removes["size"].is_null()))
        if not len(missing):
            return removes
        sizes = removes["size"].to_pylist()
        for row in missing.tolist():
            path = removes["path"][row].as_py()
            try:
                sizes[row] = self._storage.stat(path).size
            except FileNotFoundError as error:
                raise ChangeFileNotFound(self._storage.root, int(versions[row]), path) from error
        at = removes.schema.get_field_index("size")
        return removes.set_column(at, "size", pa.array(sizes, pa.int64()))


class _Actions:
    """File actions from many commits, with their versions."""

    def __init__(self, schema: Any) -> None:
        self._schema = schema
        self._batches: list[Any] = []
        self._versions: list[int] = []
        self._counts: list[int] = []

    def append(self, rows: FileRows, version: int) -> None:
        if rows.num_rows:
            self._batches.extend(rows.batches)
            self._versions.append(version)
            self._counts.append(rows.num_rows)

    def table(self) -> tuple[pa.Table, Any]:
        """Returns the rows in log order, and their versions as a numpy array."""
        versions = np.repeat(np.array(self._versions, np.int64), np.array(self._counts, np.int64))
        return pa.Table.from_batches(self._batches, self._schema).combine_chunks(), versions


def _files_with_changes(files: pa.Table, versions: Any) -> tuple[pa.Table, Any]:
    changed = _mask(pc.fill_null(files["data_change"], True))
    return _where(files, changed), versions[changed]


def _where(files: pa.Table, mask: Mask) -> pa.Table:
    return files if mask.all() else files.filter(pa.array(mask))


def _mask(values: Any) -> Mask:
    """Converts Arrow booleans to numpy."""
    return np.asarray(values, dtype=bool)


def _keys(files: pa.Table, versions: Any) -> Array:
    """Returns keys that identify a file within its commit."""
    numbers = pa.array(versions).cast(pa.string())
    return pc.binary_join_element_wise(numbers, files["path"].combine_chunks(), "\0")


def _in_both(added: Array, removed: Array) -> tuple[Mask, Any]:
    """Returns a mask over added files that were also removed, and their positions among the removed ones.

    The positions are in the order of the added files.
    """
    if not len(removed):
        return np.zeros(len(added), bool), np.empty(0, np.int64)
    at = pc.index_in(added, value_set=removed)
    return _mask(at.is_valid()), pc.drop_null(at).to_numpy()


def _changed_nothing(info: CommitInfo | None) -> bool:
    """Returns whether the commit is a MERGE that reports no changes. It may have rewritten files nevertheless."""
    if info is None or info.operation != _MERGE or not isinstance(info.operation_metrics, dict):
        return False
    # As in delta-spark: a MERGE that matched nothing may still have rewritten files, and
    # its adds and removes would look like a deletion and insertion of equal rows.
    return all(info.operation_metrics.get(metric) == "0" for metric in _MERGE_METRICS)
