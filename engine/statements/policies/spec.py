"""Registers the statements about row filters, column masks, tags, and policies by tag."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from catalog.entries import ViewEntry
from catalog.grants.conditions import RequiredPrivilege, Requirement
from catalog.grants.privileges import Privilege
from catalog.names import TableName
from engine.authorization.policies import PolicyEffect
from engine.authorization.required_privileges import RequiredPrivileges
from engine.binding.binder import Binder
from engine.binding.bound import BoundNames, BoundRelation, BoundStatement, BoundTable
from engine.planning.analyzed import AnalyzedStatement, Analyzer, with_columns
from engine.planning.reads.read_plan import read_plan
from engine.runtime.accesses import Use
from engine.statements.grants.spec import bind_securable, require_managed
from engine.statements.policies.execution import answer_policies
from engine.statements.policies.planning import plan_policy
from engine.statements.policies.planning_tags import plan_tags
from engine.statements.policies.statement import (
    AlterColumnMask,
    AlterRowFilter,
    AlterTags,
    CreatePolicy,
    DescribePolicy,
    DropPolicy,
    NewPolicy,
    PolicyCall,
    ShowPolicies,
)
from engine.statements.spec import (
    Repetition,
    StatementSpec,
    answer_spec,
    change_spec,
    effect,
    plan_from_analyzed,
    plan_from_bound,
    require_on_target,
)


def _bind_on_table(statement: AlterRowFilter | AlterColumnMask, binder: Binder) -> BoundNames:
    table = binder.table(statement.table_parts)
    return BoundNames(
        target=table, relations=() if statement.call is None else _probe_relations(table, statement.call, binder)
    )


def _probe_relations(table: BoundTable, call: PolicyCall, binder: Binder) -> tuple[BoundRelation, ...]:
    """Returns the table to probe the policy on, unrestricted, and the relations in function bodies."""
    own = len([each for each in call.probe.relations if not each.functions])
    return (
        *(table for _ in range(own)),
        *binder.policy_relations(replace(call.probe, relations=call.probe.relations[own:])),
    )


def _bind_tags(statement: AlterTags, binder: Binder) -> BoundNames:
    securable = bind_securable(statement.securable, binder)
    names_column_of_table = statement.column is not None and not isinstance(securable, ViewEntry)
    target = binder.table(statement.securable.parts) if names_column_of_table else None
    return BoundNames(target=target, securable=securable)


def _bind_securable(statement: CreatePolicy | DropPolicy | ShowPolicies | DescribePolicy, binder: Binder) -> BoundNames:
    return BoundNames(securable=bind_securable(statement.securable, binder))


def _require_tag(bound: BoundStatement, _: AlterTags) -> Iterable[Requirement]:
    assert bound.securable is not None
    yield RequiredPrivilege(Privilege.APPLY_TAG, bound.securable)


def _require_create(bound: BoundStatement, statement: CreatePolicy) -> Iterable[Requirement]:
    yield from require_managed(bound, statement)
    function = bound.view.find_function(TableName.from_parts(statement.function_parts, bound.state.current))
    if function is not None:
        yield RequiredPrivilege(Privilege.EXECUTE, function)


def _require_shown(bound: BoundStatement, _: ShowPolicies | DescribePolicy) -> Iterable[Requirement]:
    return [] if bound.securable is None else [RequiredPrivilege(Privilege.MANAGE, bound.securable)]


def _analyze(
    bound: BoundStatement, statement: AlterRowFilter | AlterColumnMask, analyzer: Analyzer
) -> AnalyzedStatement:
    if statement.call is None:
        return AnalyzedStatement(bound=bound)
    return with_columns(bound, read_plan(statement.call.probe, bound.relations), analyzer)


_ADMINISTERS = effect(PolicyEffect.ADMINISTERS, "A policy")


def policy_functions(bound: BoundStatement, policies: Iterable[NewPolicy]) -> RequiredPrivileges:
    """Yields EXECUTE on each function of the policies that is visible; planning reports missing ones."""
    for each in policies:
        function = bound.view.find_function(TableName.from_parts(each.function_parts, bound.state.current))
        if function is not None:
            yield RequiredPrivilege(Privilege.EXECUTE, function)


SPECS: tuple[StatementSpec[Any], ...] = (
    change_spec(
        AlterRowFilter,
        "ALTER TABLE … ROW FILTER",
        syntax="ALTER TABLE table {SET ROW FILTER function ON (columns and constants) | DROP ROW FILTER}",
        example="ALTER TABLE orders SET ROW FILTER own_region ON (region)",
        bind=_bind_on_table,
        required_privileges=require_on_target(Privilege.MANAGE),
        policy_effects=_ADMINISTERS,
        analyze=_analyze,
        plan=plan_from_analyzed(plan_policy),
        repetition=Repetition.CATALOG,
        answers_rows=True,
        reports_work=False,
    ),
    change_spec(
        AlterColumnMask,
        "ALTER TABLE … MASK",
        syntax="ALTER TABLE table ALTER COLUMN column {SET MASK function [USING COLUMNS (…)] | DROP MASK}",
        example="ALTER TABLE orders ALTER COLUMN total SET MASK hide_total",
        bind=_bind_on_table,
        required_privileges=require_on_target(Privilege.MANAGE),
        policy_effects=_ADMINISTERS,
        analyze=_analyze,
        plan=plan_from_analyzed(plan_policy),
        repetition=Repetition.CATALOG,
        answers_rows=True,
        reports_work=False,
    ),
    change_spec(
        AlterTags,
        "SET TAGS",
        syntax="ALTER kind name [ALTER COLUMN column] {SET TAGS ('key' = 'value', …) | UNSET TAGS ('key', …)}",
        example="ALTER TABLE orders ALTER COLUMN total SET TAGS ('pii' = 'no')",
        bind=_bind_tags,
        required_privileges=_require_tag,
        policy_effects=_ADMINISTERS,
        plan=plan_from_bound(plan_tags),
        use=Use.GRANT,
        repetition=Repetition.CATALOG,
        answers_rows=True,
        reports_work=False,
    ),
    change_spec(
        CreatePolicy,
        "CREATE POLICY",
        syntax="CREATE [OR REPLACE] POLICY policy ON kind name [COMMENT 'text'] {ROW FILTER | COLUMN MASK} function "
        "TO principals [EXCEPT principals] FOR TABLES [WHEN condition] [MATCH COLUMNS …] [ON COLUMN …] "
        "[USING COLUMNS (…)]",
        example="CREATE POLICY own ON SCHEMA daily ROW FILTER own_region TO analysts FOR TABLES "
        "MATCH COLUMNS has_tag('region') AS region USING COLUMNS (region)",
        bind=_bind_securable,
        required_privileges=_require_create,
        policy_effects=_ADMINISTERS,
        plan=plan_from_bound(plan_tags),
        use=Use.GRANT,
        repetition=Repetition.CATALOG,
        answers_rows=True,
        reports_work=False,
    ),
    change_spec(
        DropPolicy,
        "DROP POLICY",
        syntax="DROP POLICY [IF EXISTS] policy ON kind name",
        example="DROP POLICY own ON SCHEMA daily",
        bind=_bind_securable,
        required_privileges=require_managed,
        policy_effects=_ADMINISTERS,
        plan=plan_from_bound(plan_tags),
        use=Use.GRANT,
        repetition=Repetition.CATALOG,
        answers_rows=True,
        reports_work=False,
    ),
    answer_spec(
        ShowPolicies,
        "SHOW POLICIES",
        syntax="SHOW [EFFECTIVE] POLICIES ON kind name",
        example="SHOW POLICIES ON SCHEMA daily",
        bind=_bind_securable,
        required_privileges=_require_shown,
        policy_effects=_ADMINISTERS,
        answer=answer_policies,
    ),
    answer_spec(
        DescribePolicy,
        "DESCRIBE POLICY",
        syntax="{DESCRIBE | DESC} POLICY policy ON kind name",
        example="DESCRIBE POLICY own ON SCHEMA daily",
        bind=_bind_securable,
        required_privileges=_require_shown,
        policy_effects=_ADMINISTERS,
        answer=answer_policies,
    ),
)
