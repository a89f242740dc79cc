"""Binds the names of tables that a statement creates, replaces or drops, and the locations for new ones."""

from __future__ import annotations

import uuid

from catalog.conditions import (
    DropByPath,
    NoPlaceForTable,
    PathAndLocation,
    ReplacedElsewhere,
    ReplacedTableMissing,
    StatementNotSupported,
    TableNotFound,
)
from catalog.entries import Relation as CatalogRelation
from catalog.entries import TableEntry
from catalog.errors import SqlError
from catalog.names import ICEBERG, NAME_BYTES_MAX, TableName, fold, path_format, path_of
from catalog.rest.names import is_rest, with_place
from catalog.view import CatalogView
from engine.binding.binder import Binder
from engine.binding.bound import BoundTable, FreeName, TakenName
from engine.binding.visibility import free_path_owners, may_hear_of, path_owners
from engine.statements.create_table.statement import REPLACES, CreateMode
from engine.tables.formats import DEFAULT_FORMAT, TableFormat
from engine.tables.snapshot import TableSnapshot

_FOLDER_BYTES_MAX = NAME_BYTES_MAX - 33


def new_table(
    binder: Binder, parts: tuple[str, ...], written: str | None, provider: str | None = None
) -> FreeName | TakenName:
    """Binds a name for CREATE TABLE, and its location: as `written`, or chosen by the catalog.

    `provider` is the format after USING. Raises `UnknownTableFormat`.
    """
    path = path_of(parts)
    if path is not None:
        return _new_path(binder, binder.view.resolve_path(path, path_format(parts)), written)
    name = TableName.from_parts(parts, binder.state.current)
    own = binder.formats[_format_for(binder.view, name, provider)]
    entry = _find_with_name(binder, name)
    if entry is not None:
        return TakenName(entry=entry)
    # the principal is not authorized, which takes precedence over other errors
    if not may_hear_of(binder.view, name, None):
        return FreeName(name=name, location="", managed=True, own=own)
    name = binder.view.ensure_new_name(name)
    address = binder.view.rest_address(name)
    if address is not None:
        return _new_elsewhere(binder, name, address, written, own)
    if written is not None:
        location = binder.view.ensure_location(written)
        owners = free_path_owners(binder.view, location)
        found = _found_or_free(binder, location)
        return FreeName(name=name, location=location, managed=False, own=own, found=found, owners=owners)
    new_location = binder.view.managed_location(name)
    if new_location is None:
        raise NoPlaceForTable(str(name))
    if _is_taken(binder, new_location):  # by a table that was renamed
        folder, _, last = new_location.rpartition("/")
        last = last.encode()[:_FOLDER_BYTES_MAX].decode(errors="ignore")
        new_location = f"{folder}/{last}-{uuid.uuid4().hex}"
        binder.view.ensure_free_location(new_location)
    return FreeName(name=name, location=new_location, managed=True, own=own)


def _new_elsewhere(binder: Binder, name: TableName, address: str, written: str | None, own: TableFormat) -> FreeName:
    """Binds a name in a REST catalog, which chooses the location if the statement has none."""
    location = None if written is None else binder.view.ensure_location(written)
    owners = () if location is None else free_path_owners(binder.view, location)
    if location is not None:
        binder.view.folders.ensure_free_for(address, location, may_have_metadata=False)
    return FreeName(name=name, location=with_place(address, location), managed=False, own=own, owners=owners)


def _format_for(view: CatalogView, name: TableName, provider: str | None) -> str:
    """Returns a new table's format. Raises for a format that its catalog does not support."""
    if not view.is_rest(name.schema_name.catalog_name):
        return provider or DEFAULT_FORMAT
    if fold(provider or ICEBERG) != ICEBERG:
        raise StatementNotSupported(f"A table of the format {provider} in the REST catalog {name.catalog}")
    return ICEBERG


def like_provider(binder: Binder, parts: tuple[str, ...], source: BoundTable) -> str | None:
    """Returns the format for CREATE TABLE LIKE without USING; None: the catalog's default."""
    if path_of(parts) is not None:
        return None
    name = TableName.from_parts(parts, binder.state.current)
    return None if binder.view.is_rest(name.schema_name.catalog_name) else source.entry.format


def _find_with_name(binder: Binder, name: TableName) -> CatalogRelation | None:
    """Returns the object that has a name to be created, even if it is not visible to the principal; the schema must
    be.
    """
    if binder.view.rights is not None:
        binder.view.schema(name.schema_name)
    found = binder.view.unrestricted.find(name)
    if isinstance(found, TableEntry) and is_rest(found.location):
        is_there = binder.formats[found.format].find(found.location) is not None
        return found if is_there else None  # it was moved, and left a record
    return found


def _new_path(binder: Binder, entry: TableEntry, written: str | None) -> FreeName | TakenName:
    """Binds a table that is created at a path without another name."""
    if written is not None and binder.view.ensure_location(written) != entry.location:
        raise PathAndLocation(entry.location, written)
    owners = free_path_owners(binder.view, entry.location)
    if _found_or_free(binder, entry.location) is not None:
        return TakenName(entry=entry)
    own = binder.formats[entry.format]
    return FreeName(name=entry.name, location=entry.location, managed=False, own=own, is_path=True, owners=owners)


def replaced_table(
    binder: Binder, parts: tuple[str, ...], written: str | None, mode: CreateMode, provider: str | None = None
) -> BoundTable | None:
    """Returns the table that [CREATE OR] REPLACE TABLE replaces; None for CREATE, or if a new table is created.

    A table keeps its format. Raises `UnknownTableFormat`.
    """
    if mode not in REPLACES:
        return None
    path = path_of(parts)
    own = binder.formats[provider or DEFAULT_FORMAT].name
    if path is not None:
        entry = binder.view.resolve_path(path, path_format(parts))
        path_owners(binder.view, entry.location)
        name = entry.name
        is_there = binder.formats.find(entry.location) is not None
    else:
        name = TableName.from_parts(parts, binder.state.current)
        own = binder.formats[_format_for(binder.view, name, provider)].name
        taken = _find_with_name(binder, name)
        if not may_hear_of(binder.view, name, taken):
            return None  # the statement's source is checked before the name is reported
        is_there = taken is not None
    if not is_there:
        if mode is CreateMode.REPLACE:
            raise ReplacedTableMissing(str(name))
        return None
    table = binder.table(parts, binder.view.unrestricted if path is None else None)
    if written is not None and binder.view.ensure_location(written) != table.location:
        raise ReplacedElsewhere(table.label, table.location, written)
    if table.entry.format != own:
        raise StatementNotSupported(f"Replacing a table of the format {table.entry.format} by one of {own}")
    return table


def _is_taken(binder: Binder, folder: str) -> bool:
    """Returns the same as `_found_or_free`; reads nothing else in a folder without log and metadata."""
    if binder.view.has_table_at(folder):
        return _found_or_free(binder, folder) is not None
    binder.view.ensure_free_location(folder)
    return False


def _found_or_free(binder: Binder, location: str) -> TableSnapshot | None:
    """Returns the table at a location; otherwise raises if no table may be created there."""
    found = binder.formats.find(location)
    if found is None:
        binder.view.ensure_free_location(location)
    return found


def bind_drop(binder: Binder, parts: tuple[str, ...], if_exists: bool) -> TakenName | None:
    """Binds a table or view, even with a broken log. Raises `DropByPath` for a path with a table."""
    path = path_of(parts)
    if path is not None:
        entry_at = binder.view.resolve_path(path, path_format(parts))
        path_owners(binder.view, entry_at.location)
        _ensure_nothing_at(binder, entry_at, if_exists)
        return None
    name = TableName.from_parts(parts, binder.state.current)
    entry = binder.view.find(name) if if_exists else binder.view.resolve(name)
    return None if entry is None else TakenName(entry=entry)


def _ensure_nothing_at(binder: Binder, entry: TableEntry, if_exists: bool) -> None:
    """Raises `DropByPath` if a table exists at the path: DROP removes a name, and a path is not a name.

    delta-spark reports that the table does not exist, and with IF EXISTS succeeds as if it had dropped one.
    """
    named = [str(each.name) for each in binder.view.recorded_at(entry.location)]
    if named:
        raise DropByPath(entry.location, f"The table there is {' and '.join(named)}.")
    try:
        is_there = binder.formats.find(entry.location) is not None
    except SqlError:
        is_there = True  # even if its log is broken
    if is_there:
        raise DropByPath(entry.location, "The catalog has no record of the table there: remove its folder instead.")
    if not if_exists:
        raise TableNotFound(str(entry.name))
