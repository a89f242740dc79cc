"""A table's files for row-level changes: their row counts, and deletion vectors for deleted rows."""

from __future__ import annotations

import json

import numpy as np
import pytest

from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.deletion_vectors import inline_deletion_vector
from engine.tables.config import Capability
from tests.engine.delta.committing import append, change_metadata, create
from tests.interleave.storages import DictStorage


@pytest.fixture
def snapshot() -> Snapshot:
    """Returns a snapshot with 3-row files: one complete, one with a deleted row, and one without statistics."""
    storage = DictStorage()
    create(storage)
    change_metadata(storage, {"delta.enableDeletionVectors": "true"})
    append(storage, "whole")
    append(storage, "marked", deletion_vector=inline_deletion_vector(np.array([1], np.int64)))
    append(storage, "unknown", stats=None)
    return Snapshot.load(storage)


def at(snapshot: Snapshot, path: str) -> int:
    position: int = snapshot.files["path"].to_pylist().index(path)
    return position


def test_live_and_deleted_rows(snapshot: Snapshot) -> None:
    files = snapshot.files
    live = dict(zip(files["path"].to_pylist(), snapshot.row_files.live_rows(files).to_pylist(), strict=True))
    assert live == {"whole": 3, "marked": 2, "unknown": None}
    deleted = snapshot.row_files.deleted_rows(files)
    assert [rows.tolist() for rows in deleted] == [[1] if path == "marked" else [] for path in live]


def test_deletion_vectors_of_a_commit(snapshot: Snapshot) -> None:
    """A file's new vector includes its old one; its statistics' bounds are no longer tight."""
    files = snapshot.files.take([at(snapshot, "whole"), at(snapshot, "marked")])
    with_deletes = snapshot.row_files.mark(files, [np.array([0, 2]), np.array([2])])
    assert [rows.tolist() for rows in snapshot.row_files.deleted_rows(with_deletes.files)] == [[0, 2], [1, 2]]
    assert {path: rows.tolist() for path, rows in with_deletes.rows.items()} == {"whole": [0, 2], "marked": [2]}
    assert (
        with_deletes.num_updated == 1
        and len(with_deletes.written) == 1
        and snapshot.storage.exists(with_deletes.written[0])
    )
    assert [json.loads(text)["tightBounds"] for text in with_deletes.files["stats"].to_pylist()] == [False, False]
    assert snapshot.row_files.live_rows(with_deletes.files).to_pylist() == [1, 1]


def test_capabilities(snapshot: Snapshot) -> None:
    assert [each for each in Capability if snapshot.table_config.has(each)] == [
        Capability.VECTORS_ON_DELETE,
        Capability.VECTORS_ON_UPDATE,
        Capability.VECTORS_ON_MERGE,
        Capability.NAMED_FIELDS,
    ]


def test_partitioning_of_a_table_never_changes(snapshot: Snapshot) -> None:
    assert snapshot.row_files.keep_partitions(snapshot.files) is True
