"""Registers DESCRIBE for tables, schemas, catalogs, histories and details."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from catalog.grants.conditions import Requirement
from engine.authorization.policies import PolicyEffect
from engine.authorization.required_privileges import reads
from engine.binding.binder import Binder
from engine.binding.bound import BoundNames, BoundStatement
from engine.sql.query.values import AsOfVersion
from engine.statements.describe.execution import (
    describe_catalog,
    describe_detail,
    describe_history,
    describe_schema,
    describe_table,
)
from engine.statements.describe.statement import (
    DescribeCatalog,
    DescribeDetail,
    DescribeHistory,
    DescribeSchema,
    DescribeTable,
)
from engine.statements.spec import StatementSpec, answer_spec, effect, unrestricted


def _bind_table(statement: DescribeTable, binder: Binder) -> BoundNames:
    if statement.version is None:
        return BoundNames(relations=(binder.bind_for_columns(statement.table_parts),))
    time_travel = AsOfVersion(statement.version)
    return BoundNames(relations=(binder.relation(statement.table_parts, time_travel, binder.state.current),))


def _require_version(bound: BoundStatement, statement: DescribeTable) -> Iterable[Requirement]:
    """Requires SELECT for an older version, whose columns may have been dropped; visible tables may be described as
    they are.
    """
    return () if statement.version is None else reads(bound.relations)


def _bind_log(statement: DescribeDetail | DescribeHistory, binder: Binder) -> BoundNames:
    return BoundNames(relations=(binder.table(statement.table_parts),))


SPECS: tuple[StatementSpec[Any], ...] = (
    answer_spec(
        DescribeTable,
        "DESCRIBE TABLE",
        syntax="{DESCRIBE | DESC} [TABLE] [EXTENDED | FORMATTED] table [column] [AS JSON]",
        example="DESCRIBE TABLE EXTENDED orders",
        bind=_bind_table,
        required_privileges=_require_version,
        policy_effects=effect(PolicyEffect.NONE, "DESCRIBE TABLE"),
        answer=describe_table,
    ),
    unrestricted(
        DescribeSchema,
        "DESCRIBE SCHEMA",
        syntax="{DESCRIBE | DESC} {SCHEMA | DATABASE | NAMESPACE} [EXTENDED] schema",
        example="DESCRIBE SCHEMA sales",
        answer=describe_schema,
    ),
    unrestricted(
        DescribeCatalog,
        "DESCRIBE CATALOG",
        syntax="{DESCRIBE | DESC} CATALOG [EXTENDED] catalog",
        example="DESCRIBE CATALOG sales",
        answer=describe_catalog,
    ),
    answer_spec(
        DescribeHistory,
        "DESCRIBE HISTORY",
        syntax="{DESCRIBE | DESC} HISTORY {table | 'path'} [LIMIT n] | SELECT … FROM (DESCRIBE HISTORY …)",
        example="DESCRIBE HISTORY orders LIMIT 10",
        bind=_bind_log,
        required_privileges=lambda bound, _: reads(bound.relations),
        policy_effects=effect(PolicyEffect.REVEALS_STORED_STATE_OF_SOURCES, "DESCRIBE HISTORY"),
        answer=describe_history,
    ),
    answer_spec(
        DescribeDetail,
        "DESCRIBE DETAIL",
        syntax="{DESCRIBE | DESC} DETAIL {table | 'path'}",
        example="DESCRIBE DETAIL orders",
        bind=_bind_log,
        required_privileges=lambda bound, _: reads(bound.relations),
        policy_effects=effect(PolicyEffect.REVEALS_STORED_STATE_OF_SOURCES, "DESCRIBE DETAIL"),
        answer=describe_detail,
    ),
)
