"""Registers the statements that create, copy, convert and drop tables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from catalog.grants.conditions import Requirement
from catalog.grants.privileges import Privilege
from engine.authorization.policies import Effect, PolicyEffect
from engine.authorization.required_privileges import new_table, on_target, reads
from engine.binding.binder import Binder
from engine.binding.bound import BoundNames, BoundStatement, BoundTable, TakenName
from engine.planning.analyzed import AnalyzedStatement, Analyzer, with_columns
from engine.planning.plans.plan import Plan
from engine.planning.reads.read_plan import read_plan
from engine.statements.create_table.binding import bind_drop, like_provider, replaced_table
from engine.statements.create_table.binding import new_table as new_name
from engine.statements.create_table.planning import plan_create_table, plan_drop_table
from engine.statements.create_table.planning_replace import plan_replace_table, plan_replace_table_as
from engine.statements.create_table.statement import (
    REPLACES,
    CloneTable,
    ConvertTable,
    CreateMode,
    CreateTable,
    CreateTableLike,
    DropTable,
)
from engine.statements.format_planning import FormatPlanners
from engine.statements.insert.planning import plan_create_table_as
from engine.statements.policies.spec import policy_functions
from engine.statements.spec import (
    Repetition,
    Retry,
    StatementSpec,
    bind_table,
    change_spec,
    effect,
    plan_from_bound,
    planned_by_format,
    require_on_target,
)


def _bind_create(statement: CreateTable, binder: Binder) -> BoundNames:
    parts, location, provider = statement.table_parts, statement.location, statement.provider
    replaced = replaced_table(binder, parts, location, statement.mode, provider)
    target = replaced or new_name(binder, parts, location, provider)
    if statement.query is None:
        return BoundNames(target=target, relations=binder.parents(parts, statement.declared_keys))
    return BoundNames(target=target, relations=binder.relations(statement.query.relations, binder.state.current))


def _bind_like(statement: CreateTableLike, binder: Binder) -> BoundNames:
    parts = statement.table_parts
    source = binder.table(statement.source_parts)
    provider = statement.provider or like_provider(binder, parts, source)
    return BoundNames(target=new_name(binder, parts, statement.location, provider), relations=(source,))


def _bind_clone(statement: CloneTable, binder: Binder) -> BoundNames:
    parts, location = statement.table_parts, statement.location
    cloned = binder.relation(statement.source_parts, statement.time_travel, binder.state.current)
    target = replaced_table(binder, parts, location, statement.mode) or new_name(binder, parts, location)
    return BoundNames(target=target, relations=(cloned,))


def _bind_convert(statement: ConvertTable, binder: Binder) -> BoundNames:
    if statement.path is None:
        return bind_table(statement, binder)
    return BoundNames(target=new_name(binder, statement.table_parts, None))


def _require_create(bound: BoundStatement, statement: CreateTable) -> Iterable[Requirement]:
    yield from new_table(bound, statement.table_parts, replaces=statement.mode in REPLACES)
    yield from reads(bound.relations)
    yield from policy_functions(bound, statement.policies)


def _require_like(bound: BoundStatement, statement: CreateTableLike) -> Iterable[Requirement]:
    return (*new_table(bound, statement.table_parts), *reads(bound.relations))


def _require_clone(bound: BoundStatement, statement: CloneTable) -> Iterable[Requirement]:
    replaces = statement.mode in REPLACES
    return (*new_table(bound, statement.table_parts, replaces=replaces), *reads(bound.relations))


def _require_convert(bound: BoundStatement, statement: ConvertTable) -> Iterable[Requirement]:
    if statement.path is None:
        return on_target(bound, Privilege.MANAGE)
    return new_table(bound, statement.table_parts)


def _effects_of_create(_: BoundStatement, __: CreateTable) -> Iterable[Effect]:
    yield Effect(PolicyEffect.READS_THROUGH_POLICIES, "CREATE TABLE")
    yield Effect(PolicyEffect.ADMINISTERS, "CREATE TABLE")


def _effects_of_clone(_: BoundStatement, __: CloneTable) -> Iterable[Effect]:
    yield Effect(PolicyEffect.REVEALS_STORED_STATE_OF_SOURCES, "CLONE")
    yield Effect(PolicyEffect.ADMINISTERS, "CLONE")


def _analyze_create(bound: BoundStatement, statement: CreateTable, analyzer: Analyzer) -> AnalyzedStatement:
    if statement.query is None or isinstance(bound.target, TakenName):
        return AnalyzedStatement(bound=bound)
    return with_columns(bound, read_plan(statement.query, bound.relations), analyzer)


def _plan_create(analyzed: AnalyzedStatement, statement: CreateTable, _: FormatPlanners) -> Plan:
    """Plans CREATE TABLE, or a replacement if the table exists; with or without a query."""
    replaces = isinstance(analyzed.bound.target, BoundTable)
    if statement.query is None:
        plan = plan_replace_table if replaces else plan_create_table
        return plan(analyzed.bound, statement)
    return (plan_replace_table_as if replaces else plan_create_table_as)(analyzed, statement)


def _retry(statement: CreateTable | CloneTable) -> Retry:
    replaces = statement.mode is CreateMode.CREATE_OR_REPLACE
    return Retry.LOST_RACE_OR_NAME if replaces else Retry.LOST_RACE


SPECS: tuple[StatementSpec[Any], ...] = (
    change_spec(
        CreateTable,
        "CREATE TABLE",
        syntax="{CREATE [OR REPLACE] | REPLACE} TABLE [IF NOT EXISTS] table [(columns and constraints)] "
        "[USING {delta | iceberg}] [PARTITIONED BY (…) | CLUSTER BY {(…) | AUTO}] [LOCATION 'path'] [COMMENT 'text'] "
        "[TBLPROPERTIES (…)] [WITH ROW FILTER …] [AS query]",
        example="CREATE TABLE orders (id BIGINT NOT NULL, total DECIMAL(10, 2)) USING delta",
        bind=_bind_create,
        required_privileges=_require_create,
        policy_effects=_effects_of_create,
        analyze=_analyze_create,
        plan=_plan_create,
        retry=_retry,
        repetition=Repetition.DEFINITION,
        answers_rows=False,
        reports_work=False,
        lineage_type=lambda statement: f"{statement.mode.removesuffix(' IF NOT EXISTS')} TABLE AS SELECT",
    ),
    change_spec(
        CreateTableLike,
        "CREATE TABLE LIKE",
        syntax="CREATE TABLE [IF NOT EXISTS] table LIKE source [USING format] [LOCATION 'path'] [TBLPROPERTIES (…)]",
        example="CREATE TABLE orders_copy LIKE orders",
        bind=_bind_like,
        required_privileges=_require_like,
        policy_effects=effect(PolicyEffect.NONE, "CREATE TABLE LIKE"),  # copies only the definition
        plan=planned_by_format,
        repetition=Repetition.DEFINITION,
        answers_rows=False,
        reports_work=False,
    ),
    change_spec(
        CloneTable,
        "CLONE",
        syntax="{CREATE [OR REPLACE] | REPLACE} TABLE [IF NOT EXISTS] table [SHALLOW | DEEP] CLONE source "
        "[VERSION AS OF n | TIMESTAMP AS OF t] [TBLPROPERTIES (…)] [LOCATION 'path']",
        example="CREATE TABLE orders_copy SHALLOW CLONE orders",
        bind=_bind_clone,
        required_privileges=_require_clone,
        policy_effects=_effects_of_clone,
        plan=planned_by_format,
        retry=_retry,
        repetition=Repetition.DEFINITION,
        answers_rows=True,
        reports_work=False,
        lineage_type=lambda _: "CLONE",
    ),
    change_spec(
        ConvertTable,
        "CONVERT TO DELTA",
        syntax="CONVERT TO DELTA {table | parquet.`path`} [NO STATISTICS] [PARTITIONED BY (column type, …)]",
        example="CONVERT TO DELTA parquet.`/data/orders`",
        bind=_bind_convert,
        required_privileges=_require_convert,
        policy_effects=effect(PolicyEffect.ADMINISTERS, "CONVERT TO DELTA"),
        plan=planned_by_format,
        repetition=Repetition.DEFINITION,
        answers_rows=True,
        reports_work=False,
    ),
    change_spec(
        DropTable,
        "DROP TABLE",
        syntax="DROP TABLE [IF EXISTS] table [PURGE]",
        example="DROP TABLE IF EXISTS orders",
        bind=lambda statement, binder: BoundNames(target=bind_drop(binder, statement.table_parts, statement.if_exists)),
        required_privileges=require_on_target(Privilege.MANAGE),
        policy_effects=effect(PolicyEffect.ADMINISTERS, "DROP TABLE"),
        plan=plan_from_bound(plan_drop_table),
        repetition=Repetition.REMOVAL,
        answers_rows=False,
        reports_work=False,
    ),
)
