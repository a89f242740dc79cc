"""What a principal may know of, while a statement is bound: names by the catalog's rules, paths by whose they are.

Where nobody logs in, privileges do not count: the catalog is seen as a whole, and paths have no owners.

A path belongs to the tables whose folder it is, lies in, or holds; privileges on these decide. Only a path that belongs
to no table goes by the external location that it lies in. All other paths, and those of tables that the principal may
not know of, are refused before anything is looked for there, so that the answer says nothing of what lies at a path.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from catalog.conditions import InsufficientPermissions, VolumeFileNotAllowed, VolumeNotFound, VolumePathNotFound
from catalog.discovery.roots import canonical_location, is_at_or_below
from catalog.entries import LocationEntry, Relation, VolumeEntry
from catalog.errors import SqlError
from catalog.grants.privileges import Privilege
from catalog.grants.rights import Login, caller_of, label_of
from catalog.names import TableName
from catalog.system.system_views import is_system_schema
from catalog.view import CatalogView
from catalog.volumes.paths import VolumePath
from engine.binding.bound import BoundRelation, BoundTable, PathOwner, files_of
from engine.runtime.identity import Identity, Method
from engine.tables.keys import ForeignKey, TableKey, is_key_property, property_of


def login_of(identity: Identity) -> Login | None:
    """What of an identity decides over privileges; None where they do not count."""
    if identity.method is Method.ANONYMOUS:
        return None
    return Login(identity.principal, identity.groups, identity.is_admin)


def seen_by(view: CatalogView, identity: Identity) -> CatalogView:
    """The catalog as the principal of a session may know it."""
    login = login_of(identity)
    return view if login is None else view.seen_by(caller_of(view.state, login))


def path_owners(view: CatalogView, location: str) -> tuple[PathOwner, ...]:
    """By which privileges a canonical location is reached; none where they do not count.

    Raises `InsufficientPermissions`.
    """
    if view.rights is None:
        return ()
    owners: tuple[PathOwner, ...] = view.tables_at(location)
    if not owners:
        external = view.external_location(location)
        owners = () if external is None else (external,)
    if not owners or not all(map(view.rights.is_visible, owners)):
        raise InsufficientPermissions(Privilege.READ_FILES.value, f"Path '{location}'")
    return owners


def free_path_owners(view: CatalogView, location: str) -> tuple[PathOwner, ...]:
    """As :func:`path_owners`, for a place that may be no table's: of a new table, or of files that are read."""
    owners = path_owners(view, location)
    if any(not isinstance(owner, LocationEntry) for owner in owners):
        raise InsufficientPermissions(Privilege.READ_FILES.value, f"Path '{location}'")
    return owners


def volume_of_path(path: VolumePath, view: CatalogView) -> VolumeEntry:
    """Raises `VolumePathNotFound`, which names the first part that the principal knows of none."""
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
    """The canonical location of files that a statement reads. Nothing is looked for there without READ VOLUME.

    Raises `InsufficientPermissions`, `VolumeFileNotAllowed`.
    """
    missing = None if view.rights is None else view.rights.missing(Privilege.READ_VOLUME, entry)
    if missing is not None:
        raise InsufficientPermissions(missing.privilege.value, label_of(missing.entry))
    location = canonical_location(f"{entry.location}/{path.file}") if path.file else entry.location
    if not is_at_or_below(location, entry.location):
        raise VolumeFileNotAllowed(str(path))
    return location


def may_hear_of(view: CatalogView, name: TableName, taken: Relation | None) -> bool:
    """Whether the principal may be told, before it is authorized, what hinders the replacement of a name.

    `taken` is what has the name, whether or not the principal may know of it.
    """
    if view.rights is None or is_system_schema(name.schema_name):
        return True
    if taken is not None:
        return view.rights.manages(taken)
    return view.rights.missing(Privilege.CREATE_TABLE, view.schema(name.schema_name)) is None


def is_hidden(view: CatalogView, table: BoundTable) -> bool:
    """Whether the principal may not read the table by itself: it is in the text of a view or function."""
    return _may_not_read(view, (table.entry,) if table.name is not None else table.owners)


def hides_files(view: CatalogView, relations: Iterable[BoundRelation]) -> bool:
    """Return whether a view with these relations reads files that the principal may not read by themselves."""
    return any(_may_not_read(view, files.owners) for files in files_of(relations))


_READING: Mapping[type, Privilege] = MappingProxyType(
    {LocationEntry: Privilege.READ_FILES, VolumeEntry: Privilege.READ_VOLUME}
)
"""SELECT for all others."""


def _may_not_read(view: CatalogView, entries: Iterable[PathOwner]) -> bool:
    rights = view.rights
    if rights is None:
        return False
    return any(rights.missing(_READING.get(type(entry), Privilege.SELECT), entry) is not None for entry in entries)


def visible_keys(view: CatalogView, table: BoundTable) -> tuple[TableKey, ...]:
    """The keys of a table, without foreign keys to tables that the principal may not know of, or that were dropped.

    As on Databricks a table takes the foreign keys to it along. Here these are in the logs of others, which DROP does
    not write: they are there again with a table of that name.
    """
    return tuple(key for key in table.keys if not isinstance(key, ForeignKey) or _may_see(view, TableName(*key.parent)))


def _may_see(view: CatalogView, parent: TableName) -> bool:
    """Names of REST catalogs are not asked for: that would be a request for each key."""
    if not view.may_know(parent):
        return False
    try:
        return view.is_rest(parent.schema_name.catalog_name) or view.find(parent) is not None
    except SqlError:
        return True  # whatever is wrong with its place, it was not dropped


def visible_properties(view: CatalogView, table: BoundTable) -> dict[str, str | None]:
    """The properties of a table, without those of keys that are not visible, or cannot be read."""
    known = {property_of(key)[0] for key in visible_keys(view, table)}
    properties = table.snapshot.details.properties
    return {
        name: value
        for name, value in properties.items()
        if view.rights is None or not is_key_property(name) or name.lower() in known
    }
