"""Texts whose plans no cache has: the plan cache compares texts with their comments."""

from __future__ import annotations

import itertools

_NUMBERS = itertools.count(1)


def afresh(text: str) -> str:
    """Returns a query that means the same, with a comment of its own."""
    return text.replace("SELECT", f"SELECT /* {next(_NUMBERS)} */", 1)
