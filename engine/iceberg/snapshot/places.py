"""Where the paths of a table's metadata lead.

Metadata names every file by its whole path, and the table's own location too. A table whose folder was copied or moved
as a whole is still readable: a path below the location that the metadata gives is a path below the folder in which the
table was found. Other paths are taken as they are; where they may lead is the storage's to say (`engine.storage.
confinement`). Paths are not percent-encoded.

Some writers name a local table by a relative location, of the folder in which they ran. Where the folder of the table
ends with it, other relative paths hang at the same place.

Source: Iceberg table specification, "Table Metadata Fields" (`location`), "Manifests" (`file_path`).
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from engine.storage.paths import is_absolute_path, resolve_path


@dataclass(frozen=True, slots=True)
class Places:
    """`root` is the folder of the table as it was found, `location` what its metadata says."""

    root: str
    location: str

    def path(self, text: str) -> str:
        """A path relative to the table's folder, or an absolute path or URL."""
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
        """As `path`, for a column."""
        prefix = f"{self.location}/"
        if pc.all(pc.starts_with(texts, prefix)).as_py() is not False:
            rest = pc.utf8_slice_codeunits(texts, len(prefix))
            if not pc.any(pc.starts_with(rest, "/")).as_py():
                return rest
        return pa.chunked_array([pa.array([self.path(text) for text in texts.to_pylist()], pa.string())])


def _plain(text: str) -> str:
    """`file:/x`, `file:///x` and `/x` are one place, and so are `./x` and `x`."""
    found = resolve_path(text)
    while found.startswith("./"):
        found = found[2:]
    return found
