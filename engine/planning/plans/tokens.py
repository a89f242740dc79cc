"""The plan of a statement about personal access tokens."""

from __future__ import annotations

from dataclasses import dataclass

from engine.runtime.identity import Identity
from engine.statements.tokens.statement import TokenStatement


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenPlan:
    """Make, show or revoke tokens as `identity` may."""

    statement: TokenStatement
    identity: Identity
