"""Parses CREATE FUNCTION and DROP FUNCTION."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from types import MappingProxyType

from catalog.conditions import UnsupportedClause
from catalog.names import quote
from engine.runtime.statement import Statement
from engine.sql.dialect.cursor import Cursor
from engine.sql.dialect.dialect import SyntaxFailure, tokenize
from engine.sql.dialect.errors import unsupported_statement
from engine.sql.query.bodies import is_called_by_name, is_known_function, parse_body, parse_table_body, table_query
from engine.sql.query.names import ensure_temporary
from engine.sql.query.query import is_query, parse_query
from engine.sql.query.values import Query
from engine.statements.create_table.grammar_clauses import read_type, take_if_exists, take_if_not_exists
from engine.statements.functions.grammar_calls import read_function
from engine.statements.functions.statement import CreateFunction, DropFunction, Parameter, TableColumn

_TYPE_STOPS = (
    *(("COMMENT",), ("RETURN",), ("LANGUAGE",), ("DETERMINISTIC",), ("NOT", "DETERMINISTIC"), ("CONTAINS", "SQL")),
    *(("READS", "SQL", "DATA"), ("SQL", "SECURITY"), ("SPECIFIC",)),
)


def parse_create_function(cursor: Cursor, *, or_replace: bool, temporary: bool) -> CreateFunction:
    """Parses the text after FUNCTION."""
    if_not_exists = take_if_not_exists(cursor)
    if if_not_exists and temporary:
        raise UnsupportedClause("CREATE TEMPORARY FUNCTION with IF NOT EXISTS", "Use OR REPLACE.")
    parts = _read_temporary(cursor) if temporary else read_function(cursor)
    if cursor.words(1) == ["AS"]:
        raise unsupported_statement("CREATE FUNCTION … AS a class")
    if is_known_function(parts[-1]) or not is_called_by_name(quote(parts[-1])):
        raise UnsupportedClause(f"A function named {parts[-1]}", "The name has a meaning of its own; choose another.")
    parameters = _read_parameters(cursor)
    returns, table_columns = _read_returns(cursor)
    deterministic, comment = _read_characteristics(cursor)
    start, is_table = cursor.offset, table_columns is not None
    if is_table and not is_query(cursor):
        raise cursor.fail("a query is expected, as the function returns a table")
    is_bare = is_table or cursor.words(1)[:1] in (["SELECT"], ["WITH"])
    body = cursor.read_text(ends_at_comma=False)
    body = f"({body}\n)" if is_bare else body
    try:
        if is_table:
            parse_table_body(body, parts[-1])
        else:
            parse_body(body, [parameter.name for parameter in parameters], parts[-1])
    except SyntaxFailure as failure:
        raise SyntaxFailure(failure.reason, start) from None
    return CreateFunction(
        function_parts=parts,
        parameters=parameters,
        returns=returns,
        body=body,
        table_columns=table_columns,
        probe=_probe(parts[-1], parameters, returns, body)
        if table_columns is None
        else _table_probe(parts[-1], parameters, table_columns, body),
        or_replace=or_replace,
        temporary=temporary,
        if_not_exists=if_not_exists,
        deterministic=deterministic,
        comment=comment,
    )


def _read_returns(cursor: Cursor) -> tuple[str | None, tuple[TableColumn, ...] | None]:
    """Returns the result type, or a table's columns; None or empty if the statement leaves them to the body."""
    if not cursor.take("RETURNS"):
        return None, None
    if not cursor.take("TABLE"):
        return cursor.read_text(*_TYPE_STOPS, is_type=True, what="a type"), None
    columns: list[TableColumn] = []
    if not cursor.take("("):
        return None, ()
    while not columns or cursor.take(","):
        name = cursor.read_name()
        sql_type = read_type(cursor)
        if name.lower() in (each.name.lower() for each in columns):
            raise cursor.fail(f"the column {name} before this is given twice")
        comment = cursor.read_string() if cursor.take("COMMENT") else None
        columns.append(TableColumn(name=name, sql_type=sql_type, comment=comment))
    cursor.read(")")
    return None, tuple(columns)


def _table_probe(
    function: str, parameters: tuple[Parameter, ...], columns: tuple[TableColumn, ...], body: str
) -> Query:
    typed = [(each.name, each.sql_type) for each in parameters]
    wanted = [(each.name, each.sql_type) for each in columns]
    text = table_query(function, typed, wanted, body, ["NULL"] * len(parameters))
    return parse_query(Cursor(text, tokenize(text)))


def _probe(function: str, parameters: tuple[Parameter, ...], returns: str | None, body: str) -> Query:
    """Returns the body over one row with NULLs, so that Spark checks or infers its type.

    An additional column makes Spark reject aggregates, whose value does not belong to a row.
    """
    columns = "".join(f", CAST(NULL AS {each.sql_type}) AS {quote(each.name)}" for each in parameters)
    value = f"({body}\n)" if returns is None else f"CAST(({body}\n) AS {returns})"
    text = f"SELECT {value}, __row FROM (SELECT 1 AS __row{columns}) AS {quote(function)}"
    return parse_query(Cursor(text, tokenize(text)))


def _read_parameters(cursor: Cursor) -> tuple[Parameter, ...]:
    parameters: list[Parameter] = []
    cursor.read("(")
    while not cursor.take(")"):
        if parameters:
            cursor.read(",")
        name = cursor.read_name()
        if name.lower() in (each.name.lower() for each in parameters):
            raise cursor.fail(f"the parameter {name} before this is given twice")
        sql_type = read_type(cursor)
        default = cursor.read_text(("COMMENT",)) if cursor.take("DEFAULT") else None
        if default is None and parameters and parameters[-1].default is not None:
            raise cursor.fail(f"DEFAULT is expected, since {parameters[-1].name} has one")
        if default is not None:
            parse_body(default, (), name)
        comment = cursor.read_string() if cursor.take("COMMENT") else None
        parameters.append(Parameter(name=name, sql_type=sql_type, default=default, comment=comment))
    return tuple(parameters)


def _read_characteristics(cursor: Cursor) -> tuple[bool | None, str | None]:
    """Reads the clauses before RETURN: determinism, and the comment."""
    deterministic: bool | None = None
    comment: str | None = None
    while not cursor.take("RETURN"):
        if cursor.take("COMMENT"):
            comment = cursor.read_string()
        elif cursor.take("NOT", "DETERMINISTIC"):
            deterministic = False
        elif cursor.take("DETERMINISTIC"):
            deterministic = True
        elif cursor.take("LANGUAGE"):
            if not cursor.take("SQL"):
                raise UnsupportedClause(f"LANGUAGE {cursor.read_name()}", "Functions are written in SQL.")
        elif cursor.take("SQL", "SECURITY"):
            if cursor.take("INVOKER"):
                raise UnsupportedClause("SQL SECURITY INVOKER", "A function is read as its owner.")
            cursor.read("DEFINER")
        elif not (cursor.take("CONTAINS", "SQL") or cursor.take("READS", "SQL", "DATA")):
            raise cursor.fail("RETURN and an expression are expected")
    return deterministic, comment


def parse_drop_function(cursor: Cursor, *, temporary: bool) -> DropFunction:
    """Parses the text after FUNCTION."""
    if_exists = take_if_exists(cursor)
    parts = _read_temporary(cursor) if temporary else read_function(cursor)
    return DropFunction(function_parts=parts, temporary=temporary, if_exists=if_exists)


def _read_temporary(cursor: Cursor) -> tuple[str, ...]:
    """Reads a temporary function's name. Raises `TemporaryQualifier` for a name in a schema."""
    parts = read_function(cursor)
    ensure_temporary(parts, "function")
    return parts[-1:]


_TEMPORARY: tuple[tuple[str, ...], ...] = ((), ("TEMP",), ("TEMPORARY",))

LEADING_WORDS: Mapping[tuple[str, ...], Callable[[Cursor], Statement]] = MappingProxyType(
    {
        **{
            (*create, *temporary, "FUNCTION"): partial(
                parse_create_function, or_replace="REPLACE" in create, temporary=bool(temporary)
            )
            for create in (("CREATE",), ("CREATE", "OR", "REPLACE"))
            for temporary in _TEMPORARY
        },
        **{
            ("DROP", *temporary, "FUNCTION"): partial(parse_drop_function, temporary=bool(temporary))
            for temporary in _TEMPORARY
        },
    }
)
