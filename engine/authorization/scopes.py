"""Limit what a log-in is for, whatever its principal may do: one by a token for reading changes nothing."""

from __future__ import annotations

from catalog.conditions import ScopeExceeded
from engine.binding.bound import BoundStatement
from engine.runtime.identity import Scope


def ensure_within_scopes(bound: BoundStatement, *, is_read_only: bool) -> None:
    """Raise :class:`ScopeExceeded` unless the log-in may run the statement."""
    if Scope.SQL not in bound.state.identity.scopes and not is_read_only:
        raise ScopeExceeded()
