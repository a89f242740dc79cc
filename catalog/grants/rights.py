"""Access decisions: one pure function over the catalog's state at one generation.

Objects form levels: a table is in a schema, a schema in a catalog. A caller has a privilege on an object by one of

1. ownership: the owner has every privilege that the object's kind has;
2. a grant on the object, or on a level above, to the user, to one of its groups or to everybody; `ALL PRIVILEGES`
   counts as a grant for each privilege that it includes;
3. management, which is MANAGE at any level, ownership at a level above, or being an administrator: every privilege
   except those on data. Such a caller may grant these to itself, which is then visible in the catalog.

Access to an object requires the privilege and USE on each container above it (:meth:`Rights.find_missing`). Visibility
requires less: any privilege on the object or on something in it, or BROWSE (:meth:`Rights.is_visible`). An object that
is not visible is treated as nonexistent. USE on a container does not make its contents visible.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import assert_never

from catalog.entries import (
    CatalogEntry,
    FunctionEntry,
    LocationEntry,
    OwnedEntry,
    SchemaEntry,
    SecurableEntry,
    ServerEntry,
    TableEntry,
    ViewEntry,
    VolumeEntry,
    owner_of,
)
from catalog.grants.privileges import (
    DATA,
    EVERYBODY,
    NOT_IN_ALL,
    PRIVILEGES,
    USE,
    Kind,
    Principal,
    Privilege,
    group,
    user,
)
from catalog.names import CatalogName, SchemaName
from catalog.state import DEFAULT_CATALOG_NAME, DEFAULT_SCHEMA_NAME, CatalogState


@dataclass(frozen=True, slots=True)
class Caller:
    """The principals for an access decision: a user and all its groups."""

    principals: frozenset[Principal]
    is_admin: bool = False


# The caller with whose rights a view without an owner is read.
NOBODY = Caller(frozenset())


@dataclass(frozen=True, slots=True)
class Login:
    """The authenticated identity: user name, login groups, and whether it is an administrator."""

    name: str
    groups: frozenset[str] = frozenset()
    is_admin: bool = False


def caller_of(state: CatalogState, login: Login) -> Caller:
    """Returns the login's user with the catalog's groups that have it as a member.

    A login group with the same name as a catalog group does not grant membership in the latter.
    """
    known = [group(each) for each in login.groups]
    # A login group comes from an identity provider, a catalog group from a privileged
    # statement. Whoever can name groups at the provider must not enter the latter by its
    # name.
    own = {user(login.name), EVERYBODY, *(each for each in known if each.key not in state.groups)}
    return Caller(_with_groups(state, own), login.is_admin)


def caller_of_owner(state: CatalogState, owner: Principal | None) -> Caller:
    """Returns the caller for a view's or function's owner, with whose rights its text is read.

    Only the catalog's groups count: the owner's login groups are unknown when others use the view.
    """
    return NOBODY if owner is None else Caller(_with_groups(state, {owner, EVERYBODY}))


def _with_groups(state: CatalogState, own: set[Principal]) -> frozenset[Principal]:
    """Adds the groups that contain a principal in `own`, transitively."""
    found, is_new = set(own), True
    while is_new:
        more = {group(entry.name) for entry in state.groups.values() if not found.isdisjoint(entry.members)}
        is_new = not more <= found
        found |= more
    return frozenset(found)


def kind_of(entry: SecurableEntry) -> Kind:
    """Returns the kind of securable object that the entry is, by its class or the nearest base class."""
    return next(_KINDS[each] for each in type(entry).__mro__ if each in _KINDS)


_KINDS: dict[type[SecurableEntry], Kind] = {
    ServerEntry: Kind.SERVER,
    CatalogEntry: Kind.CATALOG,
    SchemaEntry: Kind.SCHEMA,
    TableEntry: Kind.TABLE,
    ViewEntry: Kind.VIEW,
    FunctionEntry: Kind.FUNCTION,
    LocationEntry: Kind.LOCATION,
    VolumeEntry: Kind.VOLUME,
}


def label_of(entry: SecurableEntry) -> str:
    """Returns the object's label for messages: `Table 'c.s.t'`."""
    kind = kind_of(entry).value.capitalize() if not isinstance(entry, LocationEntry) else "External Location"
    if isinstance(entry, ServerEntry):
        return f"the {kind}"
    name = entry.name if isinstance(entry, LocationEntry) else ".".join(entry.name.parts)
    return f"{kind} '{name}'"


@dataclass(frozen=True, slots=True)
class Missing:
    """A privilege that a caller lacks, on the object or on one of its containers."""

    privilege: Privilege
    entry: SecurableEntry


class Rights:
    """One caller's rights at one generation of the catalog."""

    def __init__(self, state: CatalogState, caller: Caller) -> None:
        self.state = state
        self.caller = caller

    def levels(self, entry: SecurableEntry) -> tuple[SecurableEntry, ...]:
        """Returns the object and then its containers. A folder without an entry is a level without grants."""
        match entry:
            case SchemaEntry(name=name):
                return entry, self._catalog(name.catalog_name)
            case TableEntry(name=name_) | ViewEntry(name=name_) | FunctionEntry(name=name_) | VolumeEntry(name=name_):
                return entry, self.schema(name_.schema_name), self._catalog(name_.schema_name.catalog_name)
            case ServerEntry() | CatalogEntry() | LocationEntry():
                return (entry,)
            case _:
                assert_never(entry)

    def schema(self, name: SchemaName) -> SchemaEntry:
        """Returns the recorded schema, or an entry without grants for one that is only a folder."""
        return self.state.schemas.get(name) or SchemaEntry(name=name)

    def _catalog(self, name: CatalogName) -> CatalogEntry:
        return self.state.catalogs.get(name) or CatalogEntry(name=name)

    def holds(self, privilege: Privilege, entry: SecurableEntry) -> bool:
        """Returns True if the caller has `privilege` on the object itself, regardless of its containers."""
        levels = self.levels(entry)
        if self._owns(entry):
            return True
        if any(
            privilege in granted or _covers(granted, privilege) for granted in map(self._granted_privileges, levels)
        ):
            return True
        # As in Unity Catalog, management does not include the data: an administrator who
        # reads a table must first grant itself SELECT, which the audit log shows.
        return privilege not in DATA and self._manages(levels)

    def find_missing(self, privilege: Privilege, entry: SecurableEntry) -> Missing | None:
        """Returns the outermost privilege that the caller lacks for an access with `privilege`; None if access is
        allowed.
        """
        _, *containers = self.levels(entry)
        # The outermost first: the message must not name a schema in a catalog that the
        # caller may not even use.
        for container in reversed(containers):
            use = USE[kind_of(container)]
            if not self.holds(use, container):
                return Missing(use, container)
        return None if self.holds(privilege, entry) else Missing(privilege, entry)

    def manages(self, entry: SecurableEntry) -> bool:
        """Returns True if the caller owns the object or manages it, which includes all rights except those on data."""
        return self._owns(entry) or self._manages(self.levels(entry))

    def is_visible(self, entry: SecurableEntry) -> bool:
        """Returns True if the object is visible to the caller."""
        if isinstance(entry, CatalogEntry) and entry.name in self._containers:
            return True
        if isinstance(entry, SchemaEntry) and entry.name in self._containers:
            return True
        return self._is_visible_itself(entry)

    def _is_visible_itself(self, entry: SecurableEntry) -> bool:
        levels = self.levels(entry)
        shown = PRIVILEGES[kind_of(entry)] | {Privilege.BROWSE}
        return (
            self._owns(entry)
            or self._manages(levels)
            or any(not shown.isdisjoint(granted) for granted in map(self._granted_privileges, levels))
        )

    @cached_property
    def _containers(self) -> frozenset[SchemaName | CatalogName]:
        """Returns the catalogs and schemas that are visible because they contain a visible object, and the defaults,
        which everybody sees.
        """
        found: set[SchemaName | CatalogName] = {DEFAULT_CATALOG_NAME, DEFAULT_SCHEMA_NAME}
        inside = (*self.state.relations.values(), *self.state.functions.values(), *self.state.volumes.values())
        for entry in inside:
            if entry.name.schema_name not in found and self._is_visible_itself(entry):
                found.add(entry.name.schema_name)
        found |= {name.catalog_name for name in found if isinstance(name, SchemaName)}
        for schema in self.state.schemas.values():
            if schema.name.catalog_name not in found and self._is_visible_itself(schema):
                found.add(schema.name.catalog_name)
        return frozenset(found)

    def _granted_privileges(self, entry: SecurableEntry) -> frozenset[Privilege]:
        if not entry.grants:
            return frozenset()
        return frozenset(grant.privilege for grant in entry.grants if grant.principal in self.caller.principals)

    def _owns(self, entry: SecurableEntry) -> bool:
        return not isinstance(entry, ServerEntry) and _is_owner(self.caller, entry)

    def _manages(self, levels: tuple[SecurableEntry, ...]) -> bool:
        _, *containers = levels
        return (
            self.caller.is_admin
            or any(Privilege.MANAGE in self._granted_privileges(level) for level in levels)
            or any(self._owns(container) for container in containers)
        )


def _is_owner(caller: Caller, entry: OwnedEntry) -> bool:
    owner = owner_of(entry)
    return owner is not None and owner in caller.principals


def _covers(granted: frozenset[Privilege], privilege: Privilege) -> bool:
    return Privilege.ALL in granted and privilege not in NOT_IN_ALL
