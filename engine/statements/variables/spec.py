"""Register the statements about session variables."""

from __future__ import annotations

from typing import Any

from engine.authorization.policies import PolicyEffect
from engine.planning.plans.variables import EvaluatePlan
from engine.runtime.accesses import Use
from engine.statements.select.spec import THROUGH_POLICIES, analyze_query, bind_query, require_reads
from engine.statements.spec import StatementSpec, changing, effect, names_nothing, needs_nothing, never
from engine.statements.variables.planning import plan_assign, plan_declare, plan_drop_variable
from engine.statements.variables.statement import DeclareVariables, DropVariable, EvaluateQuery, SetVariables

_SESSION = effect(PolicyEffect.NONE, "A statement about variables")

SPECS: tuple[StatementSpec[Any], ...] = (
    changing(
        DeclareVariables,
        "DECLARE VARIABLE",
        syntax="DECLARE [OR REPLACE] [VARIABLE] name, … [type] [{DEFAULT | =} expression]",
        example="DECLARE VARIABLE threshold INT DEFAULT 10",
        bind=names_nothing,  # its expression names no table
        required_privileges=needs_nothing,
        policy_effects=_SESSION,
        plan=lambda _, statement, __: plan_declare(statement),
        use=Use.READ,
        retry=never,
        answers_rows=False,
        reports_work=False,
        is_read_only=True,
    ),
    changing(
        SetVariables,
        "SET VARIABLE",
        syntax="SET {VARIABLE | VAR} {name = expression, … | (name, …) = (query)}",
        example="SET VARIABLE threshold = 20",
        bind=lambda statement, binder: bind_query(statement.source, binder),
        required_privileges=require_reads,
        policy_effects=THROUGH_POLICIES,
        analyze=lambda bound, statement, _: analyze_query(bound, statement.source),
        plan=lambda analyzed, statement, _: plan_assign(statement, analyzed.query),
        use=Use.READ,
        retry=never,
        answers_rows=False,
        reports_work=False,
        is_read_only=True,
    ),
    changing(
        DropVariable,
        "DROP TEMPORARY VARIABLE",
        syntax="DROP TEMPORARY {VARIABLE | VAR} [IF EXISTS] name",
        example="DROP TEMPORARY VARIABLE IF EXISTS threshold",
        bind=names_nothing,
        required_privileges=needs_nothing,
        policy_effects=_SESSION,
        plan=lambda _, statement, __: plan_drop_variable(statement),
        use=Use.READ,
        retry=never,
        answers_rows=False,
        reports_work=False,
        is_read_only=True,
    ),
    changing(
        EvaluateQuery,
        "A query of one row",
        syntax="",
        example="",
        bind=lambda statement, binder: bind_query(statement.query, binder),
        required_privileges=require_reads,
        policy_effects=THROUGH_POLICIES,
        analyze=lambda bound, statement, _: analyze_query(bound, statement.query),
        plan=lambda analyzed, _, __: EvaluatePlan(read=analyzed.query),
        use=Use.READ,
        retry=never,
        answers_rows=True,
        reports_work=False,
        is_read_only=True,
    ),
)
