"""EXECUTE IMMEDIATE, and statements with the IDENTIFIER clause: statements whose text is evaluated first.

The text and the arguments for EXECUTE IMMEDIATE are evaluated at the statement's position, with the variables of the
surrounding script. The resulting statement runs as if it had been sent on its own: it sees the session's variables, and
its arguments as parameters. The names in IDENTIFIER are evaluated, and the text with these names is parsed.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

import pyarrow as pa

from catalog.conditions import (
    ExecuteTooDeep,
    IdentifierIsNull,
    IdentifierNotAString,
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
from engine.script.statement_pipeline import Scopes, StatementPipeline, Step
from engine.sql.query.source_text import ImmediateText
from engine.sql.query.values import Query
from engine.statements.scripting.grammar_identifiers import text_with_names
from engine.statements.scripting.grammar_immediate import markers
from engine.statements.scripting.statement import Argument, Executable, ExecuteImmediate, NamedByExpressions, Script
from engine.statements.variables.grammar import row_query
from engine.statements.variables.statement import EvaluateQuery, Names, SetVariables

# Maximum nesting: EXECUTE IMMEDIATE that runs EXECUTE IMMEDIATE, and so on.
DEPTH_MAX = 32

_ROW_SCOPE = "row of a query"


def execute_immediate(
    statement: ExecuteImmediate,
    pipeline: StatementPipeline,
    scopes: Scopes,
    parameters: Sequence[Parameter] = (),
    depth: int = 1,
) -> Step:
    """Runs the evaluated text. Only INTO changes the scopes."""
    if depth > DEPTH_MAX:
        raise ExecuteTooDeep(DEPTH_MAX)
    text = ImmediateText(_text(statement, pipeline, scopes, parameters))
    row = statement.arguments_row
    arguments = () if row is None else argument_values(row, pipeline, scopes, parameters)
    made = pipeline.parse(text)
    if isinstance(made, Script):
        raise ScriptInExecuteImmediate()
    given: Sequence[Parameter] = parameters_for(text, statement.arguments, arguments)
    if isinstance(made, NamedByExpressions):
        made, given = with_names(made, pipeline, (), given)
    assert not isinstance(made, Script | NamedByExpressions), "names are all that is new in it"
    pipeline.cancel.ensure_live()
    with pipeline.with_position(text):
        if statement.targets:
            rows = _rows(made, pipeline, given)
        elif isinstance(made, ExecuteImmediate):
            return Step(result=execute_immediate(made, pipeline, (), given, depth + 1).result, scopes=scopes)
        else:
            return Step(result=pipeline.take(made, (), given).result, scopes=scopes)
    return _assign(statement.targets, rows, pipeline, scopes)


def only_value(result: ResultStream) -> object:
    """Returns a result's only value; None without a row."""
    try:
        values = [value for batch in result.batches() for value in batch.column(0).to_pylist()]
    finally:
        result.close()
    return values[0] if values else None


def _text(
    statement: ExecuteImmediate, pipeline: StatementPipeline, scopes: Scopes, parameters: Sequence[Parameter]
) -> str:
    result = pipeline.take(statement.source, scopes, parameters).result
    sql_type = sql_type_of(result.schema.field(0))
    text = only_value(result)
    if not sql_type.startswith(TEXT_TYPES):
        raise NotAStatementText(sql_type.upper())
    if not isinstance(text, str):
        raise NullStatementText(statement.shown)
    return text


def argument_values(
    row: Query, pipeline: StatementPipeline, scopes: Scopes, parameters: Sequence[Parameter]
) -> tuple[RowValue, ...]:
    """Returns the USING values, which are the only row in a query."""
    return values_of(pipeline.take(EvaluateQuery(query=row), scopes, parameters)).row(0)


def parameters_for(text: str, arguments: Sequence[Argument], values: Sequence[RowValue]) -> tuple[Parameter, ...]:
    """Returns the arguments for the markers in `text`: by position, or by name."""
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


def _rows(made: Executable, pipeline: StatementPipeline, parameters: Sequence[Parameter]) -> RowValues:
    if not isinstance(made, Query):
        raise NotAQueryForInto()
    return values_of(pipeline.take(EvaluateQuery(query=made), (), parameters))


def values_of(step: Step) -> RowValues:
    """Returns the evaluated values of an `EvaluateQuery` step."""
    assert step.values is not None, "an EvaluateQuery has values"
    return step.values


def _assign(targets: tuple[Names, ...], found: RowValues, pipeline: StatementPipeline, scopes: Scopes) -> Step:
    if len(found.rows) > 1:
        raise TooManyRowsAssigned()
    if found.rows:
        return assign_row(targets, found.row(0), pipeline, scopes)
    nothing = SetVariables(targets=targets, source=row_query(["NULL"] * len(found.names)))
    return Step(result=empty_result(), scopes=pipeline.take(nothing, scopes, ()).scopes)


def assign_row(
    targets: tuple[Names, ...], row: Sequence[RowValue], pipeline: StatementPipeline, scopes: Scopes
) -> Step:
    """Assigns a given row: executes SET from variables in a separate scope, so that Spark casts the values."""
    names = [f"column {number}" for number in range(len(row))]
    variables = {name: Variable(name=name, value=value, default="NULL") for name, value in zip(names, row, strict=True)}
    scope = Scope(label=_ROW_SCOPE, variables=MappingProxyType(variables))
    source = row_query([f"`{_ROW_SCOPE}`.`{name}`" for name in names])
    step = pipeline.take(SetVariables(targets=targets, source=source), (*scopes, scope), ())
    return Step(result=empty_result(), scopes=step.scopes[:-1])


# The prefixes of text type names.
TEXT_TYPES = ("string", "char(", "varchar(")


def with_names(
    statement: NamedByExpressions, pipeline: StatementPipeline, scopes: Scopes, parameters: Sequence[Parameter]
) -> tuple[Executable, Sequence[Parameter]]:
    """Returns the statement with its evaluated names, and the remaining parameters."""
    named = [parameter for parameter in parameters if parameter.name is not None]
    by_position = [parameter for parameter in parameters if parameter.name is None]
    inside = [any(span.start <= marker < span.end for span in statement.spans) for marker in statement.markers]
    inside += [False] * (len(by_position) - len(inside))
    inner = [parameter for parameter, is_inner in zip(by_position, inside, strict=False) if is_inner]
    left = [parameter for parameter, is_inner in zip(by_position, inside, strict=False) if not is_inner]
    text = text_with_names(statement, _names(statement, pipeline, scopes, [*inner, *named]))
    return pipeline.parse(text), [*left, *named]


def _names(
    statement: NamedByExpressions, pipeline: StatementPipeline, scopes: Scopes, parameters: Sequence[Parameter]
) -> list[str]:
    result = pipeline.take(statement.names, scopes, parameters).result
    try:
        found = pa.Table.from_batches(result.batches(), result.schema)
    finally:
        result.close()
    names = []
    for field, column, shown in zip(found.schema, found.columns, statement.shown, strict=True):
        sql_type = sql_type_of(field)
        name = column[0].as_py()
        if not sql_type.startswith(TEXT_TYPES):
            raise IdentifierNotAString(shown, sql_type.upper())
        if name is None:
            raise IdentifierIsNull(shown)
        names.append(name)
    return names
