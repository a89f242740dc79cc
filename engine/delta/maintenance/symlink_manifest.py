"""Symlink manifests, for engines that read Parquet files from lists, such as Presto and Athena.

`_symlink_format_manifest/manifest` contains each live file's location, one per line. A partitioned table has one
manifest per partition, in a Hive-style directory. Each file appears atomically, but not all at the same time: readers
of a partitioned table may see partitions from two versions. Tables with features that a manifest cannot represent,
deletion vectors and column mapping, are rejected.

Source: "Presto, Trino and Athena to Delta Lake integration using manifests" in the Delta documentation.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from catalog.conditions import ManifestWithColumnMapping, ManifestWithDeletionVectors
from engine.delta.schema.column_mapping import NO_MAPPING
from engine.delta.snapshot.snapshot import Snapshot
from engine.storage.storage import Storage
from engine.types.partition_values import HIVE_NULL

MANIFEST_DIR = "_symlink_format_manifest"
_MANIFEST = "manifest"
_ESCAPED = frozenset("\"#%'*/:=?\\{[]^\x7f") | frozenset(map(chr, range(1, 32)))


def ensure_manifest_possible(snapshot: Snapshot) -> None:
    """Raises `ManifestWithColumnMapping`, `ManifestWithDeletionVectors`."""
    if snapshot.config.column_mapping_mode != NO_MAPPING:
        raise ManifestWithColumnMapping(snapshot.table_root)
    vectors = snapshot.files.column("deletion_vector")
    if vectors.null_count < len(vectors):
        raise ManifestWithDeletionVectors(snapshot.table_root)


def write_manifests(snapshot: Snapshot) -> None:
    """Writes a version's manifests and removes all others. Raises like `ensure_manifest_possible`."""
    ensure_manifest_possible(snapshot)
    storage, columns = snapshot.storage, snapshot.partition_columns
    places: dict[str, list[str]] = defaultdict(list)
    if not columns:
        # An empty table still has a manifest: without one, its readers fail.
        places[""] = []
    files = snapshot.files.select(["path", "partition_values"]).to_pylist()
    for file in files:
        place = storage.path_of(file["path"])
        places[_folder(columns, dict(file["partition_values"] or ()))].append(_url(place))
    for folder, lines in places.items():
        storage.write(_name(folder), "".join(f"{line}\n" for line in sorted(lines)).encode())
    for name in _present(storage, MANIFEST_DIR):
        # Written first, deleted afterwards: between the two, readers still see a removed
        # partition, but miss none.
        if name not in {_name(folder) for folder in places}:
            storage.delete(name)


def _folder(columns: tuple[str, ...], values: dict[str, str | None]) -> str:
    return "/".join(f"{_escape(name)}={_escape(values.get(name) or HIVE_NULL)}" for name in columns)


def _name(folder: str) -> str:
    return "/".join(part for part in (MANIFEST_DIR, folder, _MANIFEST) if part)


def _present(storage: Storage, folder: str) -> Iterator[str]:
    listing = storage.list_folder(folder)
    for status in listing.files:
        if status.name == _MANIFEST:
            yield f"{folder}/{status.name}"
    for inner in listing.folders:
        yield from _present(storage, f"{folder}/{inner.name}")


def _escape(text: str) -> str:
    return "".join(f"%{ord(char):02X}" if char in _ESCAPED else char for char in text)


def _url(place: str) -> str:
    return place if "://" in place else f"file:{place}"
