"""Names of tables that a statement creates, replaces or drops, and the places for new ones."""

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
from engine.binding.sight import free_path_owners, may_hear_of, path_owners
from engine.statements.create_table.statement import REPLACES, CreateMode
from engine.tables.formats import DEFAULT_FORMAT, TableFormat
from engine.tables.snapshot import TableSnapshot

_FOLDER_BYTES_MAX = NAME_BYTES_MAX - 33


def new_table(
    binder: Binder, parts: tuple[str, ...], written: str | None, provider: str | None = None
) -> FreeName | TakenName:
    """A name for CREATE TABLE, and its place: as `written`, or one that the catalog chooses.

    `provider` is the format after USING. Raises `UnknownTableFormat`.
    """
    path = path_of(parts)
    if path is not None:
        return _new_path(binder, binder.view.resolve_path(path, path_format(parts)), written)
    name = TableName.from_parts(parts, binder.state.current)
    own = binder.formats[_format_for(binder.view, name, provider)]
    entry = _taken(binder, name)
    if entry is not None:
        return TakenName(entry=entry)
    if not may_hear_of(binder.view, name, None):  # it is not authorized, whatever else may hinder it
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
    chosen = binder.view.managed_location(name)
    if chosen is None:
        raise NoPlaceForTable(str(name))
    if _is_taken(binder, chosen):  # by a table that has another name by now
        folder, _, last = chosen.rpartition("/")
        last = last.encode()[:_FOLDER_BYTES_MAX].decode(errors="ignore")
        chosen = f"{folder}/{last}-{uuid.uuid4().hex}"
        binder.view.ensure_free_location(chosen)
    return FreeName(name=name, location=chosen, managed=True, own=own)


def _new_elsewhere(binder: Binder, name: TableName, address: str, written: str | None, own: TableFormat) -> FreeName:
    """A name of a REST catalog, which says where the files go if the statement does not."""
    location = None if written is None else binder.view.ensure_location(written)
    owners = () if location is None else free_path_owners(binder.view, location)
    if location is not None:
        binder.view.folders.ensure_free_for(address, location, may_have_metadata=False)
    return FreeName(name=name, location=with_place(address, location), managed=False, own=own, owners=owners)


def _format_for(view: CatalogView, name: TableName, provider: str | None) -> str:
    """The format of a new table. Raises for one that its catalog does not have."""
    if not view.is_rest(name.schema_name.catalog_name):
        return provider or DEFAULT_FORMAT
    if fold(provider or ICEBERG) != ICEBERG:
        raise StatementNotSupported(f"A table of the format {provider} in the REST catalog {name.catalog}")
    return ICEBERG


def like_provider(binder: Binder, parts: tuple[str, ...], source: BoundTable) -> str | None:
    """The format of a table like another one, where the statement does not say it; None: that of its catalog."""
    if path_of(parts) is not None:
        return None
    name = TableName.from_parts(parts, binder.state.current)
    return None if binder.view.is_rest(name.schema_name.catalog_name) else source.entry.format


def _taken(binder: Binder, name: TableName) -> CatalogRelation | None:
    """What has a name that is to be given, even if the principal may not know of it; of the schema it must know."""
    if binder.view.rights is not None:
        binder.view.schema(name.schema_name)
    found = binder.view.unrestricted.find(name)
    if isinstance(found, TableEntry) and is_rest(found.location):
        is_there = binder.formats[found.format].find(found.location) is not None
        return found if is_there else None  # it went elsewhere, and left a record
    return found


def _new_path(binder: Binder, entry: TableEntry, written: str | None) -> FreeName | TakenName:
    """A table that is made at a path and has no other name."""
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
    """The table that [CREATE OR] REPLACE TABLE replaces; None for CREATE alone, and where it makes a new one.

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
        taken = _taken(binder, name)
        if not may_hear_of(binder.view, name, taken):
            return None  # what the statement takes is looked at before anything is said of the name
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
    """Returns the same as `_found_or_free`; in a folder without a log and without metadata nothing else is read."""
    if binder.view.has_table_at(folder):
        return _found_or_free(binder, folder) is not None
    binder.view.ensure_free_location(folder)
    return False


def _found_or_free(binder: Binder, location: str) -> TableSnapshot | None:
    """The table at a location; where there is none, raises if none may be made there."""
    found = binder.formats.find(location)
    if found is None:
        binder.view.ensure_free_location(location)
    return found


def dropped(binder: Binder, parts: tuple[str, ...], if_exists: bool) -> TakenName | None:
    """The table or view; its log may be broken. Raises `DropByPath` for a path at which a table lies."""
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
    """DROP takes a name away, and a path is none, even if a table that has one is there: raises `DropByPath` then.

    delta-spark finds no table then, and with IF EXISTS answers as if it had dropped one.
    """
    named = [str(each.name) for each in binder.view.recorded_at(entry.location)]
    if named:
        raise DropByPath(entry.location, f"The table there is {' and '.join(named)}.")
    try:
        is_there = binder.formats.find(entry.location) is not None
    except SqlError:
        is_there = True  # whatever is wrong with its log
    if is_there:
        raise DropByPath(entry.location, "The catalog has no record of the table there: remove its folder instead.")
    if not if_exists:
        raise TableNotFound(str(entry.name))
