"""Three-valued logic over many entries at once, where each entry is for many rows.

Of a data file one knows bounds, not rows, so the question "is the predicate true?" has a *set* of answers: those that
some row of the file might give. Such a set is one byte, with a bit for each of TRUE, FALSE and NULL; a million files
are a megabyte, and AND, OR and NOT are a few bit operations on it. Sets only ever err by being too large:

- a file without the TRUE bit holds no matching row: it is pruned;
- a file with the TRUE bit alone holds matching rows only: it can be counted or removed without being read.

All functions take and give `numpy.uint8` arrays of one shape or of shape (), which is for all entries.
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
    """The sets whose members the masks say."""
    false = can_be_false.astype(np.uint8) << _ONE
    null = can_be_null.astype(np.uint8) << _TWO
    result: Truths = can_be_true.astype(np.uint8) | false | null
    return result


def constant(value: bool | None) -> Truths:
    """The set with one member, for all entries."""
    return np.array(NULL if value is None else TRUE if value else FALSE, dtype=np.uint8)


def unknown() -> Truths:
    """The set with all members, for all entries."""
    return np.array(ANY, dtype=np.uint8)


def negate(operand: Truths) -> Truths:
    """NOT."""
    result: Truths = ((operand & TRUE) << _ONE) | ((operand & FALSE) >> _ONE) | (operand & NULL)
    return result


def conjoin(left: Truths, right: Truths) -> Truths:
    """AND: what two rows' worth of answers can make, taken as independent (so possibly too large)."""
    both = left & right
    null_with_true = (left & ((right & TRUE) << _TWO)) | (right & ((left & TRUE) << _TWO))
    return np.asarray((both & _TRUE_OR_NULL) | ((left | right) & FALSE) | null_with_true, dtype=np.uint8)


def disjoin(left: Truths, right: Truths) -> Truths:
    """OR."""
    return negate(conjoin(negate(left), negate(right)))


def can_be(operand: Truths, answer: np.uint8) -> Mask:
    """Where `answer` (TRUE, FALSE or NULL) is a member."""
    return np.asarray((operand & answer) != 0, dtype=bool)
