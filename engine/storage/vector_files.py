"""Deletion vectors in separate files, or inline as text."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from engine.storage.deletion_vectors import (
    INLINE,
    RELATIVE,
    Rows,
    format_file,
    format_rows,
    relative_deletion_vector,
    vector_file_name,
    z85_encode,
)
from engine.storage.storage import Storage

# A descriptor as a value of :data:`DELETION_VECTOR`.
VectorRow = dict[str, Any]


def inline_vector(rows: Rows) -> VectorRow:
    """Returns an inline vector."""
    data = format_rows(rows)
    text = z85_encode(data + bytes(-len(data) % 4))
    return {
        "storage_type": INLINE,
        "path_or_inline_dv": text,
        "offset": None,
        "size_in_bytes": len(data),
        "cardinality": len(rows),
    }


def write_vectors(storage: Storage, deleted: Sequence[Rows]) -> tuple[list[VectorRow], str]:
    """Writes one file with a vector for each row set; returns their descriptors, and the file name."""
    vectors = [format_rows(rows) for rows in deleted]
    content, offsets = format_file(vectors)
    token = uuid.uuid4()
    name = vector_file_name(token)
    storage.write(name, content)
    return [
        {
            "storage_type": RELATIVE,
            "path_or_inline_dv": relative_deletion_vector(token),
            "offset": offset,
            "size_in_bytes": len(data),
            "cardinality": len(rows),
        }
        for rows, data, offset in zip(deleted, vectors, offsets, strict=True)
    ], name
