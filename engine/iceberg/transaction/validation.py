"""Conflict detection: checks a commit against the snapshots that other writers have committed since it was planned.

The history is the snapshots between the one that was read, exclusive, and the branch's head. Only manifests that these
snapshots added are read. The conditions depend on the commit:

| commit | condition | only if serializable |
|-|-|-|
| append | none | |
| removes files (overwrite, DELETE, UPDATE, MERGE) | they are live, and have no new deletes | no new matching file |
| deletes rows by position | the files are live, and have no new deletes | no new matching file |

A new file matches if the statement's condition is true or unknown for it; every file matches if the statement read the
whole table.

Added files have the columns that were read. They remain valid after columns were added, dropped, renamed or widened,
but not after REPLACE TABLE, nor for columns that became NOT NULL.

Source: Iceberg table specification, "Commit Conflict Resolution and Retry".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from catalog.conditions import IcebergConflict
from engine.iceberg.manifests.manifest import ADDED, DATA, EQUALITY_DELETES, SPEC_ID
from engine.iceberg.snapshot.metadata_tables import ancestry
from engine.iceberg.snapshot.snapshot import IcebergSnapshot
from engine.iceberg.spec.metadata import SnapshotInfo, TableMetadata
from engine.iceberg.spec.types import IcebergField, IcebergSchema, children, walk
from engine.tables.row_files import FilePredicate

_REPLACE = "replace"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependence:
    """A commit's read set. `paths` are live data files that it read, as in manifests; `new_files` decides whether a new
    file would have been read (None: new files are not checked), and `is_serializable` whether that counts.
    """

    paths: frozenset[str] = frozenset()
    whole_table: bool = False
    predicates: tuple[FilePredicate, ...] = ()
    is_serializable: bool = True
    # True if new files keep the replaced files' sequence number, so that concurrent equality deletes apply to them too.
    ignores_equality_deletes: bool = False

    @property
    def is_none(self) -> bool:
        """Returns True if the commit has read nothing, so that no other commit conflicts with its reads."""
        return not (self.paths or self.whole_table or self.predicates)

    def on_files(self, paths: Iterable[str]) -> Dependence:
        """Returns the read set with these data files, by their paths in manifests."""
        return replace(self, paths=self.paths | frozenset(paths))


def ensure_files_fit(table: str, added: Iterable[pa.Table], read: TableMetadata, now: TableMetadata) -> None:
    """Raises `IcebergConflict` if entries written for `read` do not fit the table's current definition."""
    filled = [entries for entries in added if entries.num_rows]
    if not filled:
        return
    if _has_replaced_columns(read.schema, now.schema) or _has_new_not_null(read.schema.fields, now.schema.fields):
        raise IcebergConflict(table, "changed its columns")
    for spec_id in {id for entries in filled for id in pc.unique(entries[SPEC_ID]).to_pylist()}:
        if now.specs.get(spec_id) != read.specs.get(spec_id):
            raise IcebergConflict(table, "removed the partition spec that this statement writes by")


def _has_replaced_columns(read: IcebergSchema, now: IcebergSchema) -> bool:
    """Returns True if columns were dropped and others added, possibly with the same names."""
    before, after = ({field.id for _, field in walk(schema.struct)} for schema in (read, now))
    return bool(before - after and after - before)


def _has_new_not_null(read: Iterable[IcebergField], now: Iterable[IcebergField]) -> bool:
    """Returns True if a column is NOT NULL now, and files written before may lack it or contain NULLs."""
    known = {field.id: field for field in read}
    for field in now:
        old = known.get(field.id)
        if field.required and (field.initial_default is None if old is None else not old.required):
            return True
        if old is not None and _has_new_not_null(children(old.type), children(field.type)):
            return True
    return False


def ensure_no_conflict(
    table: str, dependence: Dependence, read: SnapshotInfo | None, current: IcebergSnapshot, readable: Readable
) -> None:
    """Raises `IcebergConflict`. `readable` converts data file entries for predicates."""
    # A pure append cannot conflict with any change of rows.
    if dependence.is_none:
        return
    for snapshot in _since(table, read, current):
        # A `replace` snapshot changes no rows, so it matters only to a commit that removes particular files.
        if snapshot.info is None or (snapshot.info.operation == _REPLACE and not dependence.paths):
            continue
        # Carried-over manifests are identical in the parent; a snapshot's changes are in the manifests that it added.
        manifests = [each for each in snapshot.manifests if each.added_snapshot_id == snapshot.info.snapshot_id]
        live = snapshot.entries_of(manifests)
        removed = snapshot.removed_of(manifests)
        for came, gone in zip(live, removed, strict=True):
            _ensure_still_there(table, dependence, _of(gone, snapshot.info), snapshot.info.operation)
            # A manifest that this snapshot wrote may contain existing entries too, from
            # merging manifests.
            added = came.filter(pc.equal(came["status"], ADDED))
            _ensure_nothing_new(table, dependence, _of(added, snapshot.info), snapshot.info.operation, readable)


def _of(entries: pa.Table, info: SnapshotInfo) -> pa.Table:
    return entries.filter(pc.equal(entries["snapshot_id"], info.snapshot_id))


# Converts entries into a batch for a `FilePredicate`.
Readable = Callable[[pa.Table], Any]


def _ensure_still_there(table: str, dependence: Dependence, gone: pa.Table, operation: str | None) -> None:
    # Removed delete files are not checked: a deletion vector that grew replaces its
    # predecessor, and the added one is checked below.
    gone = gone.filter(pc.equal(gone["content"], DATA))
    lost = dependence.paths.intersection(gone["file_path"].to_pylist())
    # Compaction keeps all rows, so it does not disturb a statement that read the table as a
    # whole; one that names the removed file is disturbed.
    if lost or (dependence.whole_table and gone.num_rows and operation != _REPLACE):
        raise IcebergConflict(table, "removed data files that this statement read")


def _ensure_nothing_new(
    table: str, dependence: Dependence, entries: pa.Table, operation: str | None, readable: Readable
) -> None:
    # Committing on top of new deletes would resurrect their rows: rewritten files would still contain them.
    deletes = entries.filter(pc.not_equal(entries["content"], DATA))
    if dependence.ignores_equality_deletes:
        deletes = deletes.filter(pc.not_equal(deletes["content"], EQUALITY_DELETES))
    if deletes.num_rows and (dependence.whole_table or _may_concern(dependence.paths, deletes)):
        raise IcebergConflict(table, "deleted rows of data files that this statement read")
    added = entries.filter(pc.equal(entries["content"], DATA))
    # New files are a phantom read, which snapshot isolation allows and serializable isolation does not.
    if not added.num_rows or operation == _REPLACE or not dependence.is_serializable:
        return
    if dependence.whole_table or any(_is_meant(predicate, readable(added)) for predicate in dependence.predicates):
        raise IcebergConflict(table, "added rows that this statement would have read")


def _is_meant(predicate: FilePredicate, files: Any) -> bool:
    return bool(pc.any(pc.fill_null(predicate(files), True)).as_py())


def _may_concern(paths: frozenset[str], deletes: pa.Table) -> bool:
    """Returns True if deletes may apply to the paths; deletes without a named file may apply to any."""
    if not paths:
        return False
    # Equality deletes and partition-wide position deletes name no file ("Delete Formats").
    return any(each is None or each in paths for each in deletes["referenced_data_file"].to_pylist())


def _since(table: str, read: SnapshotInfo | None, current: IcebergSnapshot) -> Iterator[IcebergSnapshot]:
    """Yields the snapshots after the one that was read. Raises `IcebergConflict` if it is not an ancestor any more."""
    found: list[IcebergSnapshot] = []
    for info in ancestry(current.metadata, current.info):
        if read is not None and info.snapshot_id == read.snapshot_id:
            return iter(found)
        found.append(replace(current, info=info))
    # The branch was rolled back or replaced: its head has no relation to the read set.
    if read is not None:
        raise IcebergConflict(table, "set the branch to a snapshot that does not follow the one that was read")
    return iter(found)
