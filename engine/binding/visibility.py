"""Visibility to a principal during binding: names by the catalog's rules, paths by their owners.

Without logins, privileges do not apply: the whole catalog is visible, and paths have no owners.

A path belongs to each table whose directory equals, contains, or is contained in it; privileges on these tables decide.
Only a path that belongs to no table is governed by its external location. All other paths, and paths of invisible
tables, are rejected before the storage is accessed, so that the error does not reveal whether objects exist at a path.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from catalog.conditions import InsufficientPermissions, VolumeFileNotAllowed, VolumeNotFound, VolumePathNotFound
from catalog.entries import LocationEntry, Relation, VolumeEntry
from catalog.errors import SqlError
from catalog.grants.privileges import Privilege
from catalog.grants.rights import Login, caller_of, label_of
from catalog.names import TableName
from catalog.roots import canonical_location, is_at_or_below
from catalog.system.system_views import is_system_schema
from catalog.view import CatalogView
from catalog.volumes.paths import VolumePath
from engine.binding.bound import BoundRelation, BoundTable, PathOwner, files_of
from engine.runtime.identity import Identity, Method
from engine.tables.keys import ForeignKey, TableKey, is_key_property, property_of


def login_of(identity: Identity) -> Login | None:
    """Returns the identity's login for privilege checks; None if they do not apply."""
    if identity.method is Method.ANONYMOUS:
        return None
    return Login(identity.principal, identity.groups, identity.is_admin)


def visible_to(view: CatalogView, identity: Identity) -> CatalogView:
    """Returns the catalog objects that are visible to a session's principal."""
    login = login_of(identity)
    return view if login is None else view.visible_to(caller_of(view.state, login))


def path_owners(view: CatalogView, location: str) -> tuple[PathOwner, ...]:
    """Returns the objects whose privileges govern a canonical location; empty if privileges do not apply.

    Raises `InsufficientPermissions`.
    """
    if view.rights is None:
        return ()
    owners: tuple[PathOwner, ...] = view.tables_at(location)
    if not owners:
        external = view.external_location(location)
        owners = () if external is None else (external,)
    # One error for "nothing there" and "not visible", raised before the storage is asked:
    # neither text nor time tells them apart.
    if not owners or not all(map(view.rights.is_visible, owners)):
        raise InsufficientPermissions(Privilege.READ_FILES.value, f"Path '{location}'")
    return owners


def free_path_owners(view: CatalogView, location: str) -> tuple[PathOwner, ...]:
    """Returns owners as :func:`path_owners`, for a location that may belong to no table: a new table, or files to
    read.
    """
    owners = path_owners(view, location)
    if any(not isinstance(owner, LocationEntry) for owner in owners):
        raise InsufficientPermissions(Privilege.READ_FILES.value, f"Path '{location}'")
    return owners


def volume_of_path(path: VolumePath, view: CatalogView) -> VolumeEntry:
    """Returns the volume. Raises `VolumePathNotFound`, which names the first part that is not visible to the
    principal.
    """
    name = path.volume
    if not view.has_catalog(name.schema_name.catalog_name):
        raise VolumePathNotFound("Catalog", name.catalog, str(path))
    if not view.finds_schema(name.schema_name):
        raise VolumePathNotFound("Schema", str(name.schema_name), str(path))
    try:
        return view.volume(name)
    except VolumeNotFound as error:
        raise VolumePathNotFound("Volume", str(name), str(path)) from error


def volume_location(view: CatalogView, entry: VolumeEntry, path: VolumePath) -> str:
    """Returns the canonical location of files that a statement reads. Without READ VOLUME the storage is not accessed.

    Raises `InsufficientPermissions`, `VolumeFileNotAllowed`.
    """
    missing = None if view.rights is None else view.rights.find_missing(Privilege.READ_VOLUME, entry)
    if missing is not None:
        raise InsufficientPermissions(missing.privilege.value, label_of(missing.entry))
    # Canonicalized before the comparison, so that `..` and links do not lead out of the
    # volume.
    location = canonical_location(f"{entry.location}/{path.file}") if path.file else entry.location
    if not is_at_or_below(location, entry.location):
        raise VolumeFileNotAllowed(str(path))
    return location


def may_hear_of(view: CatalogView, name: TableName, taken: Relation | None) -> bool:
    """Returns whether the principal may learn, before authorization, why a name cannot be replaced.

    `taken` is the object with the name, visible to the principal or not.
    """
    if view.rights is None or is_system_schema(name.schema_name):
        return True
    if taken is not None:
        return view.rights.manages(taken)
    return view.rights.find_missing(Privilege.CREATE_TABLE, view.schema(name.schema_name)) is None


def is_hidden(view: CatalogView, table: BoundTable) -> bool:
    """Returns whether the principal may not read the table directly: it is in a view's or function's text."""
    return may_not_read(view, (table.entry,) if table.name is not None else table.owners)


def hides_files(view: CatalogView, relations: Iterable[BoundRelation]) -> bool:
    """Returns whether a view with these relations reads files that the principal may not read directly."""
    return any(may_not_read(view, files.owners) for files in files_of(relations))


# Privileges for reading; SELECT for all others.
_READING: Mapping[type, Privilege] = MappingProxyType(
    {LocationEntry: Privilege.READ_FILES, VolumeEntry: Privilege.READ_VOLUME}
)


def may_not_read(view: CatalogView, entries: Iterable[PathOwner]) -> bool:
    """Returns True if the principal lacks a privilege to read one of a path's owners; False if privileges are off."""
    rights = view.rights
    if rights is None:
        return False
    return any(rights.find_missing(_READING.get(type(entry), Privilege.SELECT), entry) is not None for entry in entries)


def visible_keys(view: CatalogView, table: BoundTable) -> tuple[TableKey, ...]:
    """Returns a table's keys, without foreign keys to tables that are not visible to the principal, or were dropped.

    On Databricks, dropping a table drops the foreign keys to it. Here these are in other tables' logs, which DROP does
    not write: they reappear with a new table that has the name.
    """
    return tuple(key for key in table.keys if not isinstance(key, ForeignKey) or may_see(view, TableName(*key.parent)))


def may_see(view: CatalogView, name: TableName) -> bool:
    """Returns whether a table or view exists and is visible. REST catalogs are not queried: this would be one request
    per name.
    """
    if not view.may_know(name):
        return False
    try:
        return view.is_rest(name.schema_name.catalog_name) or view.find(name) is not None
    except SqlError:
        return True  # it was not dropped, even if its location is invalid


def visible_properties(view: CatalogView, table: BoundTable) -> dict[str, str | None]:
    """Returns a table's properties, without properties for keys that are not visible, or cannot be read."""
    known = {property_of(key)[0] for key in visible_keys(view, table)}
    properties = table.snapshot.details.properties
    return {
        name: value
        for name, value in properties.items()
        if view.rights is None or not is_key_property(name) or name.lower() in known
    }
