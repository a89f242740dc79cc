"""Statements with the IDENTIFIER clause: the names are asked for, and the text with the names in it is parsed."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from catalog.conditions import IdentifierIsNull, IdentifierNotAString
from engine.runtime.parameters import Parameter
from engine.runtime.results import sql_type_of
from engine.script.road import Road, Scopes
from engine.statements.scripting.grammar_identifiers import text_with_names
from engine.statements.scripting.statement import Executable, NamedByExpressions

TEXT_TYPES = ("string", "char(", "varchar(")
"""How the types of texts begin."""


def with_names(
    statement: NamedByExpressions, road: Road, scopes: Scopes, parameters: Sequence[Parameter]
) -> tuple[Executable, Sequence[Parameter]]:
    """What the text says with its names in it, and the parameters that are left to it."""
    named = [parameter for parameter in parameters if parameter.name is not None]
    by_position = [parameter for parameter in parameters if parameter.name is None]
    inside = [any(span.start <= marker < span.end for span in statement.spans) for marker in statement.markers]
    inside += [False] * (len(by_position) - len(inside))
    inner = [parameter for parameter, is_inner in zip(by_position, inside, strict=False) if is_inner]
    left = [parameter for parameter, is_inner in zip(by_position, inside, strict=False) if not is_inner]
    text = text_with_names(statement, _names(statement, road, scopes, [*inner, *named]))
    return road.parse(text), [*left, *named]


def _names(statement: NamedByExpressions, road: Road, scopes: Scopes, parameters: Sequence[Parameter]) -> list[str]:
    result = road.take(statement.names, scopes, parameters).result
    try:
        found = pa.Table.from_batches(result.batches(), result.schema)
    finally:
        result.close()
    names = []
    for field, column, shown in zip(found.schema, found.columns, statement.shown, strict=True):
        sql_type, name = sql_type_of(field), column[0].as_py()
        if not sql_type.startswith(TEXT_TYPES):
            raise IdentifierNotAString(shown, sql_type.upper())
        if name is None:
            raise IdentifierIsNull(shown)
        names.append(name)
    return names
