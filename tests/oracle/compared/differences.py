"""Unexplained differences between two engines in the same case."""

from __future__ import annotations

from itertools import zip_longest
from typing import Any

from tests.oracle.compared.commits import Flat
from tests.oracle.compared.explained import ABSENT, is_explained
from tests.oracle.compared.runner import OURS, THEIRS, Made


def differences(case: str, ours: Made, theirs: Made) -> list[str]:
    """Returns a line for each."""
    return _unexplained(case, _pairs(ours, theirs))


def metadata_differences(case: str, ours: Made, theirs: Made) -> list[str]:
    """Returns a line for each difference in the steps' outcomes, and in the answers to the case's queries."""
    return _unexplained(case, [*_outcomes(ours, theirs), *_reported_differences(ours, theirs)])


def _unexplained(case: str, pairs: list[tuple[str, Any, Any]]) -> list[str]:
    found = []
    for path, own, other in pairs:
        if own != other and not is_explained(case, path, own, other):
            found.append(f"{path}: ours {own!r}, theirs {other!r}")
    return found


def _outcomes(ours: Made, theirs: Made) -> list[tuple[str, Any, Any]]:
    outcomes = enumerate(zip(ours.outcomes, theirs.outcomes, strict=True))
    return [(f"outcome {number}", own, other) for number, (own, other) in outcomes]


def _reported_differences(ours: Made, theirs: Made) -> list[tuple[str, Any, Any]]:
    requested = dict.fromkeys([*ours.described, *theirs.described])
    return [(what, ours.described.get(what, ABSENT), theirs.described.get(what, ABSENT)) for what in requested]


def _pairs(ours: Made, theirs: Made) -> list[tuple[str, Any, Any]]:
    """Returns a value's path, and the value on both sides.

    Both tables have the same rows, as we read them; and both engines read the same rows in each.
    """
    pairs = _outcomes(ours, theirs)
    nothing: Flat = {}
    for version, commits in enumerate(zip_longest(ours.commits, theirs.commits, fillvalue=nothing)):
        own, other = commits
        paths = dict.fromkeys([*own, *other])
        pairs += [(f"{version} {path}", own.get(path, ABSENT), other.get(path, ABSENT)) for path in paths]
    pairs += _reported_differences(ours, theirs)
    for read in (what for what in ours.reads if what.endswith(OURS)):
        pairs.append((f"{read} and {THEIRS}", ours.reads[read], ours.reads[read.removesuffix(OURS) + THEIRS]))
    pairs += [(f"{what}, by us and by delta-spark", answer, theirs.reads[what]) for what, answer in ours.reads.items()]
    return pairs
