"""The interface for stores that hold a table's metadata versions and commit the next one.

    loaded = store.load()
    after = store.commit(loaded, requirements, updates)   # None: another writer's commit came first
    if after is None:
        loaded = store.load()                             # check the winning commits, then try again

The caller states `requirements` for its updates, and checks other writers' snapshots between attempts: the store does
not look at rows. Two stores exist: a folder with metadata files (`engine.iceberg.commit.file_store`), and a REST
catalog.

Source: Iceberg table specification, "Commit Conflict Resolution and Retry"; Iceberg REST catalog, "updateTable".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from engine.iceberg.commit.updates import Json, Requirement, Update
from engine.iceberg.spec.metadata import TableMetadata
from engine.storage.storage import Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedMetadata:
    """One table version. `name` is the metadata file: relative to the table's folder, or a path or URL.

    `json` is the file's content, including unknown keys; it must not be modified. `stamp` lets the store that loaded
    the file detect a replacement.
    """

    name: str
    metadata: TableMetadata
    json: Json = field(repr=False)
    stamp: object = field(default=None, repr=False, compare=False)


class MetadataStore(Protocol):
    """Loads and commits one table's metadata."""

    @property
    def storage(self) -> Storage:
        """Returns the table's folder."""
        ...

    @property
    def clock(self) -> Callable[[], int]:
        """Returns the clock, in milliseconds since the epoch."""
        ...

    @property
    def location(self) -> str:
        """Returns the location for a new table, with its scheme."""
        ...

    def load(self) -> LoadedMetadata:
        """Loads the newest version.

        Raises `IcebergTableNotFound`, `MalformedIcebergFile`, `IcebergFeatureNotSupported`.
        """
        ...

    def commit(
        self, base: LoadedMetadata | None, requirements: Sequence[Requirement], updates: Sequence[Update]
    ) -> LoadedMetadata | None:
        """Commits `updates` on top of `base` and returns the new version; `base` None creates a table.

        Returns None, with nothing changed, if another writer's commit came first or a requirement is not met. Raises
        `CommitOutcomeUnknown` if the version may or may not exist (no file that it names may be deleted then),
        `ConcurrentDrop` if the table is gone, and errors for updates that can never be committed.
        """
        ...

    def has(self, committed: LoadedMetadata) -> bool:
        """Returns True if a committed version still exists."""
        ...

    def take_back(self, committed: LoadedMetadata) -> None:
        """Removes a table's first version, unless another writer has committed on top. Raises `OSError`."""
        ...
