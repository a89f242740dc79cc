"""Statements about the principal's own personal access tokens: CREATE TOKEN, SHOW TOKENS and REVOKE TOKEN.

Only CREATE TOKEN's result contains the token's secret.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any, assert_never, cast

from catalog.grants.tokens import TokenEntry, TokenStore
from engine.authorization.policies import PolicyEffect
from engine.binding.bound import Outcome
from engine.planning.analyzed import AnalyzedStatement
from engine.planning.plans.ddl import TokenPlan
from engine.runtime.accesses import Use
from engine.runtime.identity import Scope
from engine.runtime.results import STRING, TIMESTAMP, empty_result, small_result
from engine.runtime.statement import Statement
from engine.runtime.tokens import create_token, revoke_token, visible_tokens
from engine.sql.dialect.cursor import Cursor
from engine.statements.format_planning import FormatPlanners
from engine.statements.spec import (
    Repetition,
    StatementSpec,
    change_spec,
    effect,
    names_nothing,
    never,
    requires_nothing,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateToken(Statement):
    """`CREATE TOKEN [COMMENT 'text'] [LIFETIME n SECONDS|MINUTES|HOURS|DAYS] [READ ONLY]`"""

    comment: str = ""
    lifetime_s: int | None = None
    is_read_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RevokeToken(Statement):
    """`REVOKE TOKEN 'id'`"""

    token_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowTokens(Statement):
    """`SHOW TOKENS`"""


TokenStatement = CreateToken | RevokeToken | ShowTokens


_SECONDS: Mapping[str, int] = MappingProxyType({"SECOND": 1, "MINUTE": 60, "HOUR": 3600, "DAY": 86_400})


def parse_create_token(cursor: Cursor) -> CreateToken:
    """Parses the text after CREATE TOKEN."""
    comment = cursor.read_string() if cursor.take("COMMENT") else ""
    lifetime_s = _read_lifetime_s(cursor) if cursor.take("LIFETIME") else None
    return CreateToken(comment=comment, lifetime_s=lifetime_s, is_read_only=cursor.take("READ", "ONLY"))


def parse_revoke_token(cursor: Cursor) -> RevokeToken:
    """Parses the text after REVOKE TOKEN."""
    return RevokeToken(token_id=cursor.read_string())


def _read_lifetime_s(cursor: Cursor) -> int:
    count = cursor.take_number()
    unit = cursor.take_any(*_SECONDS, *(f"{name}S" for name in _SECONDS))
    if count is None or unit is None:
        raise cursor.fail("a whole number of SECONDS, MINUTES, HOURS or DAYS is expected after LIFETIME")
    return count * _SECONDS[unit.removesuffix("S")]


LEADING_WORDS: Mapping[tuple[str, ...], Callable[[Cursor], TokenStatement]] = MappingProxyType(
    {
        ("CREATE", "TOKEN"): parse_create_token,
        ("REVOKE", "TOKEN"): parse_revoke_token,
        ("SHOW", "TOKENS"): lambda _: ShowTokens(),
    }
)


_COLUMNS = {
    **dict.fromkeys(("token_id", "owner", "comment", "scope"), STRING),
    **dict.fromkeys(("created_at", "expires_at"), TIMESTAMP),
}


def answer_tokens(plan: TokenPlan, store: TokenStore | None) -> Outcome:
    """Executes a token statement for the plan's identity.

    Only CREATE TOKEN returns the token itself. Raises if the server stores no tokens (`store` None).
    """
    statement = cast(TokenStatement, plan.statement)  # only this family creates the plan
    match statement:
        case CreateToken(comment=comment, lifetime_s=lifetime_s, is_read_only=is_read_only):
            token, entry = create_token(
                store, plan.identity, comment=comment, lifetime_s=lifetime_s, is_read_only=is_read_only
            )
            return Outcome(result=small_result({"token": STRING, **_COLUMNS}, [(token, *_row(entry))]))
        case RevokeToken(token_id=token_id):
            revoke_token(store, plan.identity, token_id)
            return Outcome(result=empty_result())
        case ShowTokens():
            return Outcome(result=small_result(_COLUMNS, map(_row, visible_tokens(store, plan.identity))))
        case _:
            assert_never(statement)


def _row(entry: TokenEntry) -> tuple[object, ...]:
    scope = Scope.READ_ONLY if entry.is_read_only else Scope.SQL
    times = (datetime.fromtimestamp(time_ms / 1000, UTC) for time_ms in (entry.created_ms, entry.expires_ms))
    return entry.token_id, entry.owner.principal, entry.comment, scope.value, *times


def _plan(analyzed: AnalyzedStatement, statement: TokenStatement, _: FormatPlanners) -> TokenPlan:
    return TokenPlan(statement=statement, identity=analyzed.bound.state.identity)


SPECS: tuple[StatementSpec[Any], ...] = tuple(
    change_spec(
        statement,
        title,
        syntax=syntax,
        example=example,
        bind=names_nothing,
        required_privileges=requires_nothing,  # limited to the principal's own tokens by the execution
        policy_effects=effect(PolicyEffect.NONE, "A statement about tokens"),
        plan=_plan,
        use=Use.GRANT,
        retry=never,
        repetition=Repetition.AGAIN if statement is ShowTokens else Repetition.UNKNOWN,
        answers_rows=True,
        reports_work=False,
    )
    for statement, title, syntax, example in (
        (
            CreateToken,
            "CREATE TOKEN",
            "CREATE TOKEN [COMMENT 'text'] [LIFETIME n {SECONDS | MINUTES | HOURS | DAYS}] [READ ONLY]",
            "CREATE TOKEN COMMENT 'dashboard' LIFETIME 90 DAYS READ ONLY",
        ),
        (RevokeToken, "REVOKE TOKEN", "REVOKE TOKEN 'id'", "REVOKE TOKEN 'a1b2'"),
        (ShowTokens, "SHOW TOKENS", "SHOW TOKENS", "SHOW TOKENS"),
    )
)
