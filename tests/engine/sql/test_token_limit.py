"""A statement's number of tokens is limited before any pass over them."""

from __future__ import annotations

import pytest

from catalog.conditions import StatementHasTooManyTokens
from engine.sql.dialect import dialect
from engine.statements.parse import parse


def test_a_statement_of_too_many_tokens_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialect, "TOKENS_MAX", 8)
    assert parse("SELECT 1, 2, 3, 4")
    with pytest.raises(StatementHasTooManyTokens):
        parse("SELECT 1, 2, 3, 4, 5")
