"""Checks on expressions that a table stores, and on row conditions: the dependencies that each may not have.

A stored expression depends on one row only, and returns the same value at any time. A CHECK may use the current time,
because it is evaluated once, when the row is written; a generated column may not, because every writer and reader must
be able to recompute it. A default may be anything that is known before the first row is written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from catalog.conditions import (
    AggregateInCheck,
    AggregateInGeneration,
    AggregateOfRow,
    CheckNotBoolean,
    ConditionNotBoolean,
    DefaultMistyped,
    DefaultNotConstant,
    DefaultNotDeterministic,
    DefaultWithSubquery,
    GenerationTypeDiffers,
    InvalidCheckReference,
    InvalidGenerationReference,
    LengthExceeded,
    NonDeterministicCheck,
    NonDeterministicCondition,
    NonDeterministicGeneration,
    SparkFailure,
    UnsupportedInCheck,
    UnsupportedInCondition,
    UnsupportedInGeneration,
)
from catalog.errors import SqlError
from catalog.names import fold
from engine.planning.plans.expression_checks import Dependency, ExpressionCheck, Refusals
from engine.sql.expressions import parse_expression
from engine.tables.column_metadata import DEFAULT, GENERATION, is_identity
from engine.tables.scan import FILE_METADATA
from engine.types.schema import StructField, StructType
from engine.types.sql_types import column_sql_type, format_sql_type

_NUMBERS = ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
_CHARACTERS = re.compile(r"(?:var)?char\((\d+)\)")
_A_SUBQUERY = "a subquery"


def column_checks(column: StructField, schema: StructType) -> Iterator[ExpressionCheck]:
    """Yields the checks for a column's default and generation expression. Raises if the text itself is invalid."""
    default, generation = column.metadata.get(DEFAULT), column.metadata.get(GENERATION)
    if isinstance(default, str):
        yield _default_check(column, default)
    if isinstance(generation, str):
        yield _generation_check(column, generation, schema)


def _default_check(column: StructField, text: str) -> ExpressionCheck:
    not_constant = DefaultNotConstant(column.name, text)
    expression = parse_expression(text, subquery=DefaultWithSubquery(column.name))
    if expression.columns:
        raise not_constant
    declared = column_sql_type(column)
    mistyped = partial(DefaultMistyped, column.name, text, declared)
    return ExpressionCheck(
        text=expression.in_parentheses,
        mistyped=lambda found: mistyped(f"It is a {found}.") if _are_foreign(found, declared) else None,
        refused={
            **{
                kind: lambda _: not_constant for kind in (Dependency.AGGREGATE, Dependency.WINDOW, Dependency.GENERATOR)
            },
            Dependency.NON_DETERMINISTIC: partial(DefaultNotDeterministic, column.name),
        },
        translated=lambda failure: _too_long(declared, text, failure) or mistyped(failure.message),
        value=_value(expression.in_parentheses, declared),
    )


def _value(text: str, declared: str) -> str:
    """Returns SQL that fails if a constant is not a valid value for a type."""
    length = _CHARACTERS.fullmatch(declared)
    if length is None:
        return f"CAST({text} AS {declared})"
    return f"assert_true(length(rtrim(CAST({text} AS STRING))) <= {length[1]} IS NOT FALSE)"


def _too_long(declared: str, text: str, failure: SparkFailure) -> LengthExceeded | None:
    is_so = failure.condition == "USER_RAISED_EXCEPTION" and _CHARACTERS.fullmatch(declared)
    return LengthExceeded(f"The default ({text}) does not fit into {declared}.") if is_so else None


def _are_foreign(one: str, other: str) -> bool:
    """Returns whether one is a boolean and the other a number, which are not assignable to each other."""
    return any(first == "boolean" and second.startswith(_NUMBERS) for first, second in ((one, other), (other, one)))


def _generation_check(column: StructField, text: str, schema: StructType) -> ExpressionCheck:
    unsupported = partial(UnsupportedInGeneration, column.name)
    expression = parse_expression(text, subquery=unsupported(_A_SUBQUERY))
    for reference in expression.columns:
        source = schema.field(reference[0])
        if source is None or source is column or GENERATION in source.metadata or is_identity(source):
            raise InvalidGenerationReference(column.name, ".".join(reference))
    declared = format_sql_type(column.data_type)
    differs = partial(GenerationTypeDiffers, column.name, declared, text)
    return ExpressionCheck(
        text=expression.in_parentheses,
        mistyped=lambda found: None if found == declared else differs(found),
        refused={
            Dependency.WINDOW: unsupported,
            Dependency.AGGREGATE: partial(AggregateInGeneration, column.name),
            Dependency.NON_DETERMINISTIC: partial(NonDeterministicGeneration, column.name),
            Dependency.GENERATOR: unsupported,
            Dependency.CLOCK: unsupported,
            Dependency.SESSION: unsupported,
        },
    )


def constraint_check(name: str, text: str, schema: StructType) -> ExpressionCheck:
    """Returns the check for a CHECK constraint."""
    unsupported = partial(UnsupportedInCheck, name)
    expression = parse_expression(text, subquery=unsupported(_A_SUBQUERY))
    if any(fold(path[0]) == FILE_METADATA for path in expression.columns) and schema.field(FILE_METADATA) is None:
        raise InvalidCheckReference(name, text, "Rows that are written are in no file yet, so they have no _metadata.")

    def translate(failure: SparkFailure) -> SqlError:
        is_reference = failure.condition.startswith("UNRESOLVED_COLUMN")
        return InvalidCheckReference(name, text, failure.message) if is_reference else failure

    return ExpressionCheck(
        text=expression.in_parentheses,
        mistyped=lambda found: None if found == "boolean" else CheckNotBoolean(name, text, found),
        refused={
            Dependency.WINDOW: unsupported,
            Dependency.AGGREGATE: partial(AggregateInCheck, name),
            Dependency.NON_DETERMINISTIC: partial(NonDeterministicCheck, name),
            Dependency.GENERATOR: unsupported,
            Dependency.SESSION: unsupported,
        },
        translated=translate,
    )


def condition_check(clause: str, shown: str, text: str) -> ExpressionCheck:
    """Returns the check for a row condition, shown as `shown` in messages about its `clause`; `text` is analyzed."""
    return ExpressionCheck(
        text=text,
        mistyped=lambda found: None if found == "boolean" else ConditionNotBoolean(clause, shown, found),
        refused=condition_refusals(clause),
    )


def condition_refusals(clause: str) -> Refusals:
    """Returns the dependencies that a row condition must not have."""
    unsupported = partial(UnsupportedInCondition, clause)
    return {
        Dependency.WINDOW: unsupported,
        Dependency.AGGREGATE: partial(AggregateOfRow, f"The condition of {clause}"),
        Dependency.NON_DETERMINISTIC: partial(NonDeterministicCondition, clause),
        Dependency.GENERATOR: unsupported,
    }
