"""The making of a table of a REST catalog.

    definition alone      POST the definition: the table is there, without a snapshot
    with rows             POST it with `stage-create`: the catalog chooses a place and keeps nothing
                          ─► files there ─► commit `assert-create` with all updates and the snapshot

The catalog numbers the columns of a definition that it is sent alone as it likes, which no file contradicts. Where an
answer of the commit is lost, the snapshot tells whether it was made; of a definition alone nobody can tell.

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
    """The address with the place that the catalog chooses for a table with this definition, and what it says of that.

    Raises `RestConflict` where it has the table, `RestCatalogNotAvailable`, `RestCatalogRefused`.
    """
    request = {**creation_request(at, updates), "stage-create": True}
    try:
        staged = at.client.create(at.namespace, request)
    except RestOutcomeUnknown as error:  # it keeps nothing
        raise RestCatalogNotAvailable(at.client.name, error.reason) from error
    location, uuid = staged.metadata.get("location"), staged.metadata.get("table-uuid")
    if not isinstance(location, str) or not isinstance(uuid, str):
        raise RestCatalogNotAvailable(at.client.name, "its description of a new table has no location")
    return with_place(address, location, uuid), staged


def creation_request(at: RestAddress, updates: Sequence[Update]) -> Json:
    """A definition as the catalog takes it. `updates` are those that make it of nothing."""
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
            case AssignUuid() | SetLocation():  # the catalog chooses these
                pass
            case SetCurrentSchema() | SetDefaultSpec() | SetDefaultSortOrder():  # those of the request
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
    """The store of a table that is not there. `open` gives the folder at a location, and refuses some; `open_made` also
    those where a table that was made should not be. `clock` gives milliseconds since the epoch.
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
        """As `MetadataStore.location`."""
        assert self.at.location is not None, "a table without rows has no files"
        return self.at.location

    def load(self) -> LoadedMetadata:
        """As `MetadataStore.load`."""
        return self._made.load()

    def commit(
        self, base: LoadedMetadata | None, requirements: Sequence[Requirement], updates: Sequence[Update]
    ) -> LoadedMetadata | None:
        """As `MetadataStore.commit`, of the first version."""
        if any(isinstance(update, AddSnapshot) for update in updates):
            named = () if self.at.uuid is None else (AssignUuid(self.at.uuid),)
            return self._made.commit(base, requirements, (*named, *updates, SetLocation(self.location)))
        try:
            found = self.at.client.create(self.at.namespace, creation_request(self.at, updates))
        except RestConflict:
            return None
        except RestOutcomeUnknown as error:
            raise CommitOutcomeUnknown(self._made.label, 0, "none", error.reason) from error
        return self._ensure_readable(found)

    def _ensure_readable(self, found: RestTable) -> LoadedMetadata:
        """Of a table that the catalog has made just now; else it goes again."""
        try:
            self.open_made(str(found.metadata.get("location")))
            return loaded_of(found, self._made.label)
        except BaseException:
            self.at.client.drop(self.at.namespace, self.at.table, purge=False)
            raise

    def has(self, committed: LoadedMetadata) -> bool:
        """As `MetadataStore.has`."""
        return self._made.has(committed)

    def take_back(self, committed: LoadedMetadata) -> None:
        """As `MetadataStore.take_back`."""
        self._made.take_back(committed)

    @property
    def _made(self) -> RestMetadataStore:
        """The store of the table once it is there."""
        return RestMetadataStore(at=replace(self.at, location=None, uuid=None), open=self.open, clock=self.clock)
