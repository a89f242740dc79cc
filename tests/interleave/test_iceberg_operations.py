"""Two writers on an Iceberg table, with all kinds of commits, in every order of their steps; and each dying at any
step.

In addition to `test_iceberg_writers`: row-level deletes, rewrites of files with deletes, writes to a branch, tags,
snapshot expiry, and new columns. A version is defined by its branches' and tags' rows, its columns, and its retained
snapshots; a writer's effect follows from the previous version alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from catalog.conditions import ConcurrentDrop, ConcurrentModification
from catalog.store.files import METADATA_FOLDER
from engine.formats.iceberg.iceberg_format import IcebergFormat
from engine.formats.iceberg.procedures.reference_changes import reference_updates
from engine.iceberg.commit.metadata_files import version_of
from engine.iceberg.commit.updates import AssertRefSnapshotId, RemoveSnapshots
from engine.iceberg.maintenance.retention import Retention, find_expired
from engine.iceberg.manifests.decoded import Decoded
from engine.iceberg.snapshot.snapshot import IcebergSnapshot
from engine.iceberg.spec.metadata import MAIN, TableMetadata, parse_metadata
from engine.iceberg.transaction.transaction import IcebergCommit, IcebergTransaction
from engine.statements.alter_table.statement import ChangeReference, ReferenceAction
from engine.storage.storage import Storage
from engine.tables.definition_changes import AddColumn
from engine.tables.operations import CommitDescription, TableOperation
from engine.types.schema import PrimitiveType, StructField
from tests.interleave.histories import file_of, parse_file
from tests.interleave.iceberg_histories import create_table, format_over, new_files_of, table_in_memory
from tests.interleave.scheduler import Step, explore
from tests.interleave.storages import DictStorage, deaths
from tests.interleave.test_iceberg_writers import stepped

BRANCH = "audit"


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """A table version's content: the rows at each reference, once each."""

    rows: Mapping[str, tuple[str, ...]]
    columns: frozenset[str]
    # Number of snapshots.
    snapshot_count: int

    def with_rows(self, name: str, rows: set[str]) -> View:
        return replace(self, rows={**self.rows, name: tuple(sorted(rows))})


Begin = Callable[[IcebergFormat, Storage, str], IcebergTransaction | None]


@dataclass(frozen=True, slots=True)
class Kind:
    name: str
    # A writer's preparation before its commit; None: nothing to do.
    begin: Begin
    effect: Callable[[View, str], View]


def _begin(own: IcebergFormat, snapshot: IcebergSnapshot, operation: TableOperation, name: str) -> IcebergTransaction:
    changes_data = operation is not TableOperation.OPTIMIZE
    return own.begin(snapshot, CommitDescription(name=name, operation=operation, changes_data=changes_data), "t")


def _append(branch: str) -> Begin:
    def begin(own: IcebergFormat, storage: Storage, who: str) -> IcebergTransaction:
        snapshot = own.find_reference(storage.root, branch)
        assert snapshot is not None
        transaction = _begin(own, snapshot, TableOperation.APPEND, "WRITE")
        transaction.add_files(new_files_of(snapshot, [file_of("a", who, frozenset({who}))]))
        return transaction

    return begin


def _base_file(snapshot: IcebergSnapshot) -> pa.Table:
    return snapshot.files.filter(pc.match_substring(snapshot.files["path"], "/base:"))


def _mark(row: int) -> Begin:
    """Returns a delete for a row from the initial file, wherever it is now."""

    def begin(own: IcebergFormat, storage: Storage, who: str) -> IcebergTransaction | None:
        snapshot = own.load(storage.root)
        files = _base_file(snapshot)
        if not files.num_rows or row in snapshot.row_files.deleted_rows(files)[0]:
            return None
        transaction = _begin(own, snapshot, TableOperation.DML, "DELETE")
        with_deletes = snapshot.row_files.mark(files, [np.array([row])])
        transaction.depend_on(lambda batch: pa.array([False] * batch.num_rows), files["path"])
        transaction.depend_on_rows_alone(with_deletes.rows)
        transaction.stage_removes(files)
        transaction.add_deleted_rows(with_deletes)
        return transaction

    return begin


def _compact(own: IcebergFormat, storage: Storage, who: str) -> IcebergTransaction:
    snapshot = own.load(storage.root)
    transaction = _begin(own, snapshot, TableOperation.OPTIMIZE, "REWRITE")
    transaction.stage_removes(snapshot.files)
    transaction.add_files(new_files_of(snapshot, [file_of("a", who, frozenset(_rows(snapshot)))]))
    return transaction


def _delete_all(own: IcebergFormat, storage: Storage, who: str) -> IcebergTransaction | None:
    snapshot = own.load(storage.root)
    transaction = _begin(own, snapshot, TableOperation.DML, "DELETE")
    transaction.stage_removes(transaction.read_whole_table())
    return None if transaction.is_empty else transaction


def _expire(own: IcebergFormat, storage: Storage, who: str) -> IcebergTransaction:
    transaction = _begin(own, own.load(storage.root), TableOperation.METADATA, "CALL expire_snapshots")

    def decide(metadata: TableMetadata) -> Any:
        found = find_expired(metadata, Retention(now_ms=1 << 60, older_than_ms=1 << 60, keep=1))
        same = tuple(AssertRefSnapshotId(each.name, each.snapshot_id) for each in metadata.refs.values())
        return same, (RemoveSnapshots(tuple(sorted(found.snapshots))),) if found.snapshots else ()

    transaction.change_metadata(decide)
    return transaction


def _tag(own: IcebergFormat, storage: Storage, who: str) -> IcebergTransaction:
    transaction = _begin(own, own.load(storage.root), TableOperation.METADATA, "ALTER TABLE")
    change = ChangeReference(name=f"tag{who}", is_branch=False, action=ReferenceAction.CREATE)
    transaction.change_metadata(lambda metadata: reference_updates(change, metadata, "t"))
    return transaction


def _add_column(own: IcebergFormat, storage: Storage, who: str) -> IcebergTransaction:
    snapshot = own.load(storage.root)
    transaction = _begin(own, snapshot, TableOperation.METADATA, "ALTER TABLE")
    transaction.define(snapshot.definition, [AddColumn(field=StructField(f"c{who}", PrimitiveType.LONG))])
    return transaction


def _rows(snapshot: IcebergSnapshot) -> list[str]:
    """Returns all data files' rows in order; a row in two files is repeated."""
    found = []
    paths = snapshot.files["path"].to_pylist()
    for path, gone in zip(paths, snapshot.row_files.deleted_rows(snapshot.files), strict=True):
        rows = sorted(parse_file(path.removeprefix("data/")).rows)
        found += [row for at, row in enumerate(rows) if at not in gone]
    return found


def _without(view: View, gone: set[str]) -> View:
    return view.with_rows(MAIN, set(view.rows[MAIN]) - gone)


def _committed(view: View) -> View:
    """Returns the view with one more snapshot."""
    return replace(view, snapshot_count=view.snapshot_count + 1)


APPEND = Kind("append", _append(MAIN), lambda v, who: _committed(v.with_rows(MAIN, {*v.rows[MAIN], who})))
TO_BRANCH = Kind("branch", _append(BRANCH), lambda v, who: _committed(v.with_rows(BRANCH, {*v.rows[BRANCH], who})))
MARK = Kind("mark", _mark(0), lambda v, who: _committed(_without(v, {"r0"})))
MARK_OTHER = Kind("mark other", _mark(1), lambda v, who: _committed(_without(v, {"r1"})))
COMPACT = Kind("compact", _compact, lambda v, who: _committed(v))
DELETE = Kind("delete", _delete_all, lambda v, who: _committed(v.with_rows(MAIN, set())))
EXPIRE = Kind("expire", _expire, lambda v, who: replace(v, snapshot_count=-1))
TAG = Kind("tag", _tag, lambda v, who: replace(v, rows={**v.rows, f"tag{who}": v.rows[MAIN]}))
COLUMN = Kind("column", _add_column, lambda v, who: replace(v, columns=v.columns | {f"c{who}"}))
KINDS = (APPEND, TO_BRANCH, MARK, MARK_OTHER, COMPACT, DELETE, EXPIRE, TAG, COLUMN)
PAIRS = list(itertools.combinations_with_replacement(KINDS, 2))


@cache
def _made(version: str) -> DictStorage:
    """Creates a table with two snapshots, a file with three rows, and a branch next to main."""
    storage = DictStorage()
    create_table(storage, **{"format-version": version})
    own = format_over(storage)
    snapshot = own.load(storage.root)
    transaction = _begin(own, snapshot, TableOperation.DML, "WRITE")
    transaction.stage_removes(transaction.read_whole_table())
    transaction.add_files(new_files_of(snapshot, [file_of("a", "base", frozenset({"r0", "r1", "r2"}))]))
    transaction.commit()
    made = _begin(own, own.load(storage.root), TableOperation.METADATA, "ALTER TABLE")
    change = ChangeReference(name=BRANCH, is_branch=True, action=ReferenceAction.CREATE)
    made.change_metadata(lambda metadata: reference_updates(change, metadata, "t"))
    made.commit()
    return storage


def run_kind(storage: Storage, kind: Kind, who: str) -> IcebergCommit | None:
    transaction = kind.begin(format_over(storage), storage, who)
    return None if transaction is None else transaction.commit()


def views_of(storage: Storage) -> dict[int, View]:
    """Returns every version's view, with all references read to the last row."""
    found = {}
    for name in storage.list_names(METADATA_FOLDER):
        version = version_of(f"{METADATA_FOLDER}/{name}")
        if version is None:
            continue
        metadata = parse_metadata(storage.read_bytes(f"{METADATA_FOLDER}/{name}"), name, "t")
        decoded = Decoded(1 << 20)
        rows = {}
        for reference in metadata.refs.values():
            snapshot = IcebergSnapshot(
                storage=storage,
                metadata_name=f"{METADATA_FOLDER}/{name}",
                metadata=metadata,
                info=metadata.snapshots[reference.snapshot_id],
                iceberg_schema=metadata.schema,
                decoded=decoded,
            )
            rows[reference.name] = tuple(sorted(_rows(snapshot)))
        columns = frozenset(field.name for field in metadata.schema.fields)
        found[version] = View(rows=rows, columns=columns, snapshot_count=len(metadata.snapshots))
    return found


def check(storage: Storage, kinds: Mapping[str, Kind], results: Mapping[str, Any]) -> None:
    """Checks that each version is its writer's effect on the previous version. A failed writer has none; a dead one
    (None) may have one with its effect. If nothing was left to expire, another writer's version exists.
    """
    views = views_of(storage)
    versions: dict[int, set[str]] = {}
    for who, result in results.items():
        if isinstance(result, IcebergCommit):
            version = version_of(result.loaded.name)
            assert version is not None
            versions.setdefault(version, set()).add(who)
        else:
            assert result is None or isinstance(result, ConcurrentModification), result
            assert not isinstance(result, ConcurrentDrop), "nobody drops the table"
    for writers in versions.values():
        assert len([who for who in writers if kinds[who] is not EXPIRE]) <= 1, "two writers have one version"
    failed = {who for who, result in results.items() if isinstance(result, Exception)}
    first = min(max(views), 4)  # the table was made in four
    for version in range(first + 1, max(views) + 1):
        before, after = views[version - 1], views[version]
        candidates = versions.get(version) or kinds.keys() - failed
        assert any(_is_effect(kinds[who], who, before, after) for who in candidates), (version, before, after)
    last = views[max(views)]
    for who in failed:
        marks = {who, f"tag{who}", f"c{who}"}
        assert not marks & {*last.rows, *last.columns, *(row for rows in last.rows.values() for row in rows)}


def _is_effect(kind: Kind, who: str, before: View, after: View) -> bool:
    expected = kind.effect(before, who)
    if expected.snapshot_count < 0:
        expected = (
            replace(expected, snapshot_count=after.snapshot_count)
            if after.snapshot_count <= before.snapshot_count
            else expected
        )
    return expected == after


@pytest.mark.slow
@pytest.mark.parametrize("version", ["2", "3"])
@pytest.mark.parametrize(("first", "second"), PAIRS, ids=[f"{a.name} | {b.name}" for a, b in PAIRS])
def test_every_interleaving_of_all_kinds(first: Kind, second: Kind, version: str) -> None:
    assert explored(first, second, version, 2) > 5


@pytest.mark.parametrize(
    ("first", "second"),
    [(MARK, MARK_OTHER), (MARK, COMPACT), (TO_BRANCH, EXPIRE), (COLUMN, APPEND), (EXPIRE, EXPIRE)],
    ids=lambda kind: kind.name,
)
def test_interleavings_of_some_kinds(first: Kind, second: Kind) -> None:
    assert explored(first, second, "3", 1) > 2


def explored(first: Kind, second: Kind, version: str, switches_max: int) -> int:
    kinds = {"x": first, "y": second}

    def make() -> tuple[list[Any], DictStorage]:
        storage = table_in_memory(_made(version))

        def writer(kind: Kind, who: str) -> Callable[[Step], Any]:
            return lambda step: run_kind(stepped(storage, step), kind, who)

        return [writer(kind, who) for who, kind in kinds.items()], storage

    runs = 0
    for run, storage in explore(make, switches_max):
        check(storage, kinds, dict(zip(kinds, run.results, strict=True)))
        runs += 1
    return runs


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("version", ["2", "3"])
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_a_writer_dies_at_any_storage_call(kind: Kind, version: str, when: str) -> None:
    """The table is as before or as after, whole, and others go on."""
    kinds = {"x": kind, "later": APPEND, "last": COMPACT}
    for storage, result in deaths(
        lambda: table_in_memory(_made(version)), lambda storage: run_kind(storage, kind, "x"), when
    ):
        check(storage, kinds, {"x": result})
        later = {who: run_kind(storage, kinds[who], who) for who in ("later", "last")}
        check(storage, kinds, {"x": result, **later})
