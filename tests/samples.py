"""Selection from long case tables for `make test`: the other cases are marked `slow`."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from typing import Any

import pytest


def some(values: Iterable[Any], selected: Container[Any]) -> list[Any]:
    """Returns parameters with one name each; unselected ones are slow."""
    return [pytest.param(value, marks=() if value in selected else pytest.mark.slow) for value in values]


def with_slow(cases: Iterable[Any], slow: Container[int]) -> list[Any]:
    """Returns parameters with several names each; those with numbers in `slow` are slow."""
    return [pytest.param(*case, marks=pytest.mark.slow if number in slow else ()) for number, case in enumerate(cases)]


def beside_diagonals(items: Iterable[pytest.Item]) -> Iterator[pytest.Item]:
    """Yields the tests with the mark `diagonals` that are off the diagonals: the indexes of the named parameters'
    values do not sum to a multiple of `step`. Each value is on a diagonal if `step` is at most the number of another
    parameter's values.
    """
    numbers: dict[tuple[str, str], list[int]] = {}
    for item in items:
        mark = item.get_closest_marker("diagonals")
        if mark is None:
            continue
        total = 0
        for name in mark.args:
            value = id(item.callspec.params[name])  # type: ignore[attr-defined]
            seen = numbers.setdefault((item.nodeid.partition("[")[0], name), [])
            if value not in seen:
                seen.append(value)
            total += seen.index(value)
        if total % mark.kwargs["step"]:
            yield item
