"""Parse the statements about personal access tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from engine.sql.dialect.cursor import Cursor
from engine.statements.tokens.statement import CreateToken, RevokeToken, ShowTokens, TokenStatement

_SECONDS: Mapping[str, int] = MappingProxyType({"SECOND": 1, "MINUTE": 60, "HOUR": 3600, "DAY": 86_400})


def parse_create_token(cursor: Cursor) -> CreateToken:
    """What follows CREATE TOKEN."""
    comment = cursor.read_string() if cursor.take("COMMENT") else ""
    lifetime_s = _read_lifetime_s(cursor) if cursor.take("LIFETIME") else None
    return CreateToken(comment=comment, lifetime_s=lifetime_s, is_read_only=cursor.take("READ", "ONLY"))


def parse_revoke_token(cursor: Cursor) -> RevokeToken:
    """What follows REVOKE TOKEN."""
    return RevokeToken(token_id=cursor.read_string())


def _read_lifetime_s(cursor: Cursor) -> int:
    count = cursor.take_number()
    unit = cursor.take_any(*_SECONDS, *(f"{name}S" for name in _SECONDS))
    if count is None or unit is None:
        raise cursor.fail("a whole number of SECONDS, MINUTES, HOURS or DAYS is expected after LIFETIME")
    return count * _SECONDS[unit.removesuffix("S")]


HEADS: Mapping[tuple[str, ...], Callable[[Cursor], TokenStatement]] = MappingProxyType(
    {
        ("CREATE", "TOKEN"): parse_create_token,
        ("REVOKE", "TOKEN"): parse_revoke_token,
        ("SHOW", "TOKENS"): lambda _: ShowTokens(),
    }
)
