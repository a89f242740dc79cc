"""Registers the statements that create, change and drop catalogs and schemas."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from catalog.grants.conditions import RequiredPrivilege, Requirement
from catalog.grants.privileges import Privilege
from catalog.names import CatalogName, SchemaName
from engine.authorization.policies import PolicyEffect
from engine.authorization.required_privileges import managed_schema, places_of
from engine.binding.bound import BoundStatement
from engine.statements.containers.planning import (
    plan_alter_catalog,
    plan_create_catalog,
    plan_create_schema,
    plan_drop_catalog,
    plan_drop_schema,
)
from engine.statements.containers.statement import AlterCatalog, CreateCatalog, CreateSchema, DropCatalog, DropSchema
from engine.statements.spec import Repetition, StatementSpec, change_spec, effect, names_nothing, plan_from_bound


def _require_create_catalog(bound: BoundStatement, _: CreateCatalog) -> Iterable[Requirement]:
    yield RequiredPrivilege(Privilege.CREATE_CATALOG, bound.view.state.server)


def _require_alter_catalog(bound: BoundStatement, statement: AlterCatalog) -> Iterable[Requirement]:
    """Requires CREATE CATALOG too: its location and secret may be replaced by any others, as for a new catalog."""
    yield RequiredPrivilege(Privilege.CREATE_CATALOG, bound.view.state.server)
    yield RequiredPrivilege(Privilege.MANAGE, bound.view.catalog(CatalogName(statement.catalog)))


def _require_drop_catalog(bound: BoundStatement, statement: DropCatalog) -> Iterable[Requirement]:
    name = CatalogName(statement.catalog)
    if bound.view.has_catalog(name) or not statement.if_exists:
        yield RequiredPrivilege(Privilege.MANAGE, bound.view.catalog(name))


def _require_create_schema(bound: BoundStatement, statement: CreateSchema) -> Iterable[Requirement]:
    catalog_name = SchemaName.from_parts(statement.schema_parts, bound.state.catalog).catalog_name
    yield RequiredPrivilege(Privilege.CREATE_SCHEMA, bound.view.catalog(catalog_name))
    if statement.location is not None:
        for owner in places_of(bound, statement.location):
            yield RequiredPrivilege(Privilege.CREATE_EXTERNAL_TABLE, owner)


def _require_drop_schema(bound: BoundStatement, statement: DropSchema) -> Iterable[Requirement]:
    schema = SchemaName.from_parts(statement.schema_parts, bound.state.catalog)
    if bound.view.finds_schema(schema) or not statement.if_exists:
        yield from managed_schema(bound.view.schema(schema))


SPECS: tuple[StatementSpec[Any], ...] = (
    change_spec(
        CreateCatalog,
        "CREATE CATALOG",
        syntax="CREATE CATALOG [IF NOT EXISTS] catalog [COMMENT 'text'] [USING rest OPTIONS (…)]",
        example="CREATE CATALOG sales",
        bind=names_nothing,
        required_privileges=_require_create_catalog,
        policy_effects=effect(PolicyEffect.NONE, "CREATE CATALOG"),
        plan=plan_from_bound(plan_create_catalog),
        repetition=Repetition.CREATION,
        answers_rows=False,
        reports_work=False,
    ),
    change_spec(
        AlterCatalog,
        "ALTER CATALOG",
        syntax="ALTER CATALOG catalog SET OPTIONS (…)",
        example="ALTER CATALOG sales SET OPTIONS (secret 'sales')",
        bind=names_nothing,
        required_privileges=_require_alter_catalog,
        policy_effects=effect(PolicyEffect.NONE, "ALTER CATALOG"),
        plan=plan_from_bound(plan_alter_catalog),
        repetition=Repetition.CATALOG,
        answers_rows=False,
        reports_work=False,
    ),
    change_spec(
        DropCatalog,
        "DROP CATALOG",
        syntax="DROP CATALOG [IF EXISTS] catalog [CASCADE | RESTRICT]",
        example="DROP CATALOG IF EXISTS sales",
        bind=names_nothing,
        required_privileges=_require_drop_catalog,
        policy_effects=effect(PolicyEffect.ADMINISTERS, "DROP CATALOG"),
        plan=plan_from_bound(plan_drop_catalog),
        repetition=Repetition.CATALOG,
        answers_rows=False,
        reports_work=False,
    ),
    change_spec(
        CreateSchema,
        "CREATE SCHEMA",
        syntax="CREATE {SCHEMA | DATABASE | NAMESPACE} [IF NOT EXISTS] schema [COMMENT 'text'] [LOCATION 'path'] "
        "[WITH DBPROPERTIES (…)]",
        example="CREATE SCHEMA IF NOT EXISTS daily",
        bind=names_nothing,
        required_privileges=_require_create_schema,
        policy_effects=effect(PolicyEffect.NONE, "CREATE SCHEMA"),
        plan=plan_from_bound(plan_create_schema),
        repetition=Repetition.CREATION,
        answers_rows=False,
        reports_work=False,
    ),
    change_spec(
        DropSchema,
        "DROP SCHEMA",
        syntax="DROP {SCHEMA | DATABASE | NAMESPACE} [IF EXISTS] schema [CASCADE | RESTRICT]",
        example="DROP SCHEMA IF EXISTS daily CASCADE",
        bind=names_nothing,
        required_privileges=_require_drop_schema,
        policy_effects=effect(PolicyEffect.ADMINISTERS, "DROP SCHEMA"),
        plan=plan_from_bound(plan_drop_schema),
        repetition=Repetition.CATALOG,
        answers_rows=False,
        reports_work=False,
    ),
)
