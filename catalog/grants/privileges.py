"""Kinds of securable objects, the privileges that each kind takes, and who may hold them. Pure.

The names and their meaning are those of Databricks' Unity Catalog, whose open release has them but for BROWSE, MANAGE,
APPLY TAG and ALL PRIVILEGES. A privilege granted on a catalog or a schema holds for all that is in it, also for what is
made there later; `ALL PRIVILEGES` is kept as itself and means whatever it covers when it is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

from catalog.names import fold


class Kind(StrEnum):
    """What privileges are granted on."""

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
"""What may be granted on each kind; on a container also what holds for the objects in it."""

DATA = frozenset(
    {_P.SELECT, _P.MODIFY, _P.EXECUTE, _P.READ_FILES, _P.WRITE_FILES, _P.READ_VOLUME, _P.WRITE_VOLUME}
    | {_P.CREATE_EXTERNAL_TABLE, _P.CREATE_EXTERNAL_VOLUME}
)
"""Privileges that reach data. Whoever manages an object without owning it has all others, and may grant these."""

NOT_IN_ALL = frozenset({_P.MANAGE})
"""What ALL PRIVILEGES leaves out."""

USE: Mapping[Kind, Privilege] = MappingProxyType({Kind.CATALOG: _P.USE_CATALOG, Kind.SCHEMA: _P.USE_SCHEMA})
"""What is needed on a container to reach anything in it."""


class PrincipalKind(StrEnum):
    USER = "user"
    GROUP = "group"


@dataclass(frozen=True, slots=True)
class Principal:
    """A user or a group. Names of users are compared as they are, those of groups without case."""

    kind: PrincipalKind
    name: str = field(compare=False)
    key: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "key", fold(self.name) if self.kind is PrincipalKind.GROUP else self.name)

    def __str__(self) -> str:
        return self.name


def user(name: str) -> Principal:
    return Principal(PrincipalKind.USER, name)


def group(name: str) -> Principal:
    return Principal(PrincipalKind.GROUP, name)


EVERYBODY = group("account users")
"""All who log in."""


@dataclass(frozen=True, slots=True)
class Grant:
    """A privilege that somebody has on the object whose entry holds this. `grantor` is not part of what it says."""

    principal: Principal
    privilege: Privilege
    grantor: str | None = field(default=None, compare=False)
