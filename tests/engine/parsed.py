"""Parses a text that is one statement that runs by itself."""

from __future__ import annotations

from engine.runtime.statement import Statement
from engine.statements.parse import parse


def parse_one(text: str) -> Statement:
    """Returns the statement. Fails the test for a script, EXECUTE IMMEDIATE, and an INSERT into several tables."""
    statement = parse(text)
    assert isinstance(statement, Statement), text
    return statement
