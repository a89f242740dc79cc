"""Plans of row filters and column masks: each is one change of the catalog, after Spark has seen what it gives."""

from __future__ import annotations

from typing import assert_never

from catalog.names import TableName, fold
from catalog.policies import PolicyFunction
from catalog.policy_changes import PolicyChange, SetColumnMask, SetRowFilter
from catalog.right_errors import FunctionNotFound
from engine.analyze.analyzed import AnalyzedStatement
from engine.bind.bound import BoundTable
from engine.bind.policies import mismatch
from engine.errors.column_errors import ColumnNotFound
from engine.errors.policy_errors import PolicyNotPossible
from engine.plans.ddl import CatalogPlan
from engine.statements.policies import AlterColumnMask, AlterRowFilter, PolicyCall, PolicyStatement
from engine.types.schema import StructField
from engine.types.sql_types import column_sql_type, same_sql_type


def plan_policy(analyzed: AnalyzedStatement, statement: PolicyStatement) -> CatalogPlan:
    """Raises `PolicyNotPossible`, `ColumnNotFound`."""
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
            column = _column(table, parts[0])
            function = None if call is None else _function(analyzed, table, call, (column,))
            _ensure_gives(analyzed, table, function, column_sql_type(column))
            change = SetColumnMask(table.name, column.name, function)
        case _:
            assert_never(statement)
    return CatalogPlan(change=change, condition=analyzed.bound.condition)


def _function(
    analyzed: AnalyzedStatement, table: BoundTable, call: PolicyCall, masked: tuple[StructField, ...]
) -> PolicyFunction:
    """The types of columns have to be those of the parameters, so that no cast can fail on a row."""
    name = TableName.from_parts(call.function_parts, analyzed.bound.state.current)
    entry = analyzed.bound.view.find_function(name)
    if entry is None:
        raise FunctionNotFound(str(name))
    types = [column_sql_type(column) for column in masked]
    given = [None if each.column is None else column_sql_type(_column(table, each.column)) for each in call.arguments]
    reason = mismatch(entry, [*types, *given])
    if reason is not None:
        raise PolicyNotPossible(str(name), table.label, reason)
    return PolicyFunction(name, call.arguments)


def _column(table: BoundTable, name: str) -> StructField:
    for column in table.snapshot.schema.fields:
        if fold(column.name) == fold(name):
            return column
    raise ColumnNotFound(name, ", ".join(table.snapshot.schema.names))


def _ensure_gives(analyzed: AnalyzedStatement, table: BoundTable, function: PolicyFunction | None, wanted: str) -> None:
    if function is None:
        return
    (given,) = analyzed.columns or ()
    if not same_sql_type(given.sql_type, wanted):
        reason = f"it gives {given.sql_type}, and {wanted} is needed"
        raise PolicyNotPossible(str(function.function), table.label, reason)
