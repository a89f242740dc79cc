"""Statements about SQL functions. Values before name binding; types and expressions are text."""

from __future__ import annotations

from dataclasses import dataclass

from engine.runtime.statement import Statement
from engine.sql.query.values import Query


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameter:
    name: str
    sql_type: str
    default: str | None = None
    comment: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TableColumn:
    """A column in a table function."""

    name: str
    sql_type: str
    comment: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateFunction(Statement):
    """`CREATE [OR REPLACE] [TEMPORARY] FUNCTION [IF NOT EXISTS] f (parameters) [RETURNS type] … RETURN body`

    `probe` is a query that evaluates the body over typed parameters. Its first column has the function's type, which is
    the body's if `returns` is None.

    A table function (`RETURNS TABLE [(columns)]`) has `table_columns`, the body's columns if empty, and a query in
    parentheses as its body; its probe has these columns.
    """

    function_parts: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    returns: str | None
    body: str
    table_columns: tuple[TableColumn, ...] | None = None
    probe: Query
    or_replace: bool = False
    temporary: bool = False
    if_not_exists: bool = False
    deterministic: bool | None = None
    comment: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DropFunction(Statement):
    """`DROP [TEMPORARY] FUNCTION [IF EXISTS] f`"""

    function_parts: tuple[str, ...]
    temporary: bool = False
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeFunction(Statement):
    """`DESCRIBE FUNCTION [EXTENDED] f`"""

    function_parts: tuple[str, ...]
    extended: bool = False
