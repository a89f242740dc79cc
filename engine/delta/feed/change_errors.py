"""Why the changes of a range of versions cannot be told."""

from __future__ import annotations

from dataclasses import dataclass

from engine.errors.table_errors import DeltaError


@dataclass(eq=False)
class ChangeDataMissing(DeltaError, condition="DELTA_MISSING_CHANGE_DATA", sqlstate="KD002"):
    table: str
    first: int
    last: int
    version: int
    template = (
        "The changes of {table} from version {first} to {last} cannot be told: none were recorded for version "
        "{version}. DESCRIBE HISTORY shows when delta.enableChangeDataFeed was set; ask for versions from there on."
    )


@dataclass(eq=False)
class StartAfterLatest(DeltaError, condition="DELTA_CDC_START_VERSION_AFTER_LATEST", sqlstate="22003"):
    table: str
    start: int
    latest: int
    template = (
        "The changes of {table} cannot start at version {start}: its latest version is {latest}. Start there or before."
    )


@dataclass(eq=False)
class RangeBackwards(DeltaError, condition="DELTA_INVALID_CDC_RANGE", sqlstate="22003"):
    table: str
    start: int
    end: int
    template = "The changes of {table} cannot go from version {start} to {end}: that is backwards."


@dataclass(eq=False)
class IncompatibleSchemaChange(
    DeltaError, condition="DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_SCHEMA_CHANGE", sqlstate="0AKDC"
):
    table: str
    first: int
    last: int
    version: int
    read_version: int
    template = (
        "The changes of {table} from version {first} to {last} cannot be read with the columns of version "
        "{read_version}: version {version} has others that were renamed, dropped or changed since. Ask for the "
        "versions before {version} and those from there on apart."
    )


@dataclass(eq=False)
class IncompatibleDataSchema(DeltaError, condition="DELTA_CHANGE_DATA_FEED_INCOMPATIBLE_DATA_SCHEMA", sqlstate="0AKDC"):
    table: str
    first: int
    last: int
    read_version: int
    template = (
        "The changes of {table} from version {first} to {last} cannot be read with the columns of version "
        "{read_version}: columns that version {first} has were renamed, dropped or changed since. Ask for versions "
        "after that change."
    )


@dataclass(eq=False)
class RemoveWithoutMetadata(DeltaError, condition="DELTA_REMOVE_FILE_CDC_MISSING_EXTENDED_METADATA", sqlstate="XXKDS"):
    table: str
    version: int
    path: str
    template = (
        "The rows that version {version} of {table} deleted cannot be read: its log does not say to which partition "
        "the removed file {path} belonged. Ask for versions after it."
    )


@dataclass(eq=False)
class ChangeFileNotFound(DeltaError, condition="DELTA_FILE_NOT_FOUND", sqlstate="42K03"):
    table: str
    version: int
    path: str
    template = (
        "The file {path}, which version {version} of {table} removed, does not exist any more: VACUUM takes the files "
        "of old versions. Ask for later versions."
    )
