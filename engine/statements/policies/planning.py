"""Plans row filters and column masks. On an existing table each is one catalog change, after Spark has checked the
result type; a new table has them from its first entry on, checked by the functions' declared types.
"""

from __future__ import annotations

from typing import assert_never

from catalog.conditions import FunctionNotFound, PolicyNotPossible
from catalog.names import TableName, fold
from catalog.policies.policies import NO_POLICIES, Policies, PolicyFunction
from catalog.policies.policy_changes import PolicyChange, SetColumnMask, SetRowFilter
from engine.binding.bound import BoundExpression, BoundStatement, BoundTable, FreeName
from engine.binding.policies import NOT_DETERMINISTIC, mismatch, unsuitable_reason
from engine.errors.table_errors import column_not_found
from engine.planning.analyzed import AnalyzedStatement
from engine.planning.plans.ddl import CatalogPlan, PolicyReplacement
from engine.sql.query.bodies import is_deterministic
from engine.statements.create_table.statement import CreateTable
from engine.statements.policies.statement import AlterColumnMask, AlterRowFilter, NewPolicy, PolicyCall, PolicyStatement
from engine.types.schema import StructField, StructType
from engine.types.sql_types import column_sql_type, is_same_sql_type


def plan_policy(analyzed: AnalyzedStatement, statement: PolicyStatement) -> CatalogPlan:
    """Plans a policy. Raises `PolicyNotPossible`, `ColumnNotFound`."""
    table = analyzed.bound.target
    assert isinstance(table, BoundTable)
    if table.name is None:
        raise PolicyNotPossible("A function", table.label, "policies are set on a table by its name")
    match statement:
        case AlterRowFilter(call=call):
            function = None if call is None else _function(analyzed, table, call, ())
            _ensure_gives(analyzed, table, function, "boolean")
            change: PolicyChange = SetRowFilter(table.name, function)
        case AlterColumnMask(column_parts=parts, call=call):
            if len(parts) > 1:
                raise PolicyNotPossible("A function", table.label, "a mask is of a whole column, and no field of it")
            column = _field(table.snapshot.schema, parts[0])
            function = None if call is None else _function(analyzed, table, call, (column,))
            _ensure_gives(analyzed, table, function, column_sql_type(column))
            change = SetColumnMask(table.name, column.name, function)
        case _:
            assert_never(statement)
    return CatalogPlan(change=change, condition=analyzed.bound.condition)


def _function(
    analyzed: AnalyzedStatement, table: BoundTable, call: PolicyCall, masked: tuple[StructField, ...]
) -> PolicyFunction:
    """Returns the function; column types must equal the parameter types, so that no cast can fail on a row."""
    name = TableName.from_parts(call.function_parts, analyzed.bound.state.current)
    entry = analyzed.bound.view.find_function(name)
    if entry is None:
        raise FunctionNotFound(str(name))
    types = [column_sql_type(column) for column in masked]
    given = [
        None if each.column is None else column_sql_type(_field(table.snapshot.schema, each.column))
        for each in call.arguments
    ]
    probed = BoundExpression(query=call.probe, relations=analyzed.bound.relations[1:])
    reason = mismatch(entry, [*types, *given]) or unsuitable_reason(table, probed)
    if reason is not None:
        raise PolicyNotPossible(str(name), table.label, reason)
    return PolicyFunction(name, call.arguments)


def _ensure_gives(analyzed: AnalyzedStatement, table: BoundTable, function: PolicyFunction | None, wanted: str) -> None:
    if function is None:
        return
    (given,) = analyzed.columns or ()
    if not is_same_sql_type(given.sql_type, wanted):
        reason = f"it gives {given.sql_type}, and {wanted} is needed"
        raise PolicyNotPossible(str(function.function), table.label, reason)


def new_policies(bound: BoundStatement, statement: CreateTable, target: FreeName, schema: StructType) -> Policies:
    """Returns a new table's policies. Raises `PolicyNotPossible`, `ColumnNotFound`, `FunctionNotFound`."""
    if statement.policies and target.is_path:
        raise PolicyNotPossible("A function", str(target.name), "policies are set on a table by its name")
    if statement.policies and statement.query is not None and not target.managed:
        reason = "the rows of a query would be at its LOCATION before the table has its name; set the policy afterwards"
        raise PolicyNotPossible("A function", str(target.name), reason)
    return _stated_policies(bound, statement, str(target.name), schema)


def replaced_policies(
    bound: BoundStatement, statement: CreateTable, table: BoundTable, schema: StructType
) -> PolicyReplacement:
    """Returns the changes to a replaced table's policies: those that the statement has. As in Databricks, the table
    keeps the others. Raises the errors of `new_policies`.
    """
    if not statement.policies:
        return PolicyReplacement()
    if table.name is None:
        raise PolicyNotPossible("A function", table.label, "policies are set on a table by its name")
    policies, existing = _stated_policies(bound, statement, table.label, schema), table.entry.policies
    masked = {fold(mask.column) for mask in existing.masks}
    changes: list[tuple[bool, PolicyChange]] = [
        (fold(mask.column) in masked, SetColumnMask(table.name, mask.column, mask.call)) for mask in policies.masks
    ]
    if policies.row_filter is not None:
        changes.append((existing.row_filter is not None, SetRowFilter(table.name, policies.row_filter)))
    return PolicyReplacement(
        additions=tuple(change for replaces, change in changes if not replaces),
        replacements=tuple(change for replaces, change in changes if replaces),
        condition=bound.condition,
    )


def _stated_policies(bound: BoundStatement, statement: CreateTable, label: str, schema: StructType) -> Policies:
    policies = NO_POLICIES
    for each in statement.policies:
        masked = None if each.column is None else _field(schema, each.column)
        call = _new_function(bound, label, each, masked, schema)
        policies = Policies(call, policies.masks) if masked is None else policies.with_mask(masked.name, call)
    return policies


def _new_function(
    bound: BoundStatement, label: str, policy: NewPolicy, masked: StructField | None, schema: StructType
) -> PolicyFunction:
    name = TableName.from_parts(policy.function_parts, bound.state.current)
    entry = bound.view.find_function(name)
    if entry is None:
        raise FunctionNotFound(str(name))
    wanted = "boolean" if masked is None else column_sql_type(masked)
    given = [None if one.column is None else column_sql_type(_field(schema, one.column)) for one in policy.arguments]
    problem = mismatch(entry, given if masked is None else [wanted, *given])
    if problem is None and not is_same_sql_type(entry.returns, wanted):
        problem = f"it gives {entry.returns}, and {wanted} is needed"
    if problem is None and not is_deterministic(entry.body):
        problem = NOT_DETERMINISTIC
    if problem is not None:
        raise PolicyNotPossible(str(name), label, problem)
    return PolicyFunction(name, policy.arguments)


def _field(schema: StructType, name: str) -> StructField:
    found = next((column for column in schema.fields if fold(column.name) == fold(name)), None)
    if found is None:
        raise column_not_found(name, schema.names)
    return found
