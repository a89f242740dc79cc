"""The change data feed of a range of versions, as files to read.

A commit that has `cdc` actions says its changes in these files alone, whose rows have their `_change_type`. Any other
commit says them by its data files: rows of an added file were inserted, rows of a removed one deleted, where the action
has `dataChange`. A file that is removed and added in one commit stays, and has another deletion vector: the rows
deleted are those of the new vector that the old one lacks, the rows inserted again those of the old that the new one
lacks. So every row of the feed is a row of a file with what the log says of the file: the columns
:data:`FEED_COLUMNS`, a vector of rows that are left out and one of rows that alone are read.

Rows are read with the columns of one version: of the latest, as Delta does it, or of the last in the range for a table
with column mapping. A range in which columns were dropped, renamed or changed cannot be read so and is refused, as is
one that holds a version without a feed.

Protocol: "Change Data Files", "Add CDC File", "Reader Requirements for AddCDCFile"; delta-spark for the choice of
columns, for MERGE commits that changed nothing, and for what is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.delta.change_errors import (
    ChangeDataMissing,
    ChangeFileNotFound,
    IncompatibleDataSchema,
    IncompatibleSchemaChange,
    RemoveWithoutMetadata,
)
from engine.delta.change_range import VersionChanges, load_changes
from engine.delta.column_mapping import NO_MAPPING, physical_names
from engine.delta.commit_reader import FileRows
from engine.delta.commit_times import CommitTimes, format_time
from engine.delta.file_table import (
    CDC_SCHEMA,
    DELETION_VECTOR,
    FILES_SCHEMA,
    STRING_MAP,
    TOMBSTONES_SCHEMA,
    Array,
    nulls,
    with_entries,
)
from engine.delta.schema_errors import ReservedColumnNames
from engine.delta.schema_reading import is_readable_with
from engine.delta.snapshot import Snapshot
from engine.delta.spec.actions import CommitInfo
from engine.delta.spec.features import Operation
from engine.delta.spec.properties import CHANGE_DATA_FEED
from engine.delta.spec.schema import PrimitiveType, StructField, StructType
from engine.delta.storage import Storage
from engine.delta.table_config import TableConfig
from engine.delta.truth import Mask
from engine.delta.type_widening import ensure_readable_changes

CHANGE_TYPE, COMMIT_VERSION, COMMIT_TIMESTAMP = "_change_type", "_commit_version", "_commit_timestamp"
FEED_COLUMNS = (
    StructField(CHANGE_TYPE, PrimitiveType.STRING),
    StructField(COMMIT_VERSION, PrimitiveType.LONG),
    StructField(COMMIT_TIMESTAMP, PrimitiveType.TIMESTAMP),
)

FEED_FILES_SCHEMA = pa.schema(
    [
        ("path", pa.string()),  # as in `FILES_SCHEMA`
        ("size", pa.int64()),  # bytes
        ("modification_time", pa.int64()),  # not known: 0
        ("partition_values", STRING_MAP),  # by physical name, with the feed's columns, as texts
        ("deletion_vector", DELETION_VECTOR),  # rows that are left out
        ("selected_rows", DELETION_VECTOR),  # rows that alone are read; null: all
    ]
)

_INSERT, _DELETE = "insert", "delete"
_MERGE = "MERGE"
_MERGE_METRICS = ("numTargetRowsInserted", "numTargetRowsUpdated", "numTargetRowsDeleted")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeFeed:
    """What `versions` of a table changed; `read_version` is the one whose columns are read."""

    versions: range
    read_version: int
    table_columns: StructType
    partition_columns: tuple[str, ...]
    mapping_mode: str
    data_files: pa.Table
    """Of `FEED_FILES_SCHEMA`; partition values have all of :data:`FEED_COLUMNS`."""
    change_files: pa.Table
    """Of `FEED_FILES_SCHEMA`; the change type is a column of the files."""

    @property
    def schema(self) -> StructType:
        """The table's columns and the feed's own."""
        return StructType((*self.table_columns.fields, *FEED_COLUMNS))


def load_change_feed(
    table: Snapshot, times: CommitTimes, versions: range, load: Callable[[int], Snapshot]
) -> ChangeFeed:
    """The changes of `versions`; `table` is the newest snapshot, `times` are its own, `load` gives older ones.

    Raises `ChangeDataMissing`, `IncompatibleSchemaChange`, `IncompatibleDataSchema`, `UnsupportedReaderFeatures`,
    `UnsupportedTypeChange`, `ReservedColumnNames`, `RemoveWithoutMetadata`, `ChangeFileNotFound`, and what
    `load_changes` raises.
    """
    changed = _ChangedFiles(table.storage, versions)
    configs: list[tuple[int, TableConfig]] = []
    if versions:
        changes = load_changes(table, versions[0], versions[-1], times)
        configs.append((versions[0], load(versions[0]).config))
        _ensure_feed(versions, *configs[0])
        for change in changes:
            actions, (since, config) = change.actions, configs[-1]
            if change.version > since and (actions.metadata or actions.protocol):
                metadata, protocol = actions.metadata or config.metadata, actions.protocol or config.protocol
                configs.append((change.version, TableConfig.of(config.table, protocol, metadata)))
                _ensure_feed(versions, *configs[-1])
            changed.take(change)
    read_version, read = _choose_columns(table, versions, configs)
    _ensure_readable(versions, configs, read_version, read)
    return ChangeFeed(
        versions=versions,
        read_version=read_version,
        table_columns=read.schema,
        partition_columns=read.metadata.partition_columns,
        mapping_mode=read.column_mapping_mode,
        data_files=changed.data_files(is_partitioned=bool(read.metadata.partition_columns)),
        change_files=changed.change_files(),
    )


def _ensure_feed(versions: range, version: int, config: TableConfig) -> None:
    config.ensure_supported(Operation.CDF_READ)
    if not config.get(CHANGE_DATA_FEED):
        raise ChangeDataMissing(config.table, versions[0], versions[-1], version)


def _choose_columns(
    table: Snapshot, versions: range, configs: Sequence[tuple[int, TableConfig]]
) -> tuple[int, TableConfig]:
    """The version whose columns are read, and what governs it."""
    ends = [table.config, *(config for _, config in configs[:1]), *(config for _, config in configs[-1:])]
    if versions and any(config.column_mapping_mode != NO_MAPPING for config in ends):
        return versions[-1], configs[-1][1]
    return table.version, table.config


def _ensure_readable(
    versions: range, configs: Sequence[tuple[int, TableConfig]], read_version: int, read: TableConfig
) -> None:
    read.ensure_supported(Operation.CDF_READ)
    ensure_readable_changes(read.table, read.schema)
    names = physical_names(read.schema, read.column_mapping_mode)
    own = {column.name for column in FEED_COLUMNS}
    taken = [name for name, physical in names.items() if {name.casefold(), physical.casefold()} & own]
    if taken:
        raise ReservedColumnNames(", ".join(taken))
    for version, config in configs[1:]:
        if not is_readable_with(config, read):
            raise IncompatibleSchemaChange(read.table, versions[0], versions[-1], version, read_version)
    if configs and not is_readable_with(configs[0][1], read):
        raise IncompatibleDataSchema(read.table, versions[0], versions[-1], read_version)


class _ChangedFiles:
    """The file actions of all commits that count, each with its version; what they mean is computed for all at once."""

    def __init__(self, storage: Storage, versions: range) -> None:
        self._storage, self._first = storage, versions.start
        self._times: list[str] = []
        self._adds, self._removes, self._cdc = _Rows(FILES_SCHEMA), _Rows(TOMBSTONES_SCHEMA), _Rows(CDC_SCHEMA)

    def take(self, change: VersionChanges) -> None:
        """The next version's."""
        self._times.append(format_time(change.timestamp_ms))
        if change.actions.cdc.num_rows:
            self._cdc.append(change.actions.cdc, change.version)
        elif not _changed_nothing(change.actions.commit_info):
            self._adds.append(change.actions.adds, change.version)
            self._removes.append(change.actions.removes, change.version)

    def change_files(self) -> pa.Table:
        files, versions = self._cdc.table()
        return self._feed_files(files, versions, None)

    def data_files(self, *, is_partitioned: bool) -> pa.Table:
        """One row for each file and kind of change."""
        adds, added = _where_changed(*self._adds.table())
        removes, removed = _where_changed(*self._removes.table())
        if is_partitioned:
            self._ensure_partition_values(removes, removed)
        removes = self._with_sizes(removes, removed)
        at = pc.index_in(_keys(adds, added), value_set=_keys(removes, removed))
        stays = _mask(at.is_valid())
        kept = pc.drop_null(at).to_numpy()
        goes = np.ones(len(removes), bool)
        goes[kept] = False
        after, before = adds.filter(pa.array(stays)), removes.take(pa.array(kept))
        return pa.concat_tables(
            [
                self._feed_files(adds.filter(pa.array(~stays)), added[~stays], _INSERT),
                self._feed_files(removes.filter(pa.array(goes)), removed[goes], _DELETE),
                self._changed_vectors(after, before, removed[kept], _DELETE),
                self._changed_vectors(before, after, removed[kept], _INSERT),
            ]
        )

    def _changed_vectors(self, files: pa.Table, others: pa.Table, versions: Any, change_type: str) -> pa.Table:
        """The rows in the vectors of `files` that are not in those of `others`, the same files."""
        chosen = _mask(files["deletion_vector"].is_valid())
        picked, left_out = (table.filter(pa.array(chosen)) for table in (files, others))
        at = picked.schema.get_field_index("deletion_vector")
        selected = picked.append_column("selected_rows", picked["deletion_vector"])
        selected = selected.set_column(at, "deletion_vector", left_out["deletion_vector"])
        return self._feed_files(selected, versions[chosen], change_type)

    def _feed_files(self, files: pa.Table, versions: Any, change_type: str | None) -> pa.Table:
        """The files with what the log says of them, one version and change type each."""
        count = len(files)
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
        for name in ("deletion_vector", "selected_rows"):
            columns[name] = files[name] if name in files.column_names else nulls(DELETION_VECTOR, count)
        return pa.table(columns, FEED_FILES_SCHEMA)

    def _ensure_partition_values(self, removes: pa.Table, versions: Any) -> None:
        """A remove need not have them, and they are nowhere else."""
        for row in np.flatnonzero(_mask(removes["partition_values"].is_null()))[:1]:
            raise RemoveWithoutMetadata(self._storage.root, int(versions[row]), removes["path"][int(row)].as_py())

    def _with_sizes(self, removes: pa.Table, versions: Any) -> pa.Table:
        """A remove need not have the size of its file; then the file is asked."""
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


class _Rows:
    """File actions of many commits, and the version of each."""

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
        """The rows in the order of the log, and their versions as a numpy array."""
        versions = np.repeat(np.array(self._versions, np.int64), np.array(self._counts, np.int64))
        return pa.Table.from_batches(self._batches, self._schema), versions


def _where_changed(files: pa.Table, versions: Any) -> tuple[pa.Table, Any]:
    changed = _mask(pc.fill_null(files["data_change"], True))
    return files.filter(pa.array(changed)), versions[changed]


def _mask(values: Any) -> Mask:
    """Booleans of Arrow as numpy has them."""
    return np.asarray(values, dtype=bool)


def _keys(files: pa.Table, versions: Any) -> Array:
    """A file within its commit."""
    numbers = pa.array(versions).cast(pa.string())
    return pc.binary_join_element_wise(numbers, files["path"].combine_chunks(), "\0")


def _changed_nothing(info: CommitInfo | None) -> bool:
    """Whether the commit is a MERGE that says so: it may have rewritten files all the same."""
    if info is None or info.operation != _MERGE or not isinstance(info.operation_metrics, dict):
        return False
    return all(info.operation_metrics.get(metric) == "0" for metric in _MERGE_METRICS)
