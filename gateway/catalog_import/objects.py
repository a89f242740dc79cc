"""Objects of another catalog, and the SQL statements that create them here. Pure.

Every statement can be repeated: objects that exist are left as they are, and grants that exist stay.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import assert_never


class Grantee(StrEnum):
    """The kind of a principal, as GRANT spells it."""

    USER = "USER"
    GROUP = "GROUP"


def grantee_kind(principal: str) -> Grantee:
    """Returns the kind of a principal by its name: users are e-mail addresses, service principals UUIDs."""
    is_uuid = [len(part) for part in principal.split("-")] == [8, 4, 4, 4, 12]
    return Grantee.USER if "@" in principal or is_uuid else Grantee.GROUP


@dataclass(frozen=True, slots=True)
class ObjectName:
    """A name of one to three parts: catalog, schema, table; shorter for a catalog or a schema."""

    parts: tuple[str, ...]

    def __str__(self) -> str:
        return ".".join(self.parts)

    @property
    def sql(self) -> str:
        """Returns the name as SQL, with each part in backquotes."""
        return ".".join(quote_name(part) for part in self.parts)


@dataclass(frozen=True, slots=True)
class ImportedCatalog:
    name: ObjectName
    comment: str = ""


@dataclass(frozen=True, slots=True)
class ImportedSchema:
    name: ObjectName
    comment: str = ""


@dataclass(frozen=True, slots=True)
class ImportedTable:
    """A table with its files at `location`; `format` is in lower case. `metadata_file` is an Iceberg table's newest."""

    name: ObjectName
    format: str
    location: str
    metadata_file: str = ""


@dataclass(frozen=True, slots=True)
class ImportedView:
    """A view; names in its `text` without a schema resolve against `current`, a schema."""

    name: ObjectName
    text: str
    current: ObjectName
    comment: str = ""


@dataclass(frozen=True, slots=True)
class ImportedGrant:
    """A privilege in the words of GRANT, such as `USE SCHEMA`; `kind` is CATALOG, SCHEMA or TABLE."""

    privilege: str
    kind: str
    name: ObjectName
    grantee: Grantee
    principal: str


@dataclass(frozen=True, slots=True)
class Skipped:
    """An object that cannot be imported, and the reason."""

    name: ObjectName
    reason: str


ImportedObject = ImportedCatalog | ImportedSchema | ImportedTable | ImportedView | ImportedGrant | Skipped


@dataclass(frozen=True, slots=True)
class ImportStatement:
    """A statement to run with `current`, a schema with an optional catalog, as the session's schema."""

    subject: str
    text: str
    current: ObjectName | None = None


def import_statement(imported: ImportedObject) -> ImportStatement | Skipped:
    """Returns the statement that creates the object, or the reason why there is none."""
    match imported:
        case Skipped():
            return imported
        case ImportedCatalog(name, comment):
            text = f"CREATE CATALOG IF NOT EXISTS {name.sql}{_comment(comment)}"
            return ImportStatement(f"catalog {name}", text)
        case ImportedSchema(name, comment):
            return ImportStatement(f"schema {name}", f"CREATE SCHEMA IF NOT EXISTS {name.sql}{_comment(comment)}")
        case ImportedTable(name, "delta", location):
            text = f"CREATE TABLE IF NOT EXISTS {name.sql} USING delta LOCATION {quote_text(location)}"
            return ImportStatement(f"table {name}", text)
        case ImportedTable(name, "iceberg", _, metadata_file) if metadata_file:
            schema = ".".join(name.parts[-2:])
            arguments = f"table => {quote_text(schema)}, metadata_file => {quote_text(metadata_file)}"
            catalog = f"{quote_name(name.parts[0])}." if len(name.parts) > 2 else ""
            return ImportStatement(f"table {name}", f"CALL {catalog}system.register_table({arguments})")
        case ImportedTable(name, format_):
            return Skipped(name, f"the format {format_} is not served")
        case ImportedView(name, text, current, comment):
            text = f"CREATE VIEW IF NOT EXISTS {name.sql}{_comment(comment)} AS {text}"
            return ImportStatement(f"view {name}", text, current)
        case ImportedGrant(privilege, kind, name, grantee, principal):
            text = f"GRANT {privilege} ON {kind} {name.sql} TO {grantee} {quote_name(principal)}"
            return ImportStatement(f"{privilege} on {kind} {name} to {principal}", text)
        case _:
            assert_never(imported)


_ORDER = (ImportedCatalog, ImportedSchema, ImportedTable, ImportedView, ImportedGrant, Skipped)


def in_order(objects: Iterable[ImportedObject]) -> list[ImportedObject]:
    """Returns the objects so that each comes after its container: catalogs, schemas, tables, views, grants."""
    return sorted(objects, key=lambda it: _ORDER.index(type(it)))


def relocate(objects: Iterable[ImportedObject], prefixes: Mapping[str, str]) -> Iterator[ImportedObject]:
    """Replaces the first matching prefix of each table's location and metadata file."""
    for imported in objects:
        if isinstance(imported, ImportedTable):
            location, file = (_moved(path, prefixes) for path in (imported.location, imported.metadata_file))
            imported = replace(imported, location=location, metadata_file=file)
        yield imported


def _moved(path: str, prefixes: Mapping[str, str]) -> str:
    for old, new in prefixes.items():
        if path == old or path.startswith(f"{old.rstrip('/')}/"):
            return new + path[len(old) :]
    return path


def quote_name(part: str) -> str:
    """Returns one name part in backquotes, with backquotes in it doubled."""
    return f"`{part.replace('`', '``')}`"


def quote_text(text: str) -> str:
    """Returns a string literal, with quotes and backslashes escaped for Spark."""
    return "'" + re.sub(r"(['\\])", r"\\\1", text) + "'"


def _comment(comment: str) -> str:
    return f" COMMENT {quote_text(comment)}" if comment else ""
