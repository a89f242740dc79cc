"""The list of callable functions is complete and reviewed."""

from __future__ import annotations

from typing import Any

import pytest

from engine.runtime.function_help import read_sql_help
from engine.spark.session import SparkDriver
from engine.sql.dialect.functions import (
    ALLOWED_FUNCTIONS,
    ALLOWED_TABLE_FUNCTIONS,
    EXCLUDED_FUNCTIONS,
    POSTGRES_FUNCTIONS,
    refusal_reason,
)

# Grammar that SHOW FUNCTIONS lists, though it is not in the registry.
_GRAMMAR_ONLY = {"!=", "<>", "case", "||"}


def test_no_function_is_both_allowed_and_excluded() -> None:
    assert not EXCLUDED_FUNCTIONS.keys() & (ALLOWED_FUNCTIONS | ALLOWED_TABLE_FUNCTIONS)


def test_names_are_in_lower_case() -> None:
    names = [*ALLOWED_FUNCTIONS, *ALLOWED_TABLE_FUNCTIONS, *EXCLUDED_FUNCTIONS]
    assert names == [name.lower() for name in names]


@pytest.mark.parametrize("name", ["reflect", "REFLECT", "java_method", "try_reflect", "cloud_files", "xpath"])
def test_an_excluded_function_has_a_reason(name: str) -> None:
    assert refusal_reason(name)


@pytest.mark.parametrize("name", ["max", "explode", "nosuch", ""])
def test_allowed_functions_have_no_refusal_reason(name: str) -> None:
    assert refusal_reason(name) is None


def _registered(registry: Any) -> set[str]:
    names = set()
    listed = registry.listFunction().iterator()
    while listed.hasNext():
        names.add(listed.next().funcName().lower())
    return names


@pytest.mark.spark
def test_the_lists_are_spark_s_registry(spark_driver: SparkDriver) -> None:
    """A new Spark brings new functions: review each before it is added to a list."""
    builder = spark_driver.process.gateway.jvm.org.apache.spark.sql.classic.SparkSession.builder()
    state = builder.getOrCreate().sessionState()
    scalar, table = _registered(state.functionRegistry()), _registered(state.tableFunctionRegistry())
    assert scalar - EXCLUDED_FUNCTIONS.keys() == (ALLOWED_FUNCTIONS - _GRAMMAR_ONLY) | POSTGRES_FUNCTIONS
    assert table - EXCLUDED_FUNCTIONS.keys() == ALLOWED_TABLE_FUNCTIONS
    assert EXCLUDED_FUNCTIONS.keys() <= scalar | table


@pytest.mark.spark
def test_each_callable_function_has_a_signature_and_a_text(spark_driver: SparkDriver) -> None:
    found = read_sql_help(spark_driver.function_infos(), ALLOWED_FUNCTIONS, ALLOWED_TABLE_FUNCTIONS, ())
    names = {function.name_parts[0] for function in found.functions}
    assert names == (ALLOWED_FUNCTIONS - _GRAMMAR_ONLY) | ALLOWED_TABLE_FUNCTIONS
    assert not [each.name_parts for each in found.functions if not each.usage or not each.description]
    assert not [each for each in found.functions if "_FUNC_" in repr(each) or "<br>" in repr(each)]
    by_name = {each.name_parts[0]: each for each in found.functions}
    assert by_name["substring"].usage[0] == "substring(str, pos[, len])"
    assert [by_name[name].type for name in ("avg", "rank", "explode", "range", "+")] == [
        "aggregate",
        "window",
        "generator",
        "table",
        "operator",
    ]
    assert {"SELECT", "LATERAL", "TBLPROPERTIES"} <= set(found.keywords)
