"""Which files snapshots need: their manifest lists, the manifests in these, and the live files in the manifests.

A manifest is the same in all snapshots that list it, so each is looked at once. Names are relative to the table's
folder; what lies elsewhere is none of a table's own files, and is never removed.
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
    """Reads what the metadata of one table names, with the caches of a snapshot of it."""

    snapshot: IcebergSnapshot

    def name_of(self, text: str) -> str | None:
        """The name, in the table's folder, of a path as the metadata has it; None for one elsewhere."""
        return self.snapshot.storage.confinement.name_below(self.snapshot.places.path(text))

    def manifests(self, snapshots: Iterable[SnapshotInfo]) -> dict[str, Manifest]:
        """By path; raises what reading manifest lists raises."""
        return {each.path: each for info in snapshots for each in self.snapshot.manifests_of(info)}

    def lists(self, snapshots: Iterable[SnapshotInfo]) -> set[str]:
        return {info.manifest_list for info in snapshots if info.manifest_list is not None}

    def contents(self, manifests: Iterable[Manifest]) -> Iterator[tuple[FileKind, str]]:
        """The live files of manifests, by path; those of a shared path more than once."""
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


def unneeded(files: TableFiles, gone: Iterable[SnapshotInfo], kept: Iterable[SnapshotInfo]) -> dict[str, FileKind]:
    """The files that snapshots which are `gone` had and none that is `kept` has: name -> kind."""
    gone, kept = list(gone), list(kept)
    kept_manifests = files.manifests(kept)
    own = {path: each for path, each in files.manifests(gone).items() if path not in kept_manifests}
    found = {path: kind for kind, path in files.contents(own.values())}
    if found:
        for _, path in files.contents(kept_manifests.values()):
            found.pop(path, None)
    found |= dict.fromkeys(own, FileKind.MANIFEST)
    found |= dict.fromkeys(files.lists(gone) - files.lists(kept), FileKind.MANIFEST_LIST)
    needed = {files.name_of(path) for path in (*kept_manifests, *files.lists(kept))}
    names = {files.name_of(path): kind for path, kind in found.items()}
    return {name: kind for name, kind in names.items() if name is not None and name not in needed}
