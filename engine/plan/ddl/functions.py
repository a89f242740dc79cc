"""Plans of CREATE FUNCTION and DROP FUNCTION: each is one change of the catalog."""

from __future__ import annotations

from collections.abc import Iterable

from catalog.entries import FunctionEntry, FunctionParameter
from catalog.names import TableName, ensure_new_part
from catalog.right_changes import CreateFunction as CreateFunctionChange
from catalog.right_changes import DropFunction as DropFunctionChange
from catalog.right_errors import FunctionAlreadyExists, FunctionNotFound
from engine.analyze.analyzed import AnalyzedStatement
from engine.bind.bound import BoundFunction
from engine.bind.functions import FUNCTION_DEPTH_MAX, columns_named, ensure_body_known
from engine.errors.function_errors import FunctionTooDeep
from engine.plans.ddl import CatalogPlan
from engine.runtime.session_state import is_temporary
from engine.runtime.settings import captured_settings
from engine.sql.dialect.errors import BodyNotPossible
from engine.statements.functions import CreateFunction, DropFunction


def plan_function(analyzed: AnalyzedStatement, statement: CreateFunction | DropFunction) -> CatalogPlan:
    """Raises `FunctionTooDeep` for a function that would call itself."""
    bound = analyzed.bound
    name = TableName.from_parts(statement.function_parts, bound.state.current)
    if isinstance(statement, DropFunction):
        return CatalogPlan(
            change=None if bound.securable is None else DropFunctionChange(name),
            tolerated=(FunctionNotFound,) if statement.if_exists else (),
            condition=bound.condition,
        )
    ensure_new_part(name.table)
    if _calls(bound.functions, name):
        raise FunctionTooDeep(str(name), FUNCTION_DEPTH_MAX)
    read = [each for each in zip(statement.probe.relations, bound.relations, strict=True) if not each[0].functions]
    if read:
        ensure_body_known(name, statement.body, [each.name for each in statement.parameters], read)
    for relation in bound.named:
        if is_temporary(relation.entry.name):
            raise BodyNotPossible(str(name), "it reads a temporary view, which ends with its session")
    entry = FunctionEntry(
        name=name,
        parameters=tuple(
            FunctionParameter(name=each.name, type=each.sql_type, default=each.default, comment=each.comment)
            for each in statement.parameters
        ),
        returns=_result_type(analyzed, statement),
        body=statement.body,
        current=bound.state.current,
        columns=columns_named(statement.body, read),
        deterministic=statement.deterministic,
        settings=captured_settings(bound.state.values),
        owner=bound.state.principal,
        comment=statement.comment,
    )
    return CatalogPlan(
        change=CreateFunctionChange(entry, statement.or_replace),
        tolerated=(FunctionAlreadyExists,) if statement.if_not_exists else (),
        condition=bound.condition,
    )


def _result_type(analyzed: AnalyzedStatement, statement: CreateFunction) -> str:
    assert analyzed.columns is not None
    return analyzed.columns[0].sql_type if statement.returns is None else statement.returns


def _calls(functions: Iterable[BoundFunction], name: TableName) -> bool:
    return any(each.entry.name == name or _calls(each.functions, name) for each in functions)
