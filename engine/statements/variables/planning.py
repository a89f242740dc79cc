"""Plans of DECLARE, SET and DROP VARIABLE: the text that Spark analyzes, over the relations of this statement."""

from __future__ import annotations

from dataclasses import replace

from catalog.conditions import UnresolvedVariable
from catalog.names import quote
from engine.planning.plans.reads import ReadPlan
from engine.planning.plans.variables import AssignPlan, DeclarePlan, DropVariablePlan
from engine.runtime.variables import SESSION
from engine.sql.query.source_text import joined
from engine.statements.variables.statement import DeclareVariables, DropVariable, SetVariables


def plan_declare(statement: DeclareVariables) -> DeclarePlan:
    return DeclarePlan(read=ReadPlan(text=statement.text, scans=()), or_replace=statement.or_replace)


def plan_assign(statement: SetVariables, source: ReadPlan) -> AssignPlan:
    """Every form of SET is that of a list of variables and a query, which means the same to Spark."""
    targets = ", ".join(".".join(map(quote, parts)) for parts in statement.targets)
    return AssignPlan(read=replace(source, text=joined((f"SET VARIABLE ({targets}) = (", source.text, "\n)"))))


def plan_drop_variable(statement: DropVariable) -> DropVariablePlan:
    """Raises `UnresolvedVariable` for a name that can be no variable's."""
    *qualifier, name = statement.parts
    if [part.lower() for part in qualifier] not in ([], [SESSION], ["system", SESSION]):
        raise UnresolvedVariable(".".join(map(quote, statement.parts)))
    return DropVariablePlan(name=name.lower(), if_exists=statement.if_exists)
