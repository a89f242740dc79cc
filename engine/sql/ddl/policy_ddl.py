"""ROW FILTER and MASK of ALTER TABLE, as Databricks writes them."""

from __future__ import annotations

from catalog.names import quote
from catalog.policies import PolicyArgument
from engine.sql.ddl.function_calls import read_arguments, read_function
from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.dialect import tokenize
from engine.sql.query.query import parse_query
from engine.statements.policies import AlterColumnMask, AlterRowFilter, PolicyCall, PolicyStatement


def take_policy(cursor: Cursor, table: tuple[str, ...]) -> PolicyStatement | None:
    """What follows the table's name, if it is about a policy."""
    if cursor.take("SET", "ROW", "FILTER"):
        function = read_function(cursor)
        cursor.read("ON")
        return AlterRowFilter(table_parts=table, call=_call(table, function, None, read_arguments(cursor)))
    if cursor.take("DROP", "ROW", "FILTER"):
        return AlterRowFilter(table_parts=table, call=None)
    return _take_mask(cursor, table)


def _take_mask(cursor: Cursor, table: tuple[str, ...]) -> AlterColumnMask | None:
    ahead = cursor.copy()
    if not ahead.take("ALTER"):
        return None
    ahead.take("COLUMN")
    column = ahead.read_names()
    if ahead.take("SET", "MASK"):
        function = read_function(ahead)
        arguments = read_arguments(ahead) if ahead.take("USING", "COLUMNS") else ()
        call: PolicyCall | None = _call(table, function, column, arguments)
    elif ahead.take("DROP", "MASK"):
        call = None
    else:
        return None
    cursor.skip_to(ahead.offset)
    return AlterColumnMask(table_parts=table, column_parts=column, call=call)


def _call(
    table: tuple[str, ...],
    function: tuple[str, ...],
    masked: tuple[str, ...] | None,
    arguments: tuple[PolicyArgument, ...],
) -> PolicyCall:
    values = [] if masked is None else [_dotted(masked)]
    values += [quote(each.column) if each.column is not None else f"{each.literal}" for each in arguments]
    text = f"SELECT {_dotted(function)}({', '.join(values)}) AS policy FROM {_dotted(table)}"
    return PolicyCall(function_parts=function, arguments=arguments, probe=parse_query(Cursor(text, tokenize(text))))


def _dotted(parts: tuple[str, ...]) -> str:
    return ".".join(map(quote, parts))
