"""Conditions of variables, of EXECUTE IMMEDIATE and of the values they take; names and SQLSTATEs are Spark's."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.errors import SqlError


@dataclass(eq=False)
class VariableAlreadyExists(SqlError, condition="VARIABLE_ALREADY_EXISTS", sqlstate="42723"):
    variable: str
    template = (
        "The variable {variable} exists already. Choose another name, or use DECLARE OR REPLACE for a variable of the "
        "session."
    )


@dataclass(eq=False)
class DuplicateDeclared(SqlError, condition="DUPLICATE_VARIABLE_NAME_INSIDE_DECLARE", sqlstate="42734"):
    variable: str
    template = "DECLARE names the variable {variable} twice."


@dataclass(eq=False)
class VariableNotFound(SqlError, condition="VARIABLE_NOT_FOUND", sqlstate="42883"):
    variable: str
    template = "There is no variable {variable}. Declare it, or use DROP TEMPORARY VARIABLE IF EXISTS to tolerate that."


@dataclass(eq=False)
class UnresolvedVariable(SqlError, condition="UNRESOLVED_VARIABLE", sqlstate="42883"):
    variable: str
    template = "The name {variable} is no variable's: those of the session are x, session.x or system.session.x."


@dataclass(eq=False)
class VariableSetAsSetting(SqlError, condition="UNSUPPORTED_FEATURE.SET_VARIABLE_USING_SET", sqlstate="0A000"):
    variable: str
    template = "{variable} is a variable, and SET alone changes settings. Use SET VARIABLE {variable} = …"


@dataclass(eq=False)
class TooManyRowsAssigned(SqlError, condition="ROW_SUBQUERY_TOO_MANY_ROWS", sqlstate="21000"):
    template = "The query that variables are assigned from answers more than one row. Add LIMIT 1, or aggregate."


@dataclass(eq=False)
class SubqueryAsArgument(SqlError, condition="UNSUPPORTED_EXPR_FOR_PARAMETER", sqlstate="42K0E"):
    expression: str
    template = "EXECUTE IMMEDIATE takes no subquery: {expression}. Assign it to a variable first."


@dataclass(eq=False)
class NotAStatementText(SqlError, condition="INVALID_EXPR_TYPE_FOR_QUERY_EXECUTE_IMMEDIATE", sqlstate="42K09"):
    data_type: str
    template = "EXECUTE IMMEDIATE runs a text, so its expression must be a STRING; this is a {data_type}."


@dataclass(eq=False)
class NullStatementText(SqlError, condition="NULL_QUERY_STRING_EXECUTE_IMMEDIATE", sqlstate="22004"):
    expression: str
    template = "EXECUTE IMMEDIATE runs a text, but {expression} is NULL."


@dataclass(eq=False)
class ScriptInExecuteImmediate(SqlError, condition="SQL_SCRIPT_IN_EXECUTE_IMMEDIATE", sqlstate="07501"):
    template = "EXECUTE IMMEDIATE runs one statement, and no script (BEGIN … END). Send the script itself."


@dataclass(eq=False)
class NotAQueryForInto(SqlError, condition="INVALID_STATEMENT_FOR_EXECUTE_INTO", sqlstate="07501"):
    template = "INTO of EXECUTE IMMEDIATE takes the row of a query, and this statement is no query. Leave INTO out."


@dataclass(eq=False)
class UnnamedArguments(SqlError, condition="ALL_PARAMETERS_MUST_BE_NAMED", sqlstate="07001"):
    arguments: str
    template = "The statement has parameters with names (:name), so each argument of USING needs one: {arguments} AS …"


@dataclass(eq=False)
class MixedParameters(SqlError, condition="INVALID_QUERY_MIXED_QUERY_PARAMETERS", sqlstate="42613"):
    template = "The statement mixes parameters by position (?) and by name (:name). Use one kind."


@dataclass(eq=False)
class DuplicateArgument(SqlError, condition="EXEC_IMMEDIATE_DUPLICATE_ARGUMENT_ALIASES", sqlstate="42701"):
    name: str
    template = "USING names two arguments {name}. Give each a name of its own."


@dataclass(eq=False)
class ExecuteTooDeep(SqlError, condition="EXECUTE_IMMEDIATE_TOO_DEEP", sqlstate="54001"):
    depth_max: int
    template = "EXECUTE IMMEDIATE runs itself more than {depth_max} deep. Look for a text that runs itself."
