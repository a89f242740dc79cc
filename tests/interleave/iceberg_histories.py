"""`histories`' operations on an Iceberg table, and the checker for its versions.

A table version is a metadata file; its current snapshot's files give the state, since their paths encode everything.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from catalog.conditions import ConcurrentDrop, ConcurrentModification
from catalog.store.files import METADATA_FOLDER
from engine.formats.iceberg.iceberg_format import IcebergFormat
from engine.iceberg.commit.metadata_files import version_of
from engine.iceberg.manifests.manifest import DATA, SPEC_ID
from engine.iceberg.snapshot.snapshot import IcebergSnapshot
from engine.iceberg.spec.metadata import parse_metadata
from engine.iceberg.transaction.transaction import IcebergCommit, IcebergTransaction
from engine.iceberg.writing.new_files import IcebergNewFiles, entries_of
from engine.storage.storage import Storage
from engine.tables.definition_changes import SetProperty
from engine.tables.operations import CommitDescription, TableOperation
from engine.tables.row_files import FilePredicate
from tests.interleave.histories import PARTITIONS, SCHEMA, Effect, File, Op, State, file_of, parse_file, sorted_files
from tests.interleave.storages import DictStorage

_FOLDER = "data/"


def format_over(storage: Storage) -> IcebergFormat:
    """Returns a separate server's format, without others' caches."""
    return IcebergFormat(lambda _: storage, cache_bytes=1 << 20)


def create_table(storage: Storage, **properties: str) -> None:
    """A table, partitioned by `p`, and two files in it."""
    own = format_over(storage)
    changes = [SetProperty(key=key, value=value) for key, value in properties.items()]
    definition = own.define("t", SCHEMA, ("p",), changes, {})
    description = CommitDescription(name="CREATE TABLE", operation=TableOperation.METADATA)
    own.create(storage.root, definition, description, 0).commit()
    transaction = begin(storage, Op(name="make", derive=lambda *_: _MADE), "base")
    transaction.commit()


_MADE = Effect(adds=frozenset(file_of(each, "base", frozenset({f"base{each}"})) for each in PARTITIONS))


def table_in_memory(made: DictStorage) -> DictStorage:
    """Returns a copy, since thousands of histories begin with it."""
    copy = DictStorage()
    copy.files, copy.now_ms = dict(made.files), made.now_ms
    return copy


def begin(storage: Storage, op: Op, who: str) -> IcebergTransaction:
    """Returns the transaction with everything read and staged."""
    own = format_over(storage)
    snapshot = own.load(storage.root)
    description = CommitDescription(name=op.name, operation=op.operation, changes_data=not op.rearranges)
    transaction = own.begin(snapshot, description, "t")
    effect = op.derive(state_of(snapshot), who)
    if op.reads == "*":
        transaction.read_whole_table()
    elif op.reads is not None:
        read = state_of(snapshot).of(op.reads)
        transaction.depend_on(_in_partition(op.reads), [each.path for each in map(_named, read)])
    if effect.removes:
        paths = pa.array([_named(file).path for file in effect.removes])
        transaction.stage_removes(snapshot.files.filter(pc.is_in(snapshot.files["path"], value_set=paths)))
    if effect.adds:
        transaction.add_files(new_files_of(snapshot, sorted_files(effect.adds)))
    if effect.settings:
        changes = [SetProperty(key=key, value=value) for key, value in effect.settings]
        transaction.define(snapshot.definition, changes)
    return transaction


def run_op(storage: Storage, op: Op, who: str) -> IcebergCommit | None:
    """Returns None if there was nothing to do."""
    transaction = begin(storage, op, who)
    return None if transaction.is_empty else transaction.commit()


def _named(file: File) -> File:
    """Returns the file under its name in the table's folder."""
    return File(f"{_FOLDER}{file.path}", file.partition, file.rows)


def _in_partition(partition: str) -> FilePredicate:
    def predicate(batch: Any) -> Any:
        return pc.starts_with(batch.column("path"), f"{_FOLDER}p={partition}/")

    return predicate


def new_files_of(snapshot: IcebergSnapshot, files: list[File]) -> IcebergNewFiles:
    spec = snapshot.metadata.spec
    columns = {
        "content": [DATA] * len(files),
        "file_path": [f"{snapshot.metadata.location}/{_named(file).path}" for file in files],
        "file_format": ["PARQUET"] * len(files),
        "record_count": [len(file.rows) for file in files],
        "file_size_in_bytes": [1] * len(files),
    }
    entries = entries_of(columns, len(files))
    entries = entries.append_column(SPEC_ID, pa.array([spec.spec_id] * len(files), pa.int32()))
    (field,) = spec.fields
    entries = entries.append_column(f"p{field.field_id}", pa.array([file.partition.encode() for file in files]))
    return IcebergNewFiles(entries=entries, paths=tuple(_named(file).path for file in files))


def state_of(snapshot: IcebergSnapshot) -> State:
    paths = snapshot.live_files.data["file_path"].to_pylist()
    location = f"{snapshot.metadata.location}/{_FOLDER}"
    return State(
        files=frozenset(parse_file(path.removeprefix(location)) for path in paths),
        configuration=tuple(sorted(snapshot.metadata.properties.items())),
    )


def states_of(storage: Storage) -> dict[int, tuple[State, int | None]]:
    """Returns the state and current snapshot for each version whose file exists."""
    own, found = format_over(storage), {}
    for name in storage.list_names(METADATA_FOLDER):
        version = version_of(f"{METADATA_FOLDER}/{name}")
        if version is not None:
            assert version not in found, "two files are one version"
            file = f"{METADATA_FOLDER}/{name}"
            metadata = parse_metadata(storage.read_bytes(file), name, "t")
            snapshot = own.load(storage.root)
            info = metadata.snapshots.get(metadata.current_snapshot_id or 0)
            at = IcebergSnapshot(
                storage=storage,
                metadata_name=file,
                metadata=metadata,
                info=info,
                iceberg_schema=metadata.schema,
                decoded=snapshot.decoded,
            )
            found[version] = (state_of(at), metadata.current_snapshot_id)
    return found


def check_history(storage: Storage, ops: Mapping[str, Op], results: Mapping[str, Any]) -> None:
    """Checks that each committed operation, derived again from the state before its version, gives the committed
    result. A failed writer has no version; a dead one (None) may have one.
    """
    states = states_of(storage)
    versions = {}
    for who, result in results.items():
        if isinstance(result, IcebergCommit):
            version = version_of(result.loaded.name)
            assert version is not None and version not in versions, "two writers have one version"
            versions[version] = who
        else:
            assert result is None or isinstance(result, ConcurrentModification), result
            assert not isinstance(result, ConcurrentDrop), "nobody drops the table"
    last = max(states)
    for version in range(min(states) + 1, last + 1):
        if version not in states or version - 1 not in states:
            continue  # removed with the property that enables it
        writer = versions.get(version)
        if writer is not None:
            _check(states[version - 1][0], states[version][0], ops[writer], writer)
    marks = {part for file in states[last][0].files for row in file.rows for part in row.split(".")}
    for who, result in results.items():
        if isinstance(result, Exception):
            assert who not in marks, f"{who} failed and its rows are there"
    assert sorted(storage.list_names("data")) == []


def _check(before: State, after: State, op: Op, who: str) -> None:
    effect = op.derive(before, who)
    expected = (before.files - effect.removes) | effect.adds
    if not op.rearranges:
        assert after.files == expected, f"{op.name} of {who} is not what it would be after those before it"
    rows = [row for file in after.files for row in file.rows]
    assert sorted(rows) == sorted(row for file in expected for row in file.rows)
    settings = dict(before.configuration) | dict(effect.settings)
    assert dict(after.configuration) == settings
