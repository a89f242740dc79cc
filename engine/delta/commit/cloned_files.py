"""The files of a table as those of a clone: rows of `FILES_SCHEMA` with other paths.

Everything else that the log says of a file (size, statistics, partition values, deletion vector) is true of it in the
clone too, but for row ids, which every table gives out itself.

A shallow clone names the files where they are, by absolute paths; so are deletion vectors. In a deep clone each file is
a copy under a name that no file had before, since the folder may hold others that older versions need. The copy's tags
say which file of which table it is of, and which vectors both had, so that a later clone of the same table copies only
what is new. A file whose vector has changed since, in the source or in the clone, needs the source's vector alone.

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
SOURCE_VECTOR, OWN_VECTOR = "CLONE_SOURCE_VECTOR", "CLONE_VECTOR"
"""Tags of a copy; ids of vectors are missing where there is none."""

_TAGS = frozenset({SOURCE_TABLE, SOURCE_FILE, SOURCE_VECTOR, OWN_VECTOR})
_KEPT = ("size", "modification_time", "partition_values", "stats", "clustering_provider")


def absolute_paths(files: pa.Table, confinement: Confinement) -> Array:
    """Returns the paths of a table's files as they lead to the same files from anywhere, as delta-spark writes them."""
    texts = _column(files, "log_path")
    below = pc.binary_join_element_wise(_absolute(confinement.root), texts, "/")
    is_absolute = np.array([is_absolute_path(path) for path in files["path"].to_pylist()], bool)
    is_odd = pc.or_(pa.array(is_absolute), pc.match_substring_regex(texts, "[^!-$&-~]"))
    if not pc.any(is_odd).as_py():
        return below
    odd = [_absolute(confinement.resolve(path)) for path in files["path"].filter(is_odd).to_pylist()]
    return pc.replace_with_mask(below, is_odd, pa.array(odd, pa.string()))


def absolute_vectors(files: pa.Table, confinement: Confinement) -> Array:
    """The deletion vectors of a table's files, those in files with their absolute paths."""
    return changed_vectors(files, lambda path: _absolute(confinement.resolve(path)), ABSOLUTE)


def changed_vectors(files: pa.Table, place: Callable[[str], str], storage_type: str) -> Array:
    """The deletion vectors of a table's files, those in files with another place: `place` of the path there is now."""
    column = _column(files, "deletion_vector")
    if column.null_count == len(column):
        return column
    return pa.array(
        [
            value
            if value is None or value["storage_type"] == INLINE
            else {**value, "storage_type": storage_type, "path_or_inline_dv": place(vector_path(value))}
            for value in column.to_pylist()
        ],
        DELETION_VECTOR,
    )


def vector_path(value: Mapping[str, Any]) -> str:
    """The path, decoded, of the file that a descriptor is of. Raises `MalformedLogEntry`."""
    return deletion_vector_path(DeletionVectorDescriptor(**value))


def cloned_files(files: pa.Table, log_paths: Array, vectors: Array, copies_of: str | None = None) -> pa.RecordBatch:
    """The files of a table as adds of another one, under `log_paths` and with `vectors`.

    `copies_of` is the id of the table if these are copies.
    """
    columns = {name: _column(files, name) for name in _KEPT}
    tags = _tags(files, vectors, copies_of)
    return make_batch(
        FILES_SCHEMA, {**columns, "log_path": log_paths, "deletion_vector": vectors, "tags": tags}, files.num_rows
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Copy:
    """A file of a clone that is a copy: `position` among the clone's files, `vector` the id of its own vector."""

    position: int
    vector: str | None
    source_vector: str | None
    """The source's when it was copied."""
    has_copied_vector: bool
    """Whether its vector is the one that was copied."""

    def is_of(self, vector: str | None) -> bool:
        """Whether the same rows of it are deleted as by the source's vector of this id."""
        if self.has_copied_vector and vector == self.source_vector:
            return True
        return vector == self.vector and (vector is None or vector.startswith(INLINE))


def copies_among(files: pa.Table, table_id: str) -> dict[str, Copy]:
    """Which of a clone's files are copies of that table's: the path of the source's file -> the copy."""
    found = {}
    columns = zip(files["tags"].to_pylist(), file_vectors(files), strict=True)
    for position, (pairs, (path, vector)) in enumerate(columns):
        tags = dict(pairs or ())
        if tags.get(SOURCE_TABLE) == table_id and SOURCE_FILE in tags and not is_absolute_path(path):
            found[tags[SOURCE_FILE]] = Copy(
                position=position,
                vector=vector,
                source_vector=tags.get(SOURCE_VECTOR),
                has_copied_vector=tags.get(OWN_VECTOR) == vector,
            )
    return found


def file_vectors(files: pa.Table) -> list[tuple[str, str | None]]:
    """The path of each file, decoded, and the id of its deletion vector."""
    return list(zip(files["path"].to_pylist(), _ids(files), strict=True))


def _tags(files: pa.Table, vectors: Array, copies_of: str | None) -> Array:
    """Those of the files, without what tells of another copying."""
    column = _column(files, "tags")
    if copies_of is None and column.null_count == len(column):
        return column
    kept = [{key: value for key, value in pairs or () if key not in _TAGS} for pairs in column.to_pylist()]
    if copies_of is None:
        return map_array([tags or None for tags in kept])
    own = _vector_ids(vectors)
    told = zip(kept, files["path"].to_pylist(), _ids(files), own, strict=True)
    return map_array(
        {**tags, SOURCE_TABLE: copies_of, SOURCE_FILE: path, **_present({SOURCE_VECTOR: source, OWN_VECTOR: copy})}
        for tags, path, source, copy in told
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
    """Returns the log's text for a place. A local one needs its scheme, or it would be on the clone's own storage."""
    return hadoop_path(f"file:{place}" if place.startswith("/") else place)
