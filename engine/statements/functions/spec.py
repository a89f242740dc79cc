"""Registers CREATE FUNCTION, DROP FUNCTION and DESCRIBE FUNCTION."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from catalog.conditions import PersistentFunctionExpected
from catalog.entries import FunctionEntry
from catalog.grants.conditions import RequiredPrivilege, RequiredVisibility, Requirement
from catalog.grants.privileges import Privilege
from catalog.names import TableName
from engine.authorization.policies import PolicyEffect
from engine.authorization.required_privileges import definer_of, on_securable, reads, schema_of
from engine.binding.binder import Binder
from engine.binding.bound import BoundNames, BoundStatement
from engine.binding.securables import bind_described_function, bind_function
from engine.planning.analyzed import AnalyzedStatement, Analyzer, with_columns
from engine.planning.reads.read_plan import read_plan
from engine.statements.describe.execution import describe_function
from engine.statements.functions.planning import plan_function
from engine.statements.functions.statement import CreateFunction, DescribeFunction, DropFunction
from engine.statements.spec import Repetition, StatementSpec, change_spec, effect, plan_from_analyzed, unrestricted


def _bind(statement: CreateFunction, binder: Binder) -> BoundNames:
    found = binder.relations(statement.probe.relations, binder.state.current)
    return BoundNames(relations=found, is_persistent=not statement.temporary)


def _require_create(bound: BoundStatement, statement: CreateFunction) -> Iterable[Requirement]:
    if not statement.temporary:
        name = TableName.from_parts(statement.function_parts, bound.state.current)
        yield RequiredPrivilege(Privilege.CREATE_FUNCTION, schema_of(bound, name))
        if statement.or_replace:
            yield RequiredVisibility(name, is_function=True)
    yield from reads(bound.relations, definer_of(bound))


def _analyze(bound: BoundStatement, statement: CreateFunction, analyzer: Analyzer) -> AnalyzedStatement:
    return with_columns(bound, read_plan(statement.probe, bound.relations), analyzer)


def bind_dropped_function(statement: DropFunction, binder: Binder) -> FunctionEntry | None:
    """Binds the function; None for a temporary function, which is not in the catalog, or if absent with IF EXISTS."""
    if statement.temporary:
        return None
    if binder.state.temporary_function(statement.function_parts) is not None:
        raise PersistentFunctionExpected(".".join(statement.function_parts))
    return bind_function(statement.function_parts, binder, if_exists=statement.if_exists)


SPECS: tuple[StatementSpec[Any], ...] = (
    change_spec(
        CreateFunction,
        "CREATE FUNCTION",
        syntax="CREATE [OR REPLACE] [TEMPORARY] FUNCTION [IF NOT EXISTS] function "
        "([parameter type [DEFAULT value], …]) "
        "[RETURNS type] [COMMENT 'text'] [[NOT] DETERMINISTIC] RETURN {expression | query}",
        example="CREATE FUNCTION with_tax(total DOUBLE) RETURNS DOUBLE RETURN total * 1.2",
        bind=_bind,
        required_privileges=_require_create,
        policy_effects=effect(PolicyEffect.READS_THROUGH_POLICIES, "CREATE FUNCTION"),
        analyze=_analyze,
        plan=plan_from_analyzed(plan_function),
        repetition=Repetition.CREATION,
        answers_rows=False,
        reports_work=False,
    ),
    change_spec(
        DropFunction,
        "DROP FUNCTION",
        syntax="DROP [TEMPORARY] FUNCTION [IF EXISTS] function",
        example="DROP FUNCTION IF EXISTS with_tax",
        bind=lambda statement, binder: BoundNames(securable=bind_dropped_function(statement, binder)),
        required_privileges=lambda bound, _: on_securable(bound, Privilege.MANAGE),
        policy_effects=effect(PolicyEffect.NONE, "DROP FUNCTION"),
        plan=plan_from_analyzed(plan_function),
        repetition=Repetition.CATALOG,
        answers_rows=False,
        reports_work=False,
    ),
    unrestricted(
        DescribeFunction,
        "DESCRIBE FUNCTION",
        syntax="{DESCRIBE | DESC} FUNCTION [EXTENDED] function",
        example="DESCRIBE FUNCTION with_tax",
        bind=lambda statement, binder: BoundNames(securable=bind_described_function(statement.function_parts, binder)),
        answer=describe_function,
    ),
)
