"""Collects the files that snapshots need: manifest lists, their manifests, and the manifests' live files.

A manifest is identical in all snapshots that list it, so each is read once. Names are relative to the table's folder;
files elsewhere do not belong to the table, and are never removed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

import pyarrow.compute as pc

from engine.iceberg.manifests.manifest import DATA, EQUALITY_DELETES, POSITION_DELETES
from engine.iceberg.manifests.manifest_list import Manifest
from engine.iceberg.snapshot.snapshot import IcebergSnapshot
from engine.iceberg.spec.metadata import SnapshotInfo

_MANIFESTS_AT_ONCE = 64


class FileKind(Enum):
    DATA = "data"
    POSITION_DELETES = "position deletes"
    EQUALITY_DELETES = "equality deletes"
    MANIFEST = "manifest"
    MANIFEST_LIST = "manifest list"
    STATISTICS = "statistics"


@dataclass(frozen=True, slots=True)
class TableFiles:
    """Reads the files that one table's metadata references, with a snapshot's caches."""

    snapshot: IcebergSnapshot

    def name_of(self, text: str) -> str | None:
        """Returns a metadata path's name relative to the table's folder; None for a path elsewhere."""
        return self.snapshot.storage.confinement.name_below(self.snapshot.places.path(text))

    def manifests(self, snapshots: Iterable[SnapshotInfo]) -> dict[str, Manifest]:
        """Returns the snapshots' manifests by path. Raises manifest list reading errors."""
        return {each.path: each for info in snapshots for each in self.snapshot.manifests_of(info)}

    def lists(self, snapshots: Iterable[SnapshotInfo]) -> set[str]:
        """Returns the snapshots' manifest lists, as in the metadata; v1 snapshots without lists contribute none."""
        return {info.manifest_list for info in snapshots if info.manifest_list is not None}

    def contents(self, manifests: Iterable[Manifest]) -> Iterator[tuple[FileKind, str]]:
        """Yields the manifests' live files, by path; shared paths occur more than once."""
        every = list(manifests)
        for start in range(0, len(every), _MANIFESTS_AT_ONCE):
            for entries in self.snapshot.entries_of(every[start : start + _MANIFESTS_AT_ONCE]):
                for kind, content in _CONTENTS:
                    for path in entries["file_path"].filter(pc.equal(entries["content"], content)).to_pylist():
                        yield kind, path


_CONTENTS = (
    (FileKind.DATA, DATA),
    (FileKind.POSITION_DELETES, POSITION_DELETES),
    (FileKind.EQUALITY_DELETES, EQUALITY_DELETES),
)


def unneeded_files(
    files: TableFiles, gone: Iterable[SnapshotInfo], retained: Iterable[SnapshotInfo]
) -> dict[str, FileKind]:
    """Returns files that only `gone` snapshots need, and no `retained` one: name -> kind."""
    gone, retained = list(gone), list(retained)
    retained_manifests = files.manifests(retained)
    own = {path: each for path, each in files.manifests(gone).items() if path not in retained_manifests}
    found = {path: kind for kind, path in files.contents(own.values())}
    if found:
        # Retained manifests are only read if files may go: an expiry that removes nothing
        # reads none of them.
        for _, path in files.contents(retained_manifests.values()):
            found.pop(path, None)
    found |= dict.fromkeys(own, FileKind.MANIFEST)
    found |= dict.fromkeys(files.lists(gone) - files.lists(retained), FileKind.MANIFEST_LIST)
    # By name in the folder: two metadata versions may spell one file's location
    # differently.
    needed = {files.name_of(path) for path in (*retained_manifests, *files.lists(retained))}
    names = {files.name_of(path): kind for path, kind in found.items()}
    return {name: kind for name, kind in names.items() if name is not None and name not in needed}
