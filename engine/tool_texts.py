"""SQL texts of tools that a program calls with values: a function's call, a table's rows, an explanation.

Values are parameters and never part of a text. A nested value or a VARIANT is JSON in a string parameter, from which
the text makes the value.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from catalog.names import quote
from engine.runtime.parameters import Parameter
from engine.sql.query.source_text import GeneratedText, SourceText, join_texts, slice_text

_NESTED = re.compile(r"(array|map|struct)\s*<", re.IGNORECASE)
_VARIANT = re.compile(r"variant\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Argument:
    """A JSON value for a function's parameter, whose type is in DDL spelling."""

    name: str
    sql_type: str
    value: object


def takes_json(sql_type: str) -> bool:
    """Returns True if a type's values are any JSON values."""
    return bool(_NESTED.match(sql_type) or _VARIANT.match(sql_type))


def function_call(
    name_parts: Sequence[str], arguments: Sequence[Argument], *, is_table: bool
) -> tuple[str, tuple[Parameter, ...]]:
    """Returns the text of a call with named arguments, and the parameters of the text."""
    given = [(argument, f"p{number}") for number, argument in enumerate(arguments)]
    listed = ", ".join(f"{quote(argument.name)} => {_expression(argument, marker)}" for argument, marker in given)
    call = f"{'.'.join(map(quote, name_parts))}({listed})"
    text = f"SELECT * FROM {call}" if is_table else f"SELECT {call} AS result"
    return GeneratedText(text), tuple(_parameter(argument, marker) for argument, marker in given)


def rows_of_table(table_parts: Sequence[str]) -> str:
    """Returns the query for all rows of a table; the reader limits their number."""
    return GeneratedText(f"SELECT * FROM {'.'.join(map(quote, table_parts))}")


def explanation(text: str) -> SourceText:
    """Returns EXPLAIN of a statement, which does not run it; positions in errors are positions in `text`."""
    return join_texts(("EXPLAIN ", slice_text(text, 0, len(text))))


def _expression(argument: Argument, marker: str) -> str:
    if argument.value is None or not takes_json(argument.sql_type):
        return f":{marker}"
    if _VARIANT.match(argument.sql_type):
        return f"parse_json(:{marker})"
    sql_type = argument.sql_type.replace("\\", "\\\\").replace("'", "\\'")
    return f"from_json(:{marker}, '{sql_type}', map('mode', 'FAILFAST'))"


def _parameter(argument: Argument, marker: str) -> Parameter:
    value, sql_type = argument.value, argument.sql_type
    if value is None:
        return Parameter(value=None, sql_type="void", name=marker)
    if takes_json(sql_type):
        return Parameter(value=json.dumps(value, ensure_ascii=False), name=marker)
    if isinstance(value, bool):
        return Parameter(value=str(value).lower(), sql_type=sql_type, name=marker)
    return Parameter(value=str(value), sql_type=sql_type, name=marker)
