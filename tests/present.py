"""Narrows optional values."""

from __future__ import annotations

from typing import TypeVar

T = TypeVar("T")


def present(value: T | None) -> T:
    """Returns the value. Fails the test if it is None."""
    assert value is not None
    return value
