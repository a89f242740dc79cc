"""Kinds of securable objects, the privileges for each kind, and principals. Pure.

Names and meanings are those in Databricks' Unity Catalog; its open-source release has all but BROWSE, MANAGE, APPLY TAG
and ALL PRIVILEGES. A privilege granted on a catalog or a schema also holds for present and future objects in it. `ALL
PRIVILEGES` is stored as such and is expanded when it is evaluated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from catalog.names import fold


class Kind(StrEnum):
    """A kind of securable object."""

    SERVER = "SERVER"
    CATALOG = "CATALOG"
    SCHEMA = "SCHEMA"
    TABLE = "TABLE"
    VIEW = "VIEW"
    FUNCTION = "FUNCTION"
    LOCATION = "EXTERNAL LOCATION"
    VOLUME = "VOLUME"


class Privilege(StrEnum):
    ALL = "ALL PRIVILEGES"
    APPLY_TAG = "APPLY TAG"
    BROWSE = "BROWSE"
    CREATE_CATALOG = "CREATE CATALOG"
    CREATE_EXTERNAL_LOCATION = "CREATE EXTERNAL LOCATION"
    CREATE_EXTERNAL_TABLE = "CREATE EXTERNAL TABLE"
    CREATE_EXTERNAL_VOLUME = "CREATE EXTERNAL VOLUME"
    CREATE_FUNCTION = "CREATE FUNCTION"
    CREATE_SCHEMA = "CREATE SCHEMA"
    CREATE_TABLE = "CREATE TABLE"
    CREATE_VOLUME = "CREATE VOLUME"
    EXECUTE = "EXECUTE"
    MANAGE = "MANAGE"
    MODIFY = "MODIFY"
    READ_FILES = "READ FILES"
    READ_VOLUME = "READ VOLUME"
    SELECT = "SELECT"
    USE_CATALOG = "USE CATALOG"
    USE_SCHEMA = "USE SCHEMA"
    WRITE_FILES = "WRITE FILES"
    WRITE_VOLUME = "WRITE VOLUME"


_P = Privilege
_OF_TABLE = frozenset({_P.SELECT, _P.MODIFY, _P.APPLY_TAG, _P.MANAGE, _P.ALL})
_OF_VIEW = frozenset({_P.SELECT, _P.APPLY_TAG, _P.MANAGE, _P.ALL})
_OF_FUNCTION = frozenset({_P.EXECUTE, _P.MANAGE, _P.ALL})
_OF_VOLUME = frozenset({_P.READ_VOLUME, _P.WRITE_VOLUME, _P.MANAGE, _P.ALL})
_CREATED_IN_SCHEMA = frozenset({_P.CREATE_TABLE, _P.CREATE_FUNCTION, _P.CREATE_VOLUME})
_OF_SCHEMA = _OF_TABLE | _OF_FUNCTION | _OF_VOLUME | _CREATED_IN_SCHEMA | {_P.USE_SCHEMA}
_OF_LOCATION = frozenset(
    {_P.READ_FILES, _P.WRITE_FILES, _P.CREATE_EXTERNAL_TABLE, _P.CREATE_EXTERNAL_VOLUME, _P.BROWSE, _P.MANAGE, _P.ALL}
)

# The privileges that can be granted on each kind; a container also accepts those for the objects in it.
PRIVILEGES: Mapping[Kind, frozenset[Privilege]] = MappingProxyType(
    {
        Kind.SERVER: frozenset({_P.CREATE_CATALOG, _P.CREATE_EXTERNAL_LOCATION}),
        Kind.CATALOG: _OF_SCHEMA | {_P.USE_CATALOG, _P.CREATE_SCHEMA, _P.BROWSE},
        Kind.SCHEMA: _OF_SCHEMA,
        Kind.TABLE: _OF_TABLE,
        Kind.VIEW: _OF_VIEW,
        Kind.FUNCTION: _OF_FUNCTION,
        Kind.LOCATION: _OF_LOCATION,
        Kind.VOLUME: _OF_VOLUME,
    }
)

# Privileges on data. A manager who is not the owner has all other privileges, and may grant these.
DATA = frozenset(
    {_P.SELECT, _P.MODIFY, _P.EXECUTE, _P.READ_FILES, _P.WRITE_FILES, _P.READ_VOLUME, _P.WRITE_VOLUME}
    | {_P.CREATE_EXTERNAL_TABLE, _P.CREATE_EXTERNAL_VOLUME}
)

# Privileges that ALL PRIVILEGES does not include.
NOT_IN_ALL = frozenset({_P.MANAGE})

# The privilege that access to a container's objects requires on the container.
USE: Mapping[Kind, Privilege] = MappingProxyType({Kind.CATALOG: _P.USE_CATALOG, Kind.SCHEMA: _P.USE_SCHEMA})


class PrincipalKind(StrEnum):
    USER = "user"
    GROUP = "group"


@dataclass(frozen=True, slots=True)
class Principal:
    """A user or a group. User names are case-sensitive, group names are not."""

    kind: PrincipalKind
    name: str = field(compare=False)
    key: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", fold(self.name) if self.kind is PrincipalKind.GROUP else self.name)

    def __str__(self) -> str:
        return self.name


def user(name: str) -> Principal:
    """Returns the user with this name, which is compared exactly."""
    return Principal(PrincipalKind.USER, name)


def group(name: str) -> Principal:
    """Returns the group with this name."""
    return Principal(PrincipalKind.GROUP, name)


# The group with every authenticated user.
EVERYBODY = group("account users")


@dataclass(frozen=True, slots=True)
class Grant:
    """A principal's privilege on the object whose entry contains this grant. `grantor` does not affect its meaning."""

    principal: Principal
    privilege: Privilege
    grantor: str | None = field(default=None, compare=False)
