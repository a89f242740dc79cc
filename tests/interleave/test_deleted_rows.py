"""Writers that delete rows in one file by deletion vectors, in every order of their steps: each deletion is recorded
exactly once.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from catalog.conditions import ConcurrentModification
from engine.delta.commit.merged_vectors import read_vector
from engine.delta.commit.transaction import Committed, Transaction
from engine.delta.snapshot.snapshot import Snapshot
from engine.delta.spec.actions import DeletionVectorDescriptor
from engine.delta.spec.deletion_vectors import deletion_vector_path
from engine.storage.deletion_vectors import DELETION_VECTOR
from engine.storage.vector_files import write_vectors
from engine.tables.operations import TableOperation
from tests.engine.delta.committing import append, create, describe, metadata
from tests.interleave.scheduler import Step, explore
from tests.interleave.storages import DictStorage
from tests.interleave.test_two_writers import stepped

SETS = [frozenset({1, 2}), frozenset({3}), frozenset({2, 3}), frozenset({70})]


def mark(storage: Any, rows: frozenset[int]) -> Committed | None:
    """Runs a DELETE for these rows, some of which may already be deleted."""
    snapshot = Snapshot.load(storage)
    files = snapshot.files
    old = read_vector(storage, files["deletion_vector"][0].as_py())
    more = np.setdiff1d(np.array(sorted(rows), np.int64), old)
    if not more.size:
        return None
    vectors, _ = write_vectors(storage, [np.union1d(old, more)])
    at = files.schema.get_field_index("deletion_vector")
    with_deletes = files.set_column(at, files.schema.field(at), pa.array(vectors, DELETION_VECTOR))
    transaction = Transaction.on(snapshot, describe(TableOperation.DML, "DELETE"))
    transaction.depend_on(lambda batch: pa.array([True] * len(batch)), files["path"])
    transaction.depend_on_rows_alone({files["path"][0].as_py(): more})
    transaction.stage_removes(files)
    for batch in with_deletes.to_batches():
        transaction.stage_adds(batch)
    return transaction.commit()


def vectors_in(storage: DictStorage) -> set[str]:
    return {status.name for status in storage.list_folder("").files if status.name.endswith(".bin")}


def named_vectors(storage: DictStorage) -> set[str]:
    """By any version."""
    versions = (Snapshot.load(storage, version) for version in range(Snapshot.load(storage).version + 1))
    vectors = [value for snapshot in versions for value in snapshot.files["deletion_vector"].to_pylist()]
    return {deletion_vector_path(DeletionVectorDescriptor(**value)) for value in vectors if value is not None}


@pytest.mark.parametrize(("first", "second"), list(itertools.combinations_with_replacement(SETS, 2)))
def test_every_interleaving_deletes_committed_rows(first: frozenset[int], second: frozenset[int]) -> None:
    def make() -> tuple[list[Any], DictStorage]:
        storage = DictStorage()
        create(storage, metadata(configuration={"delta.enableDeletionVectors": "true"}))
        append(storage, "a", stats='{"numRecords":100}')

        def writer(rows: frozenset[int]) -> Any:
            def write(step: Step) -> Any:
                return mark(stepped(storage, step), rows)

            return write

        return [writer(first), writer(second)], storage

    outcomes = set()
    for run, storage in explore(make):
        lost = [result for result in run.results if isinstance(result, Exception)]
        assert all(isinstance(error, ConcurrentModification) for error in lost)
        done = [rows for rows, result in zip((first, second), run.results, strict=True) if result not in lost]
        files = Snapshot.load(storage).files
        gone = read_vector(storage, files["deletion_vector"][0].as_py())
        assert len(files) == 1 and set(gone.tolist()) == set().union(*done)
        assert not lost or first & second
        assert lost or vectors_in(storage) == named_vectors(storage)
        outcomes.add(len(lost))
    assert outcomes == ({0, 1} if first & second else {0})
