"""Deletion vectors as they are stored: inline in the log, or in files beside the data.

What is read is checked against all that is recorded of it: its size, its checksum, its cardinality. Several vectors may
share a file; only the range of the one is read, and no more than a vector can have.
"""

from __future__ import annotations

from catalog.conditions import LogFileNotFound, MalformedLogEntry
from engine.delta.spec.actions import DeletionVectorDescriptor
from engine.delta.spec.deletion_vectors import deletion_vector_path, read_inline
from engine.storage.deletion_vectors import FRAME_BYTES, INLINE, RELATIVE, VECTOR_BYTES_MAX, Rows, parse_rows, unframe
from engine.storage.storage import Storage

FIRST_OFFSET = 1
"""The offset of the first vector of a file, after the version of the format."""


def read_deletion_vector(storage: Storage, descriptor: DeletionVectorDescriptor) -> bytes:
    """The serialized bitmap, its size and checksum verified.

    Raises `LogFileNotFound`, `MalformedLogEntry`, `DeletionVectorSizeMismatch`, `DeletionVectorChecksumMismatch`.
    """
    if descriptor.storage_type == INLINE:
        return read_inline(descriptor)
    path = deletion_vector_path(descriptor)
    if descriptor.storage_type == RELATIVE:
        storage.confinement.ensure_below_root(path)
    offset = FIRST_OFFSET if descriptor.offset is None else descriptor.offset
    if min(offset, descriptor.cardinality) < 0 or not 0 <= descriptor.size_in_bytes <= VECTOR_BYTES_MAX:
        raise MalformedLogEntry("deletionVector", "its offset, size or cardinality is out of range")
    try:
        frame = storage.read_range(path, offset, descriptor.size_in_bytes + FRAME_BYTES)
    except FileNotFoundError as error:
        raise LogFileNotFound(storage.path_of(path)) from error
    return unframe(frame, descriptor.size_in_bytes, path)


def load_deleted_rows(storage: Storage, descriptor: DeletionVectorDescriptor) -> Rows:
    """The indices of the deleted rows, ascending.

    Raises as `read_deletion_vector` does, and `DeletionVectorCardinalityMismatch`.
    """
    data = read_deletion_vector(storage, descriptor)
    return parse_rows(data, descriptor.unique_id, descriptor.cardinality)
