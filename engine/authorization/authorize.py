"""The authorize stage, the only maker of an :class:`~engine.binding.bound.AuthorizedStatement`.

A statement's required privileges, and its effects on a table with a row filter or column masks, are defined in its
family. `catalog.grants.conditions` decides whether a principal has the privileges, on the catalog generation that the
statement was bound on. A catalog change carries the condition and checks it again. Without logins, privileges do not
apply and nothing is checked.

A token may have a narrower scope than its principal: a read-only token changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from catalog.conditions import ScopeExceeded
from catalog.grants.conditions import Condition, Requirement, ensure_met
from engine.authorization.policies import Effect, ensure_hides
from engine.authorization.policy_settings import ensure_settings_fit
from engine.authorization.required_privileges import definer_of, executions
from engine.binding.bound import AuthorizedStatement, BoundStatement
from engine.binding.visibility import login_of
from engine.runtime.identity import Scope


def authorize(
    bound: BoundStatement,
    required: Callable[[], Iterable[Requirement]],
    effects: Iterable[Effect],
    *,
    is_read_only: bool,
) -> AuthorizedStatement:
    """Returns the statement, proven allowed for the session's principal.

    `required` returns the privileges besides EXECUTE on the functions that its queries call; it is not called without
    logins. Raises `InsufficientPermissions` and related errors, `PolicyForbidsStatement`.
    """
    ensure_within_scopes(bound, is_read_only=is_read_only)
    login = login_of(bound.state.identity)
    if login is not None:
        # The condition travels with the plan: a catalog change checks it again on the
        # generation that it is applied to, so that a REVOKE in between takes effect.
        condition = Condition(login, (*executions(bound.functions, definer_of(bound)), *required()))
        ensure_met(bound.view.state, condition)
    # After the privileges, so that a message about policies reaches only principals who may
    # use the table.
    ensure_hides(bound, effects)
    ensure_settings_fit(bound)
    return AuthorizedStatement(bound=bound if login is None else replace(bound, condition=condition))


def ensure_within_scopes(bound: BoundStatement, *, is_read_only: bool) -> None:
    """Raises :class:`ScopeExceeded` unless the login's scopes allow the statement."""
    if Scope.SQL not in bound.state.identity.scopes and not is_read_only:
        raise ScopeExceeded()
