"""Where the versions of a table's metadata are kept, and how the next one is made.

    loaded = store.load()
    after = store.commit(loaded, requirements, updates)   # None: another writer's commit came first
    if after is None:
        loaded = store.load()                             # look at what was committed, then try again

The caller says what must hold for its updates (`requirements`), and looks at the snapshots of others in between: the
store knows nothing of rows. Two stores exist: a folder of metadata files (`engine.iceberg.commit.file_store`), and a
REST catalog.

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
    """One version of a table. `name` is the metadata file: relative to the table's folder, or a path or URL.

    `json` is what the file says, with keys that nobody knows, and must not be changed. `stamp` tells the file from
    another one that was put in its place, to the store that loaded it.
    """

    name: str
    metadata: TableMetadata
    json: Json = field(repr=False)
    stamp: object = field(default=None, repr=False, compare=False)


class MetadataStore(Protocol):
    """The metadata of one table."""

    @property
    def storage(self) -> Storage:
        """The table's folder."""
        ...

    @property
    def clock(self) -> Callable[[], int]:
        """Gives milliseconds since the epoch."""
        ...

    @property
    def location(self) -> str:
        """Of a new table, with its scheme."""
        ...

    def load(self) -> LoadedMetadata:
        """The newest version. Raises `IcebergTableNotFound`, `MalformedIcebergFile`, `IcebergFeatureNotSupported`."""
        ...

    def commit(
        self, base: LoadedMetadata | None, requirements: Sequence[Requirement], updates: Sequence[Update]
    ) -> LoadedMetadata | None:
        """The version after `updates`; None where another writer's came first or a requirement does not hold, and
        nothing was changed. `base` None makes a table.

        Raises `CommitOutcomeUnknown` where nobody can say whether the version is there (nothing that it names may be
        deleted then), `ConcurrentDrop` for a table that is gone, and for what can never be committed.
        """
        ...

    def has(self, committed: LoadedMetadata) -> bool:
        """Whether a version that was made is still there."""
        ...

    def take_back(self, committed: LoadedMetadata) -> None:
        """Removes the first version of a table again, unless somebody has built upon it. Raises `OSError`."""
        ...
