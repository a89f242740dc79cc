"""Logins whose tokens permit less than their principals."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from catalog.conditions import ScopeExceeded
from engine.authorization.authorize import ensure_within_scopes
from engine.runtime.identity import Scope
from tests.engine.authorization.guarded_tables import bound_statement, guarded_tables


@pytest.mark.parametrize(
    ("scopes", "is_read_only", "is_allowed"),
    [
        (frozenset(Scope), True, True),
        (frozenset(Scope), False, True),
        (frozenset({Scope.SQL}), False, True),
        (frozenset(Scope) - {Scope.SQL}, True, True),
        (frozenset(Scope) - {Scope.SQL}, False, False),
    ],
)
def test_login_without_sql_scope_changes_nothing(
    tmp_path: Path, scopes: frozenset[Scope], is_read_only: bool, is_allowed: bool
) -> None:
    bound = bound_statement(guarded_tables(tmp_path / "lake"), "root", "SELECT * FROM t")
    bound = replace(bound, state=replace(bound.state, identity=replace(bound.state.identity, scopes=scopes)))
    if is_allowed:
        ensure_within_scopes(bound, is_read_only=is_read_only)
        return
    with pytest.raises(ScopeExceeded):
        ensure_within_scopes(bound, is_read_only=is_read_only)
