"""Plans of the DDL that changes names alone: catalogs, schemas, views. What must be so is checked where it is changed.

IF [NOT] EXISTS is no question that is asked first: the change is tried, and the error that it would meet is tolerated,
so that two sessions that create the same schema at once both succeed.
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
)
from catalog.entries import CatalogEntry, SchemaEntry
from catalog.names import CatalogName, SchemaName, fold
from engine.binding.bound import BoundStatement
from engine.planning.plans.ddl import CatalogPlan, DropSchemaPlan
from engine.statements.containers.statement import AlterCatalog, CreateCatalog, CreateSchema, DropCatalog, DropSchema

_REST = "rest"


def plan_create_catalog(bound: BoundStatement, statement: CreateCatalog) -> CatalogPlan:
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
    """The options of a REST catalog that a statement made. Raises `StatementNotSupported` for any other."""
    entry = bound.view.catalog(CatalogName(statement.catalog))
    if entry.rest is None:
        raise StatementNotSupported(f"ALTER CATALOG {entry.name} OPTIONS of a catalog that no CREATE … USING rest made")
    said = {key.lower() for key, _ in statement.options}
    kept = tuple((key, value) for key, value in entry.rest if key.lower() not in said)
    return CatalogPlan(change=SetRestOptions(entry.name, (*kept, *statement.options)), condition=bound.condition)


def plan_drop_catalog(bound: BoundStatement, statement: DropCatalog) -> CatalogPlan:
    """Only an empty one: what lies in it is dropped schema by schema. Of a REST catalog only its records here go."""
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
    """A schema with its location and comment; properties have a meaning to REST catalogs alone."""
    name = SchemaName.from_parts(statement.schema_parts, bound.state.catalog)
    if statement.properties and not bound.view.is_rest(name.catalog_name):
        raise StatementNotSupported("WITH DBPROPERTIES")
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
    name = SchemaName.from_parts(statement.schema_parts, bound.state.catalog)
    if statement.if_exists and bound.view.rights is not None and not bound.view.finds_schema(name):
        return CatalogPlan(change=None)  # there is none, or none that the principal may know of
    return DropSchemaPlan(
        name=name,
        cascade=statement.cascade,
        tolerated=(SchemaNotFound,) if statement.if_exists else (),
        condition=bound.condition,
    )
