"""CREATE TOKEN, SHOW TOKENS and REVOKE TOKEN. The answer to the first is the only place where a token's secret is."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import assert_never

from catalog.grants.tokens import TokenEntry, TokenStore
from engine.binding.bound import Outcome
from engine.planning.plans.tokens import TokenPlan
from engine.runtime.identity import Scope
from engine.runtime.results import STRING, TIMESTAMP, empty_result, small_result
from engine.runtime.tokens import create_token, revoke_token, visible_tokens
from engine.statements.tokens.statement import CreateToken, RevokeToken, ShowTokens

_COLUMNS = {
    **dict.fromkeys(("token_id", "owner", "comment", "scope"), STRING),
    **dict.fromkeys(("created_at", "expires_at"), TIMESTAMP),
}


def answer_tokens(plan: TokenPlan, store: TokenStore | None) -> Outcome:
    match plan.statement:
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
            assert_never(plan.statement)


def _row(entry: TokenEntry) -> tuple[object, ...]:
    scope = Scope.READ_ONLY if entry.is_read_only else Scope.SQL
    times = (datetime.fromtimestamp(time_ms / 1000, UTC) for time_ms in (entry.created_ms, entry.expires_ms))
    return entry.token_id, entry.owner.principal, entry.comment, scope.value, *times
