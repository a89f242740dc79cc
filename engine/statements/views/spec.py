"""Registers CREATE VIEW, ALTER VIEW and DROP VIEW."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from catalog.grants.conditions import RequiredPrivilege, RequiredVisibility, Requirement
from catalog.grants.privileges import Privilege
from catalog.names import TableName
from catalog.system.system_views import is_system_schema
from engine.authorization.policies import PolicyEffect
from engine.authorization.required_privileges import definer_of, reads, schema_of
from engine.binding.binder import Binder
from engine.binding.bound import BoundNames, BoundStatement
from engine.binding.source_files import bind_files_at
from engine.planning.analyzed import AnalyzedStatement, Analyzer, with_columns
from engine.planning.reads.read_plan import read_plan
from engine.runtime.session_state import is_global
from engine.statements.alter_table.statement import RenameTable
from engine.statements.spec import (
    Repetition,
    StatementSpec,
    change_spec,
    effect,
    names_nothing,
    plan_from_analyzed,
    plan_from_bound,
)
from engine.statements.views.planning import plan_alter_view, plan_create_view, plan_drop_view
from engine.statements.views.statement import AlterView, CreateView, DropView


def _bind(statement: CreateView, binder: Binder) -> BoundNames:
    if statement.alters:  # ALTER VIEW v AS query does not change whether v is temporary
        found = binder.state.temporary_view(statement.view_parts)
        is_shared = found is not None and is_global(found.name)
        statement = replace(statement, temporary=found is not None, shared=is_shared)
    relations = (
        binder.relations(statement.query.relations, binder.state.current)
        if statement.files is None
        else (bind_files_at(statement.files, binder.view, binder.files),)
    )
    return BoundNames(relations=relations, is_persistent=not statement.temporary, statement=statement)


def _require_create(bound: BoundStatement, statement: CreateView) -> Iterable[Requirement]:
    """Requires SELECT on the query's relations; for a catalog view the owner's, with whose privileges it is read."""
    if statement.temporary:
        yield from reads(bound.relations)
        return
    name = TableName.from_parts(statement.view_parts, bound.state.current)
    if statement.alters:
        bound.view.resolve(name)
    yield RequiredPrivilege(Privilege.CREATE_TABLE, schema_of(bound, name))
    replaced = bound.view.unrestricted.find(name) if statement.or_replace else None
    if replaced is not None:
        yield RequiredPrivilege(Privilege.MANAGE, replaced)
    if statement.or_replace:
        yield RequiredVisibility(name)
    yield from reads(bound.relations, definer_of(bound))


def _require_alter(bound: BoundStatement, statement: AlterView) -> Iterable[Requirement]:
    """Requires the privileges for DROP VIEW; a new name requires those for ALTER TABLE … RENAME TO."""
    if bound.state.temporary_view(statement.view_parts) is not None:
        return
    name = TableName.from_parts(statement.view_parts, bound.state.current)
    found = bound.view.resolve(name)
    if is_system_schema(name.schema_name):
        return
    yield RequiredPrivilege(Privilege.MANAGE, found)
    if isinstance(statement.change, RenameTable):
        new_name = TableName.from_parts(statement.change.table_parts, bound.state.current)
        yield RequiredPrivilege(Privilege.CREATE_TABLE, schema_of(bound, new_name))


def _require_drop(bound: BoundStatement, statement: DropView) -> Iterable[Requirement]:
    if bound.state.temporary_view(statement.view_parts) is not None:
        return
    name = TableName.from_parts(statement.view_parts, bound.state.current)
    found = bound.view.find(name) if statement.if_exists else bound.view.resolve(name)
    if found is not None and not is_system_schema(name.schema_name):
        yield RequiredPrivilege(Privilege.MANAGE, found)


def _analyze(bound: BoundStatement, statement: CreateView, analyzer: Analyzer) -> AnalyzedStatement:
    analyzed = with_columns(bound, read_plan(statement.query, bound.relations, is_definition=True), analyzer)
    is_of_session = statement.temporary and not statement.shared
    return analyzed if is_of_session else replace(analyzed, variables=analyzer.variables_of(analyzed.query))


SPECS: tuple[StatementSpec[Any], ...] = (
    change_spec(
        CreateView,
        "CREATE VIEW",
        syntax="CREATE [OR REPLACE] [[GLOBAL] TEMPORARY] VIEW [IF NOT EXISTS] view [(columns)] [COMMENT 'text'] "
        "[TBLPROPERTIES (…)] [WITH SCHEMA {BINDING | COMPENSATION | [TYPE] EVOLUTION}] AS query | "
        "CREATE TEMPORARY VIEW view [(columns)] USING format OPTIONS (path '…') | "
        "ALTER VIEW view [AS] query",
        example="CREATE OR REPLACE VIEW large_orders AS SELECT * FROM orders WHERE total > 1000",
        bind=_bind,
        required_privileges=_require_create,
        policy_effects=effect(PolicyEffect.READS_THROUGH_POLICIES, "CREATE VIEW"),
        analyze=_analyze,
        plan=plan_from_analyzed(plan_create_view),
        repetition=Repetition.CREATION,
        answers_rows=False,
        reports_work=False,
    ),
    change_spec(
        AlterView,
        "ALTER VIEW",
        syntax="ALTER VIEW view {RENAME TO name | SET TBLPROPERTIES (…) | UNSET TBLPROPERTIES (…) | "
        "WITH SCHEMA {BINDING | COMPENSATION | [TYPE] EVOLUTION}}",
        example="ALTER VIEW large_orders RENAME TO big_orders",
        bind=names_nothing,
        required_privileges=_require_alter,
        policy_effects=effect(PolicyEffect.NONE, "ALTER VIEW"),
        plan=plan_from_bound(plan_alter_view),
        repetition=Repetition.CATALOG,
        answers_rows=False,
        reports_work=False,
    ),
    change_spec(
        DropView,
        "DROP VIEW",
        syntax="DROP VIEW [IF EXISTS] view",
        example="DROP VIEW IF EXISTS large_orders",
        bind=names_nothing,
        required_privileges=_require_drop,
        policy_effects=effect(PolicyEffect.NONE, "DROP VIEW"),
        plan=plan_from_bound(plan_drop_view),
        repetition=Repetition.REMOVAL,
        answers_rows=False,
        reports_work=False,
    ),
)
