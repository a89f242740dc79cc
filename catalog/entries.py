"""What the catalog keeps of one object, as frozen values. Pure.

An entry holds only what no log holds: where a table lies, whose it is, who may use it, a view's text. Grants are a part
of the entry and not of its name: an object that is renamed keeps them, and one that is dropped takes them along, so
that another one of the same name begins without any. `extra` has the fields that this release does not know
(:mod:`catalog.store.entry_json`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from catalog.grants.privileges import Grant, Principal, PrincipalKind
from catalog.names import DELTA, CatalogName, SchemaName, TableName, fold
from catalog.policies.policies import NO_POLICIES, NamedPolicy, Policies
from catalog.policies.tags import NO_TAGS, Tags

JsonObject = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerEntry:
    """What is granted on the server itself."""

    grants: tuple[Grant, ...] = ()
    extra: JsonObject = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CatalogEntry:
    """`rest` are the options of one that is an Iceberg REST catalog, without any secret."""

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
    """`location` is where its managed tables go; None leaves that to the server."""

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
    """`location` is an absolute path or a URI, decoded. Dropping a `managed` table removes its files.

    `policies` say which of its rows and values are read. `place` is where a table of a REST catalog was when it was
    recorded, whose `location` is an address.
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
    """A column as it was when the view was made: `source` is what the query calls it, `type` its SQL type."""

    name: str
    source: str
    type: str
    comment: str | None = None


@dataclass(frozen=True, slots=True)
class ForeignView:
    """What a view has that another catalog keeps. It is read with the rights of who asks, as nobody here owns it.

    `dialects` are those that it has a text in.
    """

    dialects: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewEntry:
    """`text` is the query as written, empty where none is known; names in it that say no schema lead to `current`.

    `settings` are pairs of a setting of Spark and its value, in force when the view was created; all others are the
    server's whenever it is read. `altered_ms` and `altered_by` are about its query and its properties.
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
    extra: JsonObject = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class CloneEntry:
    """A table at `location` whose versions may name files below `sources`, folders of other tables.

    It is kept by location and not by name: a clone that was made at a path, or lost its name, needs these files too.
    """

    location: str
    sources: tuple[str, ...]
    extra: JsonObject = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionParameter:
    """`type` is SQL's; `default` is an expression without columns."""

    name: str
    type: str
    default: str | None = None
    comment: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionColumn:
    """A column of a table function; `type` is SQL's."""

    name: str
    type: str
    comment: str | None = None


RETURNS_TABLE = "TABLE"


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionEntry:
    """A function of SQL: `body` is an expression over its parameters; names in it are looked up from `current`.

    A table function has `table_columns`, its body is a query in parentheses, and `returns` is :data:`RETURNS_TABLE`.

    `columns` are, for each relation that the body reads, in their order, those of the names in it that were columns of
    the relation when the function was made, in lower case. A name that is no column any more would mean a parameter.
    `settings` are those of Spark that were in force when the function was created, as in `ViewEntry`.
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
    """A folder of files that are no table's. Dropping a `managed` volume removes its files.

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
    """An external location: a folder by which files are read and tables are made. `name` is compared without case."""

    name: str
    location: str
    owner: str | None = None
    owner_kind: PrincipalKind = PrincipalKind.USER
    grants: tuple[Grant, ...] = ()
    comment: str | None = None
    extra: JsonObject = field(default_factory=dict, hash=False)

    @property
    def key(self) -> str:
        return fold(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupEntry:
    """A group of the catalog. Its members may be users, other groups of the catalog, and groups of log-ins."""

    name: str
    members: tuple[Principal, ...] = ()
    extra: JsonObject = field(default_factory=dict, hash=False)

    @property
    def key(self) -> str:
        return fold(self.name)


Relation = TableEntry | ViewEntry
OwnedEntry = CatalogEntry | SchemaEntry | Relation | FunctionEntry | VolumeEntry | LocationEntry
"""What has an owner."""

SecurableEntry = ServerEntry | OwnedEntry
"""What privileges are granted on."""

Entry = SecurableEntry | CloneEntry | GroupEntry


def owner_of(entry: OwnedEntry) -> Principal | None:
    return None if entry.owner is None else Principal(entry.owner_kind, entry.owner)
