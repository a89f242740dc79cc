"""The metadata of a table of a REST catalog: the catalog checks requirements and applies updates.

Where an answer leaves open whether a commit was made, or cannot be read, the catalog is asked for the table again: the
commit was made if the table has the snapshot that it added. Else nobody knows, and nothing that the commit names may be
deleted.

Source: Iceberg REST catalog, "updateTable".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from catalog.errors import SqlError
from catalog.rest.client import Namespace, RestClient, RestTable
from catalog.rest.errors import RestConflict, RestOutcomeUnknown
from engine.errors.conflict_errors import CommitOutcomeUnknown, ConcurrentDrop
from engine.iceberg.commit.metadata_store import LoadedMetadata
from engine.iceberg.commit.updates import AddSnapshot, Requirement, Update, requirement_json, update_json
from engine.iceberg.spec.errors import IcebergTableNotFound
from engine.iceberg.spec.metadata import read_metadata
from engine.storage.storage import Storage


@dataclass(frozen=True, slots=True, kw_only=True)
class RestMetadataStore:
    """`storage` is the table's folder. `clock` gives milliseconds since the epoch."""

    client: RestClient
    namespace: Namespace
    table: str
    storage: Storage
    clock: Callable[[], int]

    @property
    def location(self) -> str:
        """As `FileMetadataStore.location`."""
        root = self.storage.root
        return root if "://" in root else f"file://{root}"

    def load(self) -> LoadedMetadata:
        """Raises as `MetadataStore.load`, `RestCatalogNotAvailable`, `RestCatalogRefused`."""
        found = self.client.load(self.namespace, self.table)
        if found is None:
            raise IcebergTableNotFound(self._label)
        return self._loaded(found)

    def commit(
        self, base: LoadedMetadata | None, requirements: Sequence[Requirement], updates: Sequence[Update]
    ) -> LoadedMetadata | None:
        """Raises as `MetadataStore.commit`, `RestCatalogNotAvailable`, `RestCatalogRefused`."""
        try:
            found = self.client.commit(
                self.namespace, self.table, list(map(requirement_json, requirements)), list(map(update_json, updates))
            )
        except RestConflict:
            return None
        except RestOutcomeUnknown as error:
            return self._settled(updates, error.reason, error)
        if found is None:
            raise ConcurrentDrop(self._label)
        try:
            return self._loaded(found)
        except SqlError as error:
            return self._settled(updates, f"the metadata in its answer cannot be read: {error}", error)

    def has(self, committed: LoadedMetadata) -> bool:
        """As `FileMetadataStore.has`."""
        found = self.client.load(self.namespace, self.table)
        return found is not None and found.metadata.get("table-uuid") == committed.metadata.table_uuid

    def take_back(self, committed: LoadedMetadata) -> None:
        """As `FileMetadataStore.take_back`."""
        self.client.drop(self.namespace, self.table, purge=False)

    def _settled(self, updates: Sequence[Update], reason: str, error: SqlError) -> LoadedMetadata:
        """The table, if it has all snapshots of `updates`. Raises `CommitOutcomeUnknown`."""
        added = [update.snapshot["snapshot-id"] for update in updates if isinstance(update, AddSnapshot)]
        try:
            loaded = self.load()
        except SqlError:
            loaded = None
        if loaded is not None and added and all(each in loaded.metadata.snapshots for each in added):
            return loaded
        raise CommitOutcomeUnknown(self._label, max(added, default=0), ", ".join(map(str, added)), reason) from error

    def _loaded(self, found: RestTable) -> LoadedMetadata:
        name = found.metadata_location or self._label
        metadata = read_metadata(found.metadata, name, self._label)
        relative = name.removeprefix(f"{metadata.location}/")
        return LoadedMetadata(name=relative, metadata=metadata, json=dict(found.metadata))

    @property
    def _label(self) -> str:
        return f"{self.client.name}.{'.'.join(self.namespace)}.{self.table}"
