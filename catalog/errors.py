"""Errors that a client may see: a class is a condition.

Every error that leaves the product is a subclass of :class:`SqlError`. The class declares its condition name and its
SQLSTATE once, its fields are typed (subclasses are dataclasses), and its message is formatted from them in one place.
Condition names are Spark's or Delta's where one exists, so that clients and users meet what they know. The root is
in `catalog` because that is the lowest package; SQLSTATE is SQL, not wire, so it may live here.

To add one::

    @dataclass(eq=False)
    class TableNotFound(SqlError, condition="TABLE_OR_VIEW_NOT_FOUND", sqlstate="42P01"):
        name: str
        template = "The table or view {name} cannot be found. ..."
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

ECHO_MAX = 200
"""Characters that an error repeats of a name, a key or a value that a client sent."""
_SQLSTATE = re.compile(r"[0-9A-Z]{5}")
_PROSE = frozenset(
    {"reason", "detail", "hint", "text", "advice", "excerpt", "expected", "known", "applicable", "problem", "template"}
    | {"candidates", "columns", "constraints", "dependents", "domains", "features", "keys", "names", "partitions"}
    | {"children", "existing", "specified", "values", "files", "tables", "committed", "condition_text", "expression"}
    | {"path", "location", "url", "folder", "file", "directory", "root", "source", "place", "metadata", "issuer"}
    | {"dialects", "formats", "supported", "arguments", "missing", "done", "what", "change", "becomes", "used_by"}
)
"""Fields of errors that are sentences, lists or places, and not what a client sent as one name or value."""
_LONG_WORD = re.compile(rf"([^\s/]{{{ECHO_MAX - 1}}})[^\s/]{{2,}}")
"""Not a path, whose reader needs it whole."""
_declared: dict[str, type[SqlError]] = {}


class SqlError(Exception):
    """Root of every error shown to a client.

    `condition` is the stable name, `sqlstate` its five characters, `template` the message with the fields of the
    class in braces; it says what to do.
    """

    condition: str
    sqlstate: str
    template: str

    def __init_subclass__(cls, *, condition: str | None = None, sqlstate: str | None = None) -> None:
        if condition is None or sqlstate is None:
            if condition is not sqlstate:
                raise TypeError(f"{cls.__name__}: declare both the condition and the SQLSTATE, or neither")
            return  # an abstract family, such as all errors of the log
        if not _SQLSTATE.fullmatch(sqlstate):
            raise TypeError(f"{cls.__name__}: {sqlstate!r} is no SQLSTATE")
        # `dataclass(slots=True)` makes the class twice; only another name for the same condition is a mistake.
        earlier = _declared.get(condition)
        if earlier is not None and earlier.__qualname__ != cls.__qualname__:
            raise TypeError(f"{cls.__name__}: {condition} is already {earlier.__name__}")
        cls.condition, cls.sqlstate = condition, sqlstate
        _declared[condition] = cls

    @property
    def message(self) -> str:
        """The text without condition and SQLSTATE; it repeats at most :data:`ECHO_MAX` characters of a name."""
        fields = {name: value if name in _PROSE else shortened(value) for name, value in vars(self).items()}
        return _LONG_WORD.sub(r"\1…", self.template.format(**fields))

    def __str__(self) -> str:
        return f"[{self.condition}] {self.message} SQLSTATE: {self.sqlstate}"


def shortened(value: Any) -> Any:
    """Returns a text of more than :data:`ECHO_MAX` characters with `…` for the rest, and anything else as it is."""
    is_long = isinstance(value, str) and len(value) > ECHO_MAX
    return f"{value[: ECHO_MAX - 1]}…" if is_long else value


def declared_errors() -> Iterator[type[SqlError]]:
    """All conditions, for the tests that walk them."""
    yield from _declared.values()


@dataclass(eq=False)
class InternalError(SqlError, condition="INTERNAL_ERROR", sqlstate="XX000"):
    """A bug of ours: the client sees an id, the log the trace."""

    error_id: str
    template = "An internal error occurred; the server's log has the details under id {error_id}."


@dataclass(eq=False)
class InvalidName(SqlError, condition="INVALID_SCHEMA_OR_RELATION_NAME", sqlstate="42602"):
    name: str
    template = (
        "{name!r} is no valid name for a catalog, schema, table or view. Use printable characters without slashes and "
        "backslashes, at most 255 bytes; it may not begin with a dot or be one of Delta's own, such as _delta_log."
    )


@dataclass(eq=False)
class TooManyNameParts(SqlError, condition="IDENTIFIER_TOO_MANY_NAME_PARTS", sqlstate="42601"):
    name: str
    parts_max: int
    template = "{name} has too many parts: at most {parts_max} are allowed here. Put a part with dots in backticks."


@dataclass(eq=False)
class CatalogNotFound(SqlError, condition="CATALOG_NOT_FOUND", sqlstate="42P08"):
    """`hint` is empty, or a sentence with a space before it; so it is in the classes below."""

    name: str
    hint: str = ""
    template = "The catalog {name} cannot be found.{hint} SHOW CATALOGS lists those there are."


@dataclass(eq=False)
class SchemaNotFound(SqlError, condition="SCHEMA_NOT_FOUND", sqlstate="42704"):
    name: str
    hint: str = ""
    template = "The schema {name} cannot be found.{hint} SHOW SCHEMAS lists those there are."


@dataclass(eq=False)
class TableNotFound(SqlError, condition="TABLE_OR_VIEW_NOT_FOUND", sqlstate="42P01"):
    name: str
    hint: str = ""
    template = (
        "The table or view {name} cannot be found.{hint} Check the spelling and the current schema; SHOW TABLES lists "
        "the tables of a schema."
    )


@dataclass(eq=False)
class TableAmbiguous(SqlError, condition="AMBIGUOUS_TABLE_OR_VIEW", sqlstate="42704"):
    name: str
    candidates: str
    template = (
        "{name} is ambiguous between several tables whose folders differ only in case: {candidates}. Spell the name "
        "exactly as one of them."
    )


@dataclass(eq=False)
class CatalogAlreadyExists(SqlError, condition="CATALOG_ALREADY_EXISTS", sqlstate="42710"):
    name: str
    template = "The catalog {name} exists already. Choose another name, or drop it first."


@dataclass(eq=False)
class SchemaAlreadyExists(SqlError, condition="SCHEMA_ALREADY_EXISTS", sqlstate="42P06"):
    name: str
    template = "The schema {name} exists already. Choose another name, drop it first, or use IF NOT EXISTS."


@dataclass(eq=False)
class TableAlreadyExists(SqlError, condition="TABLE_OR_VIEW_ALREADY_EXISTS", sqlstate="42P07"):
    name: str
    template = (
        "The table or view {name} exists already. Choose another name, drop it first, or use CREATE OR REPLACE or "
        "IF NOT EXISTS."
    )


@dataclass(eq=False)
class CatalogNotEmpty(SqlError, condition="CATALOG_NOT_EMPTY", sqlstate="2BP01"):
    name: str
    template = "The catalog {name} still holds schemas. Drop them first."


@dataclass(eq=False)
class SchemaNotEmpty(SqlError, condition="SCHEMA_NOT_EMPTY", sqlstate="2BP01"):
    name: str
    template = (
        "The schema {name} still holds objects. Drop tables, views and others first, or use DROP SCHEMA … CASCADE."
    )


@dataclass(eq=False)
class DropNotAllowed(SqlError, condition="UNSUPPORTED_FEATURE.DROP_DATABASE", sqlstate="0A000"):
    name: str
    template = "{name} is where names without a schema or catalog lead, so it cannot be dropped."


@dataclass(eq=False)
class ViewExpected(SqlError, condition="EXPECT_VIEW_NOT_TABLE", sqlstate="42809"):
    name: str
    template = "{name} is a table where a view is needed. Use the statement's TABLE form."


@dataclass(eq=False)
class TableExpected(SqlError, condition="EXPECT_TABLE_NOT_VIEW", sqlstate="42809"):
    name: str
    template = "{name} is a view where a table is needed. Name a table, or use the statement's VIEW form if it has one."


@dataclass(eq=False)
class ReservedName(SqlError, condition="FORBIDDEN_OPERATION", sqlstate="42809"):
    """A change of what the server makes of what it knows: `information_schema`, the catalog `system`.

    `kind` is SCHEMA or CATALOG.
    """

    kind: str
    name: str
    template = (
        "The operation is not allowed on the {kind}: {name}. What is in it is made of what the catalog knows; choose "
        "another name."
    )


@dataclass(eq=False)
class DiscoveredObject(SqlError, condition="DISCOVERED_OBJECT_NOT_CHANGEABLE", sqlstate="55000"):
    """The name comes from a folder below the served one; there is no catalog record to change."""

    name: str
    location: str
    template = (
        "{name} is known only because its folder {location} lies in the served folder. Move or remove the folder to "
        "rename or drop it."
    )


@dataclass(eq=False)
class PathNotAllowed(SqlError, condition="PATH_NOT_ALLOWED", sqlstate="42501"):
    """Says nothing of what lies there, so that the message is no probe of the server's disks."""

    path: str
    template = (
        "The path {path} is not below a folder that may be read by path. Use an absolute path below the served folder "
        "or below one of lake.allowed_roots in the server's configuration, without '..' and links that leave it."
    )


@dataclass(eq=False)
class FilesNotReadable(SqlError, condition="SOURCE_FILES_NOT_READABLE", sqlstate="42809"):
    """`reason` says what is in the way, as a part of a sentence."""

    path: str
    reason: str
    template = "The files at {path} cannot be read by themselves: {reason}."


@dataclass(eq=False)
class LocationOverlap(SqlError, condition="LOCATION_OVERLAP", sqlstate="22KD1"):
    """`reason` says what is in the way, as a part of a sentence."""

    location: str
    reason: str
    template = "No table can be made at {location}: {reason}. Choose another name, or another LOCATION."


@dataclass(eq=False)
class LakeNotAvailable(SqlError, condition="LAKE_NOT_AVAILABLE", sqlstate="57012"):
    folder: str
    reason: str
    template = (
        "The folder {folder} is not available: {reason}. Nothing was changed. Try again when its volume is mounted."
    )


@dataclass(eq=False)
class StoreSchemeNotSupported(SqlError, condition="CATALOG_STORE_SCHEME_NOT_SUPPORTED", sqlstate="0A000"):
    scheme: str
    supported: str
    template = (
        "The catalog cannot be written on {scheme!r}, which has no atomic create: two servers could lose each other's "
        "changes. Put it on one of: {supported}."
    )


@dataclass(eq=False)
class StorageNotAvailable(SqlError, condition="STORAGE_NOT_AVAILABLE", sqlstate="58030"):
    url: str
    reason: str
    template = "{url} cannot be opened: {reason}. Check its scheme, and that the fsspec package for it is installed."


@dataclass(eq=False)
class CatalogUnreadable(SqlError, condition="CATALOG_UNREADABLE", sqlstate="58030"):
    """A file of the catalog that is not what this release writes or understands."""

    path: str
    reason: str
    template = "The catalog's file {path} cannot be read: {reason}. Restore it, or start a release that knows it."


@dataclass(eq=False)
class CatalogNotWritable(SqlError, condition="CATALOG_NOT_WRITABLE", sqlstate="58030"):
    reason: str
    template = (
        "The catalog's files cannot be written: {reason}. Nothing was changed. Make room, or have the operator check "
        "the permissions of lake.catalog_folder and how its disk is mounted."
    )


@dataclass(eq=False)
class CatalogBusy(SqlError, condition="CATALOG_CONCURRENT_CHANGE", sqlstate="40001"):
    attempts: int
    template = (
        "Others changed the catalog {attempts} times while this change was tried; nothing was changed. Try again."
    )


@dataclass(eq=False)
class CatalogOutcomeUnknown(SqlError, condition="CATALOG_OUTCOME_UNKNOWN", sqlstate="08007"):
    """The storage failed while the change was committed, and again when it was asked whether it had been."""

    generation: int
    reason: str
    template = (
        "It is not known whether the catalog was changed (as generation {generation}): {reason}. Look whether the "
        "change is there before trying again."
    )
