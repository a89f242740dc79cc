"""EXECUTE IMMEDIATE: a statement that makes a statement.

The text and the arguments are evaluated where the statement stands, with the variables of the script around it. What
they make runs as if it had been sent by itself: it sees the session's variables, and its arguments as parameters.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from engine.errors.variable_errors import (
    ExecuteTooDeep,
    MixedParameters,
    NotAQueryForInto,
    NotAStatementText,
    NullStatementText,
    ScriptInExecuteImmediate,
    TooManyRowsAssigned,
    UnnamedArguments,
)
from engine.runtime.parameters import Parameter
from engine.runtime.results import ResultStream, empty_result, sql_type_of
from engine.runtime.variables import RowValue, RowValues, Scope, Variable
from engine.script.road import Road, Scopes, Step
from engine.sql.script.variables import markers, row_query
from engine.statements.queries import Query
from engine.statements.variables import (
    Argument,
    EvaluateQuery,
    Executable,
    ExecuteImmediate,
    Names,
    Script,
    SetVariables,
)

DEPTH_MAX = 32
"""EXECUTE IMMEDIATE that runs EXECUTE IMMEDIATE, and so on."""

_ROW_SCOPE = "row of a query"
_TEXT_TYPES = ("string", "char(", "varchar(")


def execute_immediate(
    statement: ExecuteImmediate, road: Road, scopes: Scopes, parameters: Sequence[Parameter] = (), depth: int = 1
) -> Step:
    """Run what the text says. The scopes change by INTO alone."""
    if depth > DEPTH_MAX:
        raise ExecuteTooDeep(DEPTH_MAX)
    text = _text(statement, road, scopes, parameters)
    arguments = _arguments(statement, road, scopes, parameters)
    made = road.parse(text)
    if isinstance(made, Script):
        raise ScriptInExecuteImmediate()
    given = _parameters(text, statement.arguments, arguments)
    road.cancel.ensure_live()
    if statement.targets:
        return _assign(statement.targets, _rows(made, road, given), road, scopes)
    if isinstance(made, ExecuteImmediate):
        return Step(result=execute_immediate(made, road, (), given, depth + 1).result, scopes=scopes)
    return Step(result=road.take(made, (), given).result, scopes=scopes)


def only_value(result: ResultStream) -> object:
    """The one value of a result; None where it has no row."""
    try:
        values = [value for batch in result.batches() for value in batch.column(0).to_pylist()]
    finally:
        result.close()
    return values[0] if values else None


def _text(statement: ExecuteImmediate, road: Road, scopes: Scopes, parameters: Sequence[Parameter]) -> str:
    result = road.take(statement.source, scopes, parameters).result
    sql_type = sql_type_of(result.schema.field(0))
    text = only_value(result)
    if not sql_type.startswith(_TEXT_TYPES):
        raise NotAStatementText(sql_type.upper())
    if not isinstance(text, str):
        raise NullStatementText(statement.shown)
    return text


def _arguments(
    statement: ExecuteImmediate, road: Road, scopes: Scopes, parameters: Sequence[Parameter]
) -> tuple[RowValue, ...]:
    if statement.arguments_row is None:
        return ()
    return _values(road.take(EvaluateQuery(query=statement.arguments_row), scopes, parameters)).row(0)


def _parameters(text: str, arguments: Sequence[Argument], values: Sequence[RowValue]) -> tuple[Parameter, ...]:
    """The arguments as the markers of `text` ask for them: in their order, or by their names."""
    by_position, by_name = markers(text)
    if by_position and by_name:
        raise MixedParameters()
    if by_position:
        return tuple(Parameter(value=None, row_value=value) for value in values)
    if not by_name:
        return ()
    unnamed = [argument.text for argument in arguments if argument.name is None]
    if unnamed:
        raise UnnamedArguments(", ".join(unnamed))
    return tuple(
        Parameter(value=None, name=argument.name, row_value=value)
        for argument, value in zip(arguments, values, strict=True)
    )


def _rows(made: Executable, road: Road, parameters: Sequence[Parameter]) -> RowValues:
    if not isinstance(made, Query):
        raise NotAQueryForInto()
    return _values(road.take(EvaluateQuery(query=made), (), parameters))


def _values(step: Step) -> RowValues:
    assert step.values is not None, "an EvaluateQuery has values"
    return step.values


def _assign(targets: tuple[Names, ...], found: RowValues, road: Road, scopes: Scopes) -> Step:
    """Assign a row that is at hand: SET from variables of a scope of its own, so that Spark casts the values."""
    if len(found.rows) > 1:
        raise TooManyRowsAssigned()
    if found.rows:
        names = [f"column {number}" for number in range(len(found.names))]
        row = {
            name: Variable(name=name, value=value, default="NULL")
            for name, value in zip(names, found.row(0), strict=True)
        }
        scope = Scope(label=_ROW_SCOPE, variables=MappingProxyType(row))
        source = row_query([f"`{_ROW_SCOPE}`.`{name}`" for name in names])
    else:
        scope, source = Scope(label=_ROW_SCOPE), row_query(["NULL"] * len(found.names))
    step = road.take(SetVariables(targets=targets, source=source), (*scopes, scope), ())
    return Step(result=empty_result(), scopes=step.scopes[:-1])
