"""Errors for statements and clauses that are rejected by name, with advice."""

from __future__ import annotations

from catalog.conditions import UnsupportedClause, UnsupportedStatement
from engine.sql.dialect.refusals import advice_on


def identifier_not_here() -> UnsupportedClause:
    """Returns the error for an IDENTIFIER clause that was not resolved earlier
    (`engine.statements.scripting.grammar_identifiers`).
    """
    return UnsupportedClause("IDENTIFIER(…)", "Here it takes a string alone, as in IDENTIFIER('name').")


def unsupported_statement(kind: str) -> UnsupportedStatement:
    """Returns the error for a known statement that is not supported, with an alternative."""
    return UnsupportedStatement(kind, advice_on(kind))
