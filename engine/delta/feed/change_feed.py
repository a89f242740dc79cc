"""The change data feed for a version range: checks, columns, and files.

Rows are read with the columns of one version: the latest, as in Delta, or for a table with column mapping the range's
last. A range in which columns were dropped, renamed or changed cannot be read this way and is rejected, as is a range
with a version without a feed or with unsupported reader features. `engine.delta.feed.change_files` determines the
changes in each commit.

`is_readable_with` decides if a version's files can be read with a later version's columns. They can if columns were
only added or widened: each older column still exists under its name, maps to the same physical column, and has a type
that can be read as the newer one.

Protocol: "Change Data Files"; the choice of columns and the rejected cases follow delta-spark.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import tzinfo

import pyarrow as pa

from catalog.conditions import ChangeDataMissing, IncompatibleDataSchema, IncompatibleSchemaChange, ReservedColumnNames
from engine.delta.definition.table_config import DeltaConfig
from engine.delta.feed.change_files import ChangedFiles
from engine.delta.feed.change_range import load_changes
from engine.delta.schema.column_mapping import (
    NO_MAPPING,
    column_id,
    file_layout,
    physical_name,
    physical_names,
    physical_schema,
)
from engine.delta.schema.type_widening import ensure_readable_changes
from engine.delta.snapshot.commit_times import CommitTimes
from engine.delta.snapshot.file_stats import batch_pruning
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.snapshot.table_scan import collated_columns, with_decoded_vectors
from engine.delta.spec.properties import CHANGE_DATA_FEED
from engine.pruning.pruning import FilePruning
from engine.pruning.table_columns import TableColumns
from engine.storage.confinement import FilePlaces
from engine.tables.changes import CHANGE_TYPE, COMMIT_TIMESTAMP, COMMIT_VERSION, FEED_COLUMNS, ChangeFiles
from engine.tables.operations import TableOperation
from engine.types.schema import ArrayType, DataType, MapType, StructType
from engine.types.schema_changes import is_widening


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeFeed:
    """A table's changes in `versions`; `read_version` is the version whose columns are read."""

    versions: range
    read_version: int
    table_columns: StructType
    partition_columns: tuple[str, ...]
    mapping_mode: str
    file_places: FilePlaces
    # Data files in `FEED_FILES_SCHEMA`; partition values contain all :data:`FEED_COLUMNS`.
    data_files: pa.Table
    # Change files in `FEED_FILES_SCHEMA`; the change type is a column in the files.
    change_files: pa.Table

    @property
    def schema(self) -> StructType:
        """Returns the table's columns and the feed's own."""
        return StructType((*self.table_columns.fields, *FEED_COLUMNS))

    @property
    def kinds(self) -> tuple[ChangeFiles, ...]:
        """Returns the files by the change type's location: in the log, or in a file column."""
        in_log = self._kind(self.data_files, CHANGE_TYPE, COMMIT_VERSION, COMMIT_TIMESTAMP)
        in_rows = self._kind(self.change_files, COMMIT_VERSION, COMMIT_TIMESTAMP)
        return tuple(kind for kind in (in_log, in_rows) if len(kind.files)) or (in_log,)

    def _kind(self, files: pa.Table, *constants: str) -> ChangeFiles:
        columns = (*self.partition_columns, *constants)
        layout = file_layout(self.schema, self.mapping_mode, columns)
        return ChangeFiles(with_decoded_vectors(files), columns, layout, collated_columns(self.schema, columns))

    def pruning(self, kind: ChangeFiles, time_zone: tzinfo | None) -> FilePruning:
        """Returns file pruning. Only added files have statistics."""
        columns = TableColumns(
            schema=self.schema,
            partition_columns=kind.partition_columns,
            physical_schema=physical_schema(self.schema, self.mapping_mode),
            time_zone=time_zone,
        )
        batches = kind.files.combine_chunks().to_batches() or [pa.RecordBatch.from_pylist([], kind.files.schema)]
        return batch_pruning(batches[0], columns)


def load_change_feed(
    table: Snapshot,
    times: CommitTimes,
    versions: range,
    load: Callable[[int], Snapshot],
    *,
    requires_feed: bool = True,
) -> ChangeFeed:
    """Returns the change feed of a range of versions ("Add CDC File"): change files, and data files of other versions.

    `table` is the newest snapshot, `times` are its commits' times, `load` returns older snapshots. Without
    `requires_feed` the versions only add files, which are their changes whether or not a feed is enabled. Raises
    `ChangeDataMissing`, `IncompatibleSchemaChange`, `IncompatibleDataSchema`, `UnsupportedReaderFeatures`,
    `UnsupportedTypeChange`, `ReservedColumnNames`, `RemoveWithoutMetadata`, `ChangeFileNotFound`, and the errors of
    `load_changes`.
    """
    changed = ChangedFiles(table.storage, versions)
    configs: list[tuple[int, DeltaConfig]] = []
    redefined = False
    if versions:
        changes = load_changes(table, versions[0], versions[-1], times)
        configs.append((versions[0], load(versions[0]).config))
        _ensure_feed(versions, *configs[0], is_required=requires_feed)
        for change in changes:
            actions, (since, config) = change.actions, configs[-1]
            if change.version > since and (actions.metadata or actions.protocol):
                metadata, protocol = actions.metadata or config.metadata, actions.protocol or config.protocol
                configs.append((change.version, DeltaConfig.of(config.table, protocol, metadata)))
                _ensure_feed(versions, *configs[-1], is_required=requires_feed)
            # The first version's own schema change: its removed files have the schema
            # before it.
            elif change.version == since:
                redefined = actions.metadata is not None
            changed.take(change)
    read_version, read = _choose_columns(table, versions, configs)
    _ensure_readable(versions, configs, read_version, read)
    if redefined and versions[0] > 0 and changed.reads_removed(versions[0]):
        before = load(versions[0] - 1).config
        if not is_readable_with(before, read, without_dropped=True):
            raise IncompatibleDataSchema(read.table, versions[0], versions[-1], read_version)
    return ChangeFeed(
        versions=versions,
        read_version=read_version,
        table_columns=read.schema,
        partition_columns=read.metadata.partition_columns,
        mapping_mode=read.column_mapping_mode,
        file_places=table.storage.confinement.places,
        data_files=changed.data_files(is_partitioned=bool(read.metadata.partition_columns)),
        change_files=changed.change_files(),
    )


def _ensure_feed(versions: range, version: int, config: DeltaConfig, *, is_required: bool) -> None:
    config.ensure_supported(TableOperation.CDF_READ)
    if is_required and not config.get(CHANGE_DATA_FEED):
        raise ChangeDataMissing(config.table, versions[0], versions[-1], version)


def _choose_columns(
    table: Snapshot, versions: range, configs: Sequence[tuple[int, DeltaConfig]]
) -> tuple[int, DeltaConfig]:
    """Returns the version whose columns are read, and its configuration."""
    ends = [table.config, *(config for _, config in configs[:1]), *(config for _, config in configs[-1:])]
    # As in delta-spark: with column mapping a later rename or drop makes the newest schema
    # unable to name the range's columns.
    if versions and any(config.column_mapping_mode != NO_MAPPING for config in ends):
        return versions[-1], configs[-1][1]
    return table.version, table.config


def _ensure_readable(
    versions: range, configs: Sequence[tuple[int, DeltaConfig]], read_version: int, read: DeltaConfig
) -> None:
    read.ensure_supported(TableOperation.CDF_READ)
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


def is_readable_with(old: DeltaConfig, new: DeltaConfig, *, without_dropped: bool = False) -> bool:
    """Returns whether rows written under `old` can be read under `new` without loss.

    With `without_dropped`, the values in columns that `new` lacks do not count.
    """
    # The partition values are constants per file. With another partitioning the new columns
    # are missing from the old files' values.
    if old.partition_keys != new.partition_keys:
        return False
    old_mode, new_mode = old.column_mapping_mode, new.column_mapping_mode

    def reads_struct(before: StructType, after: StructType) -> bool:
        for item in before.fields:
            found = after.field(item.name)
            if found is None and without_dropped:
                continue
            if found is None or physical_name(found, new_mode) != physical_name(item, old_mode):
                return False
            # A column that was dropped and added again has the same name and another id; in
            # id mode its older files must not be read under the new one.
            if old_mode == new_mode == "id" and column_id(found) != column_id(item):
                return False
            if not reads(item.data_type, found.data_type):
                return False
        return True

    def reads(before: DataType, after: DataType) -> bool:
        match before, after:
            case StructType(), StructType():
                return reads_struct(before, after)
            case ArrayType(), ArrayType():
                return reads(before.element_type, after.element_type)
            case MapType(), MapType():
                return reads(before.key_type, after.key_type) and reads(before.value_type, after.value_type)
            case _:  # any other pair of types
                return before == after or is_widening(before, after)

    return reads_struct(old.schema, new.schema)
