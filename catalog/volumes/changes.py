"""Changes to volumes, as a pure fold onto a state."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import assert_never

from catalog.conditions import LocationOverlap, SchemaNotFound, VolumeAlreadyExists, VolumeNotFound, VolumeStaysInSchema
from catalog.entries import VolumeEntry
from catalog.names import TableName, ensure_valid_part
from catalog.roots import overlap
from catalog.state import CatalogState


@dataclass(frozen=True, slots=True)
class CreateVolume:
    entry: VolumeEntry


@dataclass(frozen=True, slots=True)
class DropVolume:
    name: TableName


@dataclass(frozen=True, slots=True)
class RenameVolume:
    """Renames a volume within its schema."""

    name: TableName
    new_name: TableName


@dataclass(frozen=True, slots=True)
class SetVolumeComment:
    """Sets a volume's comment; None removes it."""

    name: TableName
    comment: str | None


VolumeChange = CreateVolume | DropVolume | RenameVolume | SetVolumeComment


def apply_volume(state: CatalogState, change: VolumeChange) -> CatalogState:
    """Returns `state` after `change`; raises the SqlError that forbids it."""
    match change:
        case CreateVolume(entry):
            _ensure_apart(state, entry)
            return _with_new(state, entry)
        case DropVolume(name):
            _volume(state, name)
            return _without(state, name)
        case RenameVolume(name, new_name):
            if name.schema_name != new_name.schema_name:
                raise VolumeStaysInSchema(str(name), str(new_name))
            renamed = replace(_volume(state, name), name=new_name)
            return _with_new(_without(state, name), renamed)
        case SetVolumeComment(name, comment):
            commented = replace(_volume(state, name), comment=comment)
            return replace(state, volumes={**state.volumes, name: commented})
        case _:
            assert_never(change)


def _volume(state: CatalogState, name: TableName) -> VolumeEntry:
    found = state.volumes.get(name)
    if found is None:
        raise VolumeNotFound(str(name))
    return found


def _with_new(state: CatalogState, entry: VolumeEntry) -> CatalogState:
    ensure_valid_part(entry.name.table)
    if entry.name.schema_name not in state.schemas:
        raise SchemaNotFound(str(entry.name.schema_name))
    if entry.name in state.volumes:
        raise VolumeAlreadyExists(str(entry.name))
    return replace(state, volumes={**state.volumes, entry.name: entry})


def _without(state: CatalogState, name: TableName) -> CatalogState:
    return replace(state, volumes={key: entry for key, entry in state.volumes.items() if key != name})


def _ensure_apart(state: CatalogState, entry: VolumeEntry) -> None:
    """Ensures that each file belongs to one volume, whose privileges control access to it."""
    for other in state.volumes.values():
        if other.name != entry.name and overlap(other.location, entry.location):
            raise LocationOverlap(entry.location, "it overlaps with the folder of another volume")
