"""Errors of statements and clauses that are rejected by name, with advice."""

from __future__ import annotations

from catalog.conditions import UnsupportedClause, UnsupportedStatement
from engine.sql.dialect.refusals import advice_on


def identifier_not_here() -> UnsupportedClause:
    """The error for an IDENTIFIER clause that was not resolved before (`engine/sql/script/identifier_clauses.py`)."""
    return UnsupportedClause("IDENTIFIER(…)", "Here it takes a string alone, as in IDENTIFIER('name').")


def unsupported_statement(kind: str) -> UnsupportedStatement:
    """Returns the error for a statement that is known by name and does not run here, with what to use instead."""
    return UnsupportedStatement(kind, advice_on(kind))
