"""Deletion vectors in storage."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import numpy as np
import pytest

from catalog.conditions import (
    DeletionVectorCardinalityMismatch,
    DeletionVectorChecksumMismatch,
    DeletionVectorSizeMismatch,
    DeltaError,
    LogFileNotFound,
    MalformedLogEntry,
)
from engine.delta.snapshot.row_files import load_deleted_rows
from engine.delta.spec.actions import DeletionVectorDescriptor
from engine.delta.spec.deletion_vectors import inline_deletion_vector
from engine.storage.deletion_vectors import format_file, format_rows, relative_deletion_vector
from tests.interleave.storages import DictStorage

ONE, TWO = np.array([1, 5], np.int64), np.arange(100, 900, dtype=np.int64)
ID = UUID("d2c639aa-8816-431a-aaf6-d3fe2512ff61")
DATA, OFFSETS = format_file([format_rows(ONE), format_rows(TWO)])


def stored(name: str) -> DictStorage:
    storage = DictStorage()
    storage.write(name, DATA)
    return storage


def descriptor(**fields: Any) -> DeletionVectorDescriptor:
    return DeletionVectorDescriptor(
        **{
            "storage_type": "u",
            "path_or_inline_dv": relative_deletion_vector(ID, "ab"),
            "offset": OFFSETS[0],
            "size_in_bytes": len(format_rows(ONE)),
            "cardinality": 2,
            **fields,
        }
    )


RELATIVE = stored(f"ab/deletion_vector_{ID}.bin")


def test_several_vectors_share_a_file() -> None:
    second = descriptor(offset=OFFSETS[1], size_in_bytes=len(format_rows(TWO)), cardinality=len(TWO))
    assert load_deleted_rows(RELATIVE, descriptor()).tolist() == [1, 5]
    assert np.array_equal(load_deleted_rows(RELATIVE, second), TWO)


def test_without_an_offset_it_is_the_first() -> None:
    assert load_deleted_rows(RELATIVE, descriptor(offset=None)).tolist() == [1, 5]


def test_absolute_and_inline() -> None:
    absolute = descriptor(storage_type="p", path_or_inline_dv="dict://x/a%20b.bin")
    assert load_deleted_rows(stored("dict://x/a b.bin"), absolute).tolist() == [1, 5]
    assert np.array_equal(load_deleted_rows(DictStorage(), inline_deletion_vector(TWO)), TWO)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"path_or_inline_dv": relative_deletion_vector(ID)}, LogFileNotFound),
        ({"offset": 2}, DeltaError),
        ({"offset": 10**6}, DeletionVectorSizeMismatch),
        ({"offset": -1}, MalformedLogEntry),
        ({"size_in_bytes": -5}, MalformedLogEntry),
        ({"size_in_bytes": 3}, DeletionVectorSizeMismatch),
        ({"cardinality": 3}, DeletionVectorCardinalityMismatch),
        ({"storage_type": "x"}, MalformedLogEntry),
    ],
)
def test_mismatching_deletion_vector_is_reported(fields: dict[str, Any], error: type[Exception]) -> None:
    with pytest.raises(error):
        load_deleted_rows(RELATIVE, descriptor(**fields))


def test_a_flipped_bit_is_noticed() -> None:
    storage = DictStorage()
    for position in range(OFFSETS[0] + 4, OFFSETS[1]):
        damaged = bytearray(DATA)
        damaged[position] ^= 4
        storage.write(f"ab/deletion_vector_{ID}.bin", bytes(damaged))
        with pytest.raises(DeletionVectorChecksumMismatch):
            load_deleted_rows(storage, descriptor())
