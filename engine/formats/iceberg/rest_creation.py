"""Creates a REST catalog table.

    definition alone      POST the definition: the table exists, without a snapshot
    with rows             POST it with `stage-create`: the catalog chooses a location and stores nothing
                          ─► write files there ─► commit `assert-create` with all updates and the snapshot

The catalog numbers a definition's columns as it likes if it is sent alone, which no file contradicts. If the response
to the commit is lost, the snapshot shows whether it succeeded; for a definition alone the outcome remains unknown.

Source: Iceberg REST catalog, "createTable", "updateTable".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import assert_never

from catalog.conditions import CommitOutcomeUnknown, RestCatalogNotAvailable, RestConflict, RestOutcomeUnknown
from catalog.rest.client import RestTable
from catalog.rest.names import RestAddress, with_place
from engine.formats.iceberg.rest_store import RestMetadataStore, loaded_of
from engine.iceberg.commit.metadata_store import LoadedMetadata
from engine.iceberg.commit.updates import (
    AddSchema,
    AddSnapshot,
    AddSortOrder,
    AddSpec,
    AssignUuid,
    Json,
    RemovePartitionSpecs,
    RemovePartitionStatistics,
    RemoveProperties,
    RemoveSchemas,
    RemoveSnapshotRef,
    RemoveSnapshots,
    RemoveStatistics,
    Requirement,
    SetCurrentSchema,
    SetDefaultSortOrder,
    SetDefaultSpec,
    SetLocation,
    SetPartitionStatistics,
    SetProperties,
    SetSnapshotRef,
    SetStatistics,
    Update,
    UpgradeFormatVersion,
)
from engine.storage.storage import Storage

_FORMAT_VERSION = "format-version"


def staged_address(address: str, at: RestAddress, updates: Sequence[Update]) -> tuple[str, RestTable]:
    """Returns the address with the location that the catalog chooses for a table with this definition, and its
    response.

    Raises `RestConflict` if it has the table, `RestCatalogNotAvailable`, `RestCatalogRefused`.
    """
    request = {**creation_request(at, updates), "stage-create": True}
    try:
        staged = at.client.create(at.namespace, request)
    except RestOutcomeUnknown as error:  # the catalog stores nothing
        raise RestCatalogNotAvailable(at.client.name, error.reason) from error
    location, uuid = staged.metadata.get("location"), staged.metadata.get("table-uuid")
    if not isinstance(location, str) or not isinstance(uuid, str):
        raise RestCatalogNotAvailable(at.client.name, "its description of a new table has no location")
    return with_place(address, location, uuid), staged


def creation_request(at: RestAddress, updates: Sequence[Update]) -> Json:
    """Returns a definition in the catalog's request form. `updates` create it from nothing."""
    request: Json = {"name": at.table, "properties": {}}
    if at.location is not None:
        request["location"] = at.location
    for update in updates:
        match update:
            case UpgradeFormatVersion(version):
                request["properties"][_FORMAT_VERSION] = str(version)
            case AddSchema(schema, _):
                request["schema"] = schema
            case AddSpec(spec):
                request["partition-spec"] = spec
            case AddSortOrder(order):
                request["write-order"] = order
            case SetProperties(properties):
                request["properties"] |= properties
            case AssignUuid() | SetLocation():  # chosen by the catalog
                pass
            case SetCurrentSchema() | SetDefaultSpec() | SetDefaultSortOrder():  # implied by the request
                pass
            case AddSnapshot() | SetSnapshotRef() | RemoveSnapshotRef() | RemoveSnapshots() | RemoveProperties():
                pass
            case SetStatistics() | RemoveStatistics() | SetPartitionStatistics() | RemovePartitionStatistics():
                pass
            case RemovePartitionSpecs() | RemoveSchemas():
                pass
            case _:
                assert_never(update)
    return request


@dataclass(frozen=True, slots=True, kw_only=True)
class NewRestTable:
    """The store for a table that does not exist yet.

    `open` returns the folder at a location, and rejects some; `open_made` also rejects locations where the created
    table must not be. `clock` returns milliseconds since the epoch.
    """

    at: RestAddress
    open: Callable[[str], Storage]
    open_made: Callable[[str], Storage]
    clock: Callable[[], int]

    @property
    def storage(self) -> Storage:
        assert self.at.location is not None, "a table without rows has no files"
        return self.open(self.at.location)

    @property
    def location(self) -> str:
        """Implements `MetadataStore.location`."""
        assert self.at.location is not None, "a table without rows has no files"
        return self.at.location

    def load(self) -> LoadedMetadata:
        """Implements `MetadataStore.load`."""
        return self._created_store.load()

    def commit(
        self, base: LoadedMetadata | None, requirements: Sequence[Requirement], updates: Sequence[Update]
    ) -> LoadedMetadata | None:
        """Implements `MetadataStore.commit`, for the first version."""
        if any(isinstance(update, AddSnapshot) for update in updates):
            named = () if self.at.uuid is None else (AssignUuid(self.at.uuid),)
            return self._created_store.commit(base, requirements, (*named, *updates, SetLocation(self.location)))
        try:
            found = self.at.client.create(self.at.namespace, creation_request(self.at, updates))
        except RestConflict:
            return None
        except RestOutcomeUnknown as error:
            raise CommitOutcomeUnknown(self._created_store.label, 0, "none", error.reason) from error
        return self._ensure_readable(found)

    def _ensure_readable(self, found: RestTable) -> LoadedMetadata:
        """Returns the metadata of a table that the catalog just created; drops the table if it is unreadable."""
        try:
            self.open_made(str(found.metadata.get("location")))
            return loaded_of(found, self._created_store.label)
        except BaseException:
            self.at.client.drop(self.at.namespace, self.at.table, purge=False)
            raise

    def has(self, committed: LoadedMetadata) -> bool:
        """Implements `MetadataStore.has`."""
        return self._created_store.has(committed)

    def take_back(self, committed: LoadedMetadata) -> None:
        """Implements `MetadataStore.take_back`."""
        self._created_store.take_back(committed)

    @property
    def _created_store(self) -> RestMetadataStore:
        """Returns the store for the table after its creation."""
        return RestMetadataStore(at=replace(self.at, location=None, uuid=None), open=self.open, clock=self.clock)
