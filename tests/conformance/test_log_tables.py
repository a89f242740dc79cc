"""Other engines' logs: every table and version is loaded, and agrees with its expected content.

Three sources: the table makers' records, another implementation (delta-rs) if it can read them, and a table with
special cases.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from catalog.conditions import DeltaTableNotFound
from catalog.errors import SqlError
from engine.delta import Snapshot, load_snapshot
from engine.delta.checkpoint.checkpoint_reader import CheckpointReader
from engine.delta.feed.change_range import load_changes
from engine.delta.log.log_segment import Checkpoint, list_log
from engine.delta.snapshot.history import load_history
from engine.delta.snapshot.row_files import load_deleted_rows
from engine.delta.spec.actions import DeletionVectorDescriptor
from engine.storage.deletion_vectors import DELETION_VECTOR
from engine.storage.storage import LocalStorage
from tests.paths import DAT, GOLDEN, TESTDATA

pytestmark = pytest.mark.foreign

TABLES = sorted({path.parent for path in TESTDATA.glob("delta/**/_delta_log")})
UNREADABLE = {
    "data-reader-absolute-paths-escaped-chars": "DELTA_STATE_RECOVER_ERROR",
    "deltalog-invalid-protocol-version": "DELTA_INVALID_PROTOCOL_VERSION",
    "deltalog-state-reconstruction-from-checkpoint-missing-metadata": "DELTA_STATE_RECOVER_ERROR",
    "deltalog-state-reconstruction-from-checkpoint-missing-protocol": "DELTA_STATE_RECOVER_ERROR",
    "deltalog-state-reconstruction-without-metadata": "DELTA_STATE_RECOVER_ERROR",
    "deltalog-state-reconstruction-without-protocol": "DELTA_STATE_RECOVER_ERROR",
    "versions-not-contiguous": "DELTA_VERSIONS_NOT_CONTIGUOUS",
}
# delta-rs refuses the first three, and does not know that `file:/x` is `/x`.
PEER_CANNOT_READ = {
    "corrupted-last-checkpoint",
    "deltalog-commit-info",
    "update-deleted-directory",
    *(f"canonicalized-paths-{kind}" for kind in ("normal-a", "normal-b", "special-a", "special-b")),
}


def name_of(table: Path) -> str:
    return table.parent.name if table.name in ("delta", "deltatbl") else table.name


READABLE = [table for table in TABLES if name_of(table) not in UNREADABLE]


def show(table: Path) -> str:
    return str(table.relative_to(TESTDATA / "delta"))


@pytest.mark.parametrize("name", UNREADABLE)
def test_tables_that_must_fail_do_so_by_name(name: str) -> None:
    with pytest.raises(SqlError, match=UNREADABLE[name]):
        load_snapshot(str(GOLDEN / name / "delta"))


def test_a_folder_without_a_log_is_no_table() -> None:
    with pytest.raises(DeltaTableNotFound):
        load_snapshot(str(GOLDEN / "no-delta-log-folder" / "delta"))


@pytest.mark.parametrize("table", [table for table in READABLE if name_of(table) not in PEER_CANNOT_READ], ids=show)
def test_the_files_are_those_that_another_implementation_finds(table: Path) -> None:
    peer = DeltaTable(table)
    snapshot = load_snapshot(str(table))
    assert snapshot.version == peer.version()
    theirs = pa.table(peer.get_add_actions())
    records = theirs["num_records"] if "num_records" in theirs.column_names else pa.nulls(len(theirs), pa.int64())
    # It returns raw paths from some kinds of checkpoints, and decoded paths from others.
    rows = zip(*(theirs[name].to_pylist() for name in ("path", "size_bytes", "modification_time")), strict=True)
    expected = sorted((path, size, int(moment) if isinstance(moment, int) else moment) for path, size, moment in rows)
    for column in ("path", "log_path"):
        times = snapshot.files["modification_time"]
        ours = snapshot.files[column], snapshot.files["size"], times.cast(theirs["modification_time"].type)
        if sorted(zip(*(values.to_pylist() for values in ours), strict=True)) == expected:
            break
    else:
        pytest.fail("other files")
    counted = snapshot.stats()["num_records"].to_pylist()
    known = [count for count in records.to_pylist() if count is not None]
    if len(known) == len(records):
        assert sorted(known) == sorted(counted)
    assert {field.name for field in snapshot.schema.fields} == {field.name for field in peer.schema().fields}
    assert dict(snapshot.metadata.configuration) == peer.metadata().configuration
    assert list(snapshot.partition_columns) == peer.metadata().partition_columns


@pytest.mark.parametrize("table", READABLE, ids=show)
def test_every_version_can_be_loaded_or_reached(table: Path) -> None:
    """Loading version n equals advancing there from n - 1."""
    newest = load_snapshot(str(table))
    previous: Snapshot | None = None
    for version in range(newest.version + 1):
        try:
            snapshot = load_snapshot(str(table), version)
        except SqlError as error:
            assert previous is None, error  # the log begins later
            continue
        previous = snapshot
        snapshot.files.validate(full=True)
        stats = snapshot.stats()
        stats.validate(full=True)
        assert len(stats) == snapshot.num_files == len(snapshot.files)
        snapshot.tombstones.validate(full=True)
        assert file_ids(snapshot.files).isdisjoint(file_ids(snapshot.tombstones)), "a file is live or removed, not both"
        advanced = snapshot.advance()
        assert (advanced.version, keys(advanced)) == (newest.version, keys(newest))


def file_ids(files: Any) -> set[tuple[Any, ...]]:
    """Returns reconciliation's file keys: the path and the deletion vector."""
    rows = files.select(["path", "deletion_vector"]).to_pylist()
    return {(row["path"], str(row["deletion_vector"])) for row in rows}


def keys(snapshot: Snapshot) -> list[tuple[Any, ...]]:
    rows = snapshot.files.select(["path", "size", "deletion_vector", "partition_values"]).to_pylist()
    return sorted((row["path"], row["size"], str(row["deletion_vector"]), str(row["partition_values"])) for row in rows)


DAT_CASES = [(folder.parents[1].name, folder.name) for folder in sorted(DAT.glob("*/expected/*"))]


@pytest.mark.parametrize(("name", "case"), DAT_CASES)
def test_acceptance_tables_are_as_recorded(name: str, case: str) -> None:
    folder = DAT / name / "expected" / case
    expected = json.loads((folder / "table_version_metadata.json").read_text())
    snapshot = load_snapshot(str(DAT / name / "delta"), None if case == "latest" else int(case[1:]))
    assert snapshot.version == expected["version"]
    assert dict(snapshot.metadata.configuration) == expected["properties"]
    assert snapshot.protocol.min_reader_version == expected["min_reader_version"]
    assert snapshot.protocol.min_writer_version == expected["min_writer_version"]
    counts = snapshot.stats()["num_records"].to_pylist()
    if None not in counts:
        rows = sum(pq.read_metadata(path).num_rows for path in folder.glob("table_content/*.parquet"))
        vectors = snapshot.files["deletion_vector"].to_pylist()
        assert sum(counts) - sum(vector["cardinality"] for vector in vectors if vector) == rows


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("canonicalized-paths-normal-a", []),
        ("canonicalized-paths-normal-b", []),
        ("canonicalized-paths-special-a", []),
        ("canonicalized-paths-special-b", []),
        ("log-replay-special-characters", []),
        ("log-replay-special-characters-a", []),
        ("log-replay-special-characters-b", ["special p@#h"]),
        ("delete-re-add-same-file-different-transactions", ["bar", "foo"]),
        ("deltalog-getChanges", []),
        ("deltalog-commit-info", ["abc"]),
        ("corrupted-last-checkpoint", sorted(str(i) for i in range(11))),
        ("checkpoint", ["15"]),
        ("update-deleted-directory", sorted(str(i) for i in range(1, 11))),
    ],
)
def test_logs_without_data(name: str, files: list[str]) -> None:
    snapshot = load_snapshot(str(GOLDEN / name / "delta"))
    assert sorted(snapshot.files["path"].to_pylist()) == files


VECTORS = [
    (table, vector)
    for table in READABLE
    for vector in load_snapshot(str(table)).files["deletion_vector"].to_pylist()
    if vector is not None
]


@pytest.mark.parametrize(("table", "vector"), VECTORS, ids=lambda value: show(value) if isinstance(value, Path) else "")
def test_deletion_vectors_hold_what_is_recorded(table: Path, vector: dict[str, Any]) -> None:
    descriptor = DeletionVectorDescriptor(**{field.name: vector[field.name] for field in DELETION_VECTOR})
    assert len(load_deleted_rows(LocalStorage(str(table)), descriptor)) == vector["cardinality"]


@pytest.mark.parametrize("table", READABLE, ids=show)
def test_checkpoints_agree_with_the_commits_before_them(table: Path) -> None:
    """If the log is complete, every checkpoint equals log replay without it."""
    storage = LocalStorage(str(table))
    files = list_log(storage)
    single = [path for path in files if path.is_checkpoint and path.parts == 1]
    for path in single:
        reader = CheckpointReader(storage, Checkpoint(path.version, (path,)))
        found = sorted(key for batch in reader.read_adds() for key in batch.column("path").to_pylist())
        snapshot = load_snapshot(str(table), path.version)
        assert sorted(snapshot.files["path"].to_pylist()) == found
        assert reader.read_small_actions().metadata == snapshot.metadata


@pytest.mark.parametrize("table", READABLE, ids=show)
def test_history_and_changes_of_every_table(table: Path) -> None:
    snapshot = load_snapshot(str(table))
    commits = [path.version for path in list_log(snapshot.storage) if path.name.endswith(f"{path.version:020d}.json")]
    if snapshot.version not in commits:
        return
    history = load_history(snapshot)
    assert history["version"].to_pylist()[0] == snapshot.version
    first = history["version"].to_pylist()[-1]
    assert [change.version for change in load_changes(snapshot, first)] == list(range(first, snapshot.version + 1))
