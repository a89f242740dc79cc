"""DECLARE, SET and DROP VARIABLE: plans, effects, and registration.

A plan contains the text that Spark analyzes, over this statement's relations. Execution changes the session's state, or
the script's scopes in it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from catalog.conditions import (
    DuplicateDeclared,
    FunctionInDefault,
    TooManyRowsAssigned,
    UnresolvedVariable,
    VariableNotFound,
)
from catalog.names import quote
from engine.authorization.policies import PolicyEffect
from engine.binding.bound import BoundFunction, Outcome
from engine.planning.plans.reads import AssignPlan, DeclarePlan, DropVariablePlan, EvaluatePlan, ReadPlan
from engine.runtime.accesses import Use
from engine.runtime.results import empty_result
from engine.runtime.session_state import SessionState
from engine.runtime.variables import SESSION, Assignment, Variable, qualified_name
from engine.sql.expressions import parse_any_expression
from engine.sql.query.bodies import BODY_CALL
from engine.sql.query.source_text import join_texts
from engine.statements.select.spec import reading_query
from engine.statements.spec import (
    Repetition,
    StatementSpec,
    change_spec,
    effect,
    names_nothing,
    never,
    requires_nothing,
)
from engine.statements.variables.statement import DeclareVariables, DropVariable, EvaluateQuery, SetVariables


def plan_declare(statement: DeclareVariables, functions: tuple[BoundFunction, ...]) -> DeclarePlan:
    """Plans DECLARE. The default, which the variable keeps, contains the bodies of the called functions.

    Raises `FunctionInDefault` for a body with a query, or with settings of its own, which a kept text cannot contain.
    """
    default = statement.default
    if functions and (parse_any_expression(default).has_subquery or BODY_CALL in default):
        raise FunctionInDefault(str(functions[0].entry.name))
    text = join_texts((statement.text, default))
    return DeclarePlan(read=ReadPlan(text=text, scans=()), or_replace=statement.or_replace)


def plan_assign(statement: SetVariables, source: ReadPlan) -> AssignPlan:
    """Plans SET; every form is equivalent to a variable list and a query."""
    targets = ", ".join(".".join(map(quote, parts)) for parts in statement.targets)
    return AssignPlan(read=replace(source, text=join_texts((f"SET VARIABLE ({targets}) = (", source.text, "\n)"))))


def plan_drop_variable(statement: DropVariable) -> DropVariablePlan:
    """Plans DROP. Raises `UnresolvedVariable` for a name that cannot be a variable."""
    *qualifier, name = statement.parts
    if [part.lower() for part in qualifier] not in ([], [SESSION], ["system", SESSION]):
        raise UnresolvedVariable(".".join(map(quote, statement.parts)))
    return DropVariablePlan(name=name.lower(), if_exists=statement.if_exists)


def declare_variables(assignment: Assignment, *, or_replace: bool) -> Outcome:
    """Declares all variables with the same value."""
    (value,) = assignment.values.row(0)
    names = [name for _, name in assignment.targets]
    for label, name in assignment.targets:
        if names.count(name) > 1:
            raise DuplicateDeclared(qualified_name(label, name))
    default = assignment.default or "NULL"
    variables = [Variable(name=name, value=value, default=default) for _, name in assignment.targets]
    return Outcome(result=empty_result(), change=lambda state: state.with_declared(variables, or_replace=or_replace))


def assign_variables(assignment: Assignment) -> Outcome:
    """Assigns the values. Raises `TooManyRowsAssigned`; an empty result is already a row with NULLs."""
    if len(assignment.values.rows) > 1:
        raise TooManyRowsAssigned()
    row = assignment.values.row(0)

    def change(state: SessionState) -> SessionState:
        for (label, name), value in zip(assignment.targets, row, strict=True):
            state = state.with_value_of(label, name, value)
        return state

    return Outcome(result=empty_result(), change=change)


def drop_variable(plan: DropVariablePlan) -> Outcome:
    """Returns the change of the session's state. It raises `VariableNotFound`, except with IF EXISTS."""

    def change(state: SessionState) -> SessionState:
        if plan.name not in state.variables.variables and not plan.if_exists:
            raise VariableNotFound(qualified_name(SESSION, plan.name))
        return replace(state, variables=state.variables.without(plan.name))

    return Outcome(result=empty_result(), change=change)


_SESSION = effect(PolicyEffect.NONE, "A statement about variables")

SPECS: tuple[StatementSpec[Any], ...] = (
    change_spec(
        DeclareVariables,
        "DECLARE VARIABLE",
        syntax="DECLARE [OR REPLACE] [VARIABLE] name, … [type] [{DEFAULT | =} expression]",
        example="DECLARE VARIABLE threshold INT DEFAULT 10",
        bind=names_nothing,  # its expression refers to no table
        required_privileges=requires_nothing,
        policy_effects=_SESSION,
        plan=lambda analyzed, statement, _: plan_declare(statement, analyzed.bound.functions),
        use=Use.READ,
        retry=never,
        repetition=Repetition.CREATION,
        answers_rows=False,
        reports_work=False,
        is_read_only=True,
    ),
    reading_query(
        SetVariables,
        "SET VARIABLE",
        syntax="SET {VARIABLE | VAR} {name = expression, … | (name, …) = (query)}",
        example="SET VARIABLE threshold = 20",
        query=lambda statement: statement.source,
        plan=lambda analyzed, statement, _: plan_assign(statement, analyzed.query),
        caches_result=False,
        repetition=Repetition.UNKNOWN,  # it may assign a function of the old value
        answers_rows=False,
    ),
    change_spec(
        DropVariable,
        "DROP TEMPORARY VARIABLE",
        syntax="DROP TEMPORARY {VARIABLE | VAR} [IF EXISTS] name",
        example="DROP TEMPORARY VARIABLE IF EXISTS threshold",
        bind=names_nothing,
        required_privileges=requires_nothing,
        policy_effects=_SESSION,
        plan=lambda _, statement, __: plan_drop_variable(statement),
        use=Use.READ,
        retry=never,
        repetition=Repetition.REMOVAL,
        answers_rows=False,
        reports_work=False,
        is_read_only=True,
    ),
    reading_query(
        EvaluateQuery,
        "A query of one row",
        syntax="",
        example="",
        query=lambda statement: statement.query,
        plan=lambda analyzed, _, __: EvaluatePlan(read=analyzed.query),
        caches_result=False,
    ),
)
