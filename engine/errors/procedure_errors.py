"""Errors of CALL: Spark's own conditions."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.errors import SqlError


@dataclass(eq=False)
class ProcedureNotFound(SqlError, condition="FAILED_TO_LOAD_ROUTINE", sqlstate="38000"):
    procedure: str
    known: str
    template = "There is no procedure {procedure}. Those that there are: {known}."


@dataclass(eq=False)
class UnknownArgument(SqlError, condition="UNRECOGNIZED_PARAMETER_NAME", sqlstate="4274K"):
    routine: str
    argument: str
    known: str
    template = "The routine {routine} has no parameter {argument}; it has {known}."


@dataclass(eq=False)
class MissingArgument(SqlError, condition="REQUIRED_PARAMETER_NOT_FOUND", sqlstate="4274K"):
    routine: str
    argument: str
    template = "The routine {routine} needs the argument {argument}: add {argument} => a value."


@dataclass(eq=False)
class TooManyArguments(SqlError, condition="WRONG_NUM_ARGS.WITHOUT_SUGGESTION", sqlstate="42605"):
    procedure: str
    known: str
    template = "The procedure {procedure} has fewer parameters than there are arguments; it has {known}."


@dataclass(eq=False)
class ArgumentGivenTwice(
    SqlError, condition="DUPLICATE_ROUTINE_PARAMETER_ASSIGNMENT.DOUBLE_NAMED_ARGUMENT_REFERENCE", sqlstate="4274K"
):
    routine: str
    argument: str
    template = "The argument {argument} of the routine {routine} is given more than once."


@dataclass(eq=False)
class PositionalAfterNamed(SqlError, condition="UNEXPECTED_POSITIONAL_ARGUMENT", sqlstate="4274K"):
    routine: str
    argument: str
    template = (
        "An argument of the routine {routine} without a name comes after the named argument {argument}. Name it"
        " too, or put it first."
    )


@dataclass(eq=False)
class WrongArgument(SqlError, condition="INVALID_PARAMETER_VALUE.PROCEDURE", sqlstate="22023"):
    """`expected` says what it has to be, or why it cannot be what it is."""

    procedure: str
    argument: str
    expected: str
    template = "The argument {argument} of the procedure {procedure} is not possible: {expected}."
