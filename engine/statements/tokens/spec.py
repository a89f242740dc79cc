"""Register the statements about one's own personal access tokens."""

from __future__ import annotations

from typing import Any

from engine.authorization.policies import PolicyEffect
from engine.formats.planning import FormatPlanners
from engine.planning.analyzed import AnalyzedStatement
from engine.planning.plans.tokens import TokenPlan
from engine.runtime.accesses import Use
from engine.statements.spec import StatementSpec, changing, effect, names_nothing, needs_nothing, never
from engine.statements.tokens.statement import CreateToken, RevokeToken, ShowTokens, TokenStatement


def _plan(analyzed: AnalyzedStatement, statement: TokenStatement, _: FormatPlanners) -> TokenPlan:
    return TokenPlan(statement=statement, identity=analyzed.bound.state.identity)


_OWN_TOKENS = effect(PolicyEffect.NONE, "A statement about tokens")

SPECS: tuple[StatementSpec[Any], ...] = (
    changing(
        CreateToken,
        "CREATE TOKEN",
        syntax="CREATE TOKEN [COMMENT 'text'] [LIFETIME n {SECONDS | MINUTES | HOURS | DAYS}] [READ ONLY]",
        example="CREATE TOKEN COMMENT 'dashboard' LIFETIME 90 DAYS READ ONLY",
        bind=names_nothing,
        required_privileges=needs_nothing,  # of one's own, which the answer checks
        policy_effects=_OWN_TOKENS,
        plan=_plan,
        use=Use.GRANT,
        retry=never,
        answers_rows=True,
        reports_work=False,
    ),
    changing(
        RevokeToken,
        "REVOKE TOKEN",
        syntax="REVOKE TOKEN 'id'",
        example="REVOKE TOKEN 'a1b2'",
        bind=names_nothing,
        required_privileges=needs_nothing,
        policy_effects=_OWN_TOKENS,
        plan=_plan,
        use=Use.GRANT,
        retry=never,
        answers_rows=True,
        reports_work=False,
    ),
    changing(
        ShowTokens,
        "SHOW TOKENS",
        syntax="SHOW TOKENS",
        example="SHOW TOKENS",
        bind=names_nothing,
        required_privileges=needs_nothing,
        policy_effects=_OWN_TOKENS,
        plan=_plan,
        use=Use.GRANT,
        retry=never,
        answers_rows=True,
        reports_work=False,
        is_read_only=True,
    ),
)
