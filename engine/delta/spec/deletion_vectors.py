"""Deletion vector descriptors: locate a deletion vector from its log entry.

The bitmaps themselves are in `engine.storage.deletion_vectors`. Protocol: "Deletion Vector Descriptor Schema".
"""

from __future__ import annotations

from uuid import UUID

from catalog.conditions import DeletionVectorSizeMismatch, MalformedLogEntry
from engine.delta.spec.actions import DeletionVectorDescriptor
from engine.storage.deletion_vectors import ABSOLUTE, RELATIVE, UUID_CHARACTERS, Rows, vector_file_name, z85_decode
from engine.storage.paths import decode_path, resolve_path
from engine.storage.vector_files import inline_vector


def deletion_vector_path(descriptor: DeletionVectorDescriptor) -> str:
    """Returns the deletion vector's file: relative to the table root, or absolute. Raises `MalformedLogEntry`."""
    text = descriptor.path_or_inline_dv
    if descriptor.storage_type == RELATIVE:
        if len(text) < UUID_CHARACTERS:
            raise MalformedLogEntry("deletionVector", f"{text!r} holds no UUID")
        # "Derived Fields": the text is `<random prefix - optional><base85 encoded uuid>`,
        # read from the end, because the prefix has any length. The file is below the table
        # root, not below the data file's directory.
        prefix, encoded = text[:-UUID_CHARACTERS], text[-UUID_CHARACTERS:]
        name = vector_file_name(UUID(bytes=z85_decode(encoded)))
        return f"{prefix}/{name}" if prefix else name
    if descriptor.storage_type == ABSOLUTE:
        # Storage type `p` holds a URL, percent-encoded like the paths in add actions.
        return resolve_path(decode_path(text))
    raise MalformedLogEntry("deletionVector", f"storage type {descriptor.storage_type!r} has no file")


def inline_deletion_vector(rows: Rows) -> DeletionVectorDescriptor:
    """Encodes deleted row indices as an inline deletion vector."""
    return DeletionVectorDescriptor(**inline_vector(rows))


def read_inline(descriptor: DeletionVectorDescriptor) -> bytes:
    """Returns the serialized bitmap from an inline deletion vector.

    Raises `MalformedLogEntry`, `DeletionVectorSizeMismatch`.
    """
    data = z85_decode(descriptor.path_or_inline_dv)
    if not 0 <= descriptor.size_in_bytes <= len(data):
        raise DeletionVectorSizeMismatch("(inline)", descriptor.size_in_bytes, len(data))
    # Base85 encodes four bytes at a time; the size tells the padding from the vector.
    return data[: descriptor.size_in_bytes]
