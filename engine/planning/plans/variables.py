"""Plans of statements about session variables, and of queries whose rows become values."""

from __future__ import annotations

from dataclasses import dataclass

from engine.planning.plans.reads import ReadPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclarePlan:
    """Declare the variables that the text of `read` (a DECLARE) names."""

    read: ReadPlan
    or_replace: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignPlan:
    """Assign what the text of `read` (a SET VARIABLE) says."""

    read: ReadPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class DropVariablePlan:
    """Forget the session's variable `name`."""

    name: str
    if_exists: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatePlan:
    """Take the rows of `read` as values."""

    read: ReadPlan
