"""Resolves the paths in a table's metadata.

Metadata names every file by its complete path, and contains the table's location too. A table whose folder was copied
or moved as a whole remains readable: a path below the metadata's location is resolved below the folder in which the
table was found. Other paths are used unchanged; the storage decides whether they are allowed (`engine.storage.
confinement`). Paths are not percent-encoded.

Some writers use a relative location for a local table, relative to their working folder. If the table's folder ends
with it, other relative paths are resolved against the same parent.

Source: Iceberg table specification, "Table Metadata Fields" (`location`), "Manifests" (`file_path`).
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from engine.storage.paths import is_absolute_path, resolve_path


@dataclass(frozen=True, slots=True)
class Places:
    """`root` is the folder in which the table was found, `location` the metadata's."""

    root: str
    location: str

    def path(self, text: str) -> str:
        """Returns a path relative to the table's folder, or an absolute path or URL."""
        location = _plain(self.location)
        plain = _plain(text)
        if plain == location:
            return ""
        if plain.startswith(f"{location}/"):
            return plain[len(location) + 1 :].lstrip("/")
        if is_absolute_path(plain):
            return resolve_path(plain)
        if not is_absolute_path(location) and self.root.endswith(f"/{location}"):
            return f"{self.root.removesuffix(location)}{plain}"
        return plain

    def paths(self, texts: pa.ChunkedArray) -> pa.ChunkedArray:
        """Resolves a column like `path`."""
        prefix = f"{self.location}/"
        if pc.all(pc.starts_with(texts, prefix)).as_py() is not False:
            rest = pc.utf8_slice_codeunits(texts, len(prefix))
            if not pc.any(pc.starts_with(rest, "/")).as_py():
                return rest
        return pa.chunked_array([pa.array([self.path(text) for text in texts.to_pylist()], pa.string())])


def _plain(text: str) -> str:
    """Normalizes a path: `file:/x`, `file:///x` and `/x` are equal, and so are `./x` and `x`."""
    found = resolve_path(text)
    while found.startswith("./"):
        found = found[2:]
    return found
