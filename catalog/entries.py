"""The catalog's entries, one per object, as frozen values. Pure.

An entry has only metadata that a table's log does not have: a table's location, owner and grants, a view's text. Grants
belong to the entry and not to its name: a renamed object keeps them, and a dropped object takes them along, so a new
object with the same name starts without grants. `extra` has fields that this release does not recognize
(:mod:`catalog.store.entry_json`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from catalog.grants.privileges import Grant, Principal, PrincipalKind
from catalog.names import DELTA, CatalogName, SchemaName, TableName, fold
from catalog.policies.policies import NO_POLICIES, NamedPolicy, Policies
from catalog.policies.tags import NO_TAGS, Tags

JsonObject = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerEntry:
    """Grants on the server itself."""

    grants: tuple[Grant, ...] = ()
    extra: JsonObject = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogEntry:
    """A catalog; `rest` are the options for an Iceberg REST catalog, without secrets."""

    name: CatalogName
    rest: tuple[tuple[str, str], ...] | None = None
    owner: str | None = None
    owner_kind: PrincipalKind = PrincipalKind.USER
    grants: tuple[Grant, ...] = ()
    tags: Tags = NO_TAGS
    named_policies: tuple[NamedPolicy, ...] = ()
    comment: str | None = None
    extra: JsonObject = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaEntry:
    """A schema; `location` is the folder for its managed tables, None for the server's default."""

    name: SchemaName
    location: str | None = None
    owner: str | None = None
    owner_kind: PrincipalKind = PrincipalKind.USER
    grants: tuple[Grant, ...] = ()
    tags: Tags = NO_TAGS
    named_policies: tuple[NamedPolicy, ...] = ()
    comment: str | None = None
    extra: JsonObject = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableEntry:
    """A table; `location` is an absolute path or a URI, decoded. Dropping a `managed` table deletes its files.

    `policies` are its row filter and column masks. `place` is the file location for a table in a REST catalog when it
    was recorded, since its `location` is an address.
    """

    name: TableName
    location: str
    place: str | None = None
    format: str = DELTA
    managed: bool = False
    owner: str | None = None
    owner_kind: PrincipalKind = PrincipalKind.USER
    grants: tuple[Grant, ...] = ()
    tags: Tags = NO_TAGS
    named_policies: tuple[NamedPolicy, ...] = ()
    policies: Policies = NO_POLICIES
    comment: str | None = None
    created_ms: int | None = None
    created_by: str | None = None
    extra: JsonObject = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewColumn:
    """A column when the view was created: `source` is the column name in the query, `type` its SQL type."""

    name: str
    source: str
    type: str
    comment: str | None = None


class SchemaMode(StrEnum):
    """A view's reaction to changed columns in its query, as in Spark's `WITH SCHEMA`.

    BINDING permits only casts without loss to the recorded types, COMPENSATION permits all casts to them. In TYPE
    EVOLUTION the view has the types of its query, in EVOLUTION also the query's columns.
    """

    BINDING = "BINDING"
    COMPENSATION = "COMPENSATION"
    TYPE_EVOLUTION = "TYPE EVOLUTION"
    EVOLUTION = "EVOLUTION"


@dataclass(frozen=True, slots=True)
class ForeignView:
    """Attributes for a view that a REST catalog stores. It is read with the invoker's rights, because it has no owner
    here.

    `dialects` are the SQL dialects in which it has a text.
    """

    dialects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewEntry:
    """A view; `text` is the query as written, empty if unknown. Names in it without a schema resolve against `current`.

    `settings` are pairs with a Spark setting and its value when the view was created; all others have the server's
    value whenever the view is read. `altered_ms` and `altered_by` are about its query and its properties. Views
    that were stored without `schema_mode` have the default.
    """

    name: TableName
    text: str
    current: SchemaName
    columns: tuple[ViewColumn, ...] = ()
    properties: tuple[tuple[str, str], ...] = ()
    owner: str | None = None
    owner_kind: PrincipalKind = PrincipalKind.USER
    grants: tuple[Grant, ...] = ()
    tags: Tags = NO_TAGS
    comment: str | None = None
    created_ms: int | None = None
    created_by: str | None = None
    altered_ms: int | None = None
    altered_by: str | None = None
    foreign: ForeignView | None = None
    settings: tuple[tuple[str, str], ...] = ()
    schema_mode: SchemaMode = SchemaMode.TYPE_EVOLUTION
    extra: JsonObject = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CloneEntry:
    """A table at `location` whose versions may name files below `sources`, folders that belong to other tables.

    The key is the location and not the name: a clone created by path, or one without a name by now, needs these files
    too.
    """

    location: str
    sources: tuple[str, ...]
    extra: JsonObject = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionParameter:
    """A function parameter; `type` is its SQL type; `default` is an expression without columns."""

    name: str
    type: str
    default: str | None = None
    comment: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionColumn:
    """A table function's column; `type` is its SQL type."""

    name: str
    type: str
    comment: str | None = None


RETURNS_TABLE = "TABLE"


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionEntry:
    """A SQL function: `body` is an expression over its parameters, in which names are resolved against `current`.

    A table function has `table_columns`, its body is a query in parentheses, and `returns` is :data:`RETURNS_TABLE`.

    `columns` has one item for each relation that the body reads, in order: the body's names, in lower case, that were
    columns in that relation when the function was created. If one no longer is a column, the name would refer to a
    parameter. `settings` are Spark's settings when the function was created, as in `ViewEntry`.
    """

    name: TableName
    parameters: tuple[FunctionParameter, ...]
    returns: str
    body: str
    current: SchemaName
    columns: tuple[tuple[str, ...], ...] = ()
    table_columns: tuple[FunctionColumn, ...] = ()
    deterministic: bool | None = None
    settings: tuple[tuple[str, str], ...] = ()
    owner: str | None = None
    owner_kind: PrincipalKind = PrincipalKind.USER
    grants: tuple[Grant, ...] = ()
    comment: str | None = None
    created_ms: int | None = None
    extra: JsonObject = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class VolumeEntry:
    """A folder with files that belong to no table. Dropping a `managed` volume deletes its files.

    `location` is canonical. A managed volume keeps its folder when it is renamed.
    """

    name: TableName
    location: str
    managed: bool = True
    owner: str | None = None
    owner_kind: PrincipalKind = PrincipalKind.USER
    grants: tuple[Grant, ...] = ()
    comment: str | None = None
    created_ms: int | None = None
    extra: JsonObject = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class LocationEntry:
    """An external location: a folder for reading files and creating tables. `name` is case-insensitive."""

    name: str
    location: str
    owner: str | None = None
    owner_kind: PrincipalKind = PrincipalKind.USER
    grants: tuple[Grant, ...] = ()
    comment: str | None = None
    extra: JsonObject = field(default_factory=dict, hash=False)

    @property
    def key(self) -> str:
        """Returns the name in folded case, by which locations are compared."""
        return fold(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupEntry:
    """A group in the catalog. Its members may be users, other groups in the catalog, and groups from the identity
    provider.
    """

    name: str
    members: tuple[Principal, ...] = ()
    extra: JsonObject = field(default_factory=dict, hash=False)

    @property
    def key(self) -> str:
        """Returns the name in folded case, by which groups are compared."""
        return fold(self.name)


Relation = TableEntry | ViewEntry
# Objects that have an owner.
OwnedEntry = CatalogEntry | SchemaEntry | Relation | FunctionEntry | VolumeEntry | LocationEntry

# Objects on which privileges can be granted.
SecurableEntry = ServerEntry | OwnedEntry

Entry = SecurableEntry | CloneEntry | GroupEntry


def owner_of(entry: OwnedEntry) -> Principal | None:
    """Returns the entry's owner as a principal; None for an entry without an owner."""
    return None if entry.owner is None else Principal(entry.owner_kind, entry.owner)
