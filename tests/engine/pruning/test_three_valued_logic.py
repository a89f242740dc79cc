"""Sets of truth values, compared with the same operations on their members."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from engine.pruning.three_valued_logic import (
    FALSE,
    NULL,
    TRUE,
    can_be,
    conjoin,
    constant,
    disjoin,
    negate,
    truths,
    unknown,
)

_BITS = {True: TRUE, False: FALSE, None: NULL}
ALL_SETS = np.arange(8, dtype=np.uint8)


def members(truth_set: int) -> set[bool | None]:
    return {value for value, bit in _BITS.items() if truth_set & bit}


def and_(left: bool | None, right: bool | None) -> bool | None:
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def or_(left: bool | None, right: bool | None) -> bool | None:
    if left is True or right is True:
        return True
    return None if left is None or right is None else False


@pytest.mark.parametrize(("operation", "meaning"), [(conjoin, and_), (disjoin, or_)])
def test_binary_operations_contain_all_member_results(operation, meaning) -> None:  # type: ignore[no-untyped-def]
    left, right = (side.ravel() for side in np.meshgrid(ALL_SETS, ALL_SETS))
    for one, other, result in zip(left.tolist(), right.tolist(), operation(left, right).tolist(), strict=True):
        made = {meaning(a, b) for a, b in itertools.product(members(one), members(other))}
        if members(one) and members(other):
            assert members(result) == made


def test_not_swaps_true_and_false() -> None:
    for one, result in zip(ALL_SETS.tolist(), negate(ALL_SETS).tolist(), strict=True):
        assert members(result) == {None if value is None else not value for value in members(one)}


@pytest.mark.parametrize("value", [True, False, None])
def test_constants_have_one_member_and_stand_for_all_entries(value: bool | None) -> None:
    assert members(int(constant(value))) == {value}
    assert conjoin(constant(True), ALL_SETS).tolist() == ALL_SETS.tolist()


def test_masks_become_members() -> None:
    masks = np.array(list(itertools.product([False, True], repeat=3)))
    sets = truths(can_be_true=masks[:, 0], can_be_false=masks[:, 1], can_be_null=masks[:, 2])
    assert [can_be(sets, bit).tolist() for bit in (TRUE, FALSE, NULL)] == masks.T.tolist()
    assert members(int(unknown())) == {True, False, None}
