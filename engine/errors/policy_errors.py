"""Errors of row filters and column masks. None has a value of a row in it."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.errors import SqlError


@dataclass(eq=False)
class PolicyNotUsable(SqlError, condition="ROW_COLUMN_ACCESS.POLICY_NOT_USABLE", sqlstate="0A000"):
    table: str
    reason: str
    template = (
        "{table} cannot be read, since a row filter or column mask of it does not apply: {reason}. Ask its owner to "
        "set the policy again."
    )


@dataclass(eq=False)
class PolicyNotPossible(SqlError, condition="ROW_COLUMN_ACCESS.POLICY_NOT_POSSIBLE", sqlstate="0A000"):
    function: str
    table: str
    reason: str
    template = "{function} cannot be a policy of {table}: {reason}."


@dataclass(eq=False)
class PolicyForbidsStatement(
    SqlError, condition="ROW_LEVEL_SECURITY_COLUMN_MASK_FEATURE_NOT_SUPPORTED", sqlstate="0A000"
):
    statement: str
    table: str
    template = (
        "{statement} is not supported on {table}, which has a row filter or column masks: it would tell of what these "
        "hide."
    )


@dataclass(eq=False)
class PolicyForbidsSetting(SqlError, condition="ROW_COLUMN_ACCESS.SETTING_NOT_SUPPORTED", sqlstate="0A000"):
    setting: str
    table: str
    template = (
        "{table} cannot be read while the session has set {setting}: its row filter, column masks or query could mean "
        "something else. RESET {setting} first."
    )


@dataclass(eq=False)
class FunctionForbidsSetting(SqlError, condition="ROUTINE_SETTING_NOT_SUPPORTED", sqlstate="0A000"):
    """`reason` is a clause about the value under which the function was created."""

    setting: str
    function: str
    reason: str
    template = (
        "The function {function} reads tables for its caller and cannot be called while the session has another value "
        "of {setting}, which could change what it returns: {reason}. Set {setting} to that value, or RESET {setting}."
    )


@dataclass(eq=False)
class FunctionSettingsDiffer(SqlError, condition="ROUTINE_SETTING_NOT_SUPPORTED.REPLACE_WHERE", sqlstate="0A000"):
    function: str
    template = (
        "REPLACE WHERE cannot call the function {function}, which was created under other settings than those of the "
        "session. RESET the settings, or create the function again (CREATE OR REPLACE FUNCTION)."
    )


@dataclass(eq=False)
class PolicyForbidsTimeTravel(SqlError, condition="FGAC_TIME_TRAVEL_NOT_SUPPORTED.PER_TABLE_RLS_CM", sqlstate="0A000"):
    table: str
    template = "Older versions of {table} cannot be read: its row filter and column masks are for the newest columns."


@dataclass(eq=False)
class ColumnUsedByPolicy(SqlError, condition="COLUMN_USED_BY_POLICY", sqlstate="2BP01"):
    column: str
    table: str
    template = (
        "The column {column} is used by a row filter or column mask of {table}, or has tags, which policies may look "
        "at. Take these away first."
    )


@dataclass(eq=False)
class PlacesUnderPolicy(SqlError, condition="ROW_LEVEL_SECURITY_FEATURE_NOT_SUPPORTED.FILE_METADATA", sqlstate="0A000"):
    function: str
    template = "{function} tells where rows are, and is not supported over a table with a row filter or column masks."
