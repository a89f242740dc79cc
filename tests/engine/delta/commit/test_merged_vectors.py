"""Two commits that delete rows in one file by deletion vectors: both succeed if the rows differ, else the second
conflicts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from catalog.conditions import ConcurrentAppend, ConcurrentDeleteRead, StatementCancelled
from engine.delta.commit.merged_vectors import read_vector
from engine.delta.commit.transaction import Transaction
from engine.delta.snapshot.snapshot import Snapshot
from engine.storage.deletion_vectors import DELETION_VECTOR
from engine.storage.vector_files import write_vectors
from engine.tables.operations import TableOperation
from tests.engine.delta.committing import add, append, create, describe, metadata
from tests.interleave.storages import DictStorage

STATS = '{"numRecords":100}'


def made() -> DictStorage:
    storage = DictStorage()
    create(storage, metadata(configuration={"delta.enableDeletionVectors": "true"}))
    append(storage, "a", "b", stats=STATS)
    return storage


def marking(storage: DictStorage, path: str, rows: Sequence[int], *, rows_alone: bool = True) -> Transaction:
    """Returns a DELETE for these rows in one file, planned on the newest version."""
    snapshot = Snapshot.load(storage)
    files = snapshot.files.filter(pa.array([each == path for each in snapshot.files["path"].to_pylist()]))
    old = read_vector(storage, files["deletion_vector"][0].as_py())
    more = np.array(rows, np.int64)
    vectors, _ = write_vectors(storage, [np.union1d(old, more)])
    at = files.schema.get_field_index("deletion_vector")
    with_deletes = files.set_column(at, files.schema.field(at), pa.array(vectors, DELETION_VECTOR))
    transaction = Transaction.on(snapshot, describe(TableOperation.DML, "DELETE"))
    transaction.depend_on(
        lambda batch: pa.array([name[0] != "b" for name in batch.column("path").to_pylist()]), files["path"]
    )
    if rows_alone:
        transaction.depend_on_rows_alone({path: more})
    transaction.stage_removes(files)
    for batch in with_deletes.to_batches():
        transaction.stage_adds(batch)
    return transaction


def deleted(storage: DictStorage) -> dict[str, list[int]]:
    files = Snapshot.load(storage).files
    pairs = zip(files["path"].to_pylist(), files["deletion_vector"].to_pylist(), strict=True)
    return {path: read_vector(storage, vector).tolist() for path, vector in pairs}


def test_disjoint_deletion_vectors_are_merged() -> None:
    storage = made()
    writers = [marking(storage, "a", rows) for rows in ([1, 2], [3], [70, 99])]
    for writer in writers:
        writer.commit()
    assert deleted(storage) == {"a": [1, 2, 3, 70, 99], "b": []}
    later = [marking(storage, "a", [5]), marking(storage, "b", [5]), marking(storage, "a", [4])]
    for writer in later:
        writer.commit()
    assert deleted(storage) == {"a": [1, 2, 3, 4, 5, 70, 99], "b": [5]}
    snapshot = Snapshot.load(storage)
    assert all(
        '"tightBounds":false' in text or '"numRecords":100' in text for text in snapshot.files["stats"].to_pylist()
    )
    assert snapshot.version == 7 and snapshot.num_files == 2
    assert snapshot.files["data_change"].to_pylist() == [True, True]


def removing(storage: DictStorage, path: str) -> Transaction:
    snapshot = Snapshot.load(storage)
    transaction = Transaction.on(snapshot, describe(TableOperation.DML, "UPDATE"))
    files = snapshot.files.filter(pa.array([each == path for each in snapshot.files["path"].to_pylist()]))
    transaction.depend_on(lambda batch: pa.array([False] * len(batch)), files["path"])
    transaction.stage_removes(files)
    return transaction


def adding(storage: DictStorage, path: str = "c") -> Transaction:
    snapshot = Snapshot.load(storage)
    transaction = Transaction.on(snapshot, describe(TableOperation.DML, "MERGE"))
    transaction.depend_on(lambda batch: pa.array([False] * len(batch)), pa.array([], pa.string()))
    transaction.stage(add(path, stats=STATS))
    return transaction


CONFLICTS: list[tuple[str, Any, bool, type[Exception]]] = [
    ("the same row", lambda storage: marking(storage, "a", [2, 9]), True, ConcurrentDeleteRead),
    ("the whole file", lambda storage: removing(storage, "a"), True, ConcurrentDeleteRead),
    ("a new file that may match", adding, True, ConcurrentAppend),
    ("rows that ours read", lambda storage: marking(storage, "a", [9]), False, ConcurrentAppend),
]


@pytest.mark.parametrize(("_what", "other", "rows_alone", "error"), CONFLICTS, ids=[each[0] for each in CONFLICTS])
def test_changes_of_deleted_rows_are_a_conflict(
    _what: str, other: Any, rows_alone: bool, error: type[Exception]
) -> None:
    storage = made()
    ours, winner = marking(storage, "a", [1, 2], rows_alone=rows_alone), other(storage)
    winner.commit()
    before = deleted(storage)
    with pytest.raises(error):
        ours.commit()
    assert deleted(storage) == before


def test_whatever_ends_the_commit_takes_the_merged_vectors_along() -> None:
    """For example a canceled read of a winning commit's files."""
    storage = made()
    ours = marking(storage, "a", [1, 2])
    marking(storage, "a", [9]).commit()
    adding(storage, "b2").commit()

    def cancelled(_: object) -> Any:
        assert set(storage.files) > before  # the merged deletion vector
        raise StatementCancelled

    ours.depend_on(cancelled, pa.array([], pa.string()))
    before = set(storage.files)
    with pytest.raises(StatementCancelled):
        ours.commit()
    assert set(storage.files) == before
