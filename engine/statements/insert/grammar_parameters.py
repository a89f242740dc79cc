"""Put the values of parameters into the conditions of an INSERT, which tables keep as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from catalog.conditions import StatementNotSupported
from engine.runtime.parameters import Parameter
from engine.sql.parameters import with_values
from engine.statements.insert.statement import Insert, ReplaceOn, ReplaceWhere

_LED = ("WITH", "FROM")


def with_condition_values(statement: Insert, parameters: Sequence[Parameter]) -> tuple[Insert, Sequence[Parameter]]:
    """The statement without markers in the condition of its REPLACE clause, and the parameters that are left.

    Markers by position are counted in the order of the text, where the condition precedes the query. Raises
    `StatementNotSupported` where that is not so, and for values that have no text.
    """
    clause = statement.replace
    if not isinstance(clause, ReplaceWhere | ReplaceOn) or not parameters:
        return statement, parameters
    text, used = with_values(clause.condition, parameters)
    if used and statement.source.text.lstrip().upper().startswith(_LED):
        raise StatementNotSupported("A ? in a REPLACE condition beside a query that begins with WITH or FROM")
    return replace(statement, replace=replace(clause, condition=text)), parameters[used:]
