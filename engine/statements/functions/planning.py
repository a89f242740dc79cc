"""Plans CREATE FUNCTION and DROP FUNCTION: each is one change to the catalog, or to the session.

A temporary function's body has the meaning of a session statement: it is read with the privileges of the session's
principal, and may reference the session's own views and functions.
"""

from __future__ import annotations

from collections.abc import Iterable

from catalog.conditions import (
    FunctionAlreadyExists,
    FunctionNotFound,
    FunctionTooDeep,
    RepeatedColumn,
    TemporaryReference,
)
from catalog.entries import RETURNS_TABLE, FunctionColumn, FunctionEntry, FunctionParameter
from catalog.grants.right_changes import CreateFunction as CreateFunctionChange
from catalog.grants.right_changes import DropFunction as DropFunctionChange
from catalog.names import TableName, ensure_new_part
from engine.binding.bound import BoundFunction, BoundStatement
from engine.binding.functions import FUNCTION_DEPTH_MAX, column_names_in_body, ensure_body_known, ensure_columns_fixed
from engine.planning.analyzed import AnalyzedStatement
from engine.planning.plans.ddl import CatalogPlan, CreateTemporaryFunctionPlan, DropTemporaryFunctionPlan
from engine.runtime.session_state import is_temporary, temporary_name
from engine.runtime.settings import captured_settings
from engine.statements.functions.statement import CreateFunction, DropFunction

FunctionPlan = CatalogPlan | CreateTemporaryFunctionPlan | DropTemporaryFunctionPlan


def plan_function(analyzed: AnalyzedStatement, statement: CreateFunction | DropFunction) -> FunctionPlan:
    """Plans a function. Raises `FunctionTooDeep` for a function that would call itself, and `TemporaryReference`."""
    bound = analyzed.bound
    if isinstance(statement, DropFunction):
        return _plan_drop(bound, statement)
    if statement.temporary:
        name = temporary_name(statement.function_parts[-1])
    else:
        name = TableName.from_parts(statement.function_parts, bound.state.current)
        _ensure_persistent(bound, name)
    ensure_new_part(name.table)
    if _calls(bound.functions, name):
        raise FunctionTooDeep(str(name), FUNCTION_DEPTH_MAX)
    read = [each for each in zip(statement.probe.relations, bound.relations, strict=True) if not each[0].functions]
    if read and statement.table_columns is None:
        ensure_body_known(name, statement.body, [each.name for each in statement.parameters], read)
    ensure_columns_fixed(name, read)
    entry = FunctionEntry(
        name=name,
        parameters=tuple(
            FunctionParameter(name=each.name, type=each.sql_type, default=each.default, comment=each.comment)
            for each in statement.parameters
        ),
        returns=_result_type(analyzed, statement),
        body=statement.body,
        current=bound.state.current,
        columns=column_names_in_body(statement.body, read),
        table_columns=_table_columns(analyzed, statement, name),
        deterministic=statement.deterministic,
        settings=captured_settings(bound.state.values),
        owner=bound.state.principal,
        comment=statement.comment,
    )
    if statement.temporary:
        return CreateTemporaryFunctionPlan(entry=entry, replace=statement.or_replace)
    return CatalogPlan(
        change=CreateFunctionChange(entry, statement.or_replace),
        tolerated=(FunctionAlreadyExists,) if statement.if_not_exists else (),
        condition=bound.condition,
    )


def _plan_drop(bound: BoundStatement, statement: DropFunction) -> FunctionPlan:
    if statement.temporary:
        found = bound.state.temporary_function(statement.function_parts)
        if found is None and not statement.if_exists:
            raise FunctionNotFound(statement.function_parts[-1])
        return CatalogPlan(change=None) if found is None else DropTemporaryFunctionPlan(name=found.name)
    name = TableName.from_parts(statement.function_parts, bound.state.current)
    return CatalogPlan(
        change=None if bound.securable is None else DropFunctionChange(name),
        tolerated=(FunctionNotFound,) if statement.if_exists else (),
        condition=bound.condition,
    )


def _ensure_persistent(bound: BoundStatement, name: TableName) -> None:
    for relation in bound.named:
        if is_temporary(relation.entry.name):
            raise TemporaryReference(str(name), relation.entry.name.table)
    for function in bound.functions:
        if is_temporary(function.entry.name):
            raise TemporaryReference(str(name), function.entry.name.table, "function")


def _table_columns(
    analyzed: AnalyzedStatement, statement: CreateFunction, name: TableName
) -> tuple[FunctionColumn, ...]:
    """Returns a table function's columns, possibly from its query. Raises `RepeatedColumn`."""
    if statement.table_columns is None:
        return ()
    if statement.table_columns:
        return tuple(
            FunctionColumn(name=each.name, type=each.sql_type, comment=each.comment) for each in statement.table_columns
        )
    assert analyzed.columns is not None
    found = tuple(FunctionColumn(name=each.name, type=each.sql_type) for each in analyzed.columns)
    names = [each.name.lower() for each in found]
    repeated = next((each.name for each in found if names.count(each.name.lower()) > 1), None)
    if repeated is not None:
        raise RepeatedColumn(str(name), repeated)
    return found


def _result_type(analyzed: AnalyzedStatement, statement: CreateFunction) -> str:
    if statement.table_columns is not None:
        return RETURNS_TABLE
    assert analyzed.columns is not None
    return analyzed.columns[0].sql_type if statement.returns is None else statement.returns


def _calls(functions: Iterable[BoundFunction], name: TableName) -> bool:
    return any(each.entry.name == name or _calls(each.functions, name) for each in functions)
