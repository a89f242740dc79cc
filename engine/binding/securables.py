"""The objects in statements about privileges, from their catalog entries."""

from __future__ import annotations

from catalog.conditions import FunctionNotFound, LocationNotFound, VolumeNotFound
from catalog.entries import FunctionEntry, LocationEntry, VolumeEntry
from catalog.names import TableName
from engine.binding.binder import Binder


def bind_described_function(parts: tuple[str, ...], binder: Binder) -> FunctionEntry:
    """Returns the function that a call with this name would use, the session's own first."""
    found = binder.state.temporary_function(parts) or bind_function(parts, binder, if_exists=False)
    assert found is not None
    return found


def bind_function(parts: tuple[str, ...], binder: Binder, *, if_exists: bool) -> FunctionEntry | None:
    """Returns the catalog function; None if it does not exist and `if_exists`."""
    name = TableName.from_parts(parts, binder.state.current)
    found = binder.view.find_function(name)
    if found is None and not if_exists:
        raise FunctionNotFound(str(name))
    return found


def bind_volume(parts: tuple[str, ...], binder: Binder, *, if_exists: bool) -> VolumeEntry | None:
    """Returns the volume; None if it does not exist and `if_exists`."""
    try:
        return binder.view.volume(TableName.from_parts(parts, binder.state.current))
    except VolumeNotFound:
        if if_exists:
            return None
        raise


def bind_location(name: str, binder: Binder, *, if_exists: bool) -> LocationEntry | None:
    """Returns the external location; None if it does not exist and `if_exists`."""
    found = next((entry for entry in binder.view.external_locations() if entry.key == name.lower()), None)
    if found is None and not if_exists:
        raise LocationNotFound(name)
    return found
