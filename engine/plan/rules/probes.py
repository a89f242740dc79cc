"""What is asked of Spark before an expression becomes a rule of a table, or decides which rows go.

Whether an expression can be evaluated, to what type, and on what its value depends, only Spark knows. A `Probe` asks it
to analyze the expression over an empty relation; but for constants nothing runs. All probes of a statement are one
question. Only where something is not right they are asked one by one, to find the one to blame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from catalog.errors import SqlError
from engine.errors.statement_errors import SparkFailure
from engine.plans.probes import Examination, Probe, ProbePlan, Trait
from engine.plans.reads import ReadPlan


class Prober(Protocol):
    """Who asks Spark."""

    def examine(self, plan: ReadPlan) -> Examination:
        """Analyzes `plan`."""

    def evaluate(self, plan: ReadPlan) -> object:
        """Runs `plan`."""


_UNGROUPED = frozenset({"MISSING_AGGREGATION", "MISSING_GROUP_BY"})
"""Conditions of Spark for an aggregate beside columns."""


def ensure_probed(plan: ProbePlan, prober: Prober) -> None:
    """Raises for the first probe that is not what it must be, or whatever Spark raises for it."""
    try:
        found = prober.examine(_question(plan, plan.probes))
        is_fine = all(_objection(probe, found, at) is None for at, probe in enumerate(plan.probes))
    except SparkFailure:
        is_fine = False
    if not is_fine:
        for probe in plan.probes:
            _ensure_fine(probe, plan, prober)
    for probe in plan.probes:
        if probe.value is not None:
            _ensure_value(probe, probe.value, prober)


def _question(plan: ProbePlan, probes: Sequence[Probe]) -> ReadPlan:
    columns = ", ".join(f"{probe.text} AS c{number}" for number, probe in enumerate(probes))
    return replace(plan.over, text=f"SELECT {columns} {plan.over.text}")


def _objection(probe: Probe, found: Examination, at: int) -> SqlError | None:
    for trait, make in probe.refused.items():
        if trait in found.traits:
            return make(found.traits[trait])
    return probe.mistyped(found.types[at])


def _ensure_fine(probe: Probe, plan: ProbePlan, prober: Prober) -> None:
    try:
        objection = _objection(probe, prober.examine(_question(plan, [probe])), 0)
    except SparkFailure as failure:
        if failure.spark_condition in _UNGROUPED and Trait.AGGREGATE in probe.refused:
            raise probe.refused[Trait.AGGREGATE](probe.text) from failure
        raise probe.translated(failure) from failure
    if objection is not None:
        raise objection


def _ensure_value(probe: Probe, value: str, prober: Prober) -> None:
    try:
        prober.evaluate(ReadPlan(text=f"SELECT {value}", scans=()))
    except SparkFailure as failure:
        raise probe.translated(failure) from failure
