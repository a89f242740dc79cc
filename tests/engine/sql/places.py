"""Where an error is in a statement's text."""

from __future__ import annotations

from catalog.errors import SqlError


def place_of(error: SqlError) -> tuple[int, int]:
    """Returns line and column of an error that has a position."""
    assert error.position is not None
    return error.position.line, error.position.column


def excerpt_of(error: SqlError) -> str:
    """Returns the line with the caret below the place."""
    assert error.position is not None
    return error.position.excerpt
