"""The objects that statements about privileges name, as the catalog records them."""

from __future__ import annotations

from typing import assert_never

from catalog.conditions import (
    FunctionNotFound,
    LocationNotFound,
    PathNotAllowed,
    PersistentFunctionExpected,
    ViewExpected,
    VolumeNotFound,
)
from catalog.entries import FunctionEntry, LocationEntry, SecurableEntry, TableEntry, VolumeEntry
from catalog.grants.privileges import Kind
from catalog.names import CatalogName, TableName, path_of
from engine.binding.binder import Binder
from engine.statements.functions.statement import DropFunction
from engine.statements.grants.statement import SecurableName


def bind_securable(name: SecurableName, binder: Binder) -> SecurableEntry:
    """Raises what says that there is none, also where the principal may not know of it."""
    view, state = binder.view, binder.state
    match name.kind:
        case Kind.SERVER:
            return view.state.server
        case Kind.CATALOG:
            return view.catalog(CatalogName(*name.parts) if name.parts else state.current.catalog_name)
        case Kind.SCHEMA:
            return view.schema(binder.schema(name.parts))
        case Kind.LOCATION:
            found = bind_location(name.parts[0], binder, if_exists=False)
            assert found is not None
            return found
        case Kind.FUNCTION:
            function = bind_function(name.parts, binder, if_exists=False)
            assert function is not None
            return function
        case Kind.VOLUME:
            return view.volume(TableName.from_parts(name.parts, state.current))
        case Kind.TABLE | Kind.VIEW:
            path = path_of(name.parts)
            if path is not None:
                raise PathNotAllowed(path)
            relation = view.resolve(TableName.from_parts(name.parts, state.current))
            if name.kind is Kind.VIEW and isinstance(relation, TableEntry):
                raise ViewExpected(str(relation.name))
            return relation
        case _:
            assert_never(name.kind)


def bind_described_function(parts: tuple[str, ...], binder: Binder) -> FunctionEntry:
    """The function that a call of this name means, the session's own first."""
    found = binder.state.temporary_function(parts) or bind_function(parts, binder, if_exists=False)
    assert found is not None
    return found


def bind_dropped_function(statement: DropFunction, binder: Binder) -> FunctionEntry | None:
    """None for a temporary function, which the catalog does not have, and where there is none and IF EXISTS."""
    if statement.temporary:
        return None
    if binder.state.temporary_function(statement.function_parts) is not None:
        raise PersistentFunctionExpected(".".join(statement.function_parts))
    return bind_function(statement.function_parts, binder, if_exists=statement.if_exists)


def bind_function(parts: tuple[str, ...], binder: Binder, *, if_exists: bool) -> FunctionEntry | None:
    """The function of the catalog; None where there is none and `if_exists`."""
    name = TableName.from_parts(parts, binder.state.current)
    found = binder.view.find_function(name)
    if found is None and not if_exists:
        raise FunctionNotFound(str(name))
    return found


def bind_volume(parts: tuple[str, ...], binder: Binder, *, if_exists: bool) -> VolumeEntry | None:
    """The volume; None where there is none and `if_exists`."""
    try:
        return binder.view.volume(TableName.from_parts(parts, binder.state.current))
    except VolumeNotFound:
        if if_exists:
            return None
        raise


def bind_location(name: str, binder: Binder, *, if_exists: bool) -> LocationEntry | None:
    """The external location; None where there is none and `if_exists`."""
    found = next((entry for entry in binder.view.external_locations() if entry.key == name.lower()), None)
    if found is None and not if_exists:
        raise LocationNotFound(name)
    return found
