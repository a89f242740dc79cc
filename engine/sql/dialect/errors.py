"""Why a text is refused before anything is bound: each reason a class, with the place in the text if there is one."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.errors import SqlError
from engine.sql.dialect.refusals import advice_on


@dataclass(eq=False)
class EmptyStatement(SqlError, condition="PARSE_EMPTY_STATEMENT", sqlstate="42617"):
    template = "The text holds no statement. Write one."


@dataclass(eq=False)
class StatementSyntaxError(SqlError, condition="PARSE_SYNTAX_ERROR", sqlstate="42601"):
    """`line` and `column` count from 1; `excerpt` is the line with a mark below the place."""

    reason: str
    line: int
    column: int
    excerpt: str
    template = "Syntax error: {reason} (line {line}, column {column}).\n{excerpt}"


@dataclass(eq=False)
class InvalidSetSyntax(SqlError, condition="INVALID_SET_SYNTAX", sqlstate="42000"):
    template = (
        "A setting is written SET key, SET key = value or SET -v. Put a key with other characters than letters, "
        "digits, '_', '.' and ':' in backticks."
    )


@dataclass(eq=False)
class SeveralStatements(SqlError, condition="MULTIPLE_STATEMENTS", sqlstate="42601"):
    line: int
    column: int
    template = (
        "The text holds more than one statement: another follows the semicolon at line {line}, column {column}. Send "
        "them one by one."
    )


@dataclass(eq=False)
class StatementHasTooManyTokens(SqlError, condition="STATEMENT_TOO_LONG.TOKENS", sqlstate="54001"):
    count: int
    count_max: int
    template = (
        "The statement has {count} words, numbers and marks; the limit is {count_max}. Load data from a table or files "
        "instead of writing it into the statement."
    )


@dataclass(eq=False)
class StatementTooComplex(SqlError, condition="FAILED_TO_PARSE_TOO_COMPLEX", sqlstate="54001"):
    template = (
        "The statement, or a type in it, is nested too deeply to be parsed. Split it, or name parts of it with WITH."
    )


@dataclass(eq=False)
class DuplicateIdentityOption(
    SqlError, condition="IDENTITY_COLUMNS_DUPLICATED_SEQUENCE_GENERATOR_OPTION", sqlstate="42601"
):
    option: str
    template = "{option} is given twice in the parentheses after IDENTITY. Leave one of them out."


@dataclass(eq=False)
class DuplicateColumnClause(SqlError, condition="CREATE_TABLE_COLUMN_DESCRIPTOR_DUPLICATE", sqlstate="42710"):
    column: str
    clause: str
    template = "The definition of the column {column} has {clause} more than once. Leave one of them out."


@dataclass(eq=False)
class ColumnChangedTwice(SqlError, condition="NOT_SUPPORTED_CHANGE_SAME_COLUMN", sqlstate="0A000"):
    column: str
    template = "The statement changes the column {column} more than once. Send the changes one by one."


@dataclass(eq=False)
class UnsupportedStatement(SqlError, condition="UNSUPPORTED_STATEMENT", sqlstate="0A000"):
    """A statement that is known by name and does not run here. `advice` is a sentence: what to use."""

    kind: str
    advice: str = ""
    template = "{kind} is not supported by this gateway. {advice}"

    def __post_init__(self) -> None:
        self.advice = self.advice or advice_on(self.kind)


@dataclass(eq=False)
class TemporaryQualifier(SqlError, condition="INVALID_TEMP_OBJ_QUALIFIER", sqlstate="42602"):
    kind: str
    name: str
    qualifier: str
    template = (
        "The temporary {kind} {name} cannot be qualified with {qualifier}. Give its name alone, or qualify it with "
        "session or system.session."
    )


@dataclass(eq=False)
class UnsupportedClause(SqlError, condition="UNSUPPORTED_CLAUSE", sqlstate="0A000"):
    """`advice` is a sentence."""

    clause: str
    advice: str
    template = "{clause} is not supported by this gateway. {advice}"


@dataclass(eq=False)
class UnsupportedFunction(SqlError, condition="UNSUPPORTED_FUNCTION", sqlstate="0A000"):
    name: str
    reason: str
    template = "The function {name} may not be used: it {reason}."


@dataclass(eq=False)
class UnsupportedPathRelation(SqlError, condition="UNSUPPORTED_DATASOURCE_FOR_DIRECT_QUERY", sqlstate="0A000"):
    relation_format: str
    template = (
        "Files cannot be queried as {relation_format}.`path`. Only Delta tables can be named by their path, as "
        "delta.`path`, and files of volumes, as parquet.`/Volumes/…`, csv.`/Volumes/…`, json.`/Volumes/…` or "
        "orc.`/Volumes/…`. Use read_files('path', format => '…') for files of external locations."
    )


@dataclass(eq=False)
class InvalidTimeTravel(SqlError, condition="INVALID_TIME_TRAVEL_SPEC", sqlstate="42K0E"):
    clause: str
    template = (
        "{clause} names no version or time. Use VERSION AS OF 3, TIMESTAMP AS OF '2024-01-31 12:00:00', table@v3 or "
        "table@20240131120000000."
    )


@dataclass(eq=False)
class SeveralTimeTravels(SqlError, condition="MULTIPLE_TIME_TRAVEL_SPEC", sqlstate="42K0E"):
    name: str
    template = "The version of {name} is given twice: with '@' and with an AS OF clause. Leave one of them out."


@dataclass(eq=False)
class TimeTravelNotPossible(SqlError, condition="UNSUPPORTED_FEATURE.TIME_TRAVEL_ON_CTE", sqlstate="0A000"):
    relation: str
    template = "Time travel on {relation} is not possible: it is a name of the WITH clause. Put it on the table inside."


@dataclass(eq=False)
class AmbiguousReference(SqlError, condition="AMBIGUOUS_REFERENCE", sqlstate="42704"):
    name: str
    template = "{name} is the name of more than one relation of the statement. Give each an alias and use that."


@dataclass(eq=False)
class ShowColumnsConflict(SqlError, condition="SHOW_COLUMNS_WITH_CONFLICTING_NAMESPACE", sqlstate="42K05"):
    table: str
    namespace: str
    template = "SHOW COLUMNS names {table} and also the schema {namespace}. Name the schema once."


@dataclass(eq=False)
class WrongArgumentCount(SqlError, condition="INCORRECT_NUMBER_OF_ARGUMENTS", sqlstate="42605"):
    function: str
    given: int
    count_min: int
    count_max: int
    template = "{function} takes {count_min} to {count_max} arguments; {given} are given."


@dataclass(eq=False)
class NonConstantArgument(SqlError, condition="DELTA_CDC_NON_CONSTANT_ARGUMENT", sqlstate="42K0H"):
    function: str
    column: str
    template = (
        "The arguments of {function} must be constants: the column {column} is none. Write a version, a time, or an "
        "expression of such; a table's name is written in quotes."
    )


@dataclass(eq=False)
class GenerateModeNotSupported(SqlError, condition="DELTA_MODE_NOT_SUPPORTED", sqlstate="0AKDC"):
    mode: str
    supported: str
    template = "GENERATE {mode} is not supported. The only mode is {supported}."


@dataclass(eq=False)
class CopyOptionNotSupported(SqlError, condition="COPY_INTO_OPTION_NOT_SUPPORTED", sqlstate="0A000"):
    option: str
    place: str
    template = "The option {option} of COPY INTO is not supported for {place}. Leave it out."


def identifier_not_here() -> UnsupportedClause:
    """The error for an IDENTIFIER clause that was not resolved before (`engine/sql/script/identifier_clauses.py`)."""
    return UnsupportedClause("IDENTIFIER(…)", "Here it takes a string alone, as in IDENTIFIER('name').")


@dataclass(eq=False)
class BodyNotPossible(SqlError, condition="INVALID_SQL_FUNCTION_BODY", sqlstate="0A000"):
    """`reason` says what is in the way, as a part of a sentence."""

    function: str
    reason: str
    template = "The function {function} cannot have this body: {reason}. Write one expression over its parameters."
