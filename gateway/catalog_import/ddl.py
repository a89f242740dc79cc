"""Reads a dump of DDL: files with CREATE SCHEMA, CREATE TABLE … LOCATION, CREATE VIEW, USE and GRANT statements.

Tables are imported by location, so columns and properties in the dump do not matter: they come from the table's own
log.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from catalog.errors import SqlError
from catalog.grants.privileges import PrincipalKind
from engine.pipeline import parse_statement
from engine.sql.statement_texts import Kind, split_statements
from engine.statements.containers.statement import CreateCatalog, CreateSchema
from engine.statements.create_table.statement import CreateTable
from engine.statements.grants.statement import GrantRights
from engine.statements.session.statement import UseCatalog, UseSchema
from engine.statements.views.statement import CreateView
from gateway.catalog_import.objects import (
    Grantee,
    ImportedCatalog,
    ImportedGrant,
    ImportedObject,
    ImportedSchema,
    ImportedTable,
    ImportedView,
    ObjectName,
    Skipped,
    grantee_kind,
)

_DEFAULT_SCHEMA = "default"


def read_ddl(path: Path) -> Iterator[ImportedObject]:
    """Yields the objects in a file, or in the `.sql` files of a folder in order. Raises OSError."""
    files = sorted(path.rglob("*.sql")) if path.is_dir() else [path]
    for file in files:
        yield from ddl_objects(file.read_text(encoding="utf-8"))


def ddl_objects(text: str) -> Iterator[ImportedObject]:
    """Yields the objects that the statements in `text` create; other statements are skipped with a reason."""
    current = ObjectName((_DEFAULT_SCHEMA,))
    for piece in split_statements(text):
        shown = ObjectName((" ".join(piece.text.split())[:60],))
        if piece.kind is Kind.COMMAND:
            yield Skipped(shown, "it is a command of a shell")
            continue
        try:
            statement = parse_statement(piece.text)
        except SqlError as error:
            yield Skipped(shown, error.message)
            continue
        match statement:
            case UseSchema():
                current = ObjectName(statement.parts)
            case UseCatalog():
                current = ObjectName((statement.catalog, _DEFAULT_SCHEMA))
            case CreateCatalog(catalog=name, comment=comment):
                yield ImportedCatalog(ObjectName((name,)), comment or "")
            case CreateSchema(schema_parts=parts, comment=comment):
                yield ImportedSchema(ObjectName(parts), comment or "")
            case CreateTable():
                yield _table(statement, current)
            case CreateView(temporary=False, alters=False):
                yield ImportedView(
                    _qualified(statement.view_parts, current), statement.query.text, current, statement.comment or ""
                )
            case GrantRights():
                yield from _grants(statement, current)
            case _:  # any other statement in a foreign text
                yield Skipped(shown, "only CREATE, USE and GRANT statements are imported")


def _table(statement: CreateTable, current: ObjectName) -> ImportedObject:
    name = _qualified(statement.table_parts, current)
    location = statement.location or dict(statement.options).get("path")
    if statement.query is not None:
        return Skipped(name, "it is created from a query, and its location is unknown")
    if not location:
        return Skipped(name, "it has no LOCATION")
    return ImportedTable(name, (statement.provider or "delta").lower(), location)


def _grants(statement: GrantRights, current: ObjectName) -> Iterator[ImportedObject]:
    securable, principal = statement.securable, statement.principal
    kind = securable.kind.value.upper()
    name = _qualified(securable.parts, current) if kind == "TABLE" else ObjectName(securable.parts)
    if not securable.parts:
        yield Skipped(ObjectName((kind,)), "the object of the GRANT has no name")
        return
    grantee = {None: grantee_kind(principal.name), PrincipalKind.USER: Grantee.USER}.get(principal.kind, Grantee.GROUP)
    for privilege in statement.privileges:
        yield ImportedGrant(privilege.value, kind, name, grantee, principal.name)


def _qualified(parts: tuple[str, ...], current: ObjectName) -> ObjectName:
    return ObjectName(parts if len(parts) > 1 else (*current.parts, *parts))
