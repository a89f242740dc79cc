"""Plans DDL that changes only catalog names: catalogs, schemas, views. Preconditions are checked when the change is
made.

IF [NOT] EXISTS is not checked in advance: the change is attempted, and the corresponding error is tolerated, so that
two sessions that concurrently create the same schema both succeed.
"""

from __future__ import annotations

from catalog.changes import CreateCatalog as CreateCatalogChange
from catalog.changes import CreateSchema as CreateSchemaChange
from catalog.changes import DropCatalog as DropCatalogChange
from catalog.changes import SetRestOptions
from catalog.conditions import (
    CatalogAlreadyExists,
    CatalogNotFound,
    SchemaAlreadyExists,
    SchemaNotFound,
    StatementNotSupported,
    UnsupportedClause,
)
from catalog.entries import CatalogEntry, SchemaEntry
from catalog.names import CatalogName, SchemaName, fold
from engine.binding.bound import BoundStatement
from engine.planning.plans.ddl import CatalogPlan, DropSchemaPlan
from engine.statements.containers.statement import AlterCatalog, CreateCatalog, CreateSchema, DropCatalog, DropSchema

_REST = "rest"


def plan_create_catalog(bound: BoundStatement, statement: CreateCatalog) -> CatalogPlan:
    """Plans a catalog, of this server or (USING rest) of a REST server.

    Raises `StatementNotSupported` for another provider, and for OPTIONS without USING.
    """
    if fold(statement.provider or _REST) != _REST:
        raise StatementNotSupported(f"CREATE CATALOG … USING {statement.provider}")
    if statement.provider is None and statement.options:
        raise StatementNotSupported("CREATE CATALOG … OPTIONS without USING rest")
    entry = CatalogEntry(
        name=CatalogName(statement.catalog),
        rest=None if statement.provider is None else statement.options,
        owner=bound.state.principal,
        comment=statement.comment,
    )
    return CatalogPlan(
        change=CreateCatalogChange(entry),
        tolerated=(CatalogAlreadyExists,) if statement.if_not_exists else (),
        condition=bound.condition,
    )


def plan_alter_catalog(bound: BoundStatement, statement: AlterCatalog) -> CatalogPlan:
    """Plans changed options for a REST catalog created by a statement. Raises `StatementNotSupported` for any other."""
    entry = bound.view.catalog(CatalogName(statement.catalog))
    if entry.rest is None:
        raise StatementNotSupported(f"ALTER CATALOG {entry.name} OPTIONS of a catalog that no CREATE … USING rest made")
    said = {key.lower() for key, _ in statement.options}
    remaining = tuple((key, value) for key, value in entry.rest if key.lower() not in said)
    return CatalogPlan(change=SetRestOptions(entry.name, (*remaining, *statement.options)), condition=bound.condition)


def plan_drop_catalog(bound: BoundStatement, statement: DropCatalog) -> CatalogPlan:
    """Plans dropping an empty catalog; its contents are dropped schema by schema. For a REST catalog only the records
    here are removed.
    """
    name = CatalogName(statement.catalog)
    if statement.cascade and not bound.view.is_rest(name):
        raise StatementNotSupported("DROP CATALOG … CASCADE")
    is_gone = statement.if_exists and bound.view.rights is not None and not bound.view.has_catalog(name)
    return CatalogPlan(
        change=None if is_gone else DropCatalogChange(name, statement.cascade),
        tolerated=(CatalogNotFound,) if statement.if_exists else (),
        condition=bound.condition,
    )


def plan_create_schema(bound: BoundStatement, statement: CreateSchema) -> CatalogPlan:
    """Plans a schema with its location and comment; only REST catalogs use properties."""
    name = SchemaName.from_parts(statement.schema_parts, bound.state.catalog)
    if statement.properties and not bound.view.is_rest(name.catalog_name):
        raise UnsupportedClause("CREATE SCHEMA … WITH DBPROPERTIES", "Use COMMENT, or ALTER SCHEMA … SET TAGS.")
    entry = SchemaEntry(
        name=name,
        location=statement.location,
        owner=bound.state.principal,
        comment=statement.comment,
    )
    return CatalogPlan(
        change=CreateSchemaChange(entry, statement.properties),
        tolerated=(SchemaAlreadyExists,) if statement.if_not_exists else (),
        condition=bound.condition,
    )


def plan_drop_schema(bound: BoundStatement, statement: DropSchema) -> DropSchemaPlan | CatalogPlan:
    """Plans DROP SCHEMA. With IF EXISTS, a schema that is not visible to the principal counts as missing."""
    name = SchemaName.from_parts(statement.schema_parts, bound.state.catalog)
    if statement.if_exists and bound.view.rights is not None and not bound.view.finds_schema(name):
        return CatalogPlan(change=None)  # it does not exist, or is not visible to the principal
    return DropSchemaPlan(
        name=name,
        cascade=statement.cascade,
        tolerated=(SchemaNotFound,) if statement.if_exists else (),
        condition=bound.condition,
    )
