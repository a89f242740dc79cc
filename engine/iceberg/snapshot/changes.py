"""Change data feed for a range with snapshots: computes inserted and deleted rows by comparing adjacent snapshots.

A `replace` snapshot only rearranged rows and has no changes. For any other, added data files contain inserted rows and
removed ones deleted rows; a row that was copied to another file is both. A data file that remains with different
deletes contains the deleted rows: those in the new vector and not in the old one. Manifests that both snapshots list
are read only if delete files differ. No file records which rows equality deletes remove, so in a table that has them a
snapshot is readable only if it did nothing but add data files.

A change's commit version is its snapshot's id. Rows are read with the table's columns, by field ids.

Source: Iceberg table specification, "Snapshots"; the columns are Delta's change data feed columns.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import Any, assert_never

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from catalog.conditions import IcebergChangesNotReadable, IcebergFeatureNotSupported
from engine.iceberg.definition.column_types import file_field, scanned_field
from engine.iceberg.definition.properties import NAME_MAPPING
from engine.iceberg.definition.value_sql import shown_columns
from engine.iceberg.manifests.manifest import EQUALITY_DELETES
from engine.iceberg.snapshot.column_names import with_constants
from engine.iceberg.snapshot.file_kinds import file_kinds
from engine.iceberg.snapshot.live_files import LiveFiles
from engine.iceberg.snapshot.metadata_tables import ancestry, time_text
from engine.iceberg.snapshot.scans import requires_footers
from engine.iceberg.snapshot.snapshot import NO_VERSION, IcebergSnapshot
from engine.iceberg.spec.metadata import SnapshotInfo
from engine.iceberg.writing.new_files import is_partition_column
from engine.pruning.pruning import FilePruning
from engine.pruning.table_columns import TableColumns
from engine.storage.confinement import FilePlaces
from engine.storage.deletion_vectors import DELETION_VECTOR
from engine.tables.changes import (
    CHANGE_TYPE,
    COMMIT_TIMESTAMP,
    COMMIT_VERSION,
    DELETED,
    FEED_COLUMNS,
    INSERTED,
    AtTime,
    AtVersion,
    Bound,
    ChangeFiles,
)
from engine.tables.scan import FileKind, FileLayout
from engine.types.schema import StructType

_REPLACE = "replace"
_CONSTANTS = tuple(column.name for column in FEED_COLUMNS)


@dataclass(frozen=True, slots=True)
class IcebergChanges:
    """See `engine.tables.changes.TableChanges`. `table` is the newest snapshot."""

    table: IcebergSnapshot
    versions: tuple[int, ...]
    files: pa.Table
    # Texts, aligned with the rows in `files`.
    constants: Mapping[str, pa.Array]

    @property
    def schema(self) -> StructType:
        return StructType((*self.table_columns.fields, *FEED_COLUMNS))

    @property
    def table_columns(self) -> StructType:
        return self.table.schema

    @property
    def file_places(self) -> FilePlaces:
        return self.table.storage.confinement.places

    @property
    def kinds(self) -> tuple[ChangeFiles, ...]:
        stored = tuple(file_field(column, is_column=True) for column in self.table.iceberg_schema.fields)
        layout = FileLayout(schema=StructType((*stored, *FEED_COLUMNS)), partition_keys=_CONSTANTS, by_id=True)
        columns = self.table.iceberg_schema.fields
        read = StructType(tuple(scanned_field(column) for column in columns))
        _, read_as = shown_columns(columns, read, frozenset(), frozenset())
        return (ChangeFiles(self.files, _CONSTANTS, layout, read_as),)

    def pruning(self, kind: ChangeFiles, time_zone: tzinfo | None) -> FilePruning:
        """Returns pruning by the feed's own columns only."""
        columns = TableColumns(schema=self.schema, partition_columns=_CONSTANTS, time_zone=time_zone)

        def texts(name: str) -> pa.ChunkedArray:
            return pa.chunked_array([self.constants[name].dictionary_encode()])

        return FilePruning(columns, kind.files.num_rows, texts)


def load_changes(table: IcebergSnapshot, start: Bound, end: Bound | None, *, allow_outside: bool) -> IcebergChanges:
    """Loads the changes.

    Raises `IcebergChangesNotReadable`, `IcebergFeatureNotSupported`, and manifest reading errors.
    """
    _ensure_plain(table)
    chain = list(ancestry(table.metadata, table.info))[::-1]
    last = _last(table, chain, end, allow_outside=allow_outside)
    # Only ancestors of the newest snapshot: a rollback leaves snapshots behind whose
    # changes never were part of the table's present.
    selected = chain[_first(table, chain, start, allow_outside=allow_outside) : last + 1]
    # "Snapshots": the operation `replace` means that files were rewritten with the same
    # rows, as by compaction.
    found = [piece for info in selected if info.operation != _REPLACE for piece in _changed_files(table, info)]
    none = _as_scan_files(table, table.no_entries, None, None)
    files = pa.concat_tables([none, *(piece.files for piece in found)]).combine_chunks()
    counts = [piece.files.num_rows for piece in found]
    values = {
        CHANGE_TYPE: [piece.change_type for piece in found],
        COMMIT_VERSION: [str(piece.info.snapshot_id) for piece in found],
        COMMIT_TIMESTAMP: [time_text(piece.info.timestamp_ms) for piece in found],
    }
    repeated = {name: pa.array(np.repeat(np.array(each, object), counts), pa.string()) for name, each in values.items()}
    return IcebergChanges(
        table=table,
        versions=tuple(info.snapshot_id for info in selected),
        files=with_constants(files, repeated),
        constants=repeated,
    )


def _ensure_plain(table: IcebergSnapshot) -> None:
    """Rejects columns that need SQL conversion; the feed does not support them."""
    columns = table.iceberg_schema.fields
    names = [column.name.casefold() for column in columns]
    if len({*names, *_CONSTANTS}) < len(names) + len(_CONSTANTS):
        raise IcebergFeatureNotSupported(
            table.label, "changes of columns that differ in case alone, or are the feed's,"
        )
    if requires_footers(table.iceberg_schema, NAME_MAPPING in table.metadata.properties):
        raise IcebergFeatureNotSupported(
            table.label, "changes of files without ids, or with defaults inside of columns,"
        )


# --- Snapshot range ---


def _first(table: IcebergSnapshot, chain: Sequence[SnapshotInfo], start: Bound, *, allow_outside: bool) -> int:
    match start:
        case AtVersion(version):
            if version == NO_VERSION and (not chain or chain[0].parent_id is None):
                return 0
            return _at(table, chain, version)
        case AtTime(timestamp_ms):
            later = [at for at, info in enumerate(chain) if info.timestamp_ms >= timestamp_ms]
            if later:
                return later[0]
            if allow_outside:
                return len(chain)
            raise IcebergChangesNotReadable(table.label, f"no snapshot was made at or after {time_text(timestamp_ms)}")
        case _:
            assert_never(start)


def _last(table: IcebergSnapshot, chain: Sequence[SnapshotInfo], end: Bound | None, *, allow_outside: bool) -> int:
    match end:
        case None:
            return len(chain) - 1
        case AtVersion(version):
            return _at(table, chain, version)
        case AtTime(timestamp_ms):
            if chain and timestamp_ms > chain[-1].timestamp_ms and not allow_outside:
                raise IcebergChangesNotReadable(
                    table.label, f"no snapshot was made at or after {time_text(timestamp_ms)}"
                )
            return max((at for at, info in enumerate(chain) if info.timestamp_ms <= timestamp_ms), default=-1)
        case _:
            assert_never(end)


def _at(table: IcebergSnapshot, chain: Sequence[SnapshotInfo], version: int) -> int:
    for at, info in enumerate(chain):
        if info.snapshot_id == version:
            return at
    raise IcebergChangesNotReadable(
        table.label, f"{version} is none of the snapshots that the newest one was made from"
    )


# --- Changes in one snapshot ---


@dataclass(frozen=True, slots=True)
class _ChangedFiles:
    """Files whose rows, entirely or partly, are changes with one change type."""

    info: SnapshotInfo
    change_type: str
    files: pa.Table


def _changed_files(table: IcebergSnapshot, info: SnapshotInfo) -> list[_ChangedFiles]:
    before, after = _pair(table, info)
    if _equality_files(after) != _equality_files(before):
        raise IcebergChangesNotReadable(table.label, f"the snapshot {info.snapshot_id} deleted rows by equality")
    comes = _not_in(after.data, before.data)
    goes = _not_in(before.data, after.data)
    stays, places = _in_both(after.data, before.data)
    old, new = table.deleted_rows(before), table.deleted_rows(after)
    delete_files = old.take(places)
    with_more_deletes = new.filter(stays)
    changed = pa.array(
        [one != other for one, other in zip(delete_files.to_pylist(), with_more_deletes.to_pylist(), strict=True)],
        pa.bool_(),
    )
    if _equality_files(after) and (pc.any(goes).as_py() or pc.any(changed).as_py()):
        what = f"the snapshot {info.snapshot_id} deleted rows of a table with equality deletes"
        raise IcebergChangesNotReadable(table.label, what)
    both, delete_files, with_more_deletes = (
        after.data.filter(stays).filter(changed),
        delete_files.filter(changed),
        with_more_deletes.filter(changed),
    )
    found = [
        _ChangedFiles(info, INSERTED, _files(table, after.data.filter(comes), new.filter(comes))),
        _ChangedFiles(info, DELETED, _files(table, before.data.filter(goes), old.filter(goes))),
        _ChangedFiles(info, DELETED, _files(table, both, delete_files, with_more_deletes)),
        _ChangedFiles(info, INSERTED, _files(table, both, with_more_deletes, delete_files)),
    ]
    return [each for each in found if each.files.num_rows]


def _pair(table: IcebergSnapshot, info: SnapshotInfo) -> tuple[LiveFiles, LiveFiles]:
    """Returns the previous and this snapshot's files, limited to manifests that can differ."""
    after = replace(table, info=info)
    parent = None if info.parent_id is None else table.metadata.snapshots.get(info.parent_id)
    if info.parent_id is not None and parent is None:
        raise IcebergChangesNotReadable(table.label, f"the snapshot before {info.snapshot_id} has expired")
    old = () if parent is None else replace(table, info=parent).manifests
    new = after.manifests
    shared = {each.path for each in old} & {each.path for each in new}
    deletes = [{each.path for each in some if each.has_deletes} for some in (old, new)]
    # A new delete file may apply to data files in manifests that both snapshots share.
    if deletes[0] != deletes[1]:
        shared = set()
    remaining = [[each for each in some if each.has_deletes or each.path not in shared] for some in (old, new)]
    return after.files_of(remaining[0]), after.files_of(remaining[1])


def _equality_files(files: LiveFiles) -> set[str]:
    entries = files.deletes
    return set(entries["file_path"].filter(pc.equal(entries["content"], EQUALITY_DELETES)).to_pylist())


def _not_in(files: pa.Table, others: pa.Table) -> Any:
    return pc.invert(pc.is_in(files["file_path"], value_set=others["file_path"].combine_chunks()))


def _in_both(files: pa.Table, others: pa.Table) -> tuple[Any, Any]:
    """Returns a mask for the files that are among the others, and their positions there."""
    places = pc.index_in(files["file_path"], value_set=others["file_path"].combine_chunks())
    return places.is_valid(), places.drop_null()


def _files(table: IcebergSnapshot, entries: pa.Table, left_out: Any, selected: Any | None = None) -> pa.Table:
    """Returns files to scan without the rows `left_out`, and with only the rows `selected`; files without rows to read
    are omitted. Raises `IcebergFeatureNotSupported`.
    """
    if selected is not None:
        there = selected.is_valid()
        entries, left_out, selected = entries.filter(there), left_out.filter(there), selected.filter(there)
    if pc.any(pc.not_equal(file_kinds(entries, table.label), FileKind.PARQUET.value)).as_py():
        raise IcebergFeatureNotSupported(table.label, "changes of data files that are not in Parquet")
    return _as_scan_files(table, entries, left_out, selected)


def _as_scan_files(table: IcebergSnapshot, entries: pa.Table, left_out: Any | None, selected: Any | None) -> pa.Table:
    """Drops the partition columns, which differ between entries from several snapshots."""
    files = table.as_scan_files(entries, left_out)
    files = files.drop_columns(list(filter(is_partition_column, files.column_names)))
    scanned = pa.nulls(entries.num_rows, DELETION_VECTOR) if selected is None else selected
    return files.append_column("selected_rows", scanned)
