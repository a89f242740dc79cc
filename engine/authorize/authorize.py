"""Authorise: the only maker of an :class:`~engine.bind.bound.AuthorizedStatement`.

Without grants in the catalog a principal may read whatever the server serves: the tables of the catalog, and paths
below the allowed roots, which binding has already checked. The stage is on the road all the same, so that nothing
is planned that did not pass here.
"""

from __future__ import annotations

from engine.bind.bound import AuthorizedStatement, BoundStatement


def authorize(bound: BoundStatement) -> AuthorizedStatement:
    """The statement, proven allowed for `bound.state.principal`."""
    return AuthorizedStatement(bound=bound)
