"""The metadata of a table of a REST catalog: the catalog checks requirements and applies updates.

Where an answer leaves open whether a commit was made, or cannot be read, the catalog is asked for the table again: the
commit was made if the table has the snapshot that it added. Else nobody knows, and nothing that the commit names may be
deleted.

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
    """`folder` is where the table lies, and `open` gives that; `clock` gives milliseconds since the epoch."""

    at: RestAddress
    open: Callable[[str], Storage]
    clock: Callable[[], int]
    folder: str = ""

    @property
    def storage(self) -> Storage:
        """As `MetadataStore.storage`."""
        return self.open(self.folder)

    @property
    def location(self) -> str:
        """As `MetadataStore.location`."""
        root = self.storage.root
        return root if "://" in root else f"file://{root}"

    def load(self) -> LoadedMetadata:
        """Raises as `MetadataStore.load`, `RestCatalogNotAvailable`, `RestCatalogRefused`."""
        found = self._found()
        if found is None:
            raise IcebergTableNotFound(self.label)
        return loaded_of(found, self.label)

    def commit(
        self, base: LoadedMetadata | None, requirements: Sequence[Requirement], updates: Sequence[Update]
    ) -> LoadedMetadata | None:
        """Raises as `MetadataStore.commit`, `RestCatalogNotAvailable`, `RestCatalogRefused`."""
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
            return self._settled(updates, error.reason, error)
        if found is None:
            raise ConcurrentDrop(self.label)
        try:
            return loaded_of(found, self.label)
        except SqlError as error:
            return self._settled(updates, f"the metadata in its answer cannot be read: {error}", error)

    def has(self, committed: LoadedMetadata) -> bool:
        """As `MetadataStore.has`."""
        found = self._found()
        return found is not None and found.metadata.get("table-uuid") == committed.metadata.table_uuid

    def take_back(self, committed: LoadedMetadata) -> None:
        """As `MetadataStore.take_back`."""
        found = self._found()
        if found is not None and found.metadata.get("table-uuid") == committed.metadata.table_uuid:
            if found.metadata.get("last-updated-ms") == committed.metadata.last_updated_ms:
                self.at.client.drop(self.at.namespace, self.at.table, purge=False)

    def _settled(self, updates: Sequence[Update], reason: str, error: SqlError) -> LoadedMetadata:
        """The table, if it has all snapshots of `updates`. Raises `CommitOutcomeUnknown`."""
        added = [update.snapshot["snapshot-id"] for update in updates if isinstance(update, AddSnapshot)]
        try:
            loaded = self.load()
        except SqlError:
            loaded = None
        if loaded is not None and added and all(each in loaded.metadata.snapshots for each in added):
            return loaded
        raise CommitOutcomeUnknown(self.label, max(added, default=0), ", ".join(map(str, added)), reason) from error

    def _found(self) -> RestTable | None:
        return self.at.client.load(self.at.namespace, self.at.table)

    @property
    def label(self) -> str:
        """How messages call it."""
        return f"{self.at.client.name}.{'.'.join(self.at.namespace)}.{self.at.table}"


def loaded_of(found: RestTable, label: str) -> LoadedMetadata:
    """The metadata that a catalog gave out. Raises `MalformedIcebergFile`, `IcebergFeatureNotSupported`."""
    name = found.metadata_location or label
    metadata = read_metadata(found.metadata, name, label)
    relative = name.removeprefix(f"{metadata.location}/")
    return LoadedMetadata(name=relative, metadata=metadata, json=dict(found.metadata))
