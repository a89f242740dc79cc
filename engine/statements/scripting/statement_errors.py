"""Why a script is refused before anything of it runs; names and SQLSTATEs are Spark's."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.errors import SqlError


@dataclass(eq=False)
class VariableNotAtBeginning(SqlError, condition="INVALID_VARIABLE_DECLARATION.ONLY_AT_BEGINNING", sqlstate="42K0M"):
    variable: str
    template = "The variable {variable} can only be declared at the beginning of its BEGIN … END block."


@dataclass(eq=False)
class VariableOutsideBlock(SqlError, condition="INVALID_VARIABLE_DECLARATION.NOT_ALLOWED_IN_SCOPE", sqlstate="42K0M"):
    variable: str
    template = "The variable {variable} cannot be declared here. Put a BEGIN … END block around it."


@dataclass(eq=False)
class LocalVariableReplaced(
    SqlError, condition="INVALID_VARIABLE_DECLARATION.REPLACE_LOCAL_VARIABLE", sqlstate="42K0M"
):
    variable: str
    template = "The local variable {variable} cannot be replaced. Use DECLARE without OR REPLACE."


@dataclass(eq=False)
class HandlerAtWrongPlace(
    SqlError, condition="INVALID_HANDLER_DECLARATION.WRONG_PLACE_OF_DECLARATION", sqlstate="42K0Q"
):
    template = "A handler is declared after the variables and conditions of its block, and before its statements."


@dataclass(eq=False)
class HandlerMixesConditions(
    SqlError, condition="INVALID_HANDLER_DECLARATION.INVALID_CONDITION_COMBINATION", sqlstate="42K0Q"
):
    template = "SQLEXCEPTION and NOT FOUND must be alone in a handler: they cannot be listed with other conditions."


@dataclass(eq=False)
class HandlerConditionTwice(
    SqlError, condition="INVALID_HANDLER_DECLARATION.DUPLICATE_CONDITION_IN_HANDLER_DECLARATION", sqlstate="42K0Q"
):
    name: str
    template = "The handler lists the condition {name} twice."


@dataclass(eq=False)
class HandlerSqlstateTwice(
    SqlError, condition="INVALID_HANDLER_DECLARATION.DUPLICATE_SQLSTATE_IN_HANDLER_DECLARATION", sqlstate="42K0Q"
):
    value: str
    template = "The handler lists the SQLSTATE {value} twice."


@dataclass(eq=False)
class HandlerConditionNotFound(SqlError, condition="INVALID_HANDLER_DECLARATION.CONDITION_NOT_FOUND", sqlstate="42K0Q"):
    name: str
    template = "There is no condition {name}. Declare it (DECLARE {name} CONDITION), or name an error of SQL."


@dataclass(eq=False)
class DuplicateHandler(SqlError, condition="DUPLICATE_EXCEPTION_HANDLER.CONDITION", sqlstate="42734"):
    name: str
    template = "Two handlers of one block are for {name}. Remove one."


@dataclass(eq=False)
class DuplicateSqlstateHandler(SqlError, condition="DUPLICATE_EXCEPTION_HANDLER.SQLSTATE", sqlstate="42734"):
    value: str
    template = "Two handlers of one block are for the SQLSTATE {value}. Remove one."


@dataclass(eq=False)
class DuplicateCondition(SqlError, condition="DUPLICATE_CONDITION_IN_SCOPE", sqlstate="42734"):
    name: str
    template = "The condition {name} is declared twice in one block."


@dataclass(eq=False)
class ConditionAtWrongPlace(
    SqlError, condition="INVALID_ERROR_CONDITION_DECLARATION.NOT_AT_START_OF_COMPOUND_STATEMENT", sqlstate="42K0R"
):
    name: str
    template = "The condition {name} can only be declared at the beginning of a BEGIN … END block."


@dataclass(eq=False)
class InvalidSqlstate(SqlError, condition="INVALID_SQLSTATE", sqlstate="428B3"):
    value: str
    template = (
        "'{value}' is no SQLSTATE that can be named: five characters of A-Z and 0-9, which do not begin with 00, 01 or "
        "XX."
    )


@dataclass(eq=False)
class UnknownLabel(SqlError, condition="INVALID_LABEL_USAGE.DOES_NOT_EXIST", sqlstate="42K0L"):
    label: str
    statement: str
    template = "{statement} names the label {label}, but no block or loop around it has that label."


@dataclass(eq=False)
class IterateInBlock(SqlError, condition="INVALID_LABEL_USAGE.ITERATE_IN_COMPOUND", sqlstate="42K0L"):
    label: str
    template = "ITERATE names {label}, which is a BEGIN … END block and no loop. Use LEAVE, or label a loop."


@dataclass(eq=False)
class LabelTaken(SqlError, condition="LABEL_OR_FOR_VARIABLE_ALREADY_EXISTS", sqlstate="42K0L"):
    label: str
    template = "The label or FOR variable {label} is in use around it already. Choose another name."


@dataclass(eq=False)
class LabelForbidden(SqlError, condition="LABEL_OR_FOR_VARIABLE_NAME_FORBIDDEN", sqlstate="42K0L"):
    label: str
    template = "{label} cannot be a label or FOR variable, since session variables are qualified by it."


@dataclass(eq=False)
class LabelsDiffer(SqlError, condition="LABELS_MISMATCH", sqlstate="42K0L"):
    begin: str
    end: str
    template = "The label {end} ends what began with the label {begin}. Write the same label, or none at the end."


@dataclass(eq=False)
class EndLabelAlone(SqlError, condition="END_LABEL_WITHOUT_BEGIN_LABEL", sqlstate="42K0L"):
    label: str
    template = "The label {label} is at the end alone. Put '{label}:' before the block or loop."


@dataclass(eq=False)
class DropVariableInScript(
    SqlError, condition="UNSUPPORTED_FEATURE.SQL_SCRIPTING_DROP_TEMPORARY_VARIABLE", sqlstate="0A000"
):
    template = (
        "DROP TEMPORARY VARIABLE is not allowed in a script. Use EXECUTE IMMEDIATE 'DROP TEMPORARY VARIABLE …' there."
    )


@dataclass(eq=False)
class ScriptTooDeep(SqlError, condition="SQL_SCRIPT_TOO_DEEP", sqlstate="54001"):
    depth_max: int
    template = "The script nests more than {depth_max} blocks and loops, one in the other."


@dataclass(eq=False)
class NotABoolean(SqlError, condition="INVALID_BOOLEAN_STATEMENT", sqlstate="22546"):
    expression: str
    template = "{expression} is no BOOLEAN, which a condition of a script must be. Compare it, or cast it."


@dataclass(eq=False)
class PositionalScriptParameters(
    SqlError, condition="UNSUPPORTED_FEATURE.SQL_SCRIPTING_WITH_POSITIONAL_PARAMETERS", sqlstate="0A000"
):
    template = "A script takes no parameters by position (?). Name them, as in :name."


@dataclass(eq=False)
class IdentifierNotAString(SqlError, condition="NOT_A_CONSTANT_STRING.WRONG_TYPE", sqlstate="42601"):
    expression: str
    data_type: str
    template = "IDENTIFIER takes a name as a STRING; {expression} is a {data_type}."


@dataclass(eq=False)
class IdentifierIsNull(SqlError, condition="NOT_A_CONSTANT_STRING.NULL", sqlstate="42601"):
    expression: str
    template = "IDENTIFIER takes a name, but {expression} is NULL."


@dataclass(eq=False)
class IdentifierWithSubquery(SqlError, condition="NOT_A_CONSTANT_STRING.NOT_CONSTANT", sqlstate="42601"):
    expression: str
    template = "IDENTIFIER takes no subquery: {expression}. Assign it to a variable first."


@dataclass(eq=False)
class IdentifierNotAName(SqlError, condition="INVALID_IDENTIFIER", sqlstate="42602"):
    name: str
    template = (
        "IDENTIFIER takes a name, whose parts are letters, digits and underscores or are in backticks; this is "
        "'{name}'."
    )
