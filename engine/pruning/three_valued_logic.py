"""Vectorized three-valued logic, in which each entry represents many rows.

For a data file only bounds are known, not rows, so the question "is the predicate true?" has a *set* of answers: the
truth values that some row in the file might have. A set is one byte, with a bit each for TRUE, FALSE and NULL; a
million files are a megabyte, and AND, OR and NOT are a few bit operations on it. The only possible error is a set that
is too large:

- a file without the TRUE bit contains no matching row: it is pruned;
- a file with only the TRUE bit contains only matching rows: it can be counted or removed without reading.

All functions take and return `numpy.uint8` arrays with one shape or with shape (), which applies to all entries.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

TRUE = np.uint8(1)
FALSE = np.uint8(2)
NULL = np.uint8(4)
ANY = np.uint8(7)

_TRUE_OR_NULL = np.uint8(5)
_ONE, _TWO = np.uint8(1), np.uint8(2)

Truths: TypeAlias = npt.NDArray[np.uint8]
Mask: TypeAlias = npt.NDArray[np.bool_]


def truths(*, can_be_true: Mask, can_be_false: Mask, can_be_null: Mask) -> Truths:
    """Returns the sets with the members in the masks."""
    false = can_be_false.astype(np.uint8) << _ONE
    null = can_be_null.astype(np.uint8) << _TWO
    result: Truths = can_be_true.astype(np.uint8) | false | null
    return result


def constant(value: bool | None) -> Truths:
    """Returns the set with one member, for all entries."""
    return np.array(NULL if value is None else TRUE if value else FALSE, dtype=np.uint8)


def unknown() -> Truths:
    """Returns the set with all members, for all entries."""
    return np.array(ANY, dtype=np.uint8)


def negate(operand: Truths) -> Truths:
    """Returns NOT."""
    result: Truths = ((operand & TRUE) << _ONE) | ((operand & FALSE) >> _ONE) | (operand & NULL)
    return result


def conjoin(left: Truths, right: Truths) -> Truths:
    """Returns AND over all combinations, treated as independent (so possibly too large)."""
    both = left & right
    null_with_true = (left & ((right & TRUE) << _TWO)) | (right & ((left & TRUE) << _TWO))
    return np.asarray((both & _TRUE_OR_NULL) | ((left | right) & FALSE) | null_with_true, dtype=np.uint8)


def disjoin(left: Truths, right: Truths) -> Truths:
    """Returns OR."""
    return negate(conjoin(negate(left), negate(right)))


def can_be(operand: Truths, answer: np.uint8) -> Mask:
    """Returns a mask for sets that contain `answer` (TRUE, FALSE or NULL)."""
    return np.asarray((operand & answer) != 0, dtype=bool)
