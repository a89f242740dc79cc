"""Converts a table's files to a clone's files: `FILES_SCHEMA` rows with other paths.

All other values in the log (size, statistics, partition values, deletion vector) are valid in the clone too, except row
ids, which every table assigns itself.

A shallow clone refers to the original files by absolute paths; the same applies to deletion vectors. In a deep clone
each file is a copy under a new name, since the directory may contain files that older versions need. The copy's tags
record the source file, its table, and both deletion vectors, so that a later clone from the same table copies only new
files. If a file's deletion vector has changed since, in the source or in the clone, only the source's vector is copied.

Protocol: "Add File and Remove File" (paths), "Deletion Vector Descriptor Schema".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from engine.delta.log.file_table import FILES_SCHEMA, make_batch, map_array, vector_ids
from engine.delta.spec.actions import DeletionVectorDescriptor
from engine.delta.spec.deletion_vectors import deletion_vector_path
from engine.storage.confinement import Confinement
from engine.storage.deletion_vectors import ABSOLUTE, DELETION_VECTOR, INLINE
from engine.storage.paths import hadoop_path, is_absolute_path
from engine.types.arrow_types import Array

SOURCE_TABLE, SOURCE_FILE = "CLONE_SOURCE_TABLE", "CLONE_SOURCE_FILE"
# A copy's tags with deletion vector ids, which are absent if there is no vector.
SOURCE_VECTOR, OWN_VECTOR = "CLONE_SOURCE_VECTOR", "CLONE_VECTOR"

_TAGS = frozenset({SOURCE_TABLE, SOURCE_FILE, SOURCE_VECTOR, OWN_VECTOR})
_COPIED_FIELDS = ("size", "modification_time", "partition_values", "stats", "clustering_provider")


def absolute_paths(files: pa.Table, confinement: Confinement) -> Array:
    """Returns absolute paths for a table's files, valid from any location, as delta-spark writes them."""
    texts = _column(files, "log_path")
    below = pc.binary_join_element_wise(_absolute(confinement.root), texts, "/")
    is_absolute = np.array([is_absolute_path(path) for path in files["path"].to_pylist()], bool)
    # A text with a percent sign or with characters outside of ASCII is decoded and encoded
    # again, so that both tables agree on the file; all others are joined in bulk.
    is_odd = pc.or_(pa.array(is_absolute), pc.match_substring_regex(texts, "[^!-$&-~]"))
    if not pc.any(is_odd).as_py():
        return below
    odd = [_absolute(confinement.resolve(path)) for path in files["path"].filter(is_odd).to_pylist()]
    return pc.replace_with_mask(below, is_odd, pa.array(odd, pa.string()))


def absolute_vectors(files: pa.Table, confinement: Confinement) -> Array:
    """Returns the files' deletion vectors, with absolute paths for vectors stored in files."""
    return changed_vectors(files, lambda path: _absolute(confinement.resolve(path)), ABSOLUTE)


def changed_vectors(files: pa.Table, place: Callable[[str], str], storage_type: str) -> Array:
    """Returns the files' deletion vectors, with new paths.

    For vectors stored in files, `place` maps the current path to the new one.
    """
    column = _column(files, "deletion_vector")
    if column.null_count == len(column):
        return column
    return pa.array(
        [
            value
            # An inline vector is in the log entry itself and needs no file.
            if value is None or value["storage_type"] == INLINE
            else {**value, "storage_type": storage_type, "path_or_inline_dv": place(vector_path(value))}
            for value in column.to_pylist()
        ],
        DELETION_VECTOR,
    )


def vector_path(value: Mapping[str, Any]) -> str:
    """Returns the decoded path from a descriptor. Raises `MalformedLogEntry`."""
    return deletion_vector_path(DeletionVectorDescriptor(**value))


def cloned_files(files: pa.Table, log_paths: Array, vectors: Array, copies_of: str | None = None) -> pa.RecordBatch:
    """Returns a table's files as adds for another table, under `log_paths` and with `vectors`.

    `copies_of` is the table's id if these are copies.
    """
    columns = {name: _column(files, name) for name in _COPIED_FIELDS}
    tags = _tags(files, vectors, copies_of)
    return make_batch(
        FILES_SCHEMA, {**columns, "log_path": log_paths, "deletion_vector": vectors, "tags": tags}, files.num_rows
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """A copied file in a clone: `position` in the clone's files, `vector` the id of its own deletion vector."""

    position: int
    vector: str | None
    # The source's vector when the file was copied.
    source_vector: str | None
    # True if the current vector is the copied one.
    has_copied_vector: bool

    def is_of(self, vector: str | None) -> bool:
        """Returns whether the copy has the same deleted rows as the source's vector with this id."""
        # The clone's own later deletes replace the copied vector, so that both sides must
        # be unchanged for the copy to count.
        if self.has_copied_vector and vector == self.source_vector:
            return True
        # Without the tags, equal contents are only certain for no vector, and for inline
        # ones, whose id contains the bitmap.
        return vector == self.vector and (vector is None or vector.startswith(INLINE))


def copies_among(files: pa.Table, table_id: str) -> dict[str, Copy]:
    """Maps source paths to copies, for the clone's files that are copies from the table `table_id`."""
    found = {}
    columns = zip(files["tags"].to_pylist(), file_vectors(files), strict=True)
    for position, (pairs, (path, vector)) in enumerate(columns):
        tags = dict(pairs or ())
        # An absolute path is an earlier shallow clone's reference, not a copy.
        if tags.get(SOURCE_TABLE) == table_id and SOURCE_FILE in tags and not is_absolute_path(path):
            found[tags[SOURCE_FILE]] = Copy(
                position=position,
                vector=vector,
                source_vector=tags.get(SOURCE_VECTOR),
                has_copied_vector=tags.get(OWN_VECTOR) == vector,
            )
    return found


def file_vectors(files: pa.Table) -> list[tuple[str, str | None]]:
    """Returns each file's decoded path and deletion vector id."""
    return list(zip(files["path"].to_pylist(), _ids(files), strict=True))


def _tags(files: pa.Table, vectors: Array, copies_of: str | None) -> Array:
    """Returns the files' tags without those from other copy operations."""
    column = _column(files, "tags")
    if copies_of is None and column.null_count == len(column):
        return column
    copied = [{key: value for key, value in pairs or () if key not in _TAGS} for pairs in column.to_pylist()]
    if copies_of is None:
        return map_array([tags or None for tags in copied])
    own = _vector_ids(vectors)
    tag_rows = zip(copied, files["path"].to_pylist(), _ids(files), own, strict=True)
    return map_array(
        {**tags, SOURCE_TABLE: copies_of, SOURCE_FILE: path, **_present({SOURCE_VECTOR: source, OWN_VECTOR: copy})}
        for tags, path, source, copy in tag_rows
    )


def _ids(files: pa.Table) -> list[str | None]:
    return _vector_ids(_column(files, "deletion_vector"))


def _vector_ids(vectors: Array) -> list[str | None]:
    return pc.if_else(vectors.is_valid(), vector_ids(vectors), None).to_pylist()  # type: ignore[no-any-return]


def _present(tags: Mapping[str, str | None]) -> dict[str, str]:
    return {key: value for key, value in tags.items() if value is not None}


def _column(files: pa.Table, name: str) -> Array:
    column = files[name]
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _absolute(place: str) -> str:
    """Returns the log's text for a location.

    A local one needs its scheme, or it would refer to the clone's own storage.
    """
    return hadoop_path(f"file:{place}" if place.startswith("/") else place)
