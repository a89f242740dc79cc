"""The metadata store for a REST catalog table: the catalog checks requirements and applies updates.

If a response leaves the commit's outcome unknown, or cannot be read, the table is loaded again: the commit succeeded if
the table has the snapshot that it added. Otherwise the outcome remains unknown, and nothing that the commit references
may be deleted.

Source: Iceberg REST catalog, "updateTable".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from catalog.conditions import (
    CommitOutcomeUnknown,
    ConcurrentDrop,
    IcebergTableNotFound,
    RestConflict,
    RestOutcomeUnknown,
)
from catalog.errors import SqlError
from catalog.rest.client import RestTable
from catalog.rest.names import RestAddress
from engine.iceberg.commit.metadata_store import LoadedMetadata
from engine.iceberg.commit.updates import AddSnapshot, Requirement, Update, requirement_json, update_json
from engine.iceberg.spec.metadata import read_metadata
from engine.storage.storage import Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class RestMetadataStore:
    """`folder` is the table's location, which `open` opens; `clock` returns milliseconds since the epoch."""

    at: RestAddress
    open: Callable[[str], Storage]
    clock: Callable[[], int]
    folder: str = ""

    @property
    def storage(self) -> Storage:
        """Implements `MetadataStore.storage`."""
        return self.open(self.folder)

    @property
    def location(self) -> str:
        """Implements `MetadataStore.location`."""
        root = self.storage.root
        return root if "://" in root else f"file://{root}"

    def load(self) -> LoadedMetadata:
        """Loads the table. Raises like `MetadataStore.load`, `RestCatalogNotAvailable`, `RestCatalogRefused`."""
        found = self._load_table()
        if found is None:
            raise IcebergTableNotFound(self.label)
        return loaded_of(found, self.label)

    def commit(
        self, base: LoadedMetadata | None, requirements: Sequence[Requirement], updates: Sequence[Update]
    ) -> LoadedMetadata | None:
        """Commits. Raises like `MetadataStore.commit`, `RestCatalogNotAvailable`, `RestCatalogRefused`."""
        try:
            found = self.at.client.commit(
                self.at.namespace,
                self.at.table,
                list(map(requirement_json, requirements)),
                list(map(update_json, updates)),
            )
        except RestConflict:
            return None
        except RestOutcomeUnknown as error:
            return self._confirm(updates, error.reason, error)
        if found is None:
            raise ConcurrentDrop(self.label)
        try:
            return loaded_of(found, self.label)
        except SqlError as error:
            return self._confirm(updates, f"the metadata in its answer cannot be read: {error}", error)

    def has(self, committed: LoadedMetadata) -> bool:
        """Implements `MetadataStore.has`."""
        found = self._load_table()
        return found is not None and found.metadata.get("table-uuid") == committed.metadata.table_uuid

    def take_back(self, committed: LoadedMetadata) -> None:
        """Implements `MetadataStore.take_back`."""
        found = self._load_table()
        if found is not None and found.metadata.get("table-uuid") == committed.metadata.table_uuid:
            if found.metadata.get("last-updated-ms") == committed.metadata.last_updated_ms:
                self.at.client.drop(self.at.namespace, self.at.table, purge=False)

    def _confirm(self, updates: Sequence[Update], reason: str, error: SqlError) -> LoadedMetadata:
        """Resolves an unknown outcome: returns the table if it has all snapshots in `updates`. Raises
        `CommitOutcomeUnknown`.
        """
        added = [update.snapshot["snapshot-id"] for update in updates if isinstance(update, AddSnapshot)]
        try:
            loaded = self.load()
        except SqlError:
            loaded = None
        if loaded is not None and added and all(each in loaded.metadata.snapshots for each in added):
            return loaded
        raise CommitOutcomeUnknown(self.label, max(added, default=0), ", ".join(map(str, added)), reason) from error

    def _load_table(self) -> RestTable | None:
        return self.at.client.load(self.at.namespace, self.at.table)

    @property
    def label(self) -> str:
        """Returns the table's name in messages."""
        return f"{self.at.client.name}.{'.'.join(self.at.namespace)}.{self.at.table}"


def loaded_of(found: RestTable, label: str) -> LoadedMetadata:
    """Returns the metadata in a catalog's response. Raises `MalformedIcebergFile`, `IcebergFeatureNotSupported`."""
    name = found.metadata_location or label
    metadata = read_metadata(found.metadata, name, label)
    relative = name.removeprefix(f"{metadata.location}/")
    return LoadedMetadata(name=relative, metadata=metadata, json=dict(found.metadata))
