"""Errors of SQL functions."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.errors import SqlError


@dataclass(eq=False)
class WrongNumberOfArguments(SqlError, condition="WRONG_NUM_ARGS", sqlstate="42605"):
    function: str
    least: int
    most: int
    given: int
    template = "{function} takes {least} to {most} arguments; {given} are given."


@dataclass(eq=False)
class NotTableFunction(SqlError, condition="NOT_A_TABLE_FUNCTION", sqlstate="42887"):
    function: str
    template = "{function} returns a value and no table. Call it in an expression."


@dataclass(eq=False)
class NotScalarFunction(SqlError, condition="NOT_A_SCALAR_FUNCTION", sqlstate="42887"):
    function: str
    template = "{function} returns a table. Call it in FROM."


@dataclass(eq=False)
class RepeatedColumn(SqlError, condition="DUPLICATE_ROUTINE_RETURNS_COLUMNS", sqlstate="42711"):
    function: str
    name: str
    template = "The table that {function} returns has two columns {name}. Name its columns in RETURNS TABLE (…)."


@dataclass(eq=False)
class PersistentFunctionExpected(SqlError, condition="EXPECT_PERSISTENT_FUNCTION_NOT_TEMP", sqlstate="42809"):
    name: str
    template = "{name} is a temporary function. Use DROP TEMPORARY FUNCTION."


@dataclass(eq=False)
class FunctionTooDeep(SqlError, condition="FUNCTION_TOO_DEEP", sqlstate="54000"):
    """It calls itself, or too many others in one another."""

    function: str
    depth_max: int
    template = "{function} calls itself, or functions are nested more than {depth_max} deep here."


@dataclass(eq=False)
class GroupNotLiteral(SqlError, condition="NON_FOLDABLE_ARGUMENT", sqlstate="42K08"):
    function: str
    template = "{function} takes one string in quotes, the name of a group."


@dataclass(eq=False)
class RepeatedArgument(SqlError, condition="NON_DETERMINISTIC_ARGUMENT", sqlstate="0A000"):
    """The body has the parameter more than once, and each would have another value."""

    function: str
    parameter: str
    template = (
        "{function} uses {parameter} more than once, so its argument may not be random. Compute it in a subquery, and "
        "give the column."
    )


@dataclass(eq=False)
class ArgumentNotOfRow(SqlError, condition="UNSUPPORTED_FEATURE.FUNCTION_ARGUMENT", sqlstate="0A000"):
    """The body has queries, and so an argument is evaluated in one."""

    function: str
    parameter: str
    template = (
        "{function} reads tables, so its arguments are columns, constants, and what operators, CASE and casts make of "
        "them. Compute {parameter} in a subquery, and give the column."
    )
