"""Define the statements about one's own personal access tokens."""

from __future__ import annotations

from dataclasses import dataclass

from engine.runtime.statement import Statement


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
