"""Authorise: the only maker of an :class:`~engine.bind.bound.AuthorizedStatement`.

What a statement takes is in `needs.py`, a closed table; whether somebody has it is decided in `catalog.conditions`, on
the generation that the statement was bound on. A change of the catalog carries the condition along and looks again.
Where nobody logs in, privileges do not count, and nothing is looked at.
"""

from __future__ import annotations

from dataclasses import replace

from catalog.conditions import Condition, ensure_met
from engine.authorize.needs import needs_of
from engine.authorize.policies import ensure_hides
from engine.authorize.policy_settings import ensure_settings_fit
from engine.authorize.scopes import ensure_within_scopes
from engine.bind.bound import AuthorizedStatement, BoundStatement
from engine.bind.sight import login_of


def authorize(bound: BoundStatement) -> AuthorizedStatement:
    """The statement, proven allowed for the session's principal. Raises `InsufficientPermissions` and its kin."""
    ensure_within_scopes(bound)
    login = login_of(bound.state.identity)
    if login is None:
        ensure_hides(bound)
        ensure_settings_fit(bound)
        return AuthorizedStatement(bound=bound)
    condition = Condition(login, tuple(needs_of(bound)))
    ensure_met(bound.view.state, condition)
    ensure_hides(bound)
    ensure_settings_fit(bound)
    return AuthorizedStatement(bound=replace(bound, condition=condition))
