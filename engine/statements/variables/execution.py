"""Execution of DECLARE, SET and DROP VARIABLE: changes of the session's state, or of the script's scopes in it."""

from __future__ import annotations

from dataclasses import replace

from catalog.conditions import DuplicateDeclared, TooManyRowsAssigned, VariableNotFound
from engine.binding.bound import Outcome
from engine.planning.plans.variables import DropVariablePlan
from engine.runtime.results import empty_result
from engine.runtime.session_state import SessionState
from engine.runtime.variables import SESSION, Assignment, Variable, qualified


def declare_variables(assignment: Assignment, *, or_replace: bool) -> Outcome:
    """All of them have the one value."""
    (value,) = assignment.values.row(0)
    names = [name for _, name in assignment.targets]
    for label, name in assignment.targets:
        if names.count(name) > 1:
            raise DuplicateDeclared(qualified(label, name))
    default = assignment.default or "NULL"
    variables = [Variable(name=name, value=value, default=default) for _, name in assignment.targets]
    return Outcome(result=empty_result(), change=lambda state: state.with_declared(variables, or_replace=or_replace))


def assign_variables(assignment: Assignment) -> Outcome:
    """Raises `TooManyRowsAssigned`; no row at all is a row of NULLs by now."""
    if len(assignment.values.rows) > 1:
        raise TooManyRowsAssigned()
    row = assignment.values.row(0)

    def change(state: SessionState) -> SessionState:
        for (label, name), value in zip(assignment.targets, row, strict=True):
            state = state.with_value_of(label, name, value)
        return state

    return Outcome(result=empty_result(), change=change)


def drop_variable(plan: DropVariablePlan) -> Outcome:
    def change(state: SessionState) -> SessionState:
        if plan.name not in state.variables.variables and not plan.if_exists:
            raise VariableNotFound(qualified(SESSION, plan.name))
        return replace(state, variables=state.variables.without(plan.name))

    return Outcome(result=empty_result(), change=change)
