"""Forbidden dependencies of constraints, generated columns, defaults and conditions, and their errors."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from catalog.conditions import SparkFailure
from catalog.errors import SqlError
from engine.planning.plans.expression_checks import Dependency, ExpressionCheck
from engine.planning.semantics.allowed_expressions import column_checks, condition_check, constraint_check
from engine.types.schema import DecimalType, PrimitiveType, StructField, StructType

INT, STRING, BOOLEAN = PrimitiveType.INTEGER, PrimitiveType.STRING, PrimitiveType.BOOLEAN
ALL = frozenset(Dependency)


def default_of(data_type: PrimitiveType | DecimalType, text: str, declared: str | None = None) -> ExpressionCheck:
    metadata = {"CURRENT_DEFAULT": text} | ({"__CHAR_VARCHAR_TYPE_STRING": declared} if declared else {})
    column = StructField("x", data_type, metadata=metadata)
    (check,) = column_checks(column, StructType((column,)))
    return check


def generated(text: str, data_type: PrimitiveType = INT) -> ExpressionCheck:
    """Over a column `a`, a struct `s`, another generated column and an identity column."""
    column = StructField("x", data_type, metadata={"delta.generationExpression": text})
    other = StructField("g", INT, metadata={"delta.generationExpression": "a"})
    identity = StructField("i", PrimitiveType.LONG, metadata={"delta.identity.start": 1})
    struct = StructField("s", StructType((StructField("y", INT),)))
    (check,) = column_checks(column, StructType((StructField("a", INT), column, other, identity, struct)))
    return check


def constraint(text: str) -> ExpressionCheck:
    return constraint_check("c", text, StructType((StructField("a", INT),)))


def condition(text: str) -> ExpressionCheck:
    return condition_check("DELETE", text, f"({text})")


REFUSED: list[tuple[Callable[[str], ExpressionCheck], dict[Dependency, str]]] = [
    (
        lambda text: default_of(INT, text),
        {
            Dependency.AGGREGATE: "INVALID_DEFAULT_VALUE.NOT_CONSTANT",
            Dependency.WINDOW: "INVALID_DEFAULT_VALUE.NOT_CONSTANT",
            Dependency.GENERATOR: "INVALID_DEFAULT_VALUE.NOT_CONSTANT",
            Dependency.NON_DETERMINISTIC: "INVALID_DEFAULT_VALUE.NON_DETERMINISTIC",
        },
    ),
    (
        generated,
        {
            Dependency.WINDOW: "DELTA_UNSUPPORTED_EXPRESSION_GENERATED_COLUMN",
            Dependency.AGGREGATE: "DELTA_AGGREGATE_IN_GENERATED_COLUMN",
            Dependency.NON_DETERMINISTIC: "DELTA_NON_DETERMINISTIC_EXPRESSION_IN_GENERATED_COLUMN",
            Dependency.GENERATOR: "DELTA_UNSUPPORTED_EXPRESSION_GENERATED_COLUMN",
            Dependency.CLOCK: "DELTA_UNSUPPORTED_EXPRESSION_GENERATED_COLUMN",
            Dependency.SESSION: "DELTA_UNSUPPORTED_EXPRESSION_GENERATED_COLUMN",
        },
    ),
    (
        constraint,
        {
            Dependency.WINDOW: "DELTA_UNSUPPORTED_EXPRESSION_CHECK_CONSTRAINT",
            Dependency.AGGREGATE: "DELTA_AGGREGATE_IN_CHECK_CONSTRAINT",
            Dependency.NON_DETERMINISTIC: "DELTA_NON_DETERMINISTIC_EXPRESSION_IN_CHECK_CONSTRAINT",
            Dependency.GENERATOR: "DELTA_UNSUPPORTED_EXPRESSION_CHECK_CONSTRAINT",
            Dependency.SESSION: "DELTA_UNSUPPORTED_EXPRESSION_CHECK_CONSTRAINT",
        },
    ),
    (
        condition,
        {
            Dependency.WINDOW: "INVALID_WHERE_CONDITION",
            Dependency.AGGREGATE: "DELTA_AGGREGATION_NOT_SUPPORTED",
            Dependency.NON_DETERMINISTIC: "DELTA_NON_DETERMINISTIC_FUNCTION_NOT_SUPPORTED",
            Dependency.GENERATOR: "INVALID_WHERE_CONDITION",
        },
    ),
]


@pytest.mark.parametrize(
    ("check", "refused"), REFUSED, ids=["a default", "a generated column", "a constraint", "a condition"]
)
def test_expression_with_forbidden_dependency_is_rejected(
    check: Callable[[str], ExpressionCheck], refused: dict[Dependency, str]
) -> None:
    """A constraint may ask the clock, a default also the session."""
    found = {dependency: make("f()").condition for dependency, make in check("1").refused.items()}
    assert found == refused


@pytest.mark.parametrize(
    ("check", "found", "condition_of"),
    [
        (constraint("a > 0"), "boolean", None),
        (constraint("a"), "int", "DELTA_NON_BOOLEAN_CHECK_CONSTRAINT"),
        (condition("a"), "boolean", None),
        (condition("a"), "int", "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN"),
        (generated("a"), "int", None),
        (generated("a"), "bigint", "DELTA_GENERATED_COLUMNS_EXPR_TYPE_MISMATCH"),
        (default_of(INT, "1"), "string", None),
        (default_of(INT, "true"), "boolean", "INVALID_DEFAULT_VALUE.DATA_TYPE"),
        (default_of(BOOLEAN, "1"), "decimal(3,1)", "INVALID_DEFAULT_VALUE.DATA_TYPE"),
        (default_of(BOOLEAN, "'x'"), "string", None),
        (default_of(STRING, "true"), "boolean", None),
    ],
)
def test_types(check: ExpressionCheck, found: str, condition_of: str | None) -> None:
    error = check.mistyped(found)
    assert (None if error is None else error.condition) == condition_of


WRONG: list[tuple[Callable[[str], ExpressionCheck], str, str]] = [
    (lambda text: default_of(INT, text), "a + 1", "INVALID_DEFAULT_VALUE.NOT_CONSTANT"),
    (lambda text: default_of(INT, text), "(SELECT 1)", "INVALID_DEFAULT_VALUE.SUBQUERY_EXPRESSION"),
    (lambda text: default_of(INT, text), "1, 2", "PARSE_SYNTAX_ERROR"),
    (generated, "zz", "DELTA_INVALID_GENERATED_COLUMN_REFERENCES"),
    (generated, "x + 1", "DELTA_INVALID_GENERATED_COLUMN_REFERENCES"),
    (generated, "g + 1", "DELTA_INVALID_GENERATED_COLUMN_REFERENCES"),
    (generated, "i + 1", "DELTA_INVALID_GENERATED_COLUMN_REFERENCES"),
    (generated, "(SELECT max(a))", "DELTA_UNSUPPORTED_EXPRESSION_GENERATED_COLUMN"),
    (constraint, "a IN (SELECT 1)", "DELTA_UNSUPPORTED_EXPRESSION_CHECK_CONSTRAINT"),
    (constraint, "_METADATA.file_path IS NULL", "DELTA_INVALID_CHECK_CONSTRAINT_REFERENCES"),
]


@pytest.mark.parametrize(("check", "text", "condition_of"), WRONG)
def test_malformed_expression_text_is_rejected(
    check: Callable[[str], ExpressionCheck], text: str, condition_of: str
) -> None:
    with pytest.raises(SqlError) as caught:
        check(text)
    assert caught.value.condition == condition_of


def test_expressions_that_are_analyzed() -> None:
    """A comment at an expression's end ends with it."""
    assert constraint("a > 0 -- why").text == "(a > 0 -- why\n)"
    assert generated("s.y + A").text == "(s.y + A\n)"
    own = StructType((StructField("_metadata", STRING),))
    assert constraint_check("c", "_metadata IS NULL", own).text == "(_metadata IS NULL\n)"
    assert list(column_checks(StructField("a", INT), own)) == []


@pytest.mark.parametrize(
    ("check", "value"),
    [
        (default_of(INT, "1 -- one"), "CAST((1 -- one\n) AS int)"),
        (default_of(DecimalType(9, 2), "1"), "CAST((1\n) AS decimal(9,2))"),
        (
            default_of(STRING, "'abc'", "varchar(2)"),
            "assert_true(length(rtrim(CAST(('abc'\n) AS STRING))) <= 2 IS NOT FALSE)",
        ),
        (constraint("a > 0"), None),
        (generated("a"), None),
    ],
)
def test_defaults_are_evaluated(check: ExpressionCheck, value: str | None) -> None:
    assert check.value == value


def failure(spark_condition: str) -> SparkFailure:
    return SparkFailure(condition=spark_condition, sqlstate="XX000", text="what Spark says")


@pytest.mark.parametrize(
    ("check", "spark_condition", "condition_of"),
    [
        (default_of(STRING, "'abc'", "char(2)"), "USER_RAISED_EXCEPTION", "DELTA_EXCEED_CHAR_VARCHAR_LIMIT"),
        (default_of(STRING, "'abc'"), "USER_RAISED_EXCEPTION", "INVALID_DEFAULT_VALUE.DATA_TYPE"),
        (default_of(INT, "'abc'"), "CAST_INVALID_INPUT", "INVALID_DEFAULT_VALUE.DATA_TYPE"),
        (constraint("zz > 0"), "UNRESOLVED_COLUMN.WITH_SUGGESTION", "DELTA_INVALID_CHECK_CONSTRAINT_REFERENCES"),
        (constraint("f(a)"), "UNRESOLVED_ROUTINE", None),
    ],
)
def test_spark_errors_in_expressions_are_translated(
    check: ExpressionCheck, spark_condition: str, condition_of: str | None
) -> None:
    raised = failure(spark_condition)
    error = check.translated(raised)
    assert error is raised if condition_of is None else error.condition == condition_of
