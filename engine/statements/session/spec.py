"""Registers USE, SET and RESET."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from catalog.grants.conditions import RequiredAdmin, RequiredPrivilege, Requirement
from catalog.grants.privileges import Privilege
from catalog.names import CatalogName, SchemaName
from catalog.state import DEFAULT_SCHEMA_NAME
from catalog.system.system_views import is_system_schema
from engine.authorization.policies import PolicyEffect
from engine.binding.bound import BoundStatement
from engine.planning.analyzed import AnalyzedStatement, Analyzer
from engine.planning.plans.reads import CommandPlan
from engine.runtime.settings import SETTINGS, find_setting, requires_admin
from engine.statements.format_planning import FormatPlanners
from engine.statements.session.execution import reset_setting, set_setting, show_settings, use_catalog, use_schema
from engine.statements.session.statement import ResetSetting, SetSetting, ShowSettings, UseCatalog, UseSchema
from engine.statements.spec import StatementSpec, answer_spec, effect, names_nothing, unrestricted


def _require_schema(bound: BoundStatement, statement: UseSchema) -> Iterable[Requirement]:
    """Requires USE SCHEMA, or USE CATALOG if `USE x` denotes a catalog. Everybody may use the default schema."""
    name = SchemaName.from_parts(statement.parts, bound.state.catalog)
    catalog = CatalogName(statement.parts[0])
    if bound.view.finds_schema(name):
        is_open = is_system_schema(name) or name == DEFAULT_SCHEMA_NAME
        return [] if is_open else [RequiredPrivilege(Privilege.USE_SCHEMA, bound.view.schema(name))]
    if len(statement.parts) == 1 and not statement.schema_only and bound.view.has_catalog(catalog):
        return [RequiredPrivilege(Privilege.USE_CATALOG, bound.view.catalog(catalog))]
    return []  # it does not exist, which the execution reports


def _require_catalog(bound: BoundStatement, statement: UseCatalog) -> Iterable[Requirement]:
    return [RequiredPrivilege(Privilege.USE_CATALOG, bound.view.catalog(CatalogName(statement.catalog)))]


def _require_setting(bound: BoundStatement, statement: SetSetting) -> Iterable[Requirement]:
    return [RequiredAdmin()] if requires_admin([statement.key]) else []


def _read_default(bound: BoundStatement, statement: ShowSettings, analyzer: Analyzer) -> AnalyzedStatement:
    """Reads Spark's own value of a setting that the session has not set."""
    setting = None if statement.key is None else SETTINGS.get(find_setting(statement.key).key.lower())
    has_default = setting is not None and setting.is_spark and bound.state.value(setting.key) is None
    return AnalyzedStatement(bound=bound, setting=analyzer.setting(setting.key) if setting and has_default else None)


def _plan_show(analyzed: AnalyzedStatement, statement: ShowSettings, _: FormatPlanners) -> CommandPlan:
    return CommandPlan(statement=replace(statement, default=analyzed.setting), bound=analyzed.bound)


SPECS: tuple[StatementSpec[Any], ...] = (
    answer_spec(
        UseCatalog,
        "USE CATALOG",
        syntax="USE CATALOG catalog | SET CATALOG catalog",
        example="USE CATALOG sales",
        bind=names_nothing,
        required_privileges=_require_catalog,
        policy_effects=effect(PolicyEffect.NONE, "USE CATALOG"),
        answer=use_catalog,
        answers_rows=False,
    ),
    answer_spec(
        UseSchema,
        "USE",
        syntax="USE [SCHEMA | DATABASE | NAMESPACE] [catalog.]schema",
        example="USE sales.daily",
        bind=names_nothing,
        required_privileges=_require_schema,
        policy_effects=effect(PolicyEffect.NONE, "USE"),
        answer=use_schema,
        answers_rows=False,
    ),
    replace(
        unrestricted(
            SetSetting,
            "SET",
            syntax="SET key = value | SET TIME ZONE {LOCAL | 'zone' | INTERVAL …}",
            example="SET spark.sql.session.timeZone = UTC",
            answer=set_setting,
        ),
        required_privileges=_require_setting,
    ),
    replace(
        unrestricted(
            ShowSettings,
            "SET (show)",
            syntax="SET [-v] [key]",
            example="SET -v",
            answer=show_settings,
        ),
        analyze=_read_default,
        plan=_plan_show,
    ),
    unrestricted(
        ResetSetting,
        "RESET",
        syntax="RESET [key]",
        example="RESET",
        answer=reset_setting,
        answers_rows=False,
    ),
)
