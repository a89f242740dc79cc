"""Expressions analyzed by Spark: together, and one by one after an error, to find the cause."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from catalog.conditions import SparkFailure, StatementNotSupported
from catalog.errors import SqlError
from engine.planning.plans.expression_checks import (
    Dependency,
    Examination,
    ExpressionCheck,
    ExpressionCheckPlan,
    QueryCheck,
)
from engine.planning.plans.reads import ReadPlan
from engine.planning.semantics.expression_checks import ensure_checked, ensure_examined


def failure(condition: str) -> SparkFailure:
    return SparkFailure(condition=condition, sqlstate="XX000", text="what Spark says")


@dataclass
class Answers:
    """Returns the given answer for each expression: a type, a dependency, or a failure; `values` fail to evaluate."""

    answers: Mapping[str, str | Dependency | SparkFailure]
    values: Mapping[str, SparkFailure] = field(default_factory=dict)
    queries: list[str] = field(default_factory=list)

    def examine(self, plan: ReadPlan) -> Examination:
        self.queries.append(plan.text)
        found = [answer for expression, answer in self.answers.items() if expression in plan.text]
        for answer in found:
            if isinstance(answer, SparkFailure):
                raise answer
        return Examination(
            types=tuple("int" if isinstance(answer, Dependency) else str(answer) for answer in found),
            dependencies={answer: "f()" for answer in found if isinstance(answer, Dependency)},
        )

    def compute(self, plan: ReadPlan) -> None:
        self.queries.append(plan.text)
        for value, error in self.values.items():
            if plan.text == f"SELECT {value}":
                raise error
        return None


def check(text: str, value: str | None = None) -> ExpressionCheck:
    """Returns a check for an `int` that depends neither on the clock nor on an aggregate; errors name the
    expression.
    """
    return ExpressionCheck(
        text=text,
        mistyped=lambda found: None if found == "int" else StatementNotSupported(f"{text}: {found}"),
        refused={
            Dependency.CLOCK: lambda shown: StatementNotSupported(f"{text}: clock in {shown}"),
            Dependency.AGGREGATE: lambda shown: StatementNotSupported(f"{text}: aggregate in {shown}"),
        },
        translated=lambda error: StatementNotSupported(f"{text}: {error.condition}"),
        value=value,
    )


def plan(*checks: ExpressionCheck) -> ExpressionCheckPlan:
    return ExpressionCheckPlan(over=ReadPlan(text="FROM t", scans=()), checks=checks)


def test_all_checks_run_in_one_query() -> None:
    answers = Answers({"(a)": "int", "(b)": "int"})
    ensure_checked(plan(check("(a)"), check("(b)")), answers)
    assert answers.queries == ["SELECT (a) AS c0, (b) AS c1 FROM t"]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("string", "(b): string"),
        (Dependency.CLOCK, "(b): clock in f()"),
        (failure("UNRESOLVED_COLUMN"), "(b): UNRESOLVED_COLUMN"),
        (failure("MISSING_GROUP_BY"), "(b): aggregate in (b)"),
    ],
)
def test_the_one_to_blame(answer: str | Dependency | SparkFailure, said: str) -> None:
    answers = Answers({"(a)": "int", "(b)": answer, "(c)": "int"})
    with pytest.raises(StatementNotSupported) as caught:
        ensure_checked(plan(check("(a)"), check("(b)"), check("(c)")), answers)
    assert said in caught.value.full_message
    assert answers.queries[1:] == ["SELECT (a) AS c0 FROM t", "SELECT (b) AS c0 FROM t"]


def test_a_dependency_that_is_not_refused() -> None:
    ensure_checked(plan(check("(a)")), Answers({"(a)": Dependency.SESSION}))


def test_values_are_evaluated_when_all_is_fine() -> None:
    answers = Answers({"(a)": "int", "(b)": "int"}, {"CAST(b)": failure("CAST_INVALID_INPUT")})
    with pytest.raises(StatementNotSupported, match="CAST_INVALID_INPUT"):
        ensure_checked(plan(check("(a)", "CAST(a)"), check("(b)", "CAST(b)")), answers)
    assert answers.queries[1:] == ["SELECT CAST(a)", "SELECT CAST(b)"]


REFUSED = {
    Dependency.AGGREGATE: lambda shown: StatementNotSupported(f"aggregate: {shown}"),
    Dependency.NON_DETERMINISTIC: lambda shown: StatementNotSupported(f"random: {shown}"),
}


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (Dependency.AGGREGATE, "aggregate: f()"),
        (failure("MISSING_AGGREGATION"), "aggregate: function beside columns"),
        (failure("INVALID_NON_DETERMINISTIC_EXPRESSIONS"), "random: a function"),
        (failure("UNRESOLVED_COLUMN"), "what Spark says"),
    ],
)
def test_queries(answer: Dependency | SparkFailure, said: str) -> None:
    queries = QueryCheck(read=ReadPlan(text="q", scans=()), refused=REFUSED)
    with pytest.raises(SqlError) as caught:
        ensure_examined(queries, Answers({"q": answer}))
    assert said in caught.value.full_message
    without = QueryCheck(read=queries.read, refused={})
    if isinstance(answer, SparkFailure):
        with pytest.raises(SparkFailure) as own:
            ensure_examined(without, Answers({"q": answer}))
        assert own.value is answer
    else:
        ensure_examined(without, Answers({"q": answer}))
