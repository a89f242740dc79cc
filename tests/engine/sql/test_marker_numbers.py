"""Parameter markers by their numbers."""

from __future__ import annotations

import pytest

from engine.sql.parameters import find_markers, markers_by_number

_TEXTS = {
    "SELECT ?, '?' -- ?\n FROM t WHERE a = ? LIMIT ?": "SELECT :p1, '?' -- ?\n FROM t WHERE a = :p2 LIMIT :p3",
    "SELECT :b, :a, :b": "SELECT :p1, :p2, :p1",
    "SELECT `?`, a:b, x[1] FROM t": "SELECT `?`, a:b, x[1] FROM t",
    "SELECT 1": "SELECT 1",
}


@pytest.mark.parametrize(("text", "expected"), _TEXTS.items())
def test_markers_get_the_numbers_in_which_they_are_found(text: str, expected: str) -> None:
    assert markers_by_number(text, "p") == expected
    positional, names = find_markers(text)
    assert all(f":p{number}" in expected for number in range(1, positional + len(names) + 1))
