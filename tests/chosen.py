"""Which cases of a long table run in `make test`: the others are marked `slow`."""

from __future__ import annotations

from collections.abc import Container, Iterable
from itertools import product
from typing import Any

import pytest


def some(values: Iterable[Any], chosen: Container[Any]) -> list[Any]:
    """Parameters of one name each; those that are not chosen are slow."""
    return [pytest.param(value, marks=() if value in chosen else pytest.mark.slow) for value in values]


def numbered(cases: Iterable[Any], slow: Container[int]) -> list[Any]:
    """Parameters of several names each, of which those with these numbers are slow."""
    return [pytest.param(*case, marks=pytest.mark.slow if number in slow else ()) for number, case in enumerate(cases)]


def diagonals(first: Iterable[Any], second: Iterable[Any], step: int) -> list[Any]:
    """Each value with each, on every `step`-th diagonal in `make test`: so each value is in some case, if `step` is at
    most the number of values of the other."""
    return [
        pytest.param(one, other, marks=pytest.mark.slow if (row + column) % step else ())
        for (row, one), (column, other) in product(enumerate(first), enumerate(second))
    ]
